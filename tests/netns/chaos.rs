//! Faults of all kinds, one after another, drawn from a seed. They may overlap.

use std::collections::BTreeSet;
use std::time::Duration;

use samovar_duel::rng::Rng;

use crate::table::{RELAY, Table};

const PLAYERS: u8 = 6;
/// The places for players that join later.
const LATER: u8 = 2;
/// The number of faults in a run.
const FAULTS: u32 = 16;
/// While only this many players are left, none is killed and none leaves.
const PLAYERS_MIN: usize = 3;
/// The number of kinds of faults.
const KINDS: usize = 11;
/// A seed whose plan has each kind of fault.
const SEED_OF_ALL: u64 = 12;
/// The variable that sets another seed: `SAMOVAR_CHAOS=7 cargo test -p samovar-tests --test netns chaos --
/// --nocapture`.
const SEED: &str = "SAMOVAR_CHAOS";

#[tokio::test(flavor = "multi_thread")]
async fn living_players_are_in_one_game_after_chaos() {
    let seed = std::env::var(SEED).map_or(SEED_OF_ALL, |seed| seed.parse().expect("a number"));
    let Some(mut table) = Table::set_with(PLAYERS, LATER).await else { return };
    println!("chaos: seed {seed}");
    let mut chaos = Chaos { rng: Rng::new(seed), asleep: Vec::new(), is_cut: false, relay: RelayState::Runs };
    let mut struck = BTreeSet::new();
    for number in 1..=FAULTS {
        let (fault, said) = chaos.strike(&mut table).await;
        println!("chaos: {number} {said}");
        struck.insert(fault);
        let pause = chaos.rng.below(2_500);
        tokio::time::sleep(Duration::from_millis(pause.into())).await;
    }
    chaos.end(&mut table);
    table.all_back("chaos").await;
    println!("chaos: struck by {struck:?}");
    assert!(seed != SEED_OF_ALL || struck.len() == KINDS, "the plan of this seed has every kind of fault");
}

/// The random plan, and the present faults.
struct Chaos {
    rng: Rng,
    asleep: Vec<usize>,
    is_cut: bool,
    relay: RelayState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RelayState {
    Runs,
    Frozen,
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Kill,
    Leave,
    Come,
    Sleep,
    Wake,
    Cut,
    CutOneWay,
    Heal,
    KillRelay,
    FreezeRelay,
    MendRelay,
}

impl Chaos {
    /// Causes one of the possible faults, and describes it.
    async fn strike(&mut self, table: &mut Table) -> (Fault, String) {
        let faults = self.possible(table);
        let fault = self.draw(&faults);
        let awake = table.all_but(&self.asleep);
        let said = match fault {
            Fault::Kill => {
                let player = self.draw(&table.all());
                table.kill(&[player]);
                self.asleep.retain(|sleeper| *sleeper != player);
                format!("{player} is killed")
            }
            Fault::Leave => {
                let player = self.draw(&awake);
                table.leave(&[player]).await;
                format!("{player} leaves")
            }
            Fault::Come => {
                let player = table.come();
                table.sits(player).await;
                format!("{player} comes")
            }
            Fault::Sleep => {
                let player = self.draw(&awake);
                table.robot(player).pause();
                self.asleep.push(player);
                format!("{player} falls asleep")
            }
            Fault::Wake => format!("{:?} wake up", self.wake(table)),
            Fault::Cut | Fault::CutOneWay => {
                let (some, others) = self.sides(table);
                self.is_cut = true;
                table.network.cut(&some, &others);
                if fault == Fault::Cut {
                    table.network.cut(&others, &some);
                    format!("{some:?} and {others:?} do not reach each other")
                } else {
                    format!("{some:?} do not reach {others:?}")
                }
            }
            Fault::Heal => {
                self.is_cut = false;
                table.network.heal();
                "the network is whole".to_owned()
            }
            Fault::KillRelay => {
                self.relay = RelayState::Dead;
                table.relay.kill();
                "the relay is killed".to_owned()
            }
            Fault::FreezeRelay => {
                self.relay = RelayState::Frozen;
                table.relay.pause();
                "the relay freezes".to_owned()
            }
            Fault::MendRelay => {
                self.mend_relay(table);
                "the relay runs".to_owned()
            }
        };
        (fault, said)
    }

    /// Draws two sides of the network, neither of them empty.
    fn sides(&mut self, table: &Table) -> (Vec<usize>, Vec<usize>) {
        let mut others = table.all();
        others.push(RELAY);
        let mut some = vec![self.draw(&others)];
        while some.len() + 1 < others.len() && self.rng.below(2) == 0 {
            let next = self.draw(&others);
            some.extend((!some.contains(&next)).then_some(next));
        }
        others.retain(|place| !some.contains(place));
        (some, others)
    }

    /// The possible faults. No player joins while a fault lasts: a player that is not admitted at first has no seat
    /// to come back to, and its process ends.
    fn possible(&self, table: &Table) -> Vec<Fault> {
        let is_whole = !self.is_cut && self.asleep.is_empty() && self.relay == RelayState::Runs;
        let mut faults = vec![Fault::Cut, Fault::CutOneWay];
        if table.all().len() > PLAYERS_MIN {
            faults.push(Fault::Kill);
            faults.extend((!table.all_but(&self.asleep).is_empty()).then_some(Fault::Leave));
        }
        faults.extend((is_whole && table.has_room()).then_some(Fault::Come));
        faults.extend((table.all_but(&self.asleep).len() > 1).then_some(Fault::Sleep));
        faults.extend((!self.asleep.is_empty()).then_some(Fault::Wake));
        faults.extend(self.is_cut.then_some(Fault::Heal));
        match self.relay {
            RelayState::Runs => faults.extend([Fault::KillRelay, Fault::FreezeRelay]),
            RelayState::Frozen | RelayState::Dead => faults.push(Fault::MendRelay),
        }
        faults
    }

    /// Repairs all faults.
    fn end(&mut self, table: &mut Table) {
        self.mend_relay(table);
        table.network.heal();
        self.wake(table);
    }

    fn mend_relay(&mut self, table: &mut Table) {
        match self.relay {
            RelayState::Runs => {}
            RelayState::Frozen => table.relay.resume(),
            RelayState::Dead => table.relay.restart(),
        }
        self.relay = RelayState::Runs;
    }

    fn wake(&mut self, table: &mut Table) -> Vec<usize> {
        let asleep = std::mem::take(&mut self.asleep);
        asleep.iter().for_each(|&player| table.robot(player).resume());
        asleep
    }

    fn draw<T: Copy>(&mut self, some: &[T]) -> T {
        let count = u32::try_from(some.len()).expect("a few");
        some[self.rng.below(count) as usize]
    }
}
