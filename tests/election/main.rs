//! A model checker runs every history of four peers and a relay within stated bounds. It checks that each term has
//! one host, and that the host has a right to its term.
//!
//! Peers run the real state machine of `samovar-roster`, and the relay that of `samovar-directory` with its disk.
//! Their surroundings (links, suspicion, the session object) are reduced to the promises of PROTOCOL §2 to §5. The
//! promise to prove is docs/recovery.md, promise 4. DirectPlay 4's algorithm (docs/sources.md) runs in the same
//! world, and breaks that promise.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod bounds;
mod member;
mod network;
mod relay;
mod seed;
mod step;
mod world;

use std::io::Write as _;

use bounds::{Bounds, CUTS, PROBE, VOTE};
use samovar_tests::extent::Extent;
use samovar_wire::Entropy;
use stateright::{Checker, Expectation, Model, Path, Property};
use step::Step;
use world::World;

/// The number of random histories, and how many of them run with every change.
const WALKS: usize = 20_000;
const QUICK_WALKS: usize = 4_000;
/// The most steps of a random history. The longest one took 242.
const STEPS_MAX: usize = 5_000;

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
                !(world.is_at_rest() && world.is_split())
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

/// The result of a check within some bounds.
struct Found {
    unique: usize,
    seen: Vec<&'static str>,
    /// The broken promise, if there is one, and the history that breaks it.
    broken: Option<(&'static str, Path<World, Step>)>,
}

fn check(name: &str, bounds: Bounds) -> Found {
    let started = std::time::Instant::now();
    let checker = Elections(bounds).checker().threads(2).spawn_bfs().join();
    let (all, unique) = (checker.state_count(), checker.unique_state_count());
    let (depth, took) = (checker.max_depth(), started.elapsed().as_secs_f32());
    say(&format!("{name}: {all} states, {unique} of them unique, {depth} steps deep, {took:.1} s"));
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
    let chosen = match Extent::wanted() {
        Extent::Quick => &Bounds::NARROW[..Bounds::QUICK],
        Extent::Narrow => &Bounds::NARROW[..],
        Extent::Wide => &Bounds::WIDE[..],
    };
    let (mut total, mut seen) = (0, Vec::new());
    for &(name, bounds) in chosen {
        let found = check(name, bounds);
        if let Some((property, path)) = found.broken {
            panic!("{property}; within {name}:\n{}", tell(path));
        }
        total += found.unique;
        seen.extend(found.seen);
    }
    say(&format!("{total} unique states: one host per term, and no two at rest, in all of them"));
    // Each of the wanted events must have happened. Histories without events would prove nothing.
    let properties = Elections(Bounds::NONE).properties();
    for wanted in properties.iter().filter(|property| property.expectation == Expectation::Sometimes) {
        assert!(seen.contains(&wanted.name), "not once: {}", wanted.name);
    }
}

/// Runs random histories, longer than an exhaustive search allows. Whenever a majority is left, connected and quiet,
/// it must have a host.
#[test]
fn random_histories_have_one_host_per_term() {
    let mut entropy = Entropy::new([1; 32]);
    let mut draw = |from: usize| entropy.number() as usize % from;
    let (mut steps_taken, mut hosts, mut quiet) = (0, 0, 0);
    let walks = if Extent::wanted() == Extent::Quick { QUICK_WALKS } else { WALKS };
    for round in 0..walks {
        let bounds = Bounds {
            peers: 3 + draw(3),
            cut: CUTS[draw(CUTS.len())],
            span: [PROBE, VOTE][draw(2)],
            ..Bounds::ALL
        };
        // Some histories have no relay from the beginning, and the host may die together with its likely successor.
        let bounds = if draw(4) == 0 { Bounds { peers: 5, ..Bounds::ORPHANS } } else { bounds };
        let mut world = World::new(bounds);
        let mut history = Vec::new();
        loop {
            let mut steps = Vec::new();
            world.steps(&mut steps);
            if steps.is_empty() {
                break;
            }
            // Many messages arrive between two faults.
            let routine: Vec<_> = steps.iter().copied().filter(|step| !step.is_fault()).collect();
            let choice = if draw(12) > 0 && !routine.is_empty() { routine } else { steps };
            let step = choice[draw(choice.len())];
            world.take(step);
            history.push(step);
            assert!(history.len() < STEPS_MAX, "{round}: they talk for ever\n{}", world.picture());
            let is_split = world.is_at_rest() && world.is_split();
            let lines = || history.iter().map(|step| format!("  {step:?}")).collect::<Vec<_>>().join("\n");
            assert!(world.broken.is_none() && !is_split, "{round}:\n{}\n{}", lines(), world.picture());
        }
        let last = world.left_alone();
        let lines = || history.iter().map(|step| format!("  {step:?}")).collect::<Vec<_>>().join("\n");
        assert!(last.broken.is_none(), "{round}: left alone\n{}\n{}", lines(), last.picture());
        assert!(last.is_hosted() != Some(false), "{round}: nobody hosts\n{}\n{}", lines(), last.picture());
        quiet += usize::from(last.is_hosted().is_some());
        steps_taken += history.len();
        hosts += world.hosts.len();
    }
    say(&format!(
        "{walks} random histories of {steps_taken} steps and {hosts} terms: one host each, and {quiet} of them with a majority in the end, which has a host"
    ));
    assert!(2 * hosts > 5 * walks && quiet > walks / 2, "the failures hide what they should test");
}

/// A host that lost most of its electorate goes on with the relay's warrant and the few members that it hears. The
/// others hear of that term from the relay, but no peer tells them its electorate. If they voted by the old
/// electorate, there could be two majorities and two hosts in one term.
#[test]
fn no_vote_counts_without_the_electorate_of_a_witnessed_term() {
    let mut history = History(World::new(Bounds {
        peers: 5,
        cut: 0b101_1100,
        suspicions: 3,
        removals: 3,
        resignations: 2,
        relay_crashes: 1,
        ticks: 1,
        electorate_changes: true,
        ..Bounds::NONE
    }));
    // Peers 0 and 1 do not hear peers 2, 3 and 4, and all five hear the relay. Peer 0 drops the three, and hands over
    // to peer 1.
    history.take(Step::Part);
    for gone in 2..5 {
        history.take(Step::Suspect(0, gone));
        history.take(Step::Remove(0, history.0.founders[gone]));
        history.run();
    }
    history.take(Step::Resign(0));
    history.run();
    history.take(Step::Tick);
    history.run();
    let second = history.0.founders[1];
    assert!(history.0.living().all(|(_, member)| member.host() == second && member.term().is_witnessed()));
    // The relay goes. The three miss peer 1, and are a majority of the old electorate of five. Peer 1 hands back to
    // peer 0 by a vote of two.
    history.take(Step::RelayCrash);
    (2..5).for_each(|slot| history.take(Step::Notice(slot)));
    history.run();
    history.take(Step::Resign(1));
    history.run();
    assert_eq!(history.0.broken, None, "{}", history.0.picture());
    assert!(history.0.hosts.keys().any(|term| !term.is_witnessed()), "the two know their electorate");
}

/// A history whose steps the test chooses.
struct History(World);

impl History {
    fn take(&mut self, step: Step) {
        let mut steps = Vec::new();
        self.0.steps(&mut steps);
        assert!(steps.contains(&step), "{step:?} is none of {steps:?}\n{}", self.0.picture());
        self.0.take(step);
    }

    /// Delivers all messages that are on their way.
    fn run(&mut self) {
        loop {
            let mut steps = Vec::new();
            self.0.steps(&mut steps);
            let travels = |step: &&Step| {
                matches!(step, Step::Deliver { .. } | Step::Up(_) | Step::Down(_) | Step::Write)
            };
            let Some(&next) = steps.iter().find(travels) else { return };
            self.0.take(next);
        }
    }
}

#[test]
fn directplay_algorithm_can_end_with_two_hosts() {
    let found = check("DirectPlay 4's algorithm", Bounds::SEED);
    let (property, path) = found.broken.expect("the lowest id that everybody sees is not the same for all");
    assert_eq!(property, "no two hosts at rest: no split brain");
    // The faults of `Bounds::SEED`, with warrants and votes, are among the bounds within which no promise breaks.
    assert!(Bounds::NARROW.iter().any(|(_, bounds)| *bounds == Bounds::SEED_FAULTS));
    say(&format!("as it must, DirectPlay 4's algorithm breaks it ({property}):\n{}", tell(path)));
}

/// Prints a figure even if the test passes. The test harness would capture the output of the print macros.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
