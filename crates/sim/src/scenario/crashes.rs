//! Scenarios in which processes end.

use super::{seconds, some_plan};
use crate::fault::{Fault, Who};
use crate::plan::Plan;

pub(super) fn host_crash(seed: u64) -> Plan {
    let players = 2 + seed % 7;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.strike(dice.range(200, 1_500), Fault::Crash { who: Who::Host, back: Some(seconds(2)) });
    plan.lasts = seconds(5);
    plan.is_single = true;
    plan.recovers_within = Some(seconds(3));
    plan
}

pub(super) fn silent_death(seed: u64) -> Plan {
    let players = 2 + seed % 7;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.strike(dice.range(200, 1_500), Fault::Death { who: Who::Host, back: Some(seconds(4)) });
    plan.lasts = seconds(7);
    plan.is_single = true;
    plan.recovers_within = Some(seconds(3));
    plan
}

pub(super) fn host_and_backup_crash(seed: u64) -> Plan {
    let players = 3 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let at = dice.range(200, 1_500);
    plan.strike(at, Fault::Crash { who: Who::Host, back: Some(seconds(3)) });
    // The backup ends at once, or while it takes over.
    let later = if dice.chance(0.5) { 0 } else { dice.below(700) };
    plan.strike(at + later, Fault::Crash { who: Who::Backup, back: Some(seconds(3)) });
    plan.lasts = seconds(6);
    plan.recovers_within = Some(seconds(3));
    plan
}

pub(super) fn all_but_one_crash(seed: u64) -> Plan {
    let players = 3 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let back = Some(dice.millis(500, 3_000));
    let fault = if dice.chance(0.5) {
        Fault::Crash { who: Who::AllBut(1), back }
    } else {
        Fault::Death { who: Who::AllBut(1), back }
    };
    plan.strike(dice.range(200, 1_500), fault);
    plan.lasts = seconds(8);
    plan.recovers_within = Some(seconds(3));
    plan
}

pub(super) fn no_migration(seed: u64) -> Plan {
    let players = 2 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.rules.migrates = false;
    let back = dice.chance(0.7).then(|| seconds(2));
    let fault = match dice.below(4) {
        0 => Fault::Leave(Who::Host),
        1 => Fault::ClosePage(Who::Host),
        2 => Fault::Crash { who: Who::Host, back },
        _ => Fault::Death { who: Who::Host, back },
    };
    plan.strike(dice.range(300, 1_500), fault);
    plan.lasts = seconds(12);
    plan
}
