//! The plan of a run: its players, the network's conditions, the faults, and what must hold.

use samovar_peer::PathPolicy;
use samovar_session::Rules;
use samovar_wire::{Duration, Time};

use crate::fault::Fault;
use crate::network::Weather;

/// Everything that decides a run, except the game.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of players that join before the first fault.
    pub players: usize,
    /// Game frames per second.
    pub frame_rate: u64,
    /// Updates per second that a member sends to each other member.
    pub update_rate: u64,
    /// The conditions of direct paths, and of data channels to the relay.
    pub direct: Weather,
    /// How much longer packets take on the direct path from one player to another, until everything
    /// heals.
    pub lags: Vec<(usize, usize, Duration)>,
    /// The conditions of the WebSockets to the relay.
    pub relay: Weather,
    /// How long the relay's disk takes to write a record.
    pub disk: Duration,
    /// The greatest drift of a process's clock, fast or slow, in millionths.
    pub drift: u64,
    /// Whether direct connections can be opened at all.
    pub has_direct: bool,
    /// Whether the relay answers offers of data channels.
    pub has_endpoint: bool,
    /// Whether, after all faults have healed, every pair of members must reach the best path that the network allows.
    pub climbs: bool,
    /// The longest usual silence of a running member, as another member hears it. One run of fifty may exceed it
    /// ([`Summary::excesses`](crate::Summary::excesses)); no run may exceed four times this. `None`: not checked.
    pub usual_silence: Option<Duration>,
    /// When the measurement of standstills begins, counted like [`Plan::faults`]. A standstill is a time in which the
    /// beacon ([`Game::beacon`](crate::Game::beacon)) stands still at a member that does not own it. `None`: not
    /// measured.
    pub standstills_from: Option<Time>,
    /// Whether standstills are measured only for 500 ms after a member's path to the host becomes direct (a *rise*).
    pub standstills_at_rises: bool,
    /// The share of its memory bound that a peer may use, in percent.
    pub memory: usize,
    /// Whether at most one thing fails at a time. Then no accepted input may be lost.
    pub is_single: bool,
    /// Whether a majority hears the host all the time. Then no member may replace it, and no member's session may end.
    pub keeps_host: bool,
    /// How long survivors may take to go on after the last loss of a host. This is checked before everything heals.
    /// `None`: not checked.
    pub recovers_within: Option<Duration>,
    /// The rules of the session.
    pub rules: Rules,
    /// Which paths members use.
    pub paths: PathPolicy,
    /// The time at which all faults heal, counted from the moment at which all players are members.
    pub lasts: Duration,
    /// The faults and their times, counted from the same moment, in any order.
    pub faults: Vec<(Time, Fault)>,
}

impl Plan {
    /// A plan of this many players on fair paths, without faults, that lasts five seconds.
    #[must_use]
    pub fn calm(seed: u64, players: usize) -> Self {
        Self {
            seed,
            players,
            frame_rate: 30,
            update_rate: 30,
            direct: Weather::fair(),
            lags: Vec::new(),
            relay: Weather::fair(),
            disk: Duration::from_millis(2),
            drift: 50,
            has_direct: true,
            has_endpoint: true,
            climbs: false,
            usual_silence: None,
            standstills_from: None,
            standstills_at_rises: false,
            memory: 100,
            is_single: false,
            keeps_host: false,
            recovers_within: None,
            rules: Rules::default(),
            paths: PathPolicy::Auto,
            lasts: Duration::from_millis(5_000),
            faults: Vec::new(),
        }
    }

    /// Whether a fault makes a clock jump or stop. Session time then takes long to agree at all members.
    #[must_use]
    pub fn has_odd_clocks(&self) -> bool {
        let is_odd =
            |fault: &Fault| matches!(fault, Fault::ClockJump { .. } | Fault::Sleep { clock_stops: true, .. });
        self.faults.iter().any(|(_, fault)| is_odd(fault))
    }

    /// Adds a fault that strikes `at_ms` milliseconds after all players are members.
    pub fn strike(&mut self, at_ms: u64, fault: Fault) {
        self.faults.push((Time::from_micros(at_ms * 1_000), fault));
    }
}
