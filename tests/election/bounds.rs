//! The number of times that each event may happen in one history.

use samovar_wire::Duration;

/// The rules that the peers follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rules {
    /// Warrants and votes.
    Samovar,
    /// The rules of DirectPlay 4: a peer that sees no lower id announces itself.
    Seed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) rules: Rules,
    pub(crate) peers: usize,
    /// Whether the relay is still there after the founding.
    pub(crate) has_relay: bool,
    /// Whether the electorate may change, because members come or are dropped.
    pub(crate) electorate_changes: bool,
    /// Peers that die.
    pub(crate) crashes: u8,
    /// Peers that come back under new ids.
    pub(crate) restarts: u8,
    pub(crate) relay_crashes: u8,
    pub(crate) relay_starts: u8,
    /// The slots that one partition separates from the others: a bit for each peer. Bit 7 is the relay. Bit 6 means
    /// that the relay reaches all peers.
    pub(crate) cut: u8,
    /// Links that break and begin anew. The messages in them are lost.
    pub(crate) losses: u8,
    /// The number of times that a peer takes a living, connected peer for dead.
    pub(crate) suspicions: u8,
    /// Hosts that hand over.
    pub(crate) resignations: u8,
    /// Members that the host removes from the view because they are silent.
    pub(crate) removals: u8,
    /// The number of ticks, and by how much the time moves with each, in milliseconds.
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
    /// There is no relay any more, so the next host is elected by votes.
    const VOTES: Self = Self { has_relay: false, span: VOTE, ..Self::NONE };

    /// The number of bounds at the beginning of [`Self::NARROW`] that are checked with every change.
    pub(crate) const QUICK: usize = 7;

    /// Each of these bounds stresses another part. The quick ones come first. Together they have 5.9 million states,
    /// and take four minutes of one core in the dev profile.
    pub(crate) const NARROW: [(&str, Self); 12] = [
        ("the relay: a crash, a false alarm", Self::SEED_FAULTS),
        ("the relay: three, a resignation", Self { peers: 3, resignations: 1, ticks: 1, ..Self::NONE }),
        (
            "the relay: three, one crashes and comes back",
            Self { peers: 3, crashes: 1, restarts: 1, removals: 1, electorate_changes: true, ..Self::NONE },
        ),
        ("the relay restarts, a false alarm", Self { suspicions: 1, ..Self::RELAY_RESTARTS }),
        ("the relay restarts: three, a crash", Self { peers: 3, crashes: 1, ..Self::RELAY_RESTARTS }),
        ("the relay goes, a crash", Self { has_relay: true, relay_crashes: 1, crashes: 1, ..Self::VOTES }),
        (
            "votes: two crashes, a false alarm, a lost link",
            Self { crashes: 2, suspicions: 1, losses: 1, ticks: 1, ..Self::VOTES },
        ),
        ("the relay: a crash", Self { crashes: 1, ticks: 1, ..Self::NONE }),
        ("votes: a resignation, a crash", Self { resignations: 1, crashes: 1, ..Self::VOTES }),
        (
            "votes: members are dropped, a crash, a false alarm",
            Self {
                crashes: 1,
                suspicions: 1,
                removals: 2,
                electorate_changes: true,
                ticks: 1,
                ..Self::VOTES
            },
        ),
        ("votes: two and two, a crash", Self { cut: 0b0011, crashes: 1, ticks: 1, ..Self::VOTES }),
        ("two: the host and the relay, and the other", Self { peers: 2, ..Self::HOST_AND_RELAY }),
    ];

    /// Bounds that take hours, and many gigabytes.
    pub(crate) const WIDE: [(&str, Self); 7] = [
        ("the relay: a resignation", Self { resignations: 1, ticks: 1, ..Self::NONE }),
        (
            "the relay: one crashes and comes back",
            Self { crashes: 1, restarts: 1, removals: 1, electorate_changes: true, ..Self::NONE },
        ),
        ("the relay: two crashes", Self { crashes: 2, ticks: 1, ..Self::NONE }),
        ("the relay restarts, a crash", Self { crashes: 1, ..Self::RELAY_RESTARTS }),
        (
            "votes: a resignation, a crash, time",
            Self { resignations: 1, crashes: 1, ticks: 1, ..Self::VOTES },
        ),
        ("votes: the host, and the others", Self { cut: 1, ticks: 1, ..Self::VOTES }),
        ("three: the host and the relay, and the others", Self { peers: 3, ..Self::HOST_AND_RELAY }),
    ];

    /// All events at once, for random histories.
    pub(crate) const ALL: Self = Self {
        electorate_changes: true,
        crashes: 2,
        restarts: 2,
        relay_crashes: 1,
        relay_starts: 1,
        losses: 2,
        suspicions: 2,
        resignations: 1,
        removals: 2,
        ticks: 8,
        ..Self::NONE
    };

    /// Hosts die, and there is no relay.
    pub(crate) const ORPHANS: Self = Self { crashes: 2, losses: 1, suspicions: 1, ticks: 2, ..Self::VOTES };

    const HOST_AND_RELAY: Self = Self { cut: 0b1000_0001, has_relay: true, ..Self::VOTES };
    const RELAY_RESTARTS: Self = Self { relay_crashes: 1, relay_starts: 1, ..Self::NONE };

    /// A host dies, and one peer does not hear another for a while.
    pub(crate) const SEED_FAULTS: Self = Self { crashes: 1, suspicions: 1, ..Self::NONE };
    pub(crate) const SEED: Self = Self { rules: Rules::Seed, has_relay: false, ..Self::SEED_FAULTS };

    pub(crate) const fn span(&self) -> Duration {
        Duration::from_millis(self.span as u64)
    }
}

/// Partitions that separate one, two or three peers from the others, with the relay on either side or reached by
/// both.
pub(crate) const CUTS: [u8; 8] =
    [0, 0b0001, 0b0011, 0b1000_0001, 0b1000_0011, 0b0111, 0b0100_0001, 0b0100_0011];

/// A tick of this many milliseconds lasts longer than the pause between two claims, but not as long as a claim
/// counts. It ends a probe only if most members seem to have died with the host.
pub(crate) const PROBE: u16 = 300;
/// Within this time, in milliseconds, a vote counts as failed, a lease ends, and a relay that does not answer counts
/// as away.
pub(crate) const VOTE: u16 = 1_100;
