//! How often each thing may happen in one history.

use samovar_wire::Duration;

/// Whose rules the peers follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rules {
    /// Warrants and votes.
    Samovar,
    /// The fourth seed's: whoever sees no lower id announces itself.
    Seed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) rules: Rules,
    pub(crate) peers: usize,
    /// Whether there is a relay at the beginning, behind the founding.
    pub(crate) has_relay: bool,
    /// Whether members come or are dropped.
    pub(crate) electorate_changes: bool,
    /// Peers that die.
    pub(crate) crashes: u8,
    /// Peers that come back, as new ones.
    pub(crate) restarts: u8,
    pub(crate) relay_crashes: u8,
    pub(crate) relay_starts: u8,
    /// Who is parted from the others once, a bit for each peer; bit 7 is the relay.
    pub(crate) cut: u8,
    /// Links that break and begin anew: what they carried is lost.
    pub(crate) losses: u8,
    /// Living and connected peers that one other takes for dead.
    pub(crate) suspicions: u8,
    /// Hosts that want to be succeeded.
    pub(crate) resignations: u8,
    /// Members that the host takes from the view for being silent.
    pub(crate) removals: u8,
    /// How often time passes, and how much each time, in milliseconds.
    pub(crate) ticks: u8,
    pub(crate) span: u16,
}

impl Bounds {
    pub(crate) const NONE: Self = Self {
        rules: Rules::Samovar,
        peers: 4,
        has_relay: true,
        electorate_changes: false,
        crashes: 0,
        restarts: 0,
        relay_crashes: 0,
        relay_starts: 0,
        cut: 0,
        losses: 0,
        suspicions: 0,
        resignations: 0,
        removals: 0,
        ticks: 0,
        span: PROBE,
    };
    const VOTES: Self = Self { has_relay: false, span: VOTE, ..Self::NONE };

    /// Each stresses another part.
    pub(crate) const ALL: [(&str, Self); 13] = [
        ("a1: crash", Self { crashes: 1, ..Self::NONE }),
        ("a2: crash tick", Self { crashes: 1, ticks: 1, ..Self::NONE }),
        ("a5: crash susp", Self { crashes: 1, suspicions: 1, ..Self::NONE }),
        ("a6: susp 2 tick", Self { suspicions: 2, ticks: 1, ..Self::NONE }),
        ("a7: resign", Self { resignations: 1, ticks: 1, ..Self::NONE }),
        ("r1: relay restart", Self { crashes: 1, relay_crashes: 1, relay_starts: 1, ..Self::NONE }),
        ("b3: crash susp tick", Self { crashes: 1, suspicions: 1, ticks: 1, ..Self::VOTES }),
        ("b4: crash 2 tick 2", Self { crashes: 2, ticks: 2, ..Self::VOTES }),
        ("b5: susp 2 loss", Self { suspicions: 2, losses: 1, ..Self::VOTES }),
        ("b6: removals", Self { crashes: 1, removals: 2, electorate_changes: true, ticks: 1, ..Self::VOTES }),
        ("b7: relay goes", Self { has_relay: true, relay_crashes: 1, crashes: 1, ticks: 1, ..Self::VOTES }),
        ("c1: cut", Self { cut: 1, ticks: 2, ..Self::VOTES }),
        ("c2: cut relay", Self { cut: 0x83, ticks: 1, has_relay: true, ..Self::VOTES }),
    ];

    /// A host dies, and one peer hears nothing of another for a while.
    pub(crate) const SEED_FAULTS: Self = Self { crashes: 1, suspicions: 1, ..Self::NONE };
    pub(crate) const SEED: Self = Self { rules: Rules::Seed, has_relay: false, ..Self::SEED_FAULTS };

    pub(crate) const fn span(&self) -> Duration {
        Duration::from_millis(self.span as u64)
    }
}

/// A probe ends, a claim is repeated and counts on.
const PROBE: u16 = 300;
/// A vote is taken to have come to nothing; a lease ends; a relay that does not answer is taken for away.
const VOTE: u16 = 1_100;
