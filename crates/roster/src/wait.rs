//! What a peer waits for whose host is no member that it knows (PROTOCOL §4.10 rule 16).

use samovar_wire::{Duration, Time};

/// A member that misses its host for so long, and is none by the relay's word, was removed; so was who knows no way to its
/// host for so long, when most of the others do.
pub(crate) const REMOVED_AFTER: Duration = Duration::from_millis(3_000);
/// How long who knows no way to its host, and reaches the relay, waits for others to be heard.
const ALONE_FOR: Duration = Duration::from_millis(500);
/// How long who knows no way to its host waits for the relay's word, which may wait for that host itself (PROTOCOL §5.5).
const STRANDED_FOR: Duration = Duration::from_millis(10_000);
/// How long it waits for that word and for the relay itself, which keeps a game's code for as long (PROTOCOL §5.2).
const STRANDED_FOR_MOST: Duration = Duration::from_millis(60_000);

/// What such a peer waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wait {
    /// Since when it may not ask: most of those that it hears are with the host, or it hears nobody at all.
    pub(crate) unasked: Option<Time>,
    /// Since when it has not had to wait for the relay to be back.
    pub(crate) asked: Option<Time>,
    /// Since when it has heard nobody.
    pub(crate) unheard: Option<Time>,
}

impl Wait {
    /// The relay came or went.
    pub(crate) const fn on_relay(&mut self) {
        (self.unasked, self.asked) = (None, None);
    }

    /// When this peer is to come back by its ticket: for it may not ask or has no answer, hears nobody, or misses that host
    /// since `missed` and the relay with it.
    pub(crate) fn until(&self, missed: Option<Time>) -> [Option<Time>; 3] {
        let unanswered = match self.unasked {
            Some(since) => Some(since + REMOVED_AFTER),
            None => self.asked.map(|since| since + STRANDED_FOR),
        };
        let unheard = self.unheard.map(|since| since + ALONE_FOR);
        [unanswered, unheard, missed.map(|since| since + STRANDED_FOR_MOST)]
    }
}
