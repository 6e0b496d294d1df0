//! What can happen to a game, by name.

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

/// A kind of run: a name, what it shows, and how a seed becomes a plan.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Whether it belongs to every soak; the others are run by their names.
    pub is_soaked: bool,
    make: fn(u64) -> Plan,
}

/// How the members of a session reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Directly, where that can be.
    #[default]
    Mesh,
    /// What two members say to each other is carried by the host and its backups.
    ByHost,
}

impl Shape {
    /// What the simulator's commands call it; nothing for a mesh.
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

    /// The same plan where members reach each other otherwise.
    #[must_use]
    pub fn plan_in(&self, shape: Shape, seed: u64) -> Plan {
        let mut plan = self.plan(seed);
        match shape {
            Shape::Mesh => {}
            Shape::ByHost => plan.paths = PathPolicy::ByHost,
        }
        plan
    }

    /// How many members may be removed by their sessions at most, per hour of its worlds.
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

/// A row of a table.
const fn recovery(name: &'static str, about: &'static str, make: fn(u64) -> Plan) -> Scenario {
    Scenario { name, about, is_soaked: false, make }
}

/// All scenarios; the last is `chaos`.
pub const SCENARIOS: &[Scenario] = &[
    recovery("calm", "nothing happens: what the simulator's speed is measured by", joins::calm),
    scenario("host-crash", "the host's process ends, its sockets close", crashes::host_crash),
    scenario("silent-death", "the host's cable is cut", crashes::silent_death),
    scenario(
        "host-and-backup-crash",
        "the host and who succeeds it end at once",
        crashes::host_and_backup_crash,
    ),
    scenario("all-but-one-crash", "one member is left", crashes::all_but_one_crash),
    scenario(
        "relay-crash-then-host-crash",
        "the witness is gone when the host goes",
        relays::relay_crash_then_host_crash,
    ),
    scenario(
        "relay-gone-and-host-hesitates",
        "without the relay the host is silent for a moment, and some vote",
        relays::host_hesitates,
    ),
    scenario(
        "partition-with-host-in-minority",
        "the host is cut off with less than half",
        partitions::host_in_minority,
    ),
    scenario(
        "asymmetric-partition",
        "some are heard and do not hear, or the other way round",
        partitions::asymmetric,
    ),
    scenario(
        "few-miss-the-host",
        "some do not hear the host, most do, and it stays",
        partitions::few_miss_the_host,
    ),
    scenario("sides-fork", "each side of a partition goes on, until they meet again", partitions::sides_fork),
    scenario(
        "last-survivor",
        "the relay is gone, then everybody but one, who goes on where sides may fork",
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
        "the host stalls, and its successor leaves while it comes back",
        sleepers::successor_leaves,
    ),
    scenario("sleeping-host-wakes", "the host's lid is closed and opened", sleepers::sleeping_host_wakes),
    scenario("rolling-joins", "players come while hosts go", joins::rolling_joins),
    scenario("hand-over", "the host gives its office away and stays", joins::hand_over),
    scenario(
        "hosts-leave-together",
        "the host goes, and whom it hands over to goes meanwhile",
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
        "a host that was replaced meets the relay's next life",
        relays::stale_host,
    ),
    scenario("relay-freezes", "the relay does not run for a while, and hosts go meanwhile", relays::freezes),
    scenario(
        "relay-with-a-new-key",
        "another relay starts in the place of one, and knows nothing of it",
        relays::new_key,
    ),
    scenario("relay-drains", "the relay says that it stops, and does", relays::drains),
    scenario("all-reload", "all pages are loaded anew at once, and everybody is back", joins::all_reload),
    scenario(
        "all-reload-but-a-pair",
        "all but two who play on without the relay load their pages anew",
        joins::all_reload_but_a_pair,
    ),
    scenario("pages-closed", "pages are closed one after another, the host's first", joins::pages_closed),
    scenario(
        "no-migration",
        "the host is lost, and the game forbids that another hosts",
        crashes::no_migration,
    ),
    scenario("old-ticket-replayed", "somebody shows a ticket that was used", joins::old_ticket),
    scenario("path-upgrade", "datagrams get through in mid-game, first to the relay", paths::upgrade),
    scenario("path-downgrade", "paths fail one after another, also in one direction only", paths::downgrade),
    scenario("udp-blocked", "no datagrams at all, while hosts go", paths::udp_blocked),
    scenario("nat-rebind", "players are behind another address in mid-game", paths::nat_rebind),
    scenario(
        "online-event",
        "machines say that their network changed, which it did not: the host stays",
        paths::online_event,
    ),
    scenario(
        "proxy-reload",
        "a proxy breaks all sockets while packets go through the relay: the host stays",
        paths::proxy_reload,
    ),
    scenario(
        "relay-gone-while-relayed",
        "the relay goes while packets go through it",
        paths::relay_gone_while_relayed,
    ),
    scenario(
        "sequencer-crash",
        "everybody speaks in every order when the host ends, and the next one",
        orders::sequencer_crash,
    ),
    scenario("lockstep-host-crash", "the host of a game in lockstep ends", orders::lockstep_host_crash),
    scenario(
        "lockstep-slow-player",
        "a player of a game in lockstep is slow, and then does not run at all",
        orders::lockstep_slow_player,
    ),
    scenario("liars", "members send what may hurt: nobody else loses a seat", chaos::liars),
    scenario("chaos-with-liars", "the same in chaos", chaos::with_liars),
    scenario("chaos", "everything at once, 2 to 12 players", chaos::chaos),
    recovery(
        "weather",
        "ten minutes of bad weather: a healthy host is not to be deposed",
        recoveries::weather,
    ),
    recovery("weather-by-stream", "the same over nothing but streams", recoveries::weather_by_stream),
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
    recovery("hole-one-way", "they carry nothing from the host any more", holes::one_way),
    recovery("hole-no-udp", "they die, and the data channels to the relay with them", holes::no_udp),
    recovery("hole-stream-up", "without channels to the relay: direct paths open", holes::stream_up),
    recovery("hole-stream-down", "without channels to the relay: they die", holes::stream_down),
    recovery("hole-stream-one-way", "without channels to the relay: one way", holes::stream_one_way),
];

/// Exits per hour at most: about twice what 60 seeds had, in a mesh and in client-server, so that a short soak has room.
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
/// Of all other scenarios.
const EXITS_ELSEWHERE: f64 = 60.0;

/// What an update takes of a line, with all that is around it, and its share of acks and messages.
const BYTES_PER_UPDATE: u64 = 200;

/// A plan of so many players under some weather, rolled from the seed, and the dice for the rest of it.
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
        // All that others send comes by one line then, and who cannot be sent their updates cannot play.
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
