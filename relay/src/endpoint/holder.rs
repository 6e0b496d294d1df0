//! The holder of an address: the connection that gets the datagrams from there.

use std::sync::Arc;

use crate::line::Line;
use crate::processors::ThreadId;

/// The connection that gets a datagram.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    /// One of this thread.
    Own(u64),
    /// This member's connection of another thread.
    Other {
        thread: ThreadId,
        line: Arc<Line>,
        /// Whether the member has proved that it is at the address.
        is_proven: bool,
    },
}
