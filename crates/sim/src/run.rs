//! Runs a plan and reports its outcome.

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

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The promise that broke, if one did. The run ends there.
    pub violation: Option<Violation>,
    /// The virtual time that passed.
    pub simulated: Duration,
    /// The recovery of each lost host that all survivors recovered from, if the network was fair at its loss.
    pub recoveries: Vec<Recovery>,
    /// The longest standstills of the beacon ([`Game::beacon`]) at members that did not own it. There is one for each
    /// member, or one for each rise ([`Plan::standstills_at_rises`]). Empty unless [`Plan::standstills_from`] is set.
    pub standstills: Vec<Duration>,
    /// Whether a member was silent for longer than [`Plan::usual_silence`]; `None` if the plan has no such bound.
    pub is_silent: Option<bool>,
    /// The counters of the run.
    pub figures: Figures,
    /// The record of the run.
    pub trace: Trace,
}

/// Runs a plan. With `full_trace` the trace records every packet; without it the trace is only a hash.
///
/// A panic counts as a broken promise ([`Promise::Panic`]), and the trace up to the panic is kept.
pub fn run<G: Game>(plan: Plan, game: G, full_trace: bool) -> Outcome {
    let usual_silence = plan.usual_silence;
    let mut world = World::new(plan, game, full_trace);
    let start = world.now();
    // A world that panicked does not run any further, and only its records are read. So a broken invariant does no
    // harm.
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

/// Removes faults that are not needed to break the same promise. A plan that breaks no promise stays as it is.
///
/// `shrink` tries to remove halves, then quarters, and so on down to single faults, until no single fault can be
/// removed (Zeller's ddmin without its complements).
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

/// Numbers of faults by kind, over many runs.
pub type FaultCounts = BTreeMap<&'static str, u64>;
