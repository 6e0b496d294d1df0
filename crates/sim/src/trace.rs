//! What happened, in order: always as a hash, and in full when somebody wants to read it.

use samovar_wire::Time;

use crate::network::Place;

/// Entries that a full trace keeps; older ones make room.
const ENTRIES_MAX: usize = 2_000_000;

/// How much an entry matters to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A packet.
    Packet,
    /// Something that a picture of the run should show.
    Note,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub at: Time,
    /// How much it matters.
    pub level: Level,
    /// Where.
    pub place: Place,
    /// Where to, when it is a message.
    pub to: Option<Place>,
    /// What.
    pub what: String,
}

impl core::fmt::Display for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let seconds = self.at.as_micros() as f64 / 1e6;
        match self.to {
            Some(to) => {
                write!(
                    f,
                    "{seconds:11.6} {:>5} -> {:5} {}",
                    self.place.to_string(),
                    to.to_string(),
                    self.what
                )
            }
            None => write!(f, "{seconds:11.6} {:>5}          {}", self.place.to_string(), self.what),
        }
    }
}

/// The record of a run.
#[derive(Clone, Debug)]
pub struct Trace {
    hash: u64,
    entries: Option<std::collections::VecDeque<Entry>>,
}

impl Default for Trace {
    /// Of a run in which nothing happened yet.
    fn default() -> Self {
        Self::new(false)
    }
}

impl Trace {
    pub(crate) fn new(is_full: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, entries: is_full.then(std::collections::VecDeque::new) }
    }

    /// Two runs in which the same things happened have the same hash.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// What happened, when it was recorded in full.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.entries.is_some()
    }

    /// Something happened that these numbers stand for.
    pub(crate) const fn mix(&mut self, a: u64, b: u64) {
        let mixed = (self.hash ^ a).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.hash = (mixed ^ b).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31);
    }

    /// These bytes arrived somewhere.
    pub(crate) fn mix_bytes(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(16) {
            let mut pair = [0; 16];
            pair[..word.len()].copy_from_slice(word);
            let pair = u128::from_le_bytes(pair);
            self.mix(pair as u64, (pair >> 64) as u64);
        }
    }

    pub(crate) fn packet(&mut self, at: Time, place: Place, to: Place, what: impl FnOnce() -> String) {
        self.push(Level::Packet, at, (place, Some(to)), what);
    }

    pub(crate) fn message(&mut self, at: Time, place: Place, to: Place, what: impl FnOnce() -> String) {
        self.push(Level::Note, at, (place, Some(to)), what);
    }

    pub(crate) fn note(&mut self, at: Time, place: Place, what: impl FnOnce() -> String) {
        self.push(Level::Note, at, (place, None), what);
    }

    fn push(&mut self, level: Level, at: Time, ends: (Place, Option<Place>), what: impl FnOnce() -> String) {
        let Some(entries) = &mut self.entries else { return };
        if entries.len() == ENTRIES_MAX {
            entries.pop_front();
        }
        entries.push_back(Entry { at, level, place: ends.0, to: ends.1, what: what() });
    }
}
