//! Random groups, delays, joins, leaves, lost links and crashes, mostly of hosts. `SAMOVAR_SEED=n` replays one life,
//! `SAMOVAR_SEEDS=n` runs that many.

use samovar_order::View;
use samovar_wire::PeerId;

use crate::orders::any::{CAUSAL, Kind};
use crate::orders::history::Act;
use crate::orders::world::World;
use samovar_wire::Rng;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Rates of the events of a run, in percent of its steps.
#[derive(Clone, Copy)]
struct Weather {
    sends: usize,
    crashes: usize,
    joins: usize,
    relinks: usize,
    steps: usize,
}

const CALM: Weather = Weather { sends: 30, crashes: 0, joins: 0, relinks: 0, steps: 250 };
const ROUGH: Weather = Weather { sends: 25, crashes: 2, joins: 3, relinks: 2, steps: 350 };
const STORM: Weather = Weather { sends: 15, crashes: 6, joins: 8, relinks: 6, steps: 250 };

const MEMBERS_MAX: usize = 8;

/// A run, and its dice.
struct Run {
    world: World,
    dice: Rng,
    weather: Weather,
    next_peer: u32,
}

impl Run {
    fn new(kind: Kind, weather: Weather, seed: u64) -> Self {
        let mut dice = Rng::new(seed);
        let n = 1 + dice.index(5) as u32;
        let mut world = World::new(kind, n);
        world.is_eager = dice.chance(50, 100);
        world.is_split = dice.chance(40, 100);
        Self { world, dice, weather, next_peer: 100 }
    }

    fn alive(&self) -> Vec<PeerId> {
        self.world.nodes.keys().copied().collect()
    }

    fn step(&mut self) {
        let roll = self.dice.index(100);
        let Weather { sends, crashes, joins, relinks, .. } = self.weather;
        let alive = self.alive();
        let Some(peer) = self.dice.pick(&alive) else { return };
        if roll < sends {
            let is_stable = self.dice.chance(20, 100);
            let _ = if is_stable { self.world.send_stable(peer) } else { self.world.send(peer) };
        } else if roll < sends + crashes && alive.len() > 1 {
            // The host crashes most often.
            let host = self.world.view.host;
            let victim = if self.dice.chance(40, 100) && alive.contains(&host) { host } else { peer };
            let dice = &mut self.dice;
            self.world.crash(victim, |n| dice.index(n + 1));
            if self.dice.chance(60, 100) {
                self.publish(false);
            }
        } else if roll < sends + crashes + joins {
            self.publish(true);
        } else if roll < sends + crashes + joins + relinks {
            let other = self.dice.pick(&alive).unwrap();
            if other != peer {
                self.world.relink(peer, other);
            }
        } else if roll < 90 {
            let busy = self.world.busy();
            if let Some(way) = self.dice.pick(&busy) {
                (0..=self.dice.index(4)).for_each(|_| self.world.arrive(way));
            }
        } else {
            self.world.flush(peer);
            self.world.poll(peer);
        }
    }

    /// Publishes a view: the present host, or a new one, names the living members that it knows.
    fn publish(&mut self, is_joining: bool) {
        let present = self.world.view.clone();
        let alive = self.alive();
        let is_up_to_date = |peer: &PeerId, run: &Self| run.world.told.get(peer) == Some(&present);
        let keeps = alive.contains(&present.host) && !self.dice.chance(10, 100);
        let host = if keeps {
            present.host
        } else {
            let heirs: Vec<_> = if alive.contains(&present.host) {
                alive.iter().copied().filter(|peer| is_up_to_date(peer, self)).collect()
            } else {
                alive.iter().copied().filter(|peer| self.world.told.contains_key(peer)).collect()
            };
            match self.dice.pick(&heirs) {
                Some(heir) => heir,
                None => return,
            }
        };
        let known = self.world.told[&host].members.clone();
        let mut members: Vec<_> = known.into_iter().filter(|peer| alive.contains(peer)).collect();
        if is_joining && members.len() < MEMBERS_MAX {
            let id = if self.dice.chance(50, 100) { self.next_peer } else { self.next_peer + 10_000 };
            self.next_peer += 1;
            members.push(PeerId(id));
        }
        members.sort_unstable();
        let view: View = self.world.next_view(host, members);
        for peer in alive.into_iter().filter(|peer| !view.members.contains(peer)) {
            let dice = &mut self.dice;
            self.world.crash(peer, |n| dice.index(n + 1));
        }
        self.world.publish(view);
    }

    /// Lets everything arrive, removes the dead, and lets every member send one more message. Returns `false` when
    /// the session is over.
    fn settle(&mut self) -> bool {
        self.publish(false);
        // The session is over if no member with a view is left.
        if self.alive() != self.world.view.members {
            return false;
        }
        self.world.drain();
        for peer in self.alive() {
            assert!(self.world.send(peer).is_some(), "{peer} is blocked for good");
        }
        self.world.drain();
        true
    }
}

/// Names the life in which a check failed.
struct Life(Kind, u64);

impl Drop for Life {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{:?}, seed {}", self.0, self.1);
        }
    }
}

fn check(kind: Kind, weather: Weather, seed: u64) -> Tally {
    let _life = Life(kind, seed);
    let mut run = Run::new(kind, weather, seed);
    for _ in 0..weather.steps {
        run.step();
    }
    if !run.settle() {
        return Tally::default();
    }
    let survivors = run.alive();
    let history = &run.world.history;
    let is_behind = history.acts.values().any(|acts| acts.contains(&Act::Behind));
    let acts: Vec<_> = history.acts.iter().map(|(peer, acts)| format!("{peer}: {acts:?}")).collect();
    assert!(!is_behind, "{kind:?}, seed {seed}: a member was left behind\n{}", acts.join("\n"));
    let is_total = kind == Kind::Total;
    let verdict = history
        .check_causal()
        .and_then(|()| history.check_views(is_total || kind == Kind::Barrier))
        .and_then(|()| if is_total { history.check_total(&survivors) } else { Ok(()) })
        .and_then(|()| history.check_complete(&survivors, is_total));
    if let Err(wrong) = verdict {
        panic!("{kind:?}, seed {seed}: {wrong}\n{}", acts.join("\n"));
    }
    for &peer in &survivors {
        assert_eq!(history.views(peer).last(), Some(&run.world.view.id), "{kind:?}, seed {seed}: {peer}");
    }
    Tally {
        ended_well: 1,
        views: survivors.iter().map(|&peer| history.views(peer).len()).sum(),
        deliveries: survivors.iter().map(|&peer| history.deliveries(peer).len()).sum(),
    }
}

/// Counts of what was checked.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Lives with a survivor at the end.
    ended_well: usize,
    views: usize,
    deliveries: usize,
}

/// The lives of each order in each weather by default. A browser is slower and runs the same code.
const LIVES: u64 = if cfg!(target_arch = "wasm32") { 10 } else { 80 };

/// Lives that once failed.
const FAILED_ONCE: [u64; 2] = [2726, 4850];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn check_all(weather: Weather) {
    let seeds = match number("SAMOVAR_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SAMOVAR_SEEDS").unwrap_or(LIVES),
    };
    for kind in CAUSAL {
        let mut all = Tally::default();
        for tally in FAILED_ONCE.into_iter().chain(seeds.clone()).map(|seed| check(kind, weather, seed)) {
            all.ended_well += tally.ended_well;
            all.views += tally.views;
            all.deliveries += tally.deliveries;
        }
        println!("{kind:?}: {all:?} in lives {seeds:?}");
        assert!(
            all.ended_well as u64 * 2 >= seeds.end - seeds.start,
            "most lives leave no survivor to check: {all:?}"
        );
    }
}

#[test]
fn orders_hold_in_groups_that_stay_as_they_are() {
    check_all(CALM);
}

#[test]
fn orders_hold_through_joins_leaves_lost_links_and_crashes() {
    check_all(ROUGH);
}

#[test]
fn orders_hold_when_views_change_faster_than_they_end() {
    check_all(STORM);
}
