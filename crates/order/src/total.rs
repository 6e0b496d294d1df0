//! Total order: all members deliver the same messages in the same order, which the host decides (docs/sources.md,
//! "Fujimoto" and "Pacman").
//!
//! The host is the sequencer. A member submits its message to the host, which numbers what it gets as it comes and
//! passes it on to all; each delivers by number, its own messages too, and holds back what is above the next one. The
//! numbers are those of the host's stream, so that gaps are asked for and filled as in any other.
//!
//! The order is causal as well. A member submits its messages in order, and what depends on another was submitted
//! after that had its number. This is about messages of one order: what is said by another one may come earlier or later.
//!
//! The sequencer of docs/sources.md, "Pacman", sends each message to all and then its number to all: N · (N − 1)
//! messages and N − 1 for each number. Here a step in which N members say something each takes N − 1 submissions, and
//! N − 1 messages that hold all of them when the host is polled once per step: fewer than 2N.
//!
//! *When the host is lost* its numbers end with the last that a survivor has. All survivors deliver up to that one;
//! the next host numbers on, beginning with what its members submitted and did not see numbered. A message of a
//! survivor is therefore delivered once, and one of who was lost at most once, by all survivors or by none.
//!
//! *Who was lost* may have seen more: the host that died had delivered its own last numbers, perhaps, and they are
//! given anew. Where that matters, as with a prize that was handed out, [`Total::send_stable`] waits until the host's backups
//! hold the message. Then no single failure can undo what anybody has seen.

use samovar_wire::{CloseCode, PeerId};

use crate::log::{Log, Purpose};
use crate::order::{Event, Order, SendError, Transmit, View, order_by_inner};

/// One member's part in a total and causal order. It is delivered its own messages in their places.
#[derive(Clone, Debug)]
pub struct Total(Log);

impl Total {
    /// The part of `me`, which waits for its first view.
    #[must_use]
    pub fn new(me: PeerId) -> Self {
        Self(Log::new(me, Purpose::Sequence))
    }

    /// Sends a message that nobody delivers before the host and all its backups hold it; as long as there is no
    /// backup, only a host that is alone delivers it. What has a higher number waits for it.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_stable(&mut self, payload: &[u8]) -> Result<(), SendError> {
        self.0.send(payload, true)
    }
}

order_by_inner!(Total, |log, payload| log.send(payload, false));
