//! Packets and chunks that a member carries for two others, in bundles (PROTOCOL §2.6).
//!
//! ```text
//! carried  = tag { peer length packet }
//! tag      = 1 towards the carrier, 2 from it
//! ```
//!
//! No packet and no chunk of a link begins with one of the tags, so a receiver can tell a bundle from those.

use crate::limits::{BULK_CHUNK_MAX, PACKET_MAX};
use crate::{DecodeError, Mode, PeerId, Reader, Writer};

/// The most bytes that a bundle adds to a single packet or chunk. Links make their packets and chunks this much
/// smaller, so that each can be carried.
pub const CARRIED_HEAD: usize = 16;

/// The direction of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// To the carrier: each entry names its receiver.
    Up,
    /// From the carrier: each entry names its sender.
    Down,
}

impl Leg {
    const fn tag(self) -> u8 {
        match self {
            Self::Up => 1,
            Self::Down => 2,
        }
    }

    /// The leg of a bundle; `None` for a packet or chunk of the sender's own link.
    #[must_use]
    pub const fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.first() {
            Some(1) => Some(Self::Up),
            Some(2) => Some(Self::Down),
            _ => None,
        }
    }
}

/// One packet or chunk of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The receiver in a bundle to the carrier, the sender in a bundle from the carrier.
    pub peer: PeerId,
    /// The packet or chunk; opaque to the carrier.
    pub payload: &'a [u8],
}

impl Entry<'_> {
    /// Appends this entry; the leg's tag comes first if `bytes` is empty.
    pub fn encode(self, leg: Leg, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            bytes.push(leg.tag());
        }
        let mut out = Writer::new(bytes);
        out.u32(self.peer.0);
        out.prefixed(self.payload);
    }

    /// The most bytes that an entry takes, the tag included.
    #[must_use]
    pub const fn room(payload: &[u8]) -> usize {
        payload.len() + 1 + 4 + 3
    }
}

/// The entries of a bundle, all of which have been checked.
///
/// # Errors
/// `TooLarge` when the bundle is larger than a link may write in this mode, `Truncated`, `Invalid` without a tag,
/// without an entry, or with an empty one.
pub fn entries(mode: Mode, bytes: &[u8]) -> Result<Entries<'_>, DecodeError> {
    let max = if mode == Mode::Unreliable { PACKET_MAX } else { BULK_CHUNK_MAX };
    if bytes.len() > max {
        return Err(DecodeError::TooLarge);
    }
    let mut reader = Reader::new(bytes);
    reader.u8()?;
    if Leg::of(bytes).is_none() || reader.is_empty() {
        return Err(DecodeError::Invalid);
    }
    let entries = Entries { max, reader };
    let mut checked = entries.clone();
    while !checked.reader.is_empty() {
        checked.read()?;
    }
    Ok(entries)
}

/// The entries of a bundle. They are read again instead of kept, because small ones take several times their bytes of
/// memory.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    max: usize,
    reader: Reader<'a>,
}

impl<'a> Entries<'a> {
    fn read(&mut self) -> Result<Entry<'a>, DecodeError> {
        let entry = Entry { peer: PeerId(self.reader.u32()?), payload: self.reader.prefixed(self.max)? };
        if entry.payload.is_empty() { Err(DecodeError::Invalid) } else { Ok(entry) }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        self.read().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn entries_of_a_bundle_round_trip() {
        let all = [(7, &b"one"[..]), (9, &[3; 300]), (7, b"x")];
        for leg in [Leg::Up, Leg::Down] {
            let mut bytes = Vec::new();
            for (peer, payload) in all {
                let before = bytes.len();
                Entry { peer: PeerId(peer), payload }.encode(leg, &mut bytes);
                assert!(bytes.len() <= before + Entry::room(payload));
            }
            assert_eq!(Leg::of(&bytes), Some(leg));
            let read = entries(Mode::Unreliable, &bytes).unwrap();
            assert!(read.map(|entry| (entry.peer.0, entry.payload)).eq(all));
        }
    }

    #[test]
    fn the_largest_packet_fits_and_broken_entries_are_refused() {
        for (mode, max) in [(Mode::Unreliable, PACKET_MAX), (Mode::Reliable, BULK_CHUNK_MAX)] {
            let mut bytes = Vec::new();
            Entry { peer: PeerId(1), payload: &vec![5; max - CARRIED_HEAD] }.encode(Leg::Up, &mut bytes);
            assert_eq!(entries(mode, &bytes).map(Iterator::count), Ok(1));
            bytes.resize(max + 1, 0);
            assert_eq!(entries(mode, &bytes).err(), Some(DecodeError::TooLarge));
        }
        let mut bytes = Vec::new();
        Entry { peer: PeerId(1), payload: b"abc" }.encode(Leg::Down, &mut bytes);
        for length in 1..bytes.len() {
            assert!(entries(Mode::Unreliable, &bytes[..length]).is_err(), "{length}");
        }
        for broken in [&[][..], &[3, 1, 0, 0, 0, 1, 9], &[1, 1, 0, 0, 0, 0]] {
            assert!(entries(Mode::Unreliable, broken).is_err(), "{broken:?}");
        }
    }
}
