//! What can happen to a world. A script of faults is plain data, so that those that are not needed can be left out.

use samovar_wire::Duration;

use crate::network::Weather;

/// Whom a fault strikes; found out when it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// One player.
    Player(usize),
    /// These players, a bit for each.
    Players(u64),
    /// The process that hosts by the highest term.
    Host,
    /// Whoever that host's view names to succeed it.
    Backup,
    /// The host and so many others, those with the lowest numbers.
    HostAnd(usize),
    /// The host and everybody else but so many, those with the highest numbers.
    AllBut(usize),
}

/// Some players, and perhaps the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The players.
    pub who: Who,
    /// Whether the relay is among them.
    pub relay: bool,
}

/// Which way a cut cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Nothing gets through.
    Both,
    /// What the group sends does not.
    Out,
    /// What the group is sent does not.
    In,
}

/// What is on the other side of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Everybody else, and the relay unless it belongs to the group.
    Rest,
    /// The relay alone.
    Relay,
    /// All other players, but not the relay.
    Players,
}

/// Something that goes wrong, or merely happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Another player joins.
    Join,
    /// Players leave for good, with a farewell.
    Leave(Who),
    /// Players leave for good, though nobody may be left but those who are about to come back.
    Abandon(Who),
    /// Players close their pages: they say farewell, and nothing of them is left then.
    ClosePage(Who),
    /// Players load their pages anew: these say that they go, and are back soon, with what they kept of the session.
    Reload(Who),
    /// A host gives its office to another and stays.
    HandOver,
    /// Nothing; what stands still meanwhile is measured as if something had happened.
    Watch {
        /// How long.
        lasts: Duration,
    },
    /// The processes end at once; the system closes their sockets to the relay, direct paths fall silent. After `back`
    /// they start again, with their tickets.
    Crash {
        /// Whose.
        who: Who,
        /// When they are back; `None`: not before the end.
        back: Option<Duration>,
    },
    /// The processes end and nobody is told: the power went, the cable was cut. The relay's sockets stay open until it
    /// misses them.
    Death {
        /// Whose.
        who: Who,
        /// When they are back.
        back: Option<Duration>,
    },
    /// Nothing of a machine runs: the lid was closed. Datagrams to it are lost, streams wait.
    Sleep {
        /// Whose.
        who: Who,
        /// How long.
        lasts: Duration,
        /// Whether its clock stands still meanwhile, as some do.
        clock_stops: bool,
    },
    /// A process does not run for a while, and what arrives waits: a debugger, a full disk, a frozen tab.
    Stall {
        /// Whose.
        who: Who,
        /// How long.
        lasts: Duration,
    },
    /// A tab is hidden: one timer a second, and no frames.
    Hide {
        /// Whose.
        who: Who,
        /// How long.
        lasts: Duration,
    },
    /// Games make no steps, and all else of their processes goes on: a browser that withholds frames, a game that waits.
    StandStill {
        /// Whose.
        who: Who,
        /// How long.
        lasts: Duration,
    },
    /// A clock jumps ahead.
    ClockJump {
        /// Whose.
        who: Who,
        /// How far.
        by: Duration,
    },
    /// The relay's process ends, and starts again from what its disk holds.
    RelayCrash {
        /// After how long.
        lasts: Duration,
    },
    /// The relay's process ends, and another starts in its place, without its key and its disk.
    RelayReset {
        /// After how long.
        lasts: Duration,
    },
    /// The relay does not run for a while, and what arrives waits: a debugger, a machine that swaps.
    RelayStall {
        /// How long.
        lasts: Duration,
    },
    /// The relay says that it is about to stop, stops, and starts again.
    RelayDrain {
        /// How long after it said so it stops.
        within: Duration,
        /// After how long it starts.
        lasts: Duration,
    },
    /// The relay's disk takes long.
    SlowDisk {
        /// How long for one record.
        delay: Duration,
        /// Until when.
        lasts: Duration,
    },
    /// A group cannot reach others.
    Cut {
        /// The group.
        group: Group,
        /// Whom.
        beyond: Beyond,
        /// Which way.
        direction: Direction,
        /// How long.
        lasts: Duration,
    },
    /// The paths of a player are cut and mended again and again.
    Flap {
        /// Whose.
        who: Who,
        /// How often.
        times: u32,
        /// How long it is cut, and then not.
        period: Duration,
    },
    /// All direct paths are under these conditions.
    Storm {
        /// Which.
        weather: Weather,
        /// How long.
        lasts: Duration,
    },
    /// The direct paths from some players carry next to nothing.
    Clog {
        /// Whose.
        who: Who,
        /// Bytes per second.
        bandwidth: u64,
        /// How long.
        lasts: Duration,
    },
    /// No direct connection can be opened or used.
    NoDirect {
        /// How long.
        lasts: Duration,
    },
    /// No datagram reaches anybody: neither direct connections nor data channels to the relay can be opened or used.
    NoUdp {
        /// How long.
        lasts: Duration,
    },
    /// Players are behind another address from now on: nothing that they opened before carries any more.
    Move {
        /// Whose.
        who: Who,
        /// Whether their machines notice, as they do when they change their network, and not when a router forgot them.
        is_told: bool,
    },
    /// Machines say that their network changed, which it did not.
    Online {
        /// Whose.
        who: Who,
    },
    /// A proxy in front of the relay breaks all sockets, one after another within a moment, and takes new ones.
    ProxyReload,
    /// Somebody starts a process with the ticket that a player had before its present one.
    OldTicket {
        /// Whose.
        who: Who,
    },
    /// Somebody starts a process with a ticket made of what the view has of a player's, which all members read.
    ForgedTicket {
        /// Whose.
        who: Who,
    },
    /// Somebody enters the game at the relay, never asks the host for a seat, and says to the relay and to others what may
    /// hurt.
    Stranger {
        /// How long.
        lasts: Duration,
    },
    /// A member says to the relay and to others what may hurt, beside all that its peer says. When everything heals it is gone.
    Lie {
        /// The player. Nothing that it tells other games is judged, from the beginning of the run on.
        player: usize,
        /// How long.
        lasts: Duration,
    },
}

impl Fault {
    /// The kind, as reports count it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave(_) => "leave",
            Self::Abandon(_) => "abandon",
            Self::ClosePage(_) => "page-closed",
            Self::Reload(_) => "reload",
            Self::HandOver => "hand-over",
            Self::Watch { .. } => "watch",
            Self::Crash { .. } => "crash",
            Self::Death { .. } => "silent-death",
            Self::Sleep { .. } => "sleep",
            Self::Stall { .. } => "stall",
            Self::Hide { .. } => "hide",
            Self::StandStill { .. } => "stand-still",
            Self::ClockJump { .. } => "clock-jump",
            Self::RelayCrash { .. } => "relay-crash",
            Self::RelayReset { .. } => "relay-reset",
            Self::RelayStall { .. } => "relay-stall",
            Self::RelayDrain { .. } => "relay-drain",
            Self::SlowDisk { .. } => "slow-disk",
            Self::Cut { direction: Direction::Both, .. } => "partition",
            Self::Cut { .. } => "asymmetric-partition",
            Self::Flap { .. } => "flap",
            Self::Storm { .. } => "storm",
            Self::Clog { .. } => "clog",
            Self::NoDirect { .. } => "no-direct",
            Self::NoUdp { .. } => "no-udp",
            Self::Move { is_told: true, .. } => "new-network",
            Self::Move { .. } => "nat-rebind",
            Self::Online { .. } => "online",
            Self::ProxyReload => "proxy-reload",
            Self::OldTicket { .. } => "old-ticket",
            Self::ForgedTicket { .. } => "forged-ticket",
            Self::Stranger { .. } => "stranger",
            Self::Lie { .. } => "lie",
        }
    }
}
