//! Named scenarios, each of which makes a plan from a seed.

mod chaos;
mod crashes;
mod holes;
mod joins;
mod orders;
mod partitions;
mod paths;
mod recoveries;
mod relays;
mod sleepers;

use samovar_peer::PathPolicy;
use samovar_wire::Duration;

use crate::dice::Dice;
use crate::network::Weather;
use crate::plan::Plan;

/// A kind of run: its name, its description, and the function from seed to plan.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The scenario's name on the command line.
    pub name: &'static str,
    /// A line that describes the scenario's events.
    pub about: &'static str,
    /// Whether a soak of all scenarios includes it. The others run only by name.
    pub is_soaked: bool,
    make: fn(u64) -> Plan,
}

/// How the members of a session reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Directly, wherever a direct path can be opened.
    #[default]
    Mesh,
    /// By the host and its backups, which carry packets between two other members.
    ByHost,
}

impl Shape {
    /// The flag of the simulator's commands for this shape; empty for a mesh.
    #[must_use]
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Mesh => "",
            Self::ByHost => " --by-host",
        }
    }
}

impl Scenario {
    /// The plan of a seed, in a mesh.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        (self.make)(seed)
    }

    /// The plan of a seed, in this shape.
    #[must_use]
    pub fn plan_in(&self, shape: Shape, seed: u64) -> Plan {
        let mut plan = self.plan(seed);
        match shape {
            Shape::Mesh => {}
            Shape::ByHost => {
                plan.paths = PathPolicy::ByHost;
                if !plan.has_direct {
                    plan.direct.bandwidth =
                        plan.direct.bandwidth.map(|bandwidth| bandwidth.max(carried(&plan)));
                }
            }
        }
        plan
    }

    /// The most evictions per simulated hour that the scenario may have.
    #[must_use]
    pub fn exits_at_most(&self) -> f64 {
        EXITS.iter().find(|(name, _)| *name == self.name).map_or(EXITS_ELSEWHERE, |&(_, most)| most)
    }

    /// The scenario of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }
}

const fn scenario(name: &'static str, about: &'static str, make: fn(u64) -> Plan) -> Scenario {
    Scenario { name, about, is_soaked: true, make }
}

/// Makes a scenario that measures something. It runs only by name.
const fn recovery(name: &'static str, about: &'static str, make: fn(u64) -> Plan) -> Scenario {
    Scenario { name, about, is_soaked: false, make }
}

/// All scenarios. `chaos` is the last one that is part of every soak.
pub const SCENARIOS: &[Scenario] = &[
    recovery("calm", "nothing happens; the simulator's speed is measured by it", joins::calm),
    scenario("host-crash", "the host's process ends, its sockets close", crashes::host_crash),
    scenario("silent-death", "the host's cable is cut", crashes::silent_death),
    scenario("host-and-backup-crash", "the host and its backup end together", crashes::host_and_backup_crash),
    scenario("all-but-one-crash", "all members but one end", crashes::all_but_one_crash),
    scenario(
        "relay-crash-then-host-crash",
        "the relay crashes, and then the host",
        relays::relay_crash_then_host_crash,
    ),
    scenario(
        "relay-gone-and-host-hesitates",
        "the relay is gone, the host is silent for a moment, and some members vote",
        relays::host_hesitates,
    ),
    scenario(
        "partition-with-host-in-minority",
        "a partition leaves the host with fewer than half of the players",
        partitions::host_in_minority,
    ),
    scenario(
        "asymmetric-partition",
        "some places can send and not receive, or receive and not send",
        partitions::asymmetric,
    ),
    scenario(
        "few-miss-the-host",
        "a few members do not hear the host, most do, and it stays",
        partitions::few_miss_the_host,
    ),
    scenario("sides-fork", "both sides of a partition play on until they meet again", partitions::sides_fork),
    scenario(
        "last-survivor",
        "the relay is gone, then all members but one, and that one plays on alone",
        relays::last_survivor,
    ),
    scenario("flapping-link", "a player's network comes and goes", partitions::flapping),
    scenario("hidden-host", "the host's tab goes to the background", sleepers::hidden_host),
    scenario(
        "game-stands-still",
        "the host's game makes no steps, and its network goes on",
        sleepers::game_stands_still,
    ),
    scenario(
        "successor-leaves",
        "the host stalls, and its successor leaves while the old host comes back",
        sleepers::successor_leaves,
    ),
    scenario("sleeping-host-wakes", "the host's machine sleeps and wakes", sleepers::sleeping_host_wakes),
    scenario("rolling-joins", "players join while hosts go", joins::rolling_joins),
    scenario("hand-over", "the host hands over to another member and stays", joins::hand_over),
    scenario(
        "hosts-leave-together",
        "the host leaves or hands over, and its heir leaves meanwhile",
        joins::hosts_leave_together,
    ),
    scenario("mass-leave", "all but a few leave at once, the host among them", joins::mass_leave),
    scenario(
        "two-claims-at-once",
        "the host is gone and its successors do not reach each other",
        partitions::two_claims,
    ),
    scenario(
        "relay-restarts-with-stale-host",
        "the relay restarts while the host is cut off or asleep",
        relays::stale_host,
    ),
    scenario("relay-freezes", "the relay freezes for a while, and hosts go meanwhile", relays::freezes),
    scenario(
        "relay-with-a-new-key",
        "another relay takes the first one's place, with a new key and an empty disk",
        relays::new_key,
    ),
    scenario("relay-drains", "the relay announces that it stops, stops, and starts again", relays::drains),
    scenario("all-reload", "all players reload their pages at once and come back", joins::all_reload),
    scenario(
        "all-reload-but-a-pair",
        "all but two players reload their pages; those two play on without the relay",
        joins::all_reload_but_a_pair,
    ),
    scenario("pages-closed", "pages are closed one after another, the host's first", joins::pages_closed),
    scenario("no-migration", "the host is lost, and the game forbids a new host", crashes::no_migration),
    scenario("old-ticket-replayed", "a newcomer shows a ticket that was used", joins::old_ticket),
    scenario(
        "path-upgrade",
        "datagrams get through in mid-game: first to the relay, then directly",
        paths::upgrade,
    ),
    scenario("path-downgrade", "paths fail one after another, also in one direction only", paths::downgrade),
    scenario("udp-blocked", "no datagram gets through, and hosts go meanwhile", paths::udp_blocked),
    scenario("nat-rebind", "the addresses of players change in mid-game", paths::nat_rebind),
    scenario(
        "online-event",
        "machines report a change of network that did not happen: the host stays",
        paths::online_event,
    ),
    scenario(
        "proxy-reload",
        "a proxy breaks all sockets while packets go through the relay: the host stays",
        paths::proxy_reload,
    ),
    scenario(
        "relay-gone-while-relayed",
        "the relay crashes while packets go through it",
        paths::relay_gone_while_relayed,
    ),
    scenario(
        "sequencer-crash",
        "members send in every order while the host ends, and perhaps the next host",
        orders::sequencer_crash,
    ),
    scenario("lockstep-host-crash", "the host of a game in lockstep ends", orders::lockstep_host_crash),
    scenario(
        "lockstep-slow-player",
        "a player of a game in lockstep is slow, and then frozen",
        orders::lockstep_slow_player,
    ),
    scenario(
        "liars",
        "members send messages that may do harm: no honest member loses its seat",
        chaos::liars,
    ),
    scenario("chaos-with-liars", "chaos in which members lie", chaos::with_liars),
    scenario("chaos", "everything at once, 2 to 12 players", chaos::chaos),
    recovery("weather", "ten minutes of bad weather: a healthy host is not deposed", recoveries::weather),
    recovery(
        "weather-by-stream",
        "ten minutes of bad weather over streams alone",
        recoveries::weather_by_stream,
    ),
    recovery("recovery-crash", "the host crashes, its sockets close", recoveries::crash),
    recovery("recovery-death", "the host dies silently", recoveries::death),
    recovery("recovery-death-of-16", "the host of 16 dies silently", recoveries::death_of_16),
    recovery("recovery-14-of-16", "14 of 16 die silently at once", recoveries::most_of_16),
    recovery("recovery-hand-over", "the host hands over and stays", recoveries::hand_over),
    recovery("recovery-nothing", "nothing, for as long as a hand-over takes", recoveries::nothing),
    recovery("recovery-leave", "the host leaves", recoveries::leave),
    recovery("hole-calm", "no path comes or goes", holes::calm),
    recovery("hole-up", "direct paths open in mid-game", holes::up),
    recovery("hole-down", "the host's direct paths die", holes::down),
    recovery("hole-one-way", "the host's direct paths carry nothing from it any more", holes::one_way),
    recovery("hole-no-udp", "all direct paths and all data channels to the relay die", holes::no_udp),
    recovery("hole-stream-up", "without channels to the relay: direct paths open", holes::stream_up),
    recovery(
        "hole-stream-down",
        "without channels to the relay: the host's direct paths die",
        holes::stream_down,
    ),
    recovery(
        "hole-stream-one-way",
        "without channels to the relay: nothing from the host by direct paths",
        holes::stream_one_way,
    ),
];

/// The most evictions per simulated hour of these scenarios: about twice the rate of 60 seeds, in a mesh and in
/// client-server ([`Shape::ByHost`]).
const EXITS: &[(&str, f64)] = &[
    ("weather", 0.0),
    ("liars", 0.0),
    ("few-miss-the-host", 20.0),
    ("hand-over", 40.0),
    ("all-reload-but-a-pair", 250.0),
    ("asymmetric-partition", 250.0),
    ("flapping-link", 200.0),
    ("nat-rebind", 250.0),
    ("relay-drains", 120.0),
    ("relay-freezes", 120.0),
    ("relay-gone-while-relayed", 250.0),
    ("chaos", 350.0),
    ("chaos-with-liars", 350.0),
    ("relay-restarts-with-stale-host", 550.0),
    ("sleeping-host-wakes", 750.0),
    ("successor-leaves", 750.0),
    ("sides-fork", 850.0),
    ("partition-with-host-in-minority", 950.0),
    ("relay-gone-and-host-hesitates", 1_050.0),
    ("relay-with-a-new-key", 1_700.0),
];
/// The most evictions per simulated hour in all other scenarios.
const EXITS_ELSEWHERE: f64 = 60.0;

/// The bytes that an update takes on a line, with its headers and its share of acks and messages.
const BYTES_PER_UPDATE: u64 = 200;

/// The bytes of another member's update in a packet that the host carries.
const BYTES_PER_CARRIED_UPDATE: u64 = 40;

/// The bytes a second that a host sends when its line carries to each member what all others say. A host whose line is
/// too thin for them cannot host.
const fn carried(plan: &Plan) -> u64 {
    let players = plan.players as u64;
    players * plan.update_rate * (BYTES_PER_UPDATE / 2 + players * BYTES_PER_CARRIED_UPDATE)
}

/// A plan of this many players with weather rolled from the seed, and the dice for the rest of the plan.
fn some_plan(seed: u64, players: u64) -> (Plan, Dice) {
    let mut dice = Dice::new(seed ^ 0x5ce7_a410);
    let mut plan = Plan::calm(seed, players as usize);
    let rate = *dice.pick(&[20, 30, 60]).unwrap_or(&30);
    (plan.frame_rate, plan.update_rate) = (rate, rate);
    plan.direct = Weather::some(&mut dice);
    plan.relay = Weather { bandwidth: None, ..Weather::some(&mut dice) };
    plan.disk = dice.millis(1, 20);
    plan.drift = dice.below(300);
    plan.has_direct = dice.chance(0.9);
    if !plan.has_direct {
        // Without direct paths all updates to a player share one line. A player whose line is too thin for them cannot
        // play.
        let least = players * rate * BYTES_PER_UPDATE;
        plan.direct.bandwidth = plan.direct.bandwidth.map(|bandwidth| bandwidth.max(least));
    }
    plan.has_endpoint = seed.is_multiple_of(2);
    plan.rules.backups = if dice.chance(0.25) { 2 } else { 1 };
    (plan, dice)
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_millis(seconds * 1_000)
}
