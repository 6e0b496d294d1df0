//! The record of a run: always a hash of its events, and on request the events themselves.

use samovar_wire::Time;

use crate::network::Place;

/// The most entries that a full trace keeps. When it is full, the oldest are dropped.
const ENTRIES_MAX: usize = 2_000_000;

/// How much an entry matters to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A packet.
    Packet,
    /// An event that a chart of the run shows.
    Note,
}

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When the event happened, in the world's time.
    pub at: Time,
    /// How much the event matters to a reader.
    pub level: Level,
    /// The place where the event happened, or the sender.
    pub place: Place,
    /// The receiver, if the event is a packet or a message.
    pub to: Option<Place>,
    /// The text, for people to read.
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
    /// The trace of a run that has not begun.
    fn default() -> Self {
        Self::new(false)
    }
}

impl Trace {
    pub(crate) fn new(is_full: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, entries: is_full.then(std::collections::VecDeque::new) }
    }

    /// The hash of all events. Runs with the same events have the same hash.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// The entries, oldest first; none if the run recorded only the hash.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.entries.is_some()
    }

    /// Mixes an event into the hash. The two numbers stand for the event.
    pub(crate) const fn mix(&mut self, a: u64, b: u64) {
        let mixed = (self.hash ^ a).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.hash = (mixed ^ b).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31);
    }

    /// Mixes bytes that arrived into the hash.
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
