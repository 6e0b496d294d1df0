//! The faults of a world. They are plain data, so that [`shrink`](crate::shrink) can remove those that a failure does
//! not need.

use samovar_wire::Duration;

use crate::network::Weather;

/// The processes that a fault strikes. They are determined at the moment when the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// One player.
    Player(usize),
    /// These players: bit n stands for player n.
    Players(u64),
    /// The process that hosts under the highest term.
    Host,
    /// The first backup that the newest view names.
    Backup,
    /// The host and this many other players, those with the lowest numbers.
    HostAnd(usize),
    /// The host and all other players except this many, those with the highest numbers.
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

/// The direction in which a cut stops packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both directions.
    Both,
    /// From the group to the other side.
    Out,
    /// From the other side to the group.
    In,
}

/// The other side of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// All other players, and the relay unless it belongs to the group.
    Rest,
    /// The relay alone.
    Relay,
    /// All other players, but not the relay.
    Players,
}

/// One event of a plan: a failure, or something that players do. `Leave`, `ClosePage`, `Crash` and `Death` spare the
/// last member that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Another player joins.
    Join,
    /// Players leave for good and say so.
    Leave(Who),
    /// Players leave for good and say so, even if no running member is left.
    Abandon(Who),
    /// Players close their pages: each peer says that it leaves, and its process ends at once.
    ClosePage(Who),
    /// Players reload their pages: each peer says that it goes away, and soon comes back with what its page kept of
    /// the session.
    Reload(Who),
    /// The host hands over to another member and stays.
    HandOver,
    /// No fault: standstills are measured as if the host had been lost.
    Watch {
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// The processes end at once. The system closes their sockets to the relay, and direct paths fall silent. After
    /// `back` they start again with their tickets.
    Crash {
        /// The players that the fault strikes.
        who: Who,
        /// How long until they start again. `None`: they start when everything heals.
        back: Option<Duration>,
    },
    /// The processes end without a sign, as when power fails or a cable is cut. The relay keeps their sockets open
    /// until it misses them.
    Death {
        /// The players that the fault strikes.
        who: Who,
        /// How long until they start again. `None`: they start when everything heals.
        back: Option<Duration>,
    },
    /// The machine sleeps, as when a laptop's lid is closed. Datagrams to it are lost, and data in streams waits.
    Sleep {
        /// The players that the fault strikes.
        who: Who,
        /// How long the fault lasts.
        lasts: Duration,
        /// Whether its clock stops meanwhile, as some clocks do.
        clock_stops: bool,
    },
    /// A process does not run for a while, and what arrives waits. Possible causes: a debugger, a full disk, a frozen
    /// tab.
    Stall {
        /// The players that the fault strikes.
        who: Who,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// A tab is hidden: its timers and frames run once a second.
    Hide {
        /// The players that the fault strikes.
        who: Who,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// Games make no steps, but the rest of their processes runs. Possible causes: a browser that withholds frames, a
    /// game that waits.
    StandStill {
        /// The players that the fault strikes.
        who: Who,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// A clock jumps ahead.
    ClockJump {
        /// The players that the fault strikes.
        who: Who,
        /// How far the clock jumps.
        by: Duration,
    },
    /// The relay's process ends, and starts again from what its disk holds.
    RelayCrash {
        /// How long until the relay starts again.
        lasts: Duration,
    },
    /// The relay's process ends, and another starts in its place with a new key and an empty disk.
    RelayReset {
        /// How long until the relay starts again.
        lasts: Duration,
    },
    /// The relay does not run for a while, and what arrives waits. Possible causes: a debugger, a machine that swaps.
    RelayStall {
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// The relay announces that it will stop, stops, and starts again.
    RelayDrain {
        /// How long after the announcement the relay stops.
        within: Duration,
        /// How long the relay then stays stopped.
        lasts: Duration,
    },
    /// The relay's disk is slow.
    SlowDisk {
        /// How long it takes to write one record.
        delay: Duration,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// A group cannot reach others.
    Cut {
        /// The group.
        group: Group,
        /// The other side.
        beyond: Beyond,
        /// The direction.
        direction: Direction,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// The paths of a player are cut and mended again and again.
    Flap {
        /// The players that the fault strikes.
        who: Who,
        /// The number of cuts.
        times: u32,
        /// How long each cut lasts, and each pause between two cuts.
        period: Duration,
    },
    /// All direct paths are under these conditions.
    Storm {
        /// The conditions.
        weather: Weather,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// The direct paths from some players have very little bandwidth.
    Clog {
        /// The players that the fault strikes.
        who: Who,
        /// Bytes per second.
        bandwidth: u64,
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// No direct connection can be opened or used.
    NoDirect {
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// No datagram arrives anywhere: neither direct connections nor data channels to the relay can be opened or used.
    NoUdp {
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// The network addresses of players change. Connections that they opened before carry no data any more.
    Move {
        /// The players that the fault strikes.
        who: Who,
        /// Whether their machines notice. A machine notices that it is in another network. It does not notice that a
        /// router (NAT) gave it another port.
        is_told: bool,
    },
    /// Machines report a change of network that did not happen.
    Online {
        /// The players that the fault strikes.
        who: Who,
    },
    /// A proxy in front of the relay breaks all sockets within 5 ms, and accepts new ones.
    ProxyReload,
    /// A new player joins with the ticket that a player had before its present one.
    OldTicket {
        /// The players whose former tickets are shown.
        who: Who,
    },
    /// A new player joins with a forged ticket: the hash of a player's ticket, which every member reads in the view.
    ForgedTicket {
        /// The players whose tickets are forged.
        who: Who,
    },
    /// A stranger enters the game at the relay and never asks the host for a seat. It sends the relay and the host
    /// messages that may do harm.
    Stranger {
        /// How long the fault lasts.
        lasts: Duration,
    },
    /// A member lies: beside its peer's honest messages it sends the relay and other members messages that may do
    /// harm. The member's process is ended when everything heals.
    Lie {
        /// The player. The checkers ignore the messages of its game from the beginning of the run on.
        player: usize,
        /// How long the fault lasts.
        lasts: Duration,
    },
}

impl Fault {
    /// The name of the fault's kind, by which reports count faults.
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
