//! Scenarios with ordered messages and lockstep games, in which the host (which gives the order) ends, or a player is
//! slow.

use samovar_session::lockstep::LockstepConfig;
use samovar_session::{Causality, Orders, TimeOrderConfig};

use super::{seconds, some_plan};
use crate::dice::Dice;
use crate::fault::{Fault, Who};
use crate::plan::Plan;

/// The rules with all orders that messages can have.
const SPOKEN: Orders = Orders {
    causal: Some(Causality::Vector),
    total: true,
    timestamp: Some(TimeOrderConfig::DEFAULT),
    lockstep: None,
};

/// Rolls the orders of a run. Half of all runs send ordered messages. The others do not, so that sessions without the
/// cost of orders are tested, too.
pub(super) fn some_orders(dice: &mut Dice) -> Orders {
    match dice.below(8) {
        0..=2 => Orders::default(),
        3 => steps(),
        4 | 5 => SPOKEN,
        _ => Orders { lockstep: steps().lockstep, ..SPOKEN },
    }
}

fn steps() -> Orders {
    Orders { lockstep: Some(LockstepConfig::new(1)), ..Orders::default() }
}

pub(super) fn sequencer_crash(seed: u64) -> Plan {
    let players = 3 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.rules.orders = SPOKEN;
    let at = dice.range(300, 1_500);
    plan.strike(at, Fault::Crash { who: Who::Host, back: Some(seconds(2)) });
    if dice.chance(0.5) {
        plan.strike(at + dice.below(2_000), Fault::Crash { who: Who::Host, back: Some(seconds(1)) });
    } else {
        plan.strike(at + dice.below(600), Fault::Join);
    }
    plan.lasts = seconds(6);
    plan
}

/// A plan with lockstep. It has direct paths or data channels to the relay, because sixty packets a second to each
/// member are too many for streams, which stall at each loss.
fn lockstep_plan(seed: u64, players: u64) -> (Plan, Dice) {
    let (mut plan, dice) = some_plan(seed, players);
    plan.rules.orders = steps();
    plan.has_direct |= !plan.has_endpoint;
    (plan, dice)
}

pub(super) fn lockstep_host_crash(seed: u64) -> Plan {
    let players = 3 + seed % 4;
    let (mut plan, mut dice) = lockstep_plan(seed, players);
    let at = dice.range(300, 1_500);
    plan.strike(at, Fault::Crash { who: Who::Host, back: Some(seconds(2)) });
    if dice.chance(0.3) {
        plan.strike(at + dice.below(1_000), Fault::Crash { who: Who::Host, back: Some(seconds(2)) });
    }
    plan.lasts = seconds(6);
    plan
}

pub(super) fn lockstep_slow_player(seed: u64) -> Plan {
    let players = 3 + seed % 4;
    let (mut plan, mut dice) = lockstep_plan(seed, players);
    let who = Who::Player(1 + dice.below(players - 1) as usize);
    plan.strike(200, Fault::Clog { who, bandwidth: dice.range(2_000, 8_000), lasts: seconds(2) });
    plan.strike(2_500, Fault::Stall { who, lasts: dice.millis(200, 3_000) });
    plan.lasts = seconds(7);
    plan
}
