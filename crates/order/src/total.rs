//! Total order: all members deliver the same messages in the same order, which the host decides (docs/sources.md,
//! "Fujimoto" and "Pacman").
//!
//! The host is the sequencer. A member submits its message to the host, which numbers messages as they come and
//! passes them on to all. Each member delivers by number, its own messages too, and holds back those above the next
//! one. The numbers are those of the host's stream, so gaps are asked for and filled as in any stream.
//!
//! The order is causal as well: a member submits its messages in order, and a message that depends on another is
//! submitted after that one has its number. This holds within one order; messages of another order may come earlier
//! or later.
//!
//! In the design of docs/sources.md, "Pacman", each message goes to all others, and so does its number: N · (N − 1)
//! messages, and N − 1 more for each number. Here a step in which each of N members sends a message takes fewer than
//! 2N messages: N − 1 submissions, and N − 1 messages that hold all of them when the host is polled once per step.
//!
//! *When the host is lost* its numbers end with the last that a survivor has. All survivors deliver up to that one.
//! The next host continues the numbers, first with its members' unnumbered submissions. So a survivor's message is
//! delivered once, and a lost member's at most once, by all survivors or by none.
//!
//! *A lost member* may have seen more: a dead host may have delivered its own last numbers, which are then given to
//! other messages. Where that matters, as with a prize, [`Total::send_stable`] waits until the host's backups hold
//! the message. Then no single failure can undo what any member has seen.

use samovar_wire::{CloseCode, PeerId};

use crate::log::{Log, Purpose};
use crate::order::{Event, Order, SendError, Transmit, View, order_by_inner};

/// One member's part in a total and causal order. A member is delivered its own messages, too, in the common order.
#[derive(Clone, Debug)]
pub struct Total(Log);

impl Total {
    /// The part of `me`, which waits for its first view.
    #[must_use]
    pub fn new(me: PeerId) -> Self {
        Self(Log::new(me, Purpose::Sequence))
    }

    /// Sends a message that no member delivers before the host and all its backups hold it. Without a backup it waits
    /// for the next view, unless the host is the only member. Messages with higher numbers wait for it.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_stable(&mut self, payload: &[u8]) -> Result<(), SendError> {
        self.0.send(payload, true)
    }
}

order_by_inner!(Total, |log, payload| log.send(payload, false));
