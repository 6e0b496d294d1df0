//! Every history of four peers and a relay within stated bounds, by a model checker: who hosts, and by what right.
//!
//! Peers run the real machine of `samovar-roster`, the relay that of `samovar-directory` with its disk; what surrounds
//! them (links, suspicion, the session object) is reduced to what PROTOCOL §2 to §5 promise of it. The promise is that
//! of DESIGN §5.4. The fourth seed's algorithm runs in the same world, and breaks it.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod bounds;
mod member;
mod network;
mod relay;
mod seed;
mod step;
mod world;

use std::io::Write as _;

use bounds::Bounds;
use stateright::{Checker, Expectation, Model, Path, Property};
use step::Step;
use world::World;

/// All histories within these bounds.
#[derive(Clone)]
struct Elections(Bounds);

impl Model for Elections {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.0)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        world.steps(steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        next.take(step);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one host per term, given or voted once", |_, world: &World| {
                world.broken.is_none()
            }),
            Property::always("no two hosts at rest: no split brain", |_, world: &World| {
                !world.is_at_rest() || world.acting_hosts().count() <= 1
            }),
            Property::sometimes("the relay names a successor", |_, world: &World| world.has_witnessed()),
            Property::sometimes("a majority votes for one", |_, world: &World| world.has_voted()),
            Property::sometimes("a successor is succeeded", |_, world: &World| world.has_third_host()),
            Property::sometimes("who restarted is a member again", |_, world: &World| world.has_newcomer()),
            Property::sometimes("a relay that restarted goes on with the terms", |model, world: &World| {
                world.left.relay_starts < model.0.relay_starts && world.has_witnessed()
            }),
        ]
    }
}

/// What was found within some bounds.
struct Found {
    unique: usize,
    seen: Vec<&'static str>,
    /// The first broken promise, and how.
    broken: Option<(&'static str, Path<World, Step>)>,
}

fn check(name: &str, bounds: Bounds) -> Found {
    let started = std::time::Instant::now();
    let checker = Elections(bounds).checker().threads(2).timeout(std::time::Duration::from_secs(12)).spawn_bfs().join();
    let (all, unique) = (checker.state_count(), checker.unique_state_count());
    let (depth, took) = (checker.max_depth(), started.elapsed().as_secs_f32());
    say(&format!("{name}: {all} states, {unique} of them unique, {depth} steps deep, {took:.1} s{}", if checker.is_done() {""} else {", unfinished"}));
    let mut found = Found { unique, seen: Vec::new(), broken: None };
    for (property, path) in checker.discoveries() {
        match checker.model().property(property).expectation {
            Expectation::Sometimes => found.seen.push(property),
            _ => found.broken = Some((property, path)),
        }
    }
    found
}

fn tell(path: Path<World, Step>) -> String {
    let last = path.last_state().clone();
    let steps: Vec<_> = path.into_actions().iter().map(|step| format!("  {step:?}")).collect();
    format!("{}\n{}", steps.join("\n"), last.picture())
}

#[test]
fn every_history_within_the_bounds_has_one_host_per_term() {
    let only = std::env::var("SAMOVAR_MODEL").ok();
    let (mut total, mut seen) = (0, Vec::new());
    for (name, bounds) in Bounds::ALL {
        if only.as_deref().is_some_and(|only| only != "wide" && !name.contains(only)) {
            continue;
        }
        let found = check(name, bounds);
        if let Some((property, path)) = found.broken {
            panic!("{property}, within {name}:\n{}", tell(path));
        }
        total += found.unique;
        seen.extend(found.seen);
    }
    say(&format!("{total} unique states: one host per term in all of them"));
    // Bounds within which nothing happens would prove nothing.
    for wanted in Elections(Bounds::NONE).properties() {
        let is_wanted = wanted.expectation == Expectation::Sometimes && only.is_none();
        assert!(!is_wanted || seen.contains(&wanted.name), "not once: {}", wanted.name);
    }
}

/// A host that lost most of its electorate renews its term, whose electorate is the few it still reaches. The others
/// hear of that term from the relay and of nothing else, so they count by the electorate before.
#[test]
fn votes_under_two_electorates_of_one_witnessed_term_do_not_meet() {
    let bounds = Bounds {
        peers: 5,
        cut: 0b101_1100,
        removals: 3,
        relay_crashes: 1,
        resignations: 2,
        suspicions: 3,
        ticks: 1,
        electorate_changes: true,
        ..Bounds::NONE
    };
    let mut world = World::new(bounds);
    let mut take = |world: &mut World, step: Step| {
        let mut steps = Vec::new();
        world.steps(&mut steps);
        assert!(steps.contains(&step), "{step:?} is none of {steps:?}\n{}", world.picture());
        world.take(step);
    };
    let all = |world: &mut World, take: &mut dyn FnMut(&mut World, Step)| loop {
        let mut steps = Vec::new();
        world.steps(&mut steps);
        let travels = |step: &&Step| {
            matches!(step, Step::Deliver { .. } | Step::Up(_) | Step::Down(_) | Step::Write)
        };
        let Some(&next) = steps.iter().find(travels) else { return };
        take(world, next);
    };
    take(&mut world, Step::Part);
    for gone in [2, 3, 4] {
        take(&mut world, Step::Suspect(0, gone));
        let gone = world.founders[gone];
        take(&mut world, Step::Remove(0, gone));
        all(&mut world, &mut take);
    }
    take(&mut world, Step::Resign(0));
    all(&mut world, &mut take);
    take(&mut world, Step::Tick);
    all(&mut world, &mut take);
    println!("{}", world.picture());
    take(&mut world, Step::RelayCrash);
    (2..5).for_each(|slot| take(&mut world, Step::Notice(slot)));
    all(&mut world, &mut take);
    println!("{}", world.picture());
    take(&mut world, Step::Resign(1));
    all(&mut world, &mut take);
    panic!("{}", world.picture());
}

#[test]
fn the_fourth_seeds_algorithm_splits() {
    let found = check("the fourth seed's algorithm", Bounds::SEED);
    let (property, path) = found.broken.expect("the lowest id that everybody sees is not the same for all");
    assert_eq!(property, "no two hosts at rest: no split brain");
    say(&format!("the fourth seed's algorithm breaks it ({property}):\n{}", tell(path)));
    let ours = check("the same faults, by warrants and votes", Bounds::SEED_FAULTS);
    assert!(ours.broken.is_none(), "{:?}", ours.broken.map(|(property, path)| (property, tell(path))));
}

/// Prints a figure although the test passes: a harness keeps what is printed by the macros to itself.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
