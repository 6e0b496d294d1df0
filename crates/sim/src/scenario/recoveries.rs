//! Scenarios that measure recovery (docs/recovery.md, "Recovery times"): 60 ms round trip, 10 ms of jitter, 5 % loss,
//! 60 frames and updates a second.

use samovar_wire::Duration;

use super::seconds;
use crate::fault::{Fault, Who};
use crate::network::Weather;
use crate::plan::Plan;

pub(super) fn crash(seed: u64) -> Plan {
    plan(seed, 5, Fault::Crash { who: Who::Host, back: None })
}

pub(super) fn death(seed: u64) -> Plan {
    plan(seed, 5, Fault::Death { who: Who::Host, back: None })
}

pub(super) fn death_of_16(seed: u64) -> Plan {
    plan(seed, 16, Fault::Death { who: Who::Host, back: None })
}

pub(super) fn most_of_16(seed: u64) -> Plan {
    let mut plan = plan(seed, 16, Fault::Death { who: Who::AllBut(2), back: None });
    plan.is_single = false;
    plan
}

pub(super) fn hand_over(seed: u64) -> Plan {
    plan(seed, 5, Fault::HandOver)
}

/// Measures the standstill that the weather alone causes in the time that a hand-over takes.
pub(super) fn nothing(seed: u64) -> Plan {
    plan(seed, 5, Fault::Watch { lasts: Duration::from_millis(220) })
}

pub(super) fn leave(seed: u64) -> Plan {
    plan(seed, 5, Fault::Leave(Who::Host))
}

/// Ten minutes of two to five players at 5 % loss and 50 ms of jitter, in which no host may lose its office.
pub(super) fn weather(seed: u64) -> Plan {
    let mut plan = Plan::calm(seed, 2 + (seed % 4) as usize);
    let rate = [20, 30, 60][(seed / 4 % 3) as usize];
    (plan.frame_rate, plan.update_rate) = (rate, rate);
    plan.direct = Weather::of(Duration::from_millis(60), Duration::from_millis(50), 0.05);
    plan.relay = plan.direct;
    plan.lasts = seconds(600);
    plan
}

/// The scenario `weather` with streams as the only paths, where each loss is a silence of a quarter of a second.
pub(super) fn weather_by_stream(seed: u64) -> Plan {
    Plan { has_direct: false, has_endpoint: false, ..weather(seed) }
}

fn plan(seed: u64, players: usize, fault: Fault) -> Plan {
    let mut plan = Plan::calm(seed, players);
    (plan.frame_rate, plan.update_rate) = (60, 60);
    plan.direct = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.05);
    plan.relay = plan.direct;
    // The time varies with the seed, so that the fault falls at all points between two frames and timers. By this
    // time the electorate has grown.
    plan.strike(3_000 + seed * 7 % 500, fault);
    plan.lasts = seconds(6);
    plan.is_single = true;
    plan
}
