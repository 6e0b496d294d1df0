//! Hosts that live and do not run.

use super::{seconds, some_plan};
use crate::fault::{Fault, Who};
use crate::plan::Plan;

pub(super) fn hidden_host(seed: u64) -> Plan {
    let players = 2 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let lasts = dice.millis(500, 6_000);
    plan.strike(dice.range(300, 1_000), Fault::Hide { who: Who::Host, lasts });
    if dice.chance(0.3) {
        plan.strike(1_800, Fault::Hide { who: Who::Host, lasts });
    }
    plan.lasts = lasts + seconds(3);
    plan.is_single = true;
    plan
}

pub(super) fn sleeping_host_wakes(seed: u64) -> Plan {
    let players = 2 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let lasts = dice.millis(200, 9_000);
    let fault = if dice.chance(0.6) {
        Fault::Sleep { who: Who::Host, lasts, clock_stops: dice.chance(0.4) }
    } else {
        Fault::Stall { who: Who::Host, lasts }
    };
    plan.strike(dice.range(300, 1_000), fault);
    plan.lasts = lasts + seconds(4);
    plan.is_single = true;
    if dice.chance(0.3) {
        // Nobody keeps what it missed for it.
        plan.has_direct = true;
        plan.strike(100, Fault::RelayCrash { lasts: lasts + seconds(3) });
        plan.is_single = false;
    }
    plan
}
