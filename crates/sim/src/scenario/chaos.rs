//! Scenarios in which faults of all kinds strike at random.

use samovar_wire::Duration;

use super::orders::some_orders;
use super::{seconds, some_plan};
use crate::dice::Dice;
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::network::Weather;
use crate::plan::Plan;

/// The most players of a run, those that join later included.
const PLAYERS_MAX: usize = 12;

pub(super) fn chaos(seed: u64) -> Plan {
    let mut first = Dice::new(seed ^ 0xc4a0_5000);
    let (mut plan, mut dice) = some_plan(seed, first.range(2, 10));
    let mut players = plan.players;
    let faults = dice.range(3, 14);
    let mut at = dice.range(50, 600);
    for _ in 0..faults {
        let fault = some_fault(&mut dice, players);
        if fault == Fault::Join {
            if players >= PLAYERS_MAX {
                continue;
            }
            players += 1;
        }
        plan.strike(at, fault);
        // Sometimes the next fault strikes at the same moment.
        at += if dice.chance(0.25) { 0 } else { dice.range(10, 1_200) };
    }
    plan.lasts = Duration::from_millis(at) + dice.millis(500, 4_000);
    let mut more = Dice::new(seed ^ 0x3070_5e00);
    for _ in 0..more.below(6).saturating_sub(3) {
        plan.strike(more.below(at), some_rare_fault(&mut more, players));
    }
    plan.rules.orders = some_orders(&mut dice);
    if !plan.has_direct {
        // Lockstep sends sixty packets a second to each member. That is too many for streams, which stall at each
        // loss.
        plan.rules.orders.lockstep = None;
    }
    plan
}

/// Chaos in which one or two members lie.
pub(super) fn with_liars(seed: u64) -> Plan {
    let mut plan = chaos(seed);
    let mut dice = Dice::new(seed ^ 0x11a5_0000);
    for _ in 0..dice.range(1, liars_max(plan.players)) {
        let player = dice.range(1, plan.players as u64 - 1) as usize;
        plan.strike(dice.range(0, 1_500), Fault::Lie { player, lasts: plan.lasts });
    }
    add_strangers(&mut plan, &mut Dice::new(seed ^ 0x57a4_0000));
    plan
}

/// The only faults are liars, strangers and void tickets. All other members keep their seats, and the host its
/// office.
pub(super) fn liars(seed: u64) -> Plan {
    let (mut plan, mut dice) = some_plan(seed, 3 + seed % 6);
    for liar in 0..dice.range(1, liars_max(plan.players)) {
        let player = plan.players - 1 - liar as usize;
        plan.strike(dice.range(0, 1_000), Fault::Lie { player, lasts: seconds(10) });
    }
    // The weather is fair, because bad weather alone can cost a host its office.
    (plan.direct, plan.relay, plan.update_rate) = (Weather::fair(), Weather::fair(), 30);
    plan.keeps_host = true;
    plan.lasts = seconds(10);
    add_strangers(&mut plan, &mut Dice::new(seed ^ 0x57a4_0000));
    plan
}

/// Adds strangers that never ask for a seat, and newcomers that show void tickets.
fn add_strangers(plan: &mut Plan, dice: &mut Dice) {
    let lasts = plan.lasts.as_micros() / 1_000;
    for _ in 0..dice.below(4) {
        plan.strike(dice.below(lasts), Fault::Stranger { lasts: plan.lasts });
    }
    for _ in 0..dice.below(3) {
        let who = Who::Player(dice.below(plan.players as u64) as usize);
        let fault = if dice.chance(0.6) { Fault::ForgedTicket { who } } else { Fault::OldTicket { who } };
        plan.strike(dice.below(lasts), fault);
    }
}

/// The most liars of a run. The majority must be honest, because it elects the host.
const fn liars_max(players: usize) -> u64 {
    if players < 5 { 1 } else { 2 }
}

fn someone(dice: &mut Dice, players: usize) -> Who {
    match dice.below(6) {
        0 | 1 => Who::Host,
        2 => Who::Backup,
        3 => Who::Players(dice.number() & dice.number() & ((1 << players) - 1)),
        _ => Who::Player(dice.below(players as u64) as usize),
    }
}

fn some_fault(dice: &mut Dice, players: usize) -> Fault {
    let who = someone(dice, players);
    let back = dice.chance(0.8).then(|| dice.millis(50, 4_000));
    let lasts = if dice.chance(0.5) { dice.millis(50, 1_500) } else { dice.millis(1_000, 7_000) };
    match dice.below(25) {
        0..=2 => Fault::Join,
        3 => Fault::Leave(who),
        4..=6 => Fault::Crash { who, back },
        7 | 8 => Fault::Death { who, back },
        9 | 10 => Fault::Sleep { who, lasts, clock_stops: dice.chance(0.3) },
        11 => Fault::Stall { who, lasts },
        12 => Fault::Hide { who, lasts },
        13 => Fault::ClockJump { who, by: lasts },
        14 => Fault::RelayCrash { lasts },
        15 => Fault::SlowDisk { delay: dice.millis(20, 1_500), lasts },
        16 | 17 => some_cut(dice, who, lasts),
        18 => Fault::Flap { who, times: dice.range(2, 8) as u32, period: dice.millis(30, 600) },
        19 | 20 => Fault::Storm { weather: Weather::some(dice), lasts },
        21 => Fault::Clog { who, bandwidth: dice.range(2_000, 20_000), lasts },
        22 => Fault::NoDirect { lasts },
        23 => Fault::HandOver,
        _ => Fault::OldTicket { who },
    }
}

/// Rolls a fault of the kinds that were added later. These have their own dice, so that the rolls of old seeds did
/// not change.
fn some_rare_fault(dice: &mut Dice, players: usize) -> Fault {
    let who = someone(dice, players);
    let lasts = dice.millis(50, 7_000);
    match dice.below(5) {
        0 => Fault::RelayStall { lasts },
        1 => Fault::RelayDrain { within: dice.millis(500, 3_000), lasts },
        2 => Fault::ClosePage(who),
        3 => Fault::NoUdp { lasts },
        _ => Fault::Move { who, is_told: dice.chance(0.5) },
    }
}

fn some_cut(dice: &mut Dice, who: Who, lasts: Duration) -> Fault {
    let who = if dice.chance(0.3) { Who::HostAnd(dice.below(4) as usize) } else { who };
    let direction = match dice.below(4) {
        0 => Direction::In,
        1 => Direction::Out,
        _ => Direction::Both,
    };
    let beyond = match dice.below(4) {
        0 => Beyond::Relay,
        1 => Beyond::Players,
        _ => Beyond::Rest,
    };
    Fault::Cut { group: Group { who, relay: dice.chance(0.3) }, beyond, direction, lasts }
}
