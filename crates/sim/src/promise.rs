//! What was promised (docs/recovery.md, "Promises"), and how it broke.

use samovar_wire::Time;

/// What was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Promise {
    /// When changes stop, all live members have the same objects, owners and values, and one host.
    Convergence,
    /// A stamp names one owner.
    OneOwner,
    /// At every peer the stamps of an object only grow.
    StampsGrow,
    /// A value is its owner's, and none comes back that was replaced.
    OnlyTheOwnerSpeaks,
    /// A term has one host, and at every peer terms only grow.
    OneHost,
    /// Whoever dies, who is left goes on in the same session.
    GoesOn,
    /// A host that was replaced stops acting, and one that most hear is not replaced.
    Office,
    /// Who does not play does not host, if another can.
    Plays,
    /// Reliable messages arrive once and in order.
    Reliable,
    /// Unreliable and sequenced messages arrive at most once, sequenced ones in order, and some do when all is well.
    Loose,
    /// Causal, total and time-stamp deliveries keep their order, and games in lockstep have the same states.
    Ordered,
    /// Nothing accepted is lost.
    Accepted,
    /// Who was on the side that did not go on is told what it did alone.
    Divergence,
    /// Session time never goes backwards, and is the same at all members when all is well.
    Clock,
    /// Memory is bounded by live members and objects.
    Memory,
    /// Nobody honest is taken for a cheat.
    NoBlame,
    /// A drained machine has nothing due.
    Timers,
    /// A ticket opens a seat once.
    Tickets,
    /// No step from one path to another leaves a hole, and in the end everybody is on the best one.
    Paths,
    /// Nothing panics.
    Panic,
    /// The game's own.
    Game,
}

impl Promise {
    /// Its name in reports.
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
    /// Which.
    pub promise: Promise,
    /// How, for people.
    pub what: String,
}

impl Broken {
    /// A promise that is broken like this.
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
    /// When, in the world's time.
    pub at: Time,
    /// How.
    pub what: String,
}
