//! What a run is made of: who plays, under which conditions, and what happens to them.

use samovar_peer::PathPolicy;
use samovar_session::Rules;
use samovar_wire::{Duration, Time};

use crate::fault::Fault;
use crate::network::Weather;

/// Everything that decides a run beside the game and the seed of its chance.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Players that are there before anything happens.
    pub players: usize,
    /// Frames of a game per second.
    pub frame_rate: u64,
    /// Updates per second to each peer.
    pub update_rate: u64,
    /// The conditions of direct paths.
    pub direct: Weather,
    /// The conditions of the paths to the relay.
    pub relay: Weather,
    /// How long the relay's disk takes for a record.
    pub disk: Duration,
    /// The greatest drift of a clock, in millionths.
    pub drift: u64,
    /// Whether direct connections can be opened at all.
    pub has_direct: bool,
    /// Whether the relay answers offers of data channels.
    pub has_endpoint: bool,
    /// Whether everybody shall be on the best path that there is when all is well again.
    pub climbs: bool,
    /// How long a member that runs is usually not heard by one that it has updates for. One run of fifty may take
    /// longer ([`Summary::excesses`](crate::Summary::excesses)); none may take four times as long.
    pub usual_silence: Option<Duration>,
    /// From when on it is measured how long what the host moves stands still at others, counted like [`Plan::faults`].
    pub standstills_from: Option<Time>,
    /// That is, each time around the moment at which somebody's path gets direct.
    pub standstills_at_rises: bool,
    /// Percent of the stated bound that the memory of a peer may reach.
    pub memory: usize,
    /// Whether what happens is one failure at a time, so that nothing accepted may be lost.
    pub is_single: bool,
    /// Whether most hear the host all the time, so that nobody may replace it, and nobody's session may end.
    pub keeps_host: bool,
    /// How long it may take until those who are left go on when a host is gone.
    pub recovers_within: Option<Duration>,
    /// How the session is kept alive.
    pub rules: Rules,
    /// Which paths members use.
    pub paths: PathPolicy,
    /// When everything is healed, from the moment at which all players are members.
    pub lasts: Duration,
    /// What happens when, counted from the same moment, in any order.
    pub faults: Vec<(Time, Fault)>,
}

impl Plan {
    /// So many players on fair paths, to whom nothing happens for five seconds.
    #[must_use]
    pub fn calm(seed: u64, players: usize) -> Self {
        Self {
            seed,
            players,
            frame_rate: 30,
            update_rate: 30,
            direct: Weather::fair(),
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

    /// Whether somebody's clock does not go on steadily: then session time takes long to be the same everywhere.
    #[must_use]
    pub fn has_odd_clocks(&self) -> bool {
        let is_odd =
            |fault: &Fault| matches!(fault, Fault::ClockJump { .. } | Fault::Sleep { clock_stops: true, .. });
        self.faults.iter().any(|(_, fault)| is_odd(fault))
    }

    /// Adds a fault, so many milliseconds after all players are members.
    pub fn strike(&mut self, at_ms: u64, fault: Fault) {
        self.faults.push((Time::from_micros(at_ms * 1_000), fault));
    }
}
