//! Causal order: nothing is delivered before what its sender had sent or been delivered before it (docs/sources.md,
//! "Fujimoto").
//!
//! *Happens before* is Lamport's: what one member does is in the order in which it does it, a message is sent before it
//! is delivered, and the relation is transitive. If message M1 was sent before M2 in that sense, no member delivers M2
//! before M1. Messages that neither precedes the other are *concurrent*, and members may see them in different orders.
//!
//! | | how | costs | for |
//! |---|---|---|---|
//! | [`Vector`] | a stamp on each message | about 5 bytes per message among 16 | direct paths |
//! | [`Dispatcher`] | the host relays everything in the order in which it comes | a second way, through the host | client-server |
//! | [`Barrier`] | rounds that end for all at once | waits for the slowest member; a frame from each to each in a round | simulations in steps |
//!
//! All three are [`crate::Order`]s with the same promise, which the same tests hold them to. A member is not delivered its own
//! messages: it has had them since it sent them. What was sent in a view by who is still a member in the next one is
//! delivered to all others of both, in the same of the two.

mod barrier;
mod dispatcher;
mod vector;

pub use barrier::Barrier;
pub use dispatcher::Dispatcher;
pub use vector::Vector;

/// How causal order is brought about, where a game chooses it by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causality {
    /// [`Vector`].
    Vector,
    /// [`Dispatcher`].
    Dispatcher,
}
