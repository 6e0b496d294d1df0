//! Scenarios in which players come and go.

use samovar_wire::Duration;

use super::{seconds, some_plan};
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::plan::Plan;

pub(super) fn calm(seed: u64) -> Plan {
    let mut plan = Plan::calm(seed, 5);
    plan.lasts = seconds(60);
    plan
}

pub(super) fn all_reload(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 2 + seed % 5);
    let mut at = dice.range(500, 2_000);
    for _ in 0..dice.range(1, 3) {
        plan.strike(at, Fault::Reload(Who::Players(u64::MAX)));
        at += dice.range(3_000, 8_000);
    }
    plan.lasts = Duration::from_millis(at) + seconds(2);
    plan
}

pub(super) fn all_reload_but_a_pair(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 3 + seed % 4);
    plan.has_direct = true;
    let at = dice.range(1_500, 3_000);
    let pair = Group { who: Who::Players(3), relay: false };
    let lasts = dice.millis(1_000, 4_500);
    plan.strike(at, Fault::Cut { group: pair, beyond: Beyond::Relay, direction: Direction::Both, lasts });
    plan.strike(at + dice.range(0, 500), Fault::Reload(Who::Players(u64::MAX - 3)));
    plan.lasts = Duration::from_millis(at) + seconds(10);
    plan
}

pub(super) fn rolling_joins(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 2);
    let mut at = 100;
    for round in 0..6 {
        plan.strike(at, Fault::Join);
        at += dice.range(50, 700);
        if round % 2 == 1 {
            let back = dice.chance(0.5).then(|| seconds(1));
            let fault = match dice.below(3) {
                0 => Fault::Leave(Who::Host),
                1 => Fault::Crash { who: Who::Host, back },
                _ => Fault::Death { who: Who::Host, back },
            };
            plan.strike(at, fault);
            at += dice.range(0, 900);
        }
    }
    plan.lasts = seconds(7);
    plan
}

pub(super) fn hand_over(seed: u64) -> Plan {
    let players = 2 + seed % 7;
    let (mut plan, mut dice) = some_plan(seed, players);
    let mut at = dice.range(200, 1_000);
    for _ in 0..dice.range(1, 4) {
        plan.strike(at, Fault::HandOver);
        at += dice.range(0, 800);
    }
    plan.is_single = true;
    if dice.chance(0.3) {
        plan.is_single = false;
        // The relay or the host crashes, perhaps while a hand-over is under way.
        let lasts = seconds(2);
        let fault = if dice.chance(0.5) {
            Fault::RelayCrash { lasts }
        } else {
            Fault::Crash { who: Who::Host, back: Some(lasts) }
        };
        plan.strike(at.saturating_sub(dice.below(300)), fault);
    }
    plan.lasts = seconds(5);
    plan.recovers_within = Some(seconds(3));
    plan
}

pub(super) fn mass_leave(seed: u64) -> Plan {
    let players = 4 + seed % 8;
    let (mut plan, mut dice) = some_plan(seed, players);
    let left = dice.range(1, 2) as usize;
    plan.strike(dice.range(200, 1_500), Fault::Leave(Who::AllBut(left)));
    plan.lasts = seconds(4);
    plan.recovers_within = Some(seconds(3));
    plan
}

/// The host leaves or hands over, and some of its backups leave meanwhile.
pub(super) fn hosts_leave_together(seed: u64) -> Plan {
    let players = 3 + seed % 4;
    let (mut plan, mut dice) = some_plan(seed, players);
    let at = dice.range(500, 1_500);
    plan.strike(at, if dice.chance(0.5) { Fault::Leave(Who::Host) } else { Fault::HandOver });
    for _ in 0..dice.range(1, players - 2) {
        let fault = if dice.chance(0.5) { Fault::ClosePage(Who::Backup) } else { Fault::Leave(Who::Backup) };
        plan.strike(at + dice.below(250), fault);
    }
    plan.lasts = seconds(6);
    plan.recovers_within = Some(seconds(3));
    plan
}

pub(super) fn old_ticket(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 4);
    let victim = dice.range(1, 3) as usize;
    let who = Who::Player(victim);
    plan.strike(200, Fault::Crash { who, back: Some(dice.millis(100, 800)) });
    if dice.chance(0.4) {
        plan.strike(dice.range(1_500, 4_000), Fault::Crash { who: Who::Host, back: Some(seconds(1)) });
    }
    plan.strike(dice.range(3_000, 6_000), Fault::OldTicket { who });
    plan.lasts = seconds(8);
    plan
}

pub(super) fn pages_closed(seed: u64) -> Plan {
    let players = 3 + seed % 7;
    let (mut plan, mut dice) = some_plan(seed, players);
    let mut at = dice.range(300, 1_000);
    for round in 0..dice.range(1, players - 2) {
        let who = match dice.below(3) {
            _ if round == 0 => Who::Host,
            0 => Who::Host,
            1 => Who::Backup,
            _ => Who::Player(dice.below(players) as usize),
        };
        plan.strike(at, Fault::ClosePage(who));
        at += dice.range(0, 900);
    }
    plan.lasts = Duration::from_millis(at) + seconds(3);
    plan.recovers_within = Some(seconds(3));
    plan
}
