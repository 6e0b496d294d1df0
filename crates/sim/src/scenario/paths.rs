//! Scenarios in which each kind of path fails at some moment, and comes back.

use samovar_wire::Duration;

use super::{seconds, some_plan};
use crate::dice::Dice;
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::network::Weather;
use crate::plan::Plan;

/// The longest usual silence of a running member. A member counts silence as unusual after 60 ms at 60 packets a
/// second, and after 120 ms at 20. Then its complaint and the answer go through the relay, 60 ms each, and a frame
/// passes.
const HOLE_MAX: Duration = Duration::from_millis(350);
/// The longest usual silence of a running member just after a path opened, when the path's usual silence is not known
/// yet. A member then counts silence as unusual after 250 ms on a path to another member, and after 300 ms on a path
/// to the relay. If both directions fail at once, the complaint of one end waits for the complaint of the other.
const FRESH_HOLE_MAX: Duration = Duration::from_millis(500);
/// The longest usual silence of a member whose address changed.
const MOVED_MAX: Duration = Duration::from_millis(4_000);

pub(super) fn upgrade(seed: u64) -> Plan {
    let (mut plan, mut dice) = fair_plan(seed);
    // Packets move from the WebSocket to data channels to the relay, and from there to direct paths.
    let blocked = dice.range(1_500, 9_000);
    let at = dice.range(0, 900);
    plan.strike(at, Fault::NoUdp { lasts: Duration::from_millis(blocked) });
    plan.strike(at, Fault::NoDirect { lasts: Duration::from_millis(blocked + dice.range(500, 9_000)) });
    plan.usual_silence = Some(FRESH_HOLE_MAX);
    plan.lasts = Duration::from_millis(at + blocked) + seconds(12);
    plan
}

pub(super) fn downgrade(seed: u64) -> Plan {
    let (mut plan, mut dice) = fair_plan(seed);
    let mut at = dice.range(1_500, 3_500);
    for _ in 0..dice.range(2, 5) {
        let lasts = dice.millis(200, 6_000);
        let fault = match dice.below(4) {
            0 => Fault::NoUdp { lasts },
            1 => Fault::NoDirect { lasts },
            _ => {
                let who = Who::Player(dice.below(plan.players as u64) as usize);
                let direction =
                    *dice.pick(&[Direction::In, Direction::Out, Direction::Both]).unwrap_or(&Direction::Both);
                let group = Group { who, relay: false };
                Fault::Cut { group, beyond: Beyond::Players, direction, lasts }
            }
        };
        plan.strike(at, fault);
        at += dice.range(100, 5_000);
    }
    plan.usual_silence = Some(HOLE_MAX);
    plan.lasts = Duration::from_millis(at) + seconds(7);
    plan
}

pub(super) fn udp_blocked(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 2 + seed % 5);
    plan.climbs = true;
    plan.strike(0, Fault::NoUdp { lasts: seconds(20) });
    let at = dice.range(500, 4_000);
    match dice.below(4) {
        0 => plan.strike(at, Fault::HandOver),
        1 => plan.strike(at, Fault::Leave(Who::Host)),
        2 => plan.strike(at, Fault::Crash { who: Who::Host, back: Some(dice.millis(300, 2_000)) }),
        _ => plan.strike(at, Fault::Death { who: Who::Host, back: Some(dice.millis(300, 2_000)) }),
    }
    plan.strike(at + dice.range(500, 3_000), Fault::Join);
    plan.lasts = seconds(12);
    plan
}

pub(super) fn nat_rebind(seed: u64) -> Plan {
    let (mut plan, mut dice) = fair_plan(seed);
    plan.has_endpoint = dice.chance(0.7);
    plan.has_direct = dice.chance(0.7);
    let mut at = dice.range(1_000, 4_000);
    for _ in 0..dice.range(1, 3) {
        let who = match dice.below(3) {
            0 => Who::Host,
            1 => Who::Backup,
            _ => Who::Player(dice.below(plan.players as u64) as usize),
        };
        plan.strike(at, Fault::Move { who, is_told: dice.chance(0.4) });
        at += dice.range(3_000, 8_000);
    }
    plan.usual_silence = Some(MOVED_MAX);
    plan.lasts = Duration::from_millis(at) + seconds(5);
    plan
}

pub(super) fn online_event(seed: u64) -> Plan {
    let (mut plan, mut dice) = fair_plan(seed);
    plan.has_direct = dice.chance(0.7);
    let mut at = 1_000;
    for _ in 0..dice.range(2, 4) {
        let who = if dice.chance(0.7) { Who::Host } else { Who::Players(dice.number()) };
        plan.strike(at, Fault::Online { who });
        at += dice.range(50, 2_500);
    }
    plan.lasts = Duration::from_millis(at) + seconds(5);
    plan.keeps_host = true;
    plan
}

pub(super) fn proxy_reload(seed: u64) -> Plan {
    let (mut plan, mut dice) = fair_plan(seed);
    plan.has_direct = dice.chance(0.3);
    let mut at = 1_500;
    for _ in 0..dice.range(1, 3) {
        plan.strike(at, Fault::ProxyReload);
        at += dice.range(3_000, 8_000);
    }
    plan.lasts = Duration::from_millis(at) + seconds(5);
    plan.keeps_host = true;
    plan
}

pub(super) fn relay_gone_while_relayed(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 2 + seed % 5);
    plan.climbs = true;
    let relayed = dice.millis(2_000, 12_000);
    let fault =
        if dice.chance(0.5) { Fault::NoDirect { lasts: relayed } } else { Fault::NoUdp { lasts: relayed } };
    plan.strike(dice.range(0, 2_000), fault);
    let at = dice.range(2_000, 5_000);
    plan.strike(at, Fault::RelayCrash { lasts: dice.millis(100, 8_000) });
    if dice.chance(0.3) {
        plan.strike(at + dice.below(2_000), Fault::Crash { who: Who::Host, back: Some(seconds(2)) });
    }
    plan.lasts = seconds(16);
    plan
}

/// Two to six players on paths that lose little, so that a silence means a failed path and not bad weather.
fn fair_plan(seed: u64) -> (Plan, Dice) {
    let (mut plan, dice) = some_plan(seed, 2 + seed % 5);
    plan.direct = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.01);
    // Streams have no losses here. A loss on a stream delays everything behind it, and when the stream is the last
    // path, no other path can help.
    plan.relay = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.0);
    plan.has_direct = true;
    plan.has_endpoint = !seed.is_multiple_of(3);
    plan.climbs = true;
    (plan, dice)
}
