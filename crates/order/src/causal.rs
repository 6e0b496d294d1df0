//! Causal order: nothing is delivered before what its sender had sent or been delivered before it (seed 002).
//!
//! *Happens before* is Lamport's: what one member does is in the order in which it does it, a message is sent before it
//! is delivered, and the relation is transitive. If message M1 was sent before M2 in that sense, no member delivers M2
//! before M1. Messages that neither precedes the other are *concurrent*, and members may see them in different orders.
//!
//! | | how | costs | for |
//! |---|---|---|---|
//! | [`Vector`] | a stamp on each message | about 5 bytes per message among 16 | a mesh |
//! | [`Dispatcher`] | the host relays everything in the order in which it comes | a second way, through the host | a star |
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

/// An order that is nothing but a [`crate::group::Group`] with a rule.
macro_rules! order_by_group {
    ($name:ident $(, $flush:ident)?) => {
        impl Order for $name {
            fn handle_view(&mut self, view: &View) {
                self.0.handle_view(view);
            }

            fn handle_link(&mut self, peer: PeerId) {
                self.0.handle_link(peer);
            }

            fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
                self.0.handle_frame(from, bytes)
            }

            fn send(&mut self, payload: &[u8]) -> Result<(), SendError> {
                check_size(payload)?;
                self.0.send(payload)
            }

            $(fn flush(&mut self) {
                self.$flush();
            })?

            fn poll_transmit(&mut self) -> Option<Transmit> {
                self.0.poll_transmit()
            }

            fn poll_event(&mut self) -> Option<Event> {
                self.0.poll_event()
            }

            fn awaited(&self) -> Vec<PeerId> {
                self.0.awaited()
            }

            fn stored_bytes(&self) -> usize {
                self.0.stored_bytes()
            }
        }
    };
}

use order_by_group;
