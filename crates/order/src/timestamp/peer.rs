//! The state of one other member: its promises and messages.

use std::collections::VecDeque;

use samovar_wire::limits::{TIMED_HELD_BYTES_MAX, TIMED_HELD_MAX};
use samovar_wire::timed::Timed;
use samovar_wire::{Duration, PeerId, SortedSet, Time};

use super::promises::Promises;
use super::promising::Promising;

/// Another member, or one that was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// When it came, by this peer's session time: no member is late from the beginning.
    since: Time,
    /// Its promises on the present link.
    pub(super) promises: Promises,
    /// How this peer promises to it on the present link.
    pub(super) promising: Promising,
    /// The highest number of its messages that came.
    pub(super) newest: u64,
    /// Whether it has told where its messages to this peer begin. Before that, none of its messages are taken from
    /// other peers, which have older ones, too.
    pub(super) has_begun: bool,
    /// The number of this peer's last message before the member came.
    pub(super) begins_behind: u64,
    /// How many messages it was sent on the present link.
    pub(super) sent: u64,
    /// Its latest messages, which others might miss if it goes.
    pub(super) recent: VecDeque<Timed>,
    /// Its messages that others told before this peer knew that it is gone.
    pub(super) passed: Vec<Timed>,
    /// Survivors that have told all its messages that they know.
    pub(super) told: SortedSet<PeerId>,
    /// When it is gone: the survivors that have not told everything yet.
    pub(super) awaited: Option<SortedSet<PeerId>>,
    pub(super) was_late: bool,
}

impl Peer {
    pub(super) fn new(now: Time, begins_behind: u64, newest: u64) -> Self {
        Self {
            since: now,
            promises: Promises::default(),
            promising: Promising::default(),
            newest,
            has_begun: false,
            begins_behind,
            sent: 0,
            recent: VecDeque::new(),
            passed: Vec::new(),
            told: SortedSet::new(),
            awaited: None,
            was_late: false,
        }
    }

    pub(super) const fn is_gone(&self) -> bool {
        self.awaited.is_some()
    }

    /// The time from which on it delays no message, if nothing more is heard of it.
    pub(super) fn late_at(&self, patience: Duration) -> Time {
        self.promises.bound.max(self.since) + patience
    }

    pub(super) fn begin_anew(&mut self) {
        self.promises.begin_anew();
        self.promising = Promising::default();
        self.sent = 0;
    }

    /// Remembers a message for members that may miss it.
    pub(super) fn keep(&mut self, message: &Timed) {
        self.newest = message.number;
        self.recent.push_back(message.clone());
        while self.recent.len() > TIMED_HELD_MAX || self.recent_size() > TIMED_HELD_BYTES_MAX {
            self.recent.pop_front();
        }
    }

    fn recent_size(&self) -> usize {
        self.recent.iter().map(|message| message.bytes.len()).sum()
    }

    pub(super) fn forget(&mut self, until: Time) {
        while self.recent.front().is_some_and(|message| message.time < until) {
            self.recent.pop_front();
        }
    }
}
