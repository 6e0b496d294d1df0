//! Scenarios that measure standstills while paths come and go (docs/recovery.md, "When a path comes or goes"). The
//! round trip is 60 ms directly and to the relay, so it is 120 ms through the relay. There are 10 ms of jitter, 5 %
//! loss, and 60 frames and updates a second.

use samovar_wire::{Duration, Time};

use super::seconds;
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::network::Weather;
use crate::plan::Plan;

pub(super) fn calm(seed: u64) -> Plan {
    // The measurement begins two seconds later than in the other scenarios. In one run of three a player comes 3.5 s
    // late, and the relay carries its packets for the first half second.
    let late = seconds(2);
    let mut plan = plan(seed);
    plan.standstills_from = plan.standstills_from.map(|from| from + late);
    plan.lasts = plan.lasts + late;
    plan
}

pub(super) fn up(seed: u64) -> Plan {
    let mut plan = plan(seed);
    plan.strike(0, Fault::NoDirect { lasts: at(seed) });
    plan.standstills_at_rises = true;
    // Members have tried direct paths in vain, and try again after a pause. The run is long enough for that.
    plan.lasts = seconds(14);
    plan
}

pub(super) fn down(seed: u64) -> Plan {
    cut(plan(seed), Direction::Both)
}

pub(super) fn one_way(seed: u64) -> Plan {
    cut(plan(seed), Direction::Out)
}

pub(super) fn no_udp(seed: u64) -> Plan {
    let mut plan = plan(seed);
    plan.faults.push((Time::ZERO + at(seed), Fault::NoUdp { lasts: seconds(9) }));
    plan
}

pub(super) fn stream_up(seed: u64) -> Plan {
    Plan { has_endpoint: false, ..up(seed) }
}

pub(super) fn stream_down(seed: u64) -> Plan {
    Plan { has_endpoint: false, ..down(seed) }
}

pub(super) fn stream_one_way(seed: u64) -> Plan {
    Plan { has_endpoint: false, ..one_way(seed) }
}

fn cut(mut plan: Plan, direction: Direction) -> Plan {
    let group = Group { who: Who::Host, relay: false };
    let fault = Fault::Cut { group, beyond: Beyond::Players, direction, lasts: seconds(9) };
    plan.faults.push((Time::ZERO + at(plan.seed), fault));
    plan
}

/// The time of the fault. It varies with the seed, so that the fault falls at all points between two frames and
/// timers.
const fn at(seed: u64) -> Duration {
    Duration::from_millis(3_000 + seed * 7 % 500)
}

fn plan(seed: u64) -> Plan {
    let mut plan = Plan::calm(seed, 5);
    (plan.frame_rate, plan.update_rate) = (60, 60);
    plan.direct = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.05);
    plan.relay = plan.direct;
    plan.standstills_from = Some(Time::from_micros(2_900_000));
    plan.lasts = seconds(4);
    plan
}
