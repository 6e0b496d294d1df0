//! A member's data channels, as seen by the senders to the member.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::outbox::Outbox;
use crate::processors::ThreadId;
use crate::room::Room;

/// The time, in nanoseconds, for which the relay sends to a member by its channels after it last heard the member on
/// them (PROTOCOL §5.7).
const HEARD_FOR: u64 = 700_000_000;
/// Until a member has been silent on its channels for this long, in nanoseconds, the relay sends packets by the
/// channels alone.
const SURE_FOR: u64 = 300_000_000;
/// The time, in nanoseconds, for which a member's complaint counts.
const DOUBTED_FOR: u64 = 400_000_000;

/// The shared state of a member's data channels; the endpoint has the connection itself.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    /// The messages that wait for the channels.
    pub(crate) outbox: Outbox,
    /// The relay's time, in nanoseconds, when it last heard the member on the channels; 0 for never.
    heard: AtomicU64,
    /// The relay's time, in nanoseconds, when the member last complained that its echoes do not come back; 0 for
    /// never.
    doubted: AtomicU64,
    thread: AtomicUsize,
    /// The number of the connection that serves the channels; 0 for none.
    current: AtomicU64,
    /// Whether the endpoint has been called for waiting messages, and has not looked at them yet.
    is_called: AtomicBool,
}

impl Channels {
    /// The state before there are channels. Waiting messages will count against this room.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { outbox: Outbox::new(room), ..Self::default() }
    }

    /// Notes that a connection, of this number and of this thread, serves the channels from now on, and that the relay
    /// heard the member on it.
    pub(crate) fn begin(&self, (id, thread): (u64, ThreadId), now: u64) {
        if self.current.load(Ordering::Relaxed) == 0 {
            // Messages that were queued behind the end of an earlier connection are old.
            self.outbox.reset();
        }
        self.thread.store(thread, Ordering::Relaxed);
        self.current.store(id, Ordering::Release);
        self.hear(now);
    }

    /// Whether this connection serves the channels.
    pub(crate) fn are_served_by(&self, id: u64) -> bool {
        self.current.load(Ordering::Acquire) == id
    }

    /// The thread of the endpoint that serves the channels, or served them last.
    pub(crate) fn thread(&self) -> ThreadId {
        self.thread.load(Ordering::Relaxed)
    }

    /// Notes that the relay heard the member on the channels.
    pub(crate) fn hear(&self, now: u64) {
        self.heard.store(now.max(1), Ordering::Relaxed);
    }

    /// Notes that the channels are gone.
    pub(crate) fn lose(&self) {
        self.current.store(0, Ordering::Release);
        self.heard.store(0, Ordering::Relaxed);
        self.outbox.reset();
    }

    /// Whether the relay sends to the member by its channels now.
    pub(crate) fn carry(&self, now: u64) -> bool {
        let heard = self.heard.load(Ordering::Relaxed);
        heard > 0 && now.saturating_sub(heard) <= HEARD_FOR
    }

    /// Notes that the member complains on its WebSocket that its echoes do not come back.
    pub(crate) fn doubt(&self, now: u64) {
        self.doubted.store(now.max(1), Ordering::Relaxed);
    }

    /// Whether a packet that goes by the channels must go by the WebSocket, too.
    pub(crate) fn are_doubtful(&self, now: u64) -> bool {
        let doubted = self.doubted.load(Ordering::Relaxed);
        let is_quiet = now.saturating_sub(self.heard.load(Ordering::Relaxed)) > SURE_FOR;
        is_quiet || doubted > 0 && now.saturating_sub(doubted) <= DOUBTED_FOR
    }

    /// Notes that messages wait. Returns whether the caller must call the endpoint: `false` after an earlier call
    /// that the endpoint has not answered yet.
    pub(crate) fn call(&self) -> bool {
        !self.is_called.swap(true, Ordering::AcqRel)
    }

    /// Notes that the endpoint looks now. It must be called again for later messages.
    pub(crate) fn answer_call(&self) {
        self.is_called.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_carry_while_the_member_was_heard_recently() {
        let channels = Channels::default();
        assert!(!channels.carry(0) && !channels.carry(1));
        channels.hear(0);
        assert!(channels.carry(HEARD_FOR) && !channels.carry(HEARD_FOR + 2));
        channels.hear(5 * HEARD_FOR);
        assert!(!channels.are_doubtful(5 * HEARD_FOR) && channels.are_doubtful(5 * HEARD_FOR + SURE_FOR + 1));
        channels.doubt(5 * HEARD_FOR);
        assert!(channels.are_doubtful(5 * HEARD_FOR + 1));
        channels.hear(6 * HEARD_FOR);
        assert!(!channels.are_doubtful(6 * HEARD_FOR), "a complaint is over after a while");
        channels.lose();
        assert!(!channels.carry(5 * HEARD_FOR));
    }
}
