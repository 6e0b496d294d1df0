//! One run of a plan, and what came of it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use samovar_wire::Duration;

pub use crate::check::Recovery;
use crate::game::Game;
use crate::plan::Plan;
use crate::promise::{Broken, Promise, Violation};
use crate::trace::Trace;
pub use crate::world::Figures;
use crate::world::World;

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The promise that was broken, if one was: there the run ended.
    pub violation: Option<Violation>,
    /// How much time passed in the world.
    pub simulated: Duration,
    /// How the session went on whenever a host was gone.
    pub recoveries: Vec<Recovery>,
    /// The longest time for which what the host moves stood still, at each of the others, if that was to be measured.
    pub standstills: Vec<Duration>,
    /// Whether a member was not heard for longer than usual ([`Plan::usual_silence`]); `None` where that is not looked at.
    pub is_silent: Option<bool>,
    /// What was counted.
    pub figures: Figures,
    /// What happened.
    pub trace: Trace,
}

/// Runs a plan. `full_trace` records every packet, for a reader; without it the trace is a hash.
///
/// A panic is a broken promise like any other, and what happened before it can be read ([`Promise::Panic`]).
pub fn run<G: Game>(plan: Plan, game: G, full_trace: bool) -> Outcome {
    let usual_silence = plan.usual_silence;
    let mut world = World::new(plan, game, full_trace);
    let start = world.now();
    // A world that panicked does not run on: it is only looked at, for what it had noted until then.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| world.play())) {
        world.break_promise(Broken::new(Promise::Panic, said_by(panic.as_ref())));
    }
    Outcome {
        violation: world.violation().cloned(),
        simulated: world.now().since(start),
        recoveries: world.recovery_times().to_vec(),
        standstills: world.standstills(),
        is_silent: usual_silence.map(|usual| world.figures().silence > usual),
        figures: world.figures().clone(),
        trace: world.trace().clone(),
    }
}

fn said_by(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

/// Leaves out the faults of a plan without which the same promise is still broken.
///
/// First halves, then quarters, and so on down to single faults are left out (Zeller's ddmin without its complements),
/// until no single one can be.
pub fn shrink<G: Game>(plan: &Plan, mut game: impl FnMut() -> G) -> Plan {
    let promise = |plan: &Plan, game: G| run(plan.clone(), game, false).violation.map(|v| v.promise);
    let mut best = plan.clone();
    let Some(broken) = promise(&best, game()) else { return best };
    let mut size = best.faults.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut shrunk = false;
        while at < best.faults.len() {
            let mut fewer = best.clone();
            let end = (at + size).min(fewer.faults.len());
            fewer.faults.drain(at..end);
            if promise(&fewer, game()) == Some(broken) {
                (best, shrunk) = (fewer, true);
            } else {
                at += size;
            }
        }
        if size == 1 && !shrunk {
            return best;
        }
        size = (size / 2).max(1);
    }
}

/// Faults by kind, of many runs.
pub type FaultCounts = BTreeMap<&'static str, u64>;
