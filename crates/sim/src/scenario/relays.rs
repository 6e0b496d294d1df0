//! Scenarios in which the relay crashes, freezes or stops, and hosts go meanwhile.

use samovar_session::lockstep::LockstepConfig;
use samovar_wire::Duration;

use super::{seconds, some_plan};
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::plan::Plan;

pub(super) fn relay_crash_then_host_crash(seed: u64) -> Plan {
    let players = 3 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    // Without direct paths members cannot hear each other once the relay is gone.
    plan.has_direct = true;
    let lasts = dice.millis(1_000, 12_000);
    plan.strike(1_500, Fault::RelayCrash { lasts });
    let back = dice.chance(0.7).then(|| seconds(2));
    let at = 1_500 + dice.range(0, 1_000);
    let fault = if dice.chance(0.6) {
        Fault::Crash { who: Who::Host, back }
    } else {
        Fault::Death { who: Who::Host, back }
    };
    plan.strike(at, fault);
    plan.lasts = Duration::from_millis(4_000) + lasts;
    plan
}

pub(super) fn last_survivor(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 2 + seed % 3);
    (plan.rules.forks, plan.has_direct) = (true, true);
    if seed.is_multiple_of(4) {
        plan.rules.orders.lockstep = Some(LockstepConfig::new(1));
    }
    let at = dice.range(1_500, 2_500);
    plan.strike(at, Fault::RelayCrash { lasts: seconds(60) });
    let fault = if dice.chance(0.5) {
        Fault::Crash { who: Who::AllBut(1), back: None }
    } else {
        Fault::Death { who: Who::AllBut(1), back: None }
    };
    plan.strike(at + dice.below(1_500), fault);
    plan.lasts = seconds(14);
    // The survivor first misses all others, then waits for three seconds before it goes on alone.
    plan.recovers_within = Some(seconds(8));
    plan
}

pub(super) fn host_hesitates(seed: u64) -> Plan {
    let players = 3 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.has_direct = true;
    let lasts = dice.millis(4_000, 9_000);
    plan.strike(1_000, Fault::RelayCrash { lasts });
    let mut at = 1_500;
    for _ in 0..dice.range(1, 4) {
        at += dice.range(0, 1_000);
        // About the time that members need to miss a host and to agree that they do.
        let lasts = dice.millis(80, 600);
        let group = Group { who: Who::Host, relay: false };
        let fault = match dice.below(3) {
            0 => Fault::Stall { who: Who::Host, lasts },
            1 => Fault::Cut { group, beyond: Beyond::Players, direction: Direction::Out, lasts },
            _ => Fault::Cut { group, beyond: Beyond::Players, direction: Direction::Both, lasts },
        };
        plan.strike(at, fault);
    }
    plan.lasts = lasts + seconds(4);
    plan
}

pub(super) fn stale_host(seed: u64) -> Plan {
    let players = 3 + seed % 5;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.has_direct = true;
    let away = dice.millis(2_500, 8_000);
    let group = Group { who: Who::Host, relay: false };
    let host_goes = if dice.chance(0.5) {
        Fault::Cut { group, beyond: Beyond::Rest, direction: Direction::Both, lasts: away }
    } else {
        Fault::Sleep { who: Who::Host, lasts: away, clock_stops: dice.chance(0.5) }
    };
    plan.strike(500, host_goes);
    // The relay restarts before or after the host is replaced, and forgets which peers were connected.
    let at = 500 + dice.range(100, away.as_micros() / 1_000);
    plan.strike(at, Fault::RelayCrash { lasts: dice.millis(50, 3_000) });
    plan.strike(at - 50, Fault::SlowDisk { delay: dice.millis(1, 400), lasts: seconds(4) });
    plan.lasts = away + seconds(5);
    plan
}

pub(super) fn freezes(seed: u64) -> Plan {
    let players = 2 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let mut at = dice.range(300, 1_500);
    for _ in 0..dice.range(1, 3) {
        let lasts = if dice.chance(0.5) { dice.millis(100, 2_000) } else { dice.millis(2_000, 9_000) };
        plan.strike(at, Fault::RelayStall { lasts });
        let back = Some(seconds(2));
        match dice.below(4) {
            0 => plan.strike(at + dice.below(1_500), Fault::Crash { who: Who::Host, back }),
            1 => plan.strike(at + dice.below(1_500), Fault::Death { who: Who::Host, back }),
            2 => plan.strike(at + dice.below(1_500), Fault::HandOver),
            _ => {}
        }
        at += lasts.as_micros() / 1_000 + dice.range(200, 3_000);
    }
    plan.lasts = Duration::from_millis(at) + seconds(3);
    plan
}

pub(super) fn new_key(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 2 + seed % 5);
    plan.has_direct = dice.chance(0.7);
    plan.strike(dice.range(1_000, 3_000), Fault::RelayReset { lasts: dice.millis(50, 4_000) });
    plan.lasts = seconds(15);
    plan
}

pub(super) fn drains(seed: u64) -> Plan {
    let players = 2 + seed % 7;
    let (mut plan, mut dice) = some_plan(seed, players);
    let (within, lasts) = (dice.millis(500, 5_000), dice.millis(200, 6_000));
    let at = dice.range(300, 1_000);
    plan.strike(at, Fault::RelayDrain { within, lasts });
    if dice.chance(0.3) {
        let back = Some(seconds(1));
        plan.strike(at + dice.below(5_000), Fault::Crash { who: Who::Host, back });
    }
    plan.lasts = within + lasts + seconds(4);
    plan
}
