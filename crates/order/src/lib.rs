//! The orders in which members of a session deliver each other's messages.
//!
//! [`causal`], [`total`], [`timestamp`] and [`lockstep`] are siblings that do not know each other. None of them sends
//! a byte or reads a clock: each is told what arrived and what time it is, and says what to send and what to deliver.

pub mod causal;
mod group;
pub mod lockstep;
mod log;
mod order;
pub mod timestamp;
pub mod total;

pub use order::{
    Delivery, Event, Order, SendError, Transmit, UNSTABLE_BYTES_MAX, UNSTABLE_MAX, View, ViewId,
};
