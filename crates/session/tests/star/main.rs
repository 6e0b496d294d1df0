//! What holds in a mesh, in a star: the same tests, by another topology (see `world`); and what a star alone can get
//! wrong.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]
#![expect(clippy::duplicate_mod, reason = "each file of tests brings its own world")]

#[path = "../absences.rs"]
mod absences;
#[path = "../adversary.rs"]
mod adversary;
#[path = "../calls.rs"]
mod calls;
#[path = "../divergence.rs"]
mod divergence;
#[path = "../elections.rs"]
mod elections;
#[path = "../interest.rs"]
mod interest;
#[path = "../lockstep.rs"]
mod lockstep;
#[path = "../orders.rs"]
mod orders;
#[path = "../ownership.rs"]
mod ownership;
#[path = "../seats.rs"]
mod seats;
#[path = "../sessions.rs"]
mod sessions;
#[path = "../tickets.rs"]
mod tickets;
#[path = "../updates.rs"]
mod updates;

mod ways;
