//! Scenarios with hosts that are alive but do not run, or whose games stand still.

use samovar_wire::Duration;

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
        // A stream from the relay keeps the messages that a sleeping host misses. Without the relay the host never
        // gets them.
        plan.has_direct = true;
        plan.strike(100, Fault::RelayCrash { lasts: lasts + seconds(3) });
        plan.is_single = false;
    }
    plan
}

/// The host stalls, and its successor leaves while the old host comes back.
pub(super) fn successor_leaves(seed: u64) -> Plan {
    let players = 2 + seed % 3;
    let (mut plan, mut dice) = some_plan(seed, players);
    let (at, lasts) = (dice.range(300, 1_000), dice.range(600, 2_000));
    plan.strike(at, Fault::Stall { who: Who::Host, lasts: Duration::from_millis(lasts) });
    plan.strike(at + lasts + dice.below(1_500), Fault::Abandon(Who::Host));
    plan.lasts = Duration::from_millis(at + lasts) + seconds(6);
    plan
}

pub(super) fn game_stands_still(seed: u64) -> Plan {
    let players = 2 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let lasts = dice.millis(1_000, 9_000);
    let at = dice.range(3_200, 4_000);
    if dice.chance(0.3) {
        // The game of the first backup stands still, too.
        plan.strike(
            at - dice.below(1_500),
            Fault::StandStill { who: Who::Backup, lasts: dice.millis(500, 6_000) },
        );
    }
    plan.strike(at, Fault::StandStill { who: Who::Host, lasts });
    match dice.below(5) {
        // The member that hosts by then crashes: before the hand-over, during it or after it.
        0 => plan.strike(at + dice.below(4_000), Fault::Crash { who: Who::Host, back: Some(seconds(1)) }),
        1 => plan.strike(
            at + dice.below(3_000),
            Fault::StandStill { who: Who::Players(u64::MAX), lasts: seconds(3) },
        ),
        2 => {
            plan.has_direct = true;
            plan.strike(dice.below(500), Fault::RelayCrash { lasts: lasts + seconds(4) });
        }
        _ => plan.is_single = true,
    }
    plan.lasts = seconds(5) + lasts + seconds(3);
    plan
}
