//! A seeded world of peers, paths and a relay in virtual time.
//!
//! Everything above the sockets is real: `samovar_peer::Peer` with its session, links and objects, and the relay's
//! directory. Everything below is simulated and can fail: clocks, disks, streams, datagrams, processes. One seed
//! decides all of it, so that a run can be repeated, read ([`Trace`]), and reduced to the faults that matter
//! ([`shrink`]).
//!
//! During a run, checkers test every promise of docs/recovery.md, "Promises". At the end all faults heal and all
//! members must agree. Another game can replace the [`Toy`] by implementing [`Game`]:
//!
//! ```
//! use samovar_sim::{Fault, Plan, Toy, Who, run};
//! use samovar_wire::Duration;
//!
//! let mut plan = Plan::calm(7, 3);
//! plan.strike(500, Fault::Crash { who: Who::Host, back: Some(Duration::from_millis(2_000)) });
//! let outcome = run(plan, Toy::new(), false);
//! assert_eq!(outcome.violation, None);
//! assert_eq!(outcome.figures.faults["crash"], 1);
//! ```

mod chart;
mod check;
mod clock;
mod dice;
mod directplay;
mod fault;
mod game;
mod network;
mod plan;
mod promise;
mod queue;
mod report;
mod run;
mod scenario;
mod toy;
mod trace;
mod world;

pub use chart::chart;
pub use dice::Dice;
pub use directplay::{Fate, Trouble, directplay};
pub use fault::{Beyond, Direction, Fault, Group, Who};
pub use game::{Game, ProcessId, Turn};
pub use network::{Loss, Place, Side, Weather};
pub use plan::Plan;
pub use promise::{Broken, Promise, Violation};
pub use report::{Failure, Spans, Summary};
pub use run::{FaultCounts, Figures, Outcome, Recovery, run, shrink};
pub use samovar_session::Rules;
pub use scenario::{SCENARIOS, Scenario, Shape};
pub use toy::Toy;
pub use trace::{Entry, Level, Trace};
