//! A seeded world of peers, paths and a relay in virtual time.
//!
//! Everything above the sockets is real: `samovar_peer::Peer` with its session, links and objects, and the relay's
//! directory. Everything below is made up, and goes wrong: clocks, disks, streams, datagrams, processes. One seed decides
//! all of it, so that a run can be repeated, read ([`Trace`]), and shrunk ([`shrink`]).
//!
//! While a run goes on checkers look at every promise of docs/recovery.md, "Promises", and in the end everything
//! heals and all members must agree. A game can be put in the place of the [`Toy`] by implementing [`Game`]:
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
