//! The entries of the log.

use samovar_wire::{DecodeError, PeerId, Reader, Writer};

/// A flag of an entry that waits until the host's backups hold it.
pub(crate) const STABLE: u8 = 1;
/// The use of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Causal order: no member reads its own messages.
    Dispatch,
    /// Total order.
    Sequence,
}

/// Whether a message may have these flags.
pub(super) const fn is_known(flags: u8) -> bool {
    flags & !STABLE == 0
}

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) flags: u8,
    pub(crate) origin: PeerId,
    /// The number of the message among its origin's.
    pub(crate) number: u64,
    pub(crate) payload: &'a [u8],
}

impl<'a> Entry<'a> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.payload.len() + 16);
        let mut out = Writer::new(&mut bytes);
        out.u8(self.flags);
        out.u32(self.origin.0);
        out.varint(self.number);
        out.bytes(self.payload);
        bytes
    }

    /// # Errors
    /// Any [`DecodeError`], and `Invalid` for unknown flags.
    pub(crate) fn decode(item: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(item);
        let flags = reader.u8()?;
        let (origin, number) = (PeerId(reader.u32()?), reader.varint()?);
        let entry = Self { flags, origin, number, payload: reader.rest() };
        if is_known(flags) { Ok(entry) } else { Err(DecodeError::Invalid) }
    }
}
