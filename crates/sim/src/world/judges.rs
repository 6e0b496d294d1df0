//! The checkers of a run, and the figures that they collect.

use std::collections::BTreeMap;

use samovar_wire::{Duration, PeerId, SessionId};

use crate::check::{Checks, Recoveries, Standstills};
use crate::game::ProcessId;
use crate::promise::Violation;

/// Figures of a run.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Faults that struck, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Terms that began after a session's first.
    pub host_changes: u64,
    /// Hosts that were replaced although nothing was wrong with them.
    pub deposed: u64,
    /// Packets handed to peers.
    pub packets: u64,
    /// The bytes of these packets.
    pub bytes: u64,
    /// Packets that members sent each other directly, and through the relay.
    pub sent: [u64; 2],
    /// The number of times that a process's driver ran.
    pub turns: u64,
    /// The longest silence of a running member; zero if the plan does not bound it.
    pub silence: Duration,
    /// The largest footprint of a peer, in bytes of its `Debug` output.
    pub footprint: usize,
    /// Members that were evicted.
    pub exits: u64,
    /// Members that reported what they had done alone.
    pub diverged: u64,
    /// The times from each eviction until the player was a member again.
    pub returns: Vec<Duration>,
}

/// The checkers of a run, their findings, and the figures.
#[derive(Debug, Default)]
pub(super) struct Judges {
    pub(super) checks: Checks,
    pub(super) recoveries: Recoveries,
    /// The standstills, measured from [`Plan::standstills_from`](crate::Plan::standstills_from) on.
    pub(super) standstills: Option<Standstills>,
    pub(super) figures: Figures,
    pub(super) violation: Option<Violation>,
    looks: u64,
    /// The process whose memory was measured last.
    pub(super) weighed: ProcessId,
    /// The session that all players had joined before the first fault.
    pub(super) founded: Option<SessionId>,
    /// Whether the founded session may have ended: at some moment no member of its highest term was left, its relay
    /// was reset, or a liar hosted it.
    pub(super) is_orphaned: bool,
    /// The process that last closed a link, and the peer at the link's other end.
    pub(super) closed: Option<(ProcessId, PeerId)>,
}

impl Judges {
    pub(super) fn new(forks: bool) -> Self {
        Self { checks: Checks { forks, ..Checks::default() }, ..Self::default() }
    }

    /// Whether a promise is broken, so that the run is over.
    pub(super) const fn is_over(&self) -> bool {
        self.violation.is_some()
    }

    /// Counts a check of everything. Returns the number of these checks.
    pub(super) const fn look(&mut self) -> u64 {
        self.looks += 1;
        self.looks
    }
}
