//! Causal order by a central dispatcher, the host (docs/sources.md, "Fujimoto": central dispatcher).
//!
//! Every message goes to the host, which passes messages on in the order of arrival. The sender of a dependent
//! message had received the other message from the host, so the host gets the dependent one later. The lane from the
//! host to each member keeps the order, so every member gets them in that order.

use samovar_wire::{CloseCode, PeerId};

use crate::log::{Log, Purpose};
use crate::order::{Event, Order, SendError, Transmit, View, order_by_inner};

/// One member's part in a causal order by a central dispatcher, the host. A member is not delivered its own messages.
#[derive(Clone, Debug)]
pub struct Dispatcher(Log);

impl Dispatcher {
    /// The part of `me`, which waits for its first view.
    #[must_use]
    pub fn new(me: PeerId) -> Self {
        Self(Log::new(me, Purpose::Dispatch))
    }
}

order_by_inner!(Dispatcher, |log, payload| log.send(payload, false));
