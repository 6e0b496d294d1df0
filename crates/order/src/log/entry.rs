//! What stands in the log.

use samovar_wire::{DecodeError, PeerId, Reader, Time, Writer};

/// It waits until the host's backups hold it.
pub(crate) const STABLE: u8 = 1;
/// By time: it came behind one that should have followed it.
pub(crate) const LATE: u8 = 2;
/// By time: nobody waits for its origin any more; it says nothing.
pub(crate) const PEER_LATE: u8 = 4;
/// By time: its origin is on time again; it says nothing.
pub(crate) const PEER_ON_TIME: u8 = 8;
/// By time: up to here all was delivered before; for those who were not there.
pub(crate) const MARK: u8 = 16;

/// What the log is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Causal order: nobody reads what it wrote itself.
    Dispatch,
    /// Total order.
    Sequence,
    /// Time-stamp order: entries stand by their times.
    Time,
}

impl Purpose {
    /// What a member may submit.
    pub(super) const fn allows(self, flags: u8) -> bool {
        flags == 0 || (flags == STABLE && !matches!(self, Self::Time))
    }

    const fn has(self, flags: u8) -> bool {
        self.allows(flags)
            || (matches!(self, Self::Time) && matches!(flags, LATE | PEER_LATE | PEER_ON_TIME | MARK))
    }
}

/// Whether an entry is a message of its origin.
pub(super) const fn is_message(flags: u8) -> bool {
    flags & !(STABLE | LATE) == 0
}

/// What messages in time-stamp order are delivered by.
pub(crate) type Key = (Time, PeerId, u64);

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) flags: u8,
    pub(crate) origin: PeerId,
    /// Which of its origin's messages.
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
    /// Any [`DecodeError`], and `Invalid` for flags that a log for this does not have.
    pub(crate) fn decode(item: &'a [u8], purpose: Purpose) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(item);
        let flags = reader.u8()?;
        let (origin, number) = (PeerId(reader.u32()?), reader.varint()?);
        let entry = Self { flags, origin, number, payload: reader.rest() };
        let is_known = purpose.has(flags) && (purpose != Purpose::Time || entry.timed().is_ok());
        if is_known { Ok(entry) } else { Err(DecodeError::Invalid) }
    }

    /// By time: when it happened, and what is said.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub(crate) fn timed(&self) -> Result<(Time, &'a [u8]), DecodeError> {
        if matches!(self.flags, PEER_LATE | PEER_ON_TIME) {
            return Ok((Time::ZERO, &[]));
        }
        let mut reader = Reader::new(self.payload);
        Ok((Time::from_micros(reader.varint()?), reader.rest()))
    }

    /// By time: its place.
    pub(super) fn key(&self) -> Option<Key> {
        self.timed().ok().map(|(time, _)| (time, self.origin, self.number))
    }
}
