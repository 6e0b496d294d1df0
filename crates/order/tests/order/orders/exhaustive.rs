//! All schedules of three members with up to four messages: every order of sends and arrivals.
//!
//! A member's actions depend only on the sequence of its inputs. So two schedules with the same inputs for each
//! member are equal, however the members' steps interleave, and one of these schedules is enough.

use std::collections::BTreeSet;

use samovar_wire::PeerId;

use crate::orders::any::Kind;
use crate::orders::world::World;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const MEMBERS: u32 = 3;

/// A step: a member sends, or the first parcel of a lane arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Send,
    ArriveFrom(PeerId),
}

#[derive(Clone)]
struct State {
    world: World,
    sent: usize,
    /// The inputs of each member.
    told: [Vec<Step>; MEMBERS as usize],
}

impl State {
    fn tell(&self, peer: PeerId, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Send => {
                next.sent += 1;
                next.world.send(peer);
            }
            Step::ArriveFrom(from) => next.world.arrive((from, peer)),
        }
        // Rounds end as soon as they may, so only the arrivals before such an end are varied.
        next.world.flush(peer);
        next.told[peer.0 as usize - 1].push(step);
        next
    }
}

/// Visits all schedules, and calls `check` at the end of each. Returns the number of states and of ends.
fn explore(kind: Kind, messages: usize, check: impl Fn(&World) -> Result<(), String>) -> (usize, usize) {
    let first = State { world: World::new(kind, MEMBERS), sent: 0, told: Default::default() };
    let mut seen = BTreeSet::from([first.told.clone()]);
    let mut left = vec![first];
    let mut ends = 0;
    while let Some(state) = left.pop() {
        let sends = (1..=MEMBERS).map(|peer| (PeerId(peer), Step::Send)).filter(|_| state.sent < messages);
        let arrivals = state.world.busy().into_iter().map(|(from, to)| (to, Step::ArriveFrom(from)));
        let steps: Vec<_> = sends.chain(arrivals).collect();
        if steps.is_empty() {
            ends += 1;
            check(&state.world).unwrap_or_else(|wrong| panic!("{kind:?}: {wrong}: {:?}", state.told));
        }
        for (peer, step) in steps {
            let next = state.tell(peer, step);
            if seen.insert(next.told.clone()) {
                left.push(next);
            }
        }
    }
    (seen.len(), ends)
}

fn everybody() -> Vec<PeerId> {
    (1..=MEMBERS).map(PeerId).collect()
}

fn is_causal(world: &World) -> Result<(), String> {
    world.history.check_causal()?;
    world.history.check_complete(&everybody(), false)
}

fn is_total(world: &World) -> Result<(), String> {
    is_causal(world)?;
    world.history.check_total(&everybody())?;
    world.history.check_complete(&everybody(), true)
}

fn report(kind: Kind, messages: usize, (states, ends): (usize, usize)) {
    println!("{kind:?}, {messages} messages: {states} states, {ends} ends");
    assert!(ends > 1);
}

#[test]
fn vector_stamps_are_causal_in_every_schedule_of_four_messages() {
    report(Kind::Vector, 4, explore(Kind::Vector, 4, is_causal));
}

#[test]
fn a_dispatcher_is_causal_in_every_schedule_of_four_messages() {
    report(Kind::Dispatcher, 4, explore(Kind::Dispatcher, 4, is_causal));
}

#[test]
fn barriers_are_causal_in_every_schedule_of_two_messages() {
    report(Kind::Barrier, 2, explore(Kind::Barrier, 2, is_causal));
}

#[test]
fn sequencer_is_total_and_causal_in_all_four_message_schedules() {
    report(Kind::Total, 4, explore(Kind::Total, 4, is_total));
}

/// The schedules are rich enough to tell the orders apart.
#[test]
fn receive_order_is_not_causal_and_causal_order_is_not_total() {
    let found = |kind, check: &dyn Fn(&World) -> Result<(), String>| {
        let wrong = core::cell::Cell::new(false);
        explore(kind, 2, |world| {
            wrong.set(wrong.get() || check(world).is_err());
            Ok(())
        });
        wrong.get()
    };
    assert!(found(Kind::Receive, &|world| world.history.check_causal()));
    assert!(found(Kind::Vector, &|world| world.history.check_total_at_sight(&everybody())));
}
