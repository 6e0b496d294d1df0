//! Causal order by a central dispatcher, the host (docs/sources.md, "Fujimoto": central dispatcher).
//!
//! Everything goes to the host, which passes it on in the order in which it comes. A message that depends on another
//! was sent by who had that from the host already, so the host gets it after it passed that one on; and since the way
//! from the host to each member keeps its order, nobody gets it earlier.

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
