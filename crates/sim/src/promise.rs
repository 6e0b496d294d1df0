//! The promises that the simulator checks (docs/recovery.md, "Promises"), and how they break.

use samovar_wire::Time;

/// A promise of Samovar to a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Promise {
    /// When changes stop, all live members have the same objects, owners and values, and one host.
    Convergence,
    /// A stamp names one owner.
    OneOwner,
    /// At every peer the stamps of an object only grow.
    StampsGrow,
    /// Only an object's owner changes its value, and a value that was replaced does not come back.
    OnlyTheOwnerSpeaks,
    /// A term has one host, and at every peer terms only grow.
    OneHost,
    /// Whichever members die, the survivors go on in the same session.
    GoesOn,
    /// A host that was replaced stops acting, and a host that a majority hears is not replaced.
    Office,
    /// A player whose game stands still does not host, if another can.
    Plays,
    /// Reliable messages arrive once and in order.
    Reliable,
    /// Unreliable and sequenced messages arrive at most once, sequenced ones in order. Some arrive once all faults have
    /// healed.
    Loose,
    /// Causal, total and time-stamp deliveries keep their order, and games in lockstep have the same states.
    Ordered,
    /// No accepted input is lost.
    Accepted,
    /// A member on the losing side of a partition is told what it did alone.
    Divergence,
    /// Session time never goes backwards, and is the same at all members once all faults have healed.
    Clock,
    /// Memory is bounded by live members and objects.
    Memory,
    /// No honest peer is blamed for misbehaviour.
    NoBlame,
    /// A state machine that was driven up to now has no timer due.
    Timers,
    /// A ticket opens its seat once, and a player keeps its seat.
    Tickets,
    /// No change of path makes a running member silent for long. In the end every pair of members is on the best
    /// path.
    Paths,
    /// The session, the relay and the game run without a panic.
    Panic,
    /// A promise of the game itself.
    Game,
}

impl Promise {
    /// The promise's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Convergence => "convergence",
            Self::OneOwner => "one-owner",
            Self::StampsGrow => "stamps-grow",
            Self::OnlyTheOwnerSpeaks => "only-the-owner-speaks",
            Self::OneHost => "one-host",
            Self::GoesOn => "goes-on",
            Self::Office => "office",
            Self::Plays => "plays",
            Self::Reliable => "reliable",
            Self::Loose => "loose",
            Self::Ordered => "ordered",
            Self::Accepted => "accepted",
            Self::Divergence => "divergence",
            Self::Clock => "clock",
            Self::Memory => "memory",
            Self::NoBlame => "no-blame",
            Self::Timers => "timers",
            Self::Tickets => "tickets",
            Self::Paths => "paths",
            Self::Panic => "panic",
            Self::Game => "game",
        }
    }
}

/// A promise that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The promise.
    pub promise: Promise,
    /// How the promise broke, for people to read.
    pub what: String,
}

impl Broken {
    /// Describes how a promise was broken.
    #[must_use]
    pub fn new(promise: Promise, what: impl Into<String>) -> Self {
        Self { promise, what: what.into() }
    }
}

/// A broken promise, and when it broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub promise: Promise,
    /// When the promise broke, in the world's time.
    pub at: Time,
    /// How the promise broke, for people to read.
    pub what: String,
}
