//! The state of one other member: its promises and messages.

use std::collections::VecDeque;

use samovar_wire::limits::{TIMED_HELD_BYTES_MAX, TIMED_HELD_MAX};
use samovar_wire::timed::Timed;
use samovar_wire::{Duration, PeerId, SortedSet, Time};

use super::promises::Promises;
use super::promising::Promising;

/// Another member, or a former one that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// When this member came, by this peer's session time. Its patience counts from then, so no member is late from
    /// the beginning.
    since: Time,
    /// This member's promises on the present link.
    pub(super) promises: Promises,
    /// The state of this peer's promises to this member on the present link.
    pub(super) promising: Promising,
    /// The highest number among this member's messages that arrived.
    pub(super) newest: u64,
    /// Whether this member has told where its messages to this peer begin. Before that, none of its messages are
    /// taken from other peers, because these have older ones, too.
    pub(super) has_begun: bool,
    /// The number of this peer's last message before the member came.
    pub(super) begins_behind: u64,
    /// How many messages this peer sent to this member on the present link.
    pub(super) sent: u64,
    /// This member's latest messages. Other members may lack them when it is gone.
    pub(super) recent: VecDeque<Timed>,
    /// This member's messages that others passed on before this peer knew that the member is gone.
    pub(super) passed: Vec<Timed>,
    /// Survivors that have passed on all messages of this member that they know.
    pub(super) told: SortedSet<PeerId>,
    /// Once this member is gone: the survivors that have not passed on all its messages yet.
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

    /// The time at which this member becomes late if it promises nothing more. From then on no message waits for it.
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
