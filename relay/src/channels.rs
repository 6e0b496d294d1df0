//! A member's data channels, as those see them who have something for the member.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::outbox::Outbox;
use crate::room::Room;

/// For how long the channels of a member that was heard on them are its way (PROTOCOL §5.7), in nanoseconds.
const HEARD_FOR: u64 = 700_000_000;
/// For how long nothing is unusual about their silence.
const SURE_FOR: u64 = 300_000_000;
/// For how long a member's complaint counts.
const DOUBTED_FOR: u64 = 400_000_000;

/// What there is of a member's data channels beside the connection itself, which the endpoint has.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    /// What waits to be sent on them.
    pub(crate) outbox: Outbox,
    /// When something was heard on them, in nanoseconds of the relay's time; 0 is never.
    heard: AtomicU64,
    /// When the member said last that its echoes do not come back; 0 is never.
    doubted: AtomicU64,
    /// The endpoint has been told that something waits, and has not looked yet.
    is_called: AtomicBool,
}

impl Channels {
    /// None yet; what waits for them will be in this room.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { outbox: Outbox::new(room), ..Self::default() }
    }

    /// The member has said something on them.
    pub(crate) fn hear(&self, now: u64) {
        self.heard.store(now.max(1), Ordering::Relaxed);
    }

    /// There are none any more.
    pub(crate) fn lose(&self) {
        self.heard.store(0, Ordering::Relaxed);
        self.outbox.reset();
    }

    /// Whether they are the way to the member.
    pub(crate) fn carry(&self, now: u64) -> bool {
        let heard = self.heard.load(Ordering::Relaxed);
        heard > 0 && now.saturating_sub(heard) <= HEARD_FOR
    }

    /// The member says, by its WebSocket, that its echoes do not come back.
    pub(crate) fn doubt(&self, now: u64) {
        self.doubted.store(now.max(1), Ordering::Relaxed);
    }

    /// Whether a packet that they carry shall take the WebSocket, too.
    pub(crate) fn are_doubtful(&self, now: u64) -> bool {
        let doubted = self.doubted.load(Ordering::Relaxed);
        let is_quiet = now.saturating_sub(self.heard.load(Ordering::Relaxed)) > SURE_FOR;
        is_quiet || doubted > 0 && now.saturating_sub(doubted) <= DOUBTED_FOR
    }

    /// Whether the endpoint must be told that something waits.
    pub(crate) fn call(&self) -> bool {
        !self.is_called.swap(true, Ordering::AcqRel)
    }

    /// The endpoint looks now: whatever comes later, it must be told of.
    pub(crate) fn answer_call(&self) {
        self.is_called.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_carry_for_a_while_after_they_were_heard() {
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
