//! Causal order: no message is delivered before those that its sender had sent or delivered before it
//! (docs/sources.md, "Fujimoto").
//!
//! *Happens before* is Lamport's: one member's actions follow their own order, a message is sent before it
//! is delivered, and the relation is transitive. If message M1 was sent before M2 in that sense, no member delivers M2
//! before M1. Messages that neither precedes the other are *concurrent*, and members may see them in different orders.
//!
//! | | how | cost | for |
//! |---|---|---|---|
//! | [`Vector`] | a stamp on each message | about 5 bytes per message among 16 | direct paths |
//! | [`Dispatcher`] | the host relays every message in the order of arrival | a second way, through the host |
//! client-server |
//! | [`Barrier`] | rounds that end for all at once | waits for the slowest member; a frame from each to each in a round | simulations in steps |
//!
//! All three are [`crate::Order`]s with the same promise, checked by the same tests. A member is not delivered its
//! own messages: it has had them since it sent them. If the sender of a message is a member of its view and of the
//! next, every other member of both delivers the message, in the same of the two.

mod barrier;
mod dispatcher;
mod vector;

pub use barrier::Barrier;
pub use dispatcher::Dispatcher;
pub use vector::Vector;

/// The algorithm of causal order, for a game that chooses it by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causality {
    /// [`Vector`].
    Vector,
    /// [`Dispatcher`].
    Dispatcher,
}
