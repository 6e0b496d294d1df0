//! Three honest peers, a network and a script: the model of ownership, driven far beyond the bounds of the model
//! checker.

#[path = "../../../tests/model/step.rs"]
mod step;
#[path = "../../../tests/model/world.rs"]
#[expect(dead_code, reason = "the checker asks more of it")]
mod world;

use world::{Bounds, World};

use crate::script::Script;

const BOUNDS: Bounds = Bounds {
    creates: 12,
    sets: 200,
    grants: 40,
    destroys: 12,
    departures: 1,
    losses: 60,
    mistakes: 30,
    copies: 30,
};

pub(super) fn run(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let mut world = World::new(BOUNDS);
    let mut steps = Vec::new();
    while !script.is_over() {
        steps.clear();
        world.steps(&mut steps);
        if steps.is_empty() {
            break;
        }
        world.take(steps[script.roll(steps.len())]);
        assert_eq!(world.broken, None);
        assert!(world.has_one_owner_each());
    }
    // From now on no peer does anything and nothing is lost, so all peers must converge.
    world.left = Bounds {
        creates: 0,
        sets: 0,
        grants: 0,
        destroys: 0,
        departures: 0,
        losses: 0,
        mistakes: 0,
        copies: 0,
    };
    for peace in 0.. {
        steps.clear();
        world.steps(&mut steps);
        let Some(&next) = steps.first() else { break };
        assert!(peace < 100_000, "it does not come to rest: {next:?}");
        world.take(next);
        assert_eq!(world.broken, None);
    }
    assert!(world.is_quiet());
    assert!(world.is_converged(), "{:?}", world.pictures());
}
