//! A model checker runs every history of three peers within stated bounds. It checks the ownership of an object,
//! through a change of host.
//!
//! The peers run the real state machine of `samovar-objects`. Their surroundings (links, the witness, the view) are
//! reduced to the promises of PROTOCOL §2 to §4. The promises to prove are docs/recovery.md, promises 1 to 3.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod step;
mod world;

use std::io::Write as _;

use samovar_tests::extent::Extent;
use stateright::{Checker, Expectation, Model, Property};
use step::Step;
use world::{Bounds, World};

/// All histories within these bounds.
#[derive(Clone)]
struct Ownership(Bounds);

impl Model for Ownership {
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
            Property::always(
                "converges: at rest all living members have the same objects",
                |_, world: &World| !world.is_quiet() || world.is_converged(),
            ),
            Property::always(
                "comes to rest: where nothing can happen, nothing is under way",
                |_, world: &World| {
                    let mut steps = Vec::new();
                    world.steps(&mut steps);
                    !steps.is_empty() || world.is_quiet()
                },
            ),
            Property::always("one owner: a stamp names one owner", |_, world: &World| {
                world.has_one_owner_each()
            }),
            Property::always(
                "stamps only grow, only the owner speaks, nobody honest is blamed",
                |_, world: &World| world.broken.is_none(),
            ),
            Property::sometimes(
                "an object changes hands under a second term and lives",
                |_, world: &World| world.is_quiet() && world.has_object_of_second_term(),
            ),
            Property::sometimes("an object is brought back by a higher stamp", |_, world: &World| {
                world.revived
            }),
            Property::sometimes("an object ends everywhere", |_, world: &World| {
                world.is_quiet() && world.has_only_dead()
            }),
        ]
    }
}

/// Checks all histories within the bounds. Returns the number of states, and the wanted events that were seen.
fn check(bounds: Bounds) -> (usize, Vec<&'static str>) {
    let checker = Ownership(bounds).checker().threads(2).spawn_bfs().join();
    let (all, unique) = (checker.state_count(), checker.unique_state_count());
    say(&format!("{bounds:?}: {all} states, {unique} of them unique, {} steps deep", checker.max_depth()));
    let mut seen = Vec::new();
    for (name, path) in checker.discoveries() {
        if checker.model().property(name).expectation == Expectation::Sometimes {
            seen.push(name);
            continue;
        }
        let (last, broken) = (path.last_state().pictures(), path.last_state().broken.clone());
        let steps: Vec<_> = path.into_actions().iter().map(|step| format!("{step:?}")).collect();
        panic!("{name}\n  broken: {broken:?}\n  {}\n  {last:?}", steps.join("\n  "));
    }
    (unique, seen)
}

#[test]
fn every_history_within_the_bounds_keeps_the_promises() {
    let (mut total, mut seen) = (0, Vec::new());
    for bounds in if Extent::wanted() == Extent::Wide { Bounds::WIDE } else { Bounds::NARROW } {
        let (unique, more) = check(bounds);
        total += unique;
        seen.extend(more);
    }
    say(&format!("{total} unique states keep all promises"));
    // Each of the wanted events must have happened. Histories without events would prove nothing.
    let properties = Ownership(Bounds::NARROW[0]).properties();
    for wanted in properties.iter().filter(|property| property.expectation == Expectation::Sometimes) {
        assert!(seen.contains(&wanted.name), "not once: {}", wanted.name);
    }
}

/// Prints a figure even if the test passes. The test harness would capture the output of the print macros.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
