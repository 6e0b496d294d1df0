//! Scenarios in which networks carry no packets, or carry them in one direction only.

use samovar_wire::Duration;

use super::{seconds, some_plan};
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::network::Weather;
use crate::plan::Plan;

pub(super) fn host_in_minority(seed: u64) -> Plan {
    let players = 3 + seed % 6;
    let (mut plan, mut dice) = some_plan(seed, players);
    let others = dice.below((players - 1) / 2) as usize;
    // The relay is on the majority's side, on the host's side, or out of reach of both.
    let relay = dice.chance(0.3);
    let lasts = dice.millis(500, 8_000);
    let at = dice.range(200, 1_000);
    let cut = |group, beyond| Fault::Cut { group, beyond, direction: Direction::Both, lasts };
    plan.strike(at, cut(Group { who: Who::HostAnd(others), relay }, Beyond::Rest));
    if dice.chance(0.3) {
        plan.strike(at, cut(Group { who: Who::Players(u64::MAX), relay: false }, Beyond::Relay));
    }
    plan.lasts = lasts + seconds(3);
    plan
}

pub(super) fn asymmetric(seed: u64) -> Plan {
    let players = 3 + seed % 5;
    let (mut plan, mut dice) = some_plan(seed, players);
    for round in 0..dice.range(1, 3) {
        let who = match dice.below(3) {
            0 => Who::Host,
            1 => Who::Backup,
            _ => Who::Players(dice.number() & 0xff),
        };
        let direction = if dice.chance(0.5) { Direction::In } else { Direction::Out };
        let beyond = match dice.below(3) {
            0 => Beyond::Rest,
            1 => Beyond::Players,
            _ => Beyond::Relay,
        };
        let lasts = dice.millis(300, 5_000);
        let group = Group { who, relay: false };
        plan.strike(300 + round * 1_500, Fault::Cut { group, beyond, direction, lasts });
    }
    plan.lasts = seconds(8);
    plan
}

pub(super) fn few_miss_the_host(seed: u64) -> Plan {
    let players = 3 + seed % 5;
    let (mut plan, mut dice) = some_plan(seed, players);
    (plan.direct, plan.relay, plan.has_direct) = (Weather::fair(), Weather::fair(), true);
    let few = dice.range(1, (players - 1) / 2);
    let who = Who::Players((1 << players) - (1 << (players - few)));
    let cut = |who, beyond, direction, lasts| {
        let group = Group { who, relay: false };
        Fault::Cut { group, beyond, direction, lasts }
    };
    let at = dice.range(1_000, 2_000);
    // The cut is shorter than the silence after which a host removes a member.
    let lasts = dice.millis(300, 3_000);
    let direction = *dice
        .pick(&[Direction::In, Direction::In, Direction::Out, Direction::Both])
        .unwrap_or(&Direction::In);
    plan.strike(at, cut(who, Beyond::Rest, direction, lasts));
    match dice.below(3) {
        0 => {}
        1 => plan.strike(at - dice.below(800), Fault::RelayCrash { lasts: seconds(5) }),
        _ => {
            // The relay restarts before the host reaches it again.
            plan.strike(at - dice.below(800), Fault::RelayCrash { lasts: dice.millis(100, 800) });
            plan.strike(at - 900, cut(Who::Host, Beyond::Relay, Direction::Both, dice.millis(900, 3_000)));
        }
    }
    plan.lasts = seconds(8);
    plan.keeps_host = true;
    plan
}

pub(super) fn flapping(seed: u64) -> Plan {
    let players = 2 + seed % 5;
    let (mut plan, mut dice) = some_plan(seed, players);
    let who = match dice.below(3) {
        0 => Who::Host,
        1 => Who::Backup,
        _ => Who::Player(dice.below(players) as usize),
    };
    let (times, period) = (dice.range(3, 12) as u32, dice.millis(40, 900));
    plan.strike(300, Fault::Flap { who, times, period });
    plan.lasts = Duration::from_millis(1_000) + period.times(2 * u64::from(times));
    plan
}

pub(super) fn two_claims(seed: u64) -> Plan {
    let players = 4 + seed % 5;
    let (mut plan, mut dice) = some_plan(seed, players);
    // Players with even numbers and players with odd numbers do not hear each other. The relay hears all of them.
    let group = Group { who: Who::Players(0x5555_5555), relay: false };
    let lasts = dice.millis(1_500, 4_000);
    let at = dice.range(300, 800);
    let cut = Fault::Cut { group, beyond: Beyond::Players, direction: Direction::Both, lasts };
    plan.strike(at, cut);
    let back = Some(seconds(2));
    let fault = if dice.chance(0.5) {
        Fault::Crash { who: Who::Host, back }
    } else {
        Fault::Death { who: Who::Host, back }
    };
    plan.strike(at + dice.below(300), fault);
    plan.lasts = seconds(7);
    plan
}

pub(super) fn sides_fork(seed: u64) -> Plan {
    let players = 2 + seed % 7;
    let (mut plan, mut dice) = some_plan(seed, players);
    plan.rules.forks = true;
    let lasts = dice.millis(1_000, 9_000);
    let at = dice.range(300, 1_000);
    let group = Group { who: Who::HostAnd(dice.below(players) as usize), relay: dice.chance(0.5) };
    plan.strike(at, Fault::Cut { group, beyond: Beyond::Rest, direction: Direction::Both, lasts });
    if dice.chance(0.5) {
        // The relay is gone, so it cannot tell which side was first.
        plan.has_direct = true;
        plan.strike(at - dice.below(300), Fault::RelayCrash { lasts: dice.millis(1_000, 12_000) });
    }
    if dice.chance(0.3) {
        plan.strike(at + dice.below(6_000), Fault::Crash { who: Who::Host, back: Some(seconds(1)) });
    }
    plan.lasts = lasts + seconds(5);
    plan
}
