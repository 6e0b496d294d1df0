//! Sessions in virtual time: elections, seats, objects, orders, inputs, calls, and peers that lie.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod absences;
#[cfg(all(feature = "orders", feature = "lockstep", feature = "ownership", feature = "extras"))]
mod adversary;
mod bytes;
#[cfg(feature = "extras")]
mod calls;
#[cfg(feature = "inputs")]
mod divergence;
mod elections;
#[cfg(all(feature = "orders", feature = "ownership", feature = "extras"))]
mod false_owners;
mod floods;
mod forks;
#[cfg(feature = "inputs")]
mod inputs;
#[cfg(feature = "inputs")]
mod interest;
#[cfg(not(all(feature = "orders", feature = "lockstep", feature = "ownership", feature = "extras")))]
mod left_out;
#[cfg(feature = "orders")]
mod liars;
#[cfg(feature = "lockstep")]
mod lockstep;
mod newcomers;
#[cfg(all(feature = "orders", feature = "lockstep", feature = "extras"))]
mod orders;
#[cfg(all(feature = "ownership", feature = "extras"))]
mod ownership;
mod put_out;
mod reach;
mod seats;
mod sessions;
mod sleepers;
mod steps;
mod stranger;
#[cfg(feature = "inputs")]
mod tickets;
mod updates;
mod vouching;
mod world;
