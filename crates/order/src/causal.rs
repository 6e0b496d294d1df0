//! Causal order: no message is delivered before those that its sender had sent or delivered before it
//! (docs/sources.md, "Fujimoto").
//!
//! *Happens before* is Lamport's: one member's actions follow their own order, a message is sent before it is
//! delivered, and the relation is transitive. If message M1 was sent before M2 in that sense, no member delivers M2
//! before M1. Two messages are *concurrent* if neither precedes the other. Members may see them in different orders.
//!
//! | | how | cost | for |
//! |---|---|---|---|
//! | [`Vector`] | a stamp on each message | about 5 bytes per message among 16 | direct paths |
//! | [`Dispatcher`] | the host passes messages on in the order of arrival | a second hop, at the host | client-server
//! |
//! | [`Barrier`] | rounds that end for all at once | waits for the slowest member; N² frames per round | steps |
//!
//! All three are [`crate::Order`]s with the same promise, checked by the same tests. They do not deliver a member's
//! own messages to it: it has had them since it sent them. If a message's sender is a member of the present view and
//! of the next, all other members of both views deliver the message, and all of them in the same view.

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
