//! The messages that wait for one socket: bounded, whatever its other end does.
//!
//! There are three queues. The relay's own messages go first, so that no member's traffic holds back a probe. Members'
//! messages follow in their order. Strangers' messages go last, are dropped beyond a limit, and never close a
//! connection.

mod strangers;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use samovar_directory::{Class, CloseReason};
use samovar_wire::relay::Refusal;
use tokio::sync::Notify;

use crate::metrics::Kind;
use crate::room::{Depth, Room};
use strangers::Strangers;

/// The most unreliable packets that wait; beyond this the oldest is dropped.
const LOSSY_MAX: usize = 256;
/// The most bytes of unreliable packets that wait; beyond this the oldest are dropped.
const LOSSY_BYTES_MAX: usize = 512 * 1_024;
/// The most bytes of members' other messages that wait; beyond this the connection is too slow, and closed.
const STEADY_BYTES_MAX: usize = 1_024 * 1_024;
/// The most bytes of the relay's own messages that wait; beyond this the connection is too slow, and closed.
const CONTROL_BYTES_MAX: usize = 128 * 1_024;
/// While strangers' messages wait, one of them is sent after this many members' messages, so that a busy host hears a
/// newcomer.
const STRANGERS_TURN: u8 = 16;
/// The cost of a waiting message beside its bytes, in bytes, so that many small ones count.
const OVERHEAD: usize = 96;

/// The end of a connection, as in the WebSocket's close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Farewell {
    /// The code of RFC 6455 §7.4.1.
    pub(crate) code: u16,
    /// The reason, for the reader of the browser's log.
    pub(crate) reason: &'static str,
}

impl Farewell {
    /// The relay stops.
    pub(crate) const STOPPING: Self = Self { code: 1001, reason: "the relay stops" };
    /// The other end is gone already.
    pub(crate) const GONE: Self = Self { code: 1000, reason: "" };
}

impl From<CloseReason> for Farewell {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::Left => Self { code: 1000, reason: "left" },
            CloseReason::Replaced => Self { code: 1000, reason: "replaced by a newer connection" },
            CloseReason::GaveWay => Self { code: 1000, reason: "gave way to a newcomer" },
            CloseReason::Silent => Self { code: 1008, reason: "no Enter" },
            CloseReason::Refused(Refusal::Misbehaved) => Self { code: 1008, reason: "misbehaved" },
            CloseReason::Refused(_) => Self { code: 1000, reason: "refused" },
        }
    }
}

/// The next action on a socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send a message.
    Send(Waiting),
    /// Close the socket: no message follows.
    Close(Farewell),
    /// Do nothing yet.
    Idle,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) kind: Kind,
    pub(crate) bytes: Bytes,
    /// The relay's time when it got the message, in nanoseconds.
    pub(crate) since: u64,
}

/// The queue of one socket.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    /// The room that all queues of the relay share.
    room: Arc<Room>,
    filled: Notify,
    overflown: Notify,
    closed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    control: VecDeque<Waiting>,
    control_bytes: usize,
    messages: VecDeque<Waiting>,
    lossy: usize,
    lossy_bytes: usize,
    steady_bytes: usize,
    /// `None` while no stranger's message waits, which is most of the time.
    strangers: Option<Box<Strangers>>,
    /// The number of members' messages since the last message of a stranger.
    turn: u8,
    farewell: Option<Farewell>,
}

/// The parts of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Control,
    Messages,
    Strangers,
}

impl Outbox {
    /// Makes an empty queue that counts against this room.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        let [filled, overflown, closed] = Default::default();
        Self { queue: Mutex::default(), room, filled, overflown, closed }
    }

    /// Queues a message by its class and kind. If there is no room, a member's packet drops the oldest waiting
    /// packets, and a stranger's message drops messages of strangers. If too many messages wait that must not be
    /// dropped, the queue drops all of them and closes the connection. Returns the number of dropped messages,
    /// without those that such a closing drops.
    pub(crate) fn push(&self, class: Class, message: Waiting) -> usize {
        match (class, message.kind) {
            (Class::Stranger(sender), _) => {
                let room = self.room.left();
                let dropped = self.change(|queue| match queue.farewell {
                    Some(_) => 1,
                    None => queue.strangers.get_or_insert_default().push(sender, message, room),
                });
                self.filled.notify_one();
                dropped
            }
            (Class::Member, Kind::Packet) => self.push_lossy(message),
            (Class::Control, _) | (Class::Member, Kind::Bulk | Kind::Control) => {
                self.push_steady(class, message);
                0
            }
        }
    }

    fn push_lossy(&self, message: Waiting) -> usize {
        let bytes_max = LOSSY_BYTES_MAX.min(self.room.left());
        let dropped = self.change(|queue| {
            if queue.farewell.is_some() {
                return 1;
            }
            queue.put(Class::Member, message);
            let mut dropped = 0;
            while queue.lossy > LOSSY_MAX || queue.lossy_bytes > bytes_max {
                let Some(oldest) = queue.messages.iter().position(Waiting::is_lossy) else {
                    break;
                };
                queue.take(oldest);
                dropped += 1;
            }
            dropped
        });
        self.filled.notify_one();
        dropped
    }

    fn push_steady(&self, class: Class, message: Waiting) {
        let bytes_max = STEADY_BYTES_MAX.min(self.room.left());
        let overflows = self.change(|queue| {
            if queue.farewell.is_some() {
                return false;
            }
            queue.put(class, message);
            let overflows = queue.steady_bytes > bytes_max || queue.control_bytes > CONTROL_BYTES_MAX;
            if overflows {
                let farewell = Some(Farewell { code: 1008, reason: "too slow" });
                *queue = Queue { farewell, ..Queue::default() };
            }
            overflows
        });
        if overflows {
            self.overflown.notify_one();
        }
        self.filled.notify_one();
    }

    /// Closes the socket after its waiting messages. The first reason counts.
    pub(crate) fn close(&self, farewell: Farewell) {
        self.lock().farewell.get_or_insert(farewell);
        self.closed.notify_one();
        self.filled.notify_one();
    }

    /// Takes the next action from the queue.
    pub(crate) fn pop(&self) -> Next {
        self.pop_when(|_| true)
    }

    /// Takes the next action like `pop`, but is idle while `has_room` returns `false` for the next message. The
    /// argument tells whether that message is a packet.
    pub(crate) fn pop_when(&self, has_room: impl FnOnce(bool) -> bool) -> Next {
        self.change(|queue| match queue.front() {
            Some((_, next)) if !has_room(next.is_lossy()) => Next::Idle,
            Some((part, _)) => queue.pop(part).map_or(Next::Idle, Next::Send),
            None => queue.farewell.map_or(Next::Idle, Next::Close),
        })
    }

    /// Empties the queue, and forgets that the connection was to be closed.
    pub(crate) fn reset(&self) {
        self.change(|queue| *queue = Queue::default());
    }

    /// The present depth.
    pub(crate) fn depth(&self) -> Depth {
        let queue = self.lock();
        Depth { messages: queue.len(), bytes: queue.bytes() }
    }

    /// Waits until there may be a next action.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Waits until too many messages wait, so that the connection must be closed.
    pub(crate) async fn overflown(&self) {
        self.overflown.notified().await;
    }

    /// Waits until the socket is to be closed.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Changes the queue, and accounts for the change in the shared room.
    fn change<R>(&self, act: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.lock();
        let before = queue.held();
        let result = act(&mut queue);
        let now = queue.held();
        drop(queue);
        if before != now {
            self.room.change(before, now);
        }
        result
    }

    /// Takes the lock, even if it is poisoned: a queue is consistent after every statement that can panic.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.reset();
    }
}

impl Queue {
    fn put(&mut self, class: Class, message: Waiting) {
        if class == Class::Control {
            self.control_bytes += message.bytes.len() + OVERHEAD;
            self.control.push_back(message);
            return;
        }
        if message.is_lossy() {
            self.lossy += 1;
            self.lossy_bytes += message.bytes.len();
        } else {
            self.steady_bytes += message.bytes.len() + OVERHEAD;
        }
        self.messages.push_back(message);
    }

    /// The queue's cost in the shared room.
    fn held(&self) -> usize {
        let members = self.lossy_bytes + self.lossy * OVERHEAD + self.steady_bytes;
        self.control_bytes + members + self.strangers.as_ref().map_or(0, |strangers| strangers.held())
    }

    /// The next message to send.
    fn front(&self) -> Option<(Part, &Waiting)> {
        let control = self.control.front().map(|next| (Part::Control, next));
        let messages = self.messages.front().map(|next| (Part::Messages, next));
        let strangers =
            self.strangers.as_ref().and_then(|all| all.front()).map(|next| (Part::Strangers, next));
        let is_strangers_turn = self.turn >= STRANGERS_TURN;
        control.or(strangers.filter(|_| is_strangers_turn)).or(messages).or(strangers)
    }

    fn pop(&mut self, part: Part) -> Option<Waiting> {
        match part {
            Part::Control => {
                let message = self.control.pop_front()?;
                self.control_bytes -= message.bytes.len() + OVERHEAD;
                if self.control.is_empty() {
                    // Frees the memory, because this queue is rarely needed and each connection has one.
                    self.control = VecDeque::new();
                }
                Some(message)
            }
            Part::Messages => {
                self.turn = self.turn.saturating_add(1);
                self.take(0)
            }
            Part::Strangers => {
                self.turn = 0;
                let message = self.strangers.as_mut()?.pop();
                self.strangers.take_if(|strangers| strangers.len() == 0);
                message
            }
        }
    }

    fn len(&self) -> usize {
        self.control.len()
            + self.messages.len()
            + self.strangers.as_ref().map_or(0, |strangers| strangers.len())
    }

    fn take(&mut self, index: usize) -> Option<Waiting> {
        let message = self.messages.remove(index)?;
        if message.is_lossy() {
            self.lossy -= 1;
            self.lossy_bytes -= message.bytes.len();
        } else {
            self.steady_bytes -= message.bytes.len() + OVERHEAD;
        }
        Some(message)
    }

    fn bytes(&self) -> usize {
        let steady = self.messages.len() - self.lossy;
        let members = self.lossy_bytes + self.steady_bytes - steady * OVERHEAD;
        self.control_bytes - self.control.len() * OVERHEAD
            + members
            + self.strangers.as_ref().map_or(0, |strangers| strangers.bytes())
    }
}

impl Waiting {
    /// Whether the message may be dropped.
    pub(crate) fn is_lossy(&self) -> bool {
        self.kind == Kind::Packet
    }
}

#[cfg(test)]
mod tests {
    use samovar_directory::ConnId;

    use super::*;

    fn packet(bytes: Bytes) -> Waiting {
        Waiting { kind: Kind::Packet, bytes, since: 0 }
    }

    fn steady(bytes: Bytes) -> Waiting {
        Waiting { kind: Kind::Bulk, bytes, since: 0 }
    }

    fn control(bytes: Bytes) -> Waiting {
        Waiting { kind: Kind::Control, bytes, since: 0 }
    }

    fn strange(kind: Kind, length: usize) -> Waiting {
        Waiting { kind, bytes: Bytes::from(vec![0; length]), since: 0 }
    }

    fn drain(outbox: &Outbox) -> Vec<Next> {
        let mut all = Vec::new();
        loop {
            match outbox.pop() {
                Next::Idle => return all,
                next @ Next::Close(_) => {
                    all.push(next);
                    return all;
                }
                next @ Next::Send(_) => all.push(next),
            }
        }
    }

    #[test]
    fn the_oldest_packets_make_room_and_bulk_stays_in_order() {
        let outbox = Outbox::default();
        outbox.push(Class::Member, steady(Bytes::from_static(b"first")));
        let pushed = (0..1_000_u32)
            .map(|n| outbox.push(Class::Member, packet(Bytes::copy_from_slice(&n.to_le_bytes()))));
        assert_eq!(pushed.sum::<usize>(), 1_000 - LOSSY_MAX, "whatever makes room is told of");
        outbox.push(Class::Member, steady(Bytes::from_static(b"last")));
        assert_eq!(outbox.depth(), Depth { messages: LOSSY_MAX + 2, bytes: 4 * LOSSY_MAX + 9 });
        let all = drain(&outbox);
        assert_eq!(all.len(), LOSSY_MAX + 2);
        assert_eq!(all[0], Next::Send(steady(Bytes::from_static(b"first"))));
        let oldest = Bytes::copy_from_slice(&(1_000 - LOSSY_MAX as u32).to_le_bytes());
        assert_eq!(all[1], Next::Send(packet(oldest)));
        assert_eq!(all[LOSSY_MAX + 1], Next::Send(steady(Bytes::from_static(b"last"))));
        assert_eq!(outbox.depth(), Depth::default());
    }

    #[test]
    fn the_relays_own_messages_overtake_members_messages() {
        let outbox = Outbox::default();
        for _ in 0..60 {
            outbox.push(Class::Member, steady(Bytes::from(vec![0; 16 * 1_024])));
        }
        let (probe, issued) = (control(Bytes::from_static(b"probe")), control(Bytes::from_static(b"issued")));
        outbox.push(Class::Control, probe.clone());
        outbox.push(Class::Control, issued.clone());
        assert_eq!([outbox.pop(), outbox.pop()], [Next::Send(probe), Next::Send(issued)]);
        assert_eq!(drain(&outbox).len(), 60);
        assert_eq!(outbox.depth(), Depth::default());
    }

    #[test]
    fn strangers_messages_go_last_and_close_no_connection() {
        let outbox = Outbox::default();
        for n in 0..10_000 {
            outbox.push(Class::Stranger(ConnId(n % 64)), strange(Kind::Control, 8_000));
            outbox.push(Class::Stranger(ConnId(n % 64)), strange(Kind::Bulk, 16_000));
        }
        assert!(outbox.depth().bytes < 300_000);
        let signal = Waiting { kind: Kind::Control, ..steady(Bytes::from_static(b"signal")) };
        outbox.push(Class::Member, signal.clone());
        assert_eq!(outbox.pop(), Next::Send(signal), "a member's goes ahead");
        assert!(outbox.lock().farewell.is_none());
    }

    #[test]
    fn a_busy_receiver_still_gets_a_strangers_message() {
        let outbox = Outbox::default();
        let knock = strange(Kind::Packet, 50);
        outbox.push(Class::Stranger(ConnId(1)), knock.clone());
        for n in 0..=u32::from(STRANGERS_TURN) {
            outbox.push(Class::Member, packet(Bytes::from(vec![0; 100])));
            outbox.push(Class::Member, packet(Bytes::from(vec![0; 100])));
            if outbox.pop() == Next::Send(knock.clone()) {
                return assert_eq!(n, u32::from(STRANGERS_TURN));
            }
        }
        panic!("it waits for ever");
    }

    #[test]
    fn packets_are_bounded_in_bytes_too() {
        let outbox = Outbox::default();
        for _ in 0..100 {
            outbox.push(Class::Member, packet(Bytes::from(vec![0; 16 * 1_024])));
        }
        assert_eq!(drain(&outbox).len(), 32);
    }

    #[tokio::test]
    async fn a_socket_that_takes_nothing_is_given_up_at_a_megabyte() {
        let outbox = Outbox::default();
        for _ in 0..63 {
            outbox.push(Class::Member, steady(Bytes::from(vec![0; 16 * 1_024])));
        }
        assert!(!outbox.lock().messages.is_empty());
        outbox.push(Class::Member, steady(Bytes::from(vec![0; 16 * 1_024])));
        outbox.overflown().await;
        outbox.push(Class::Member, steady(Bytes::from_static(b"late")));
        let all = drain(&outbox);
        assert!(matches!(all[..], [Next::Close(Farewell { code: 1008, .. })]), "{all:?}");
    }

    #[test]
    fn full_queues_leave_room_for_another_queue() {
        let room = Arc::new(Room::new(100_000));
        let hoards: Vec<_> = (0..4).map(|_| Outbox::new(Arc::clone(&room))).collect();
        for _ in 0..100 {
            for outbox in &hoards {
                outbox.push(Class::Member, packet(Bytes::from(vec![0; 1_000])));
            }
        }
        assert!((10_000..60_000).contains(&room.left()), "{}", room.left());
        let honest = Outbox::new(Arc::clone(&room));
        for _ in 0..5 {
            honest.push(Class::Member, steady(Bytes::from(vec![0; 1_000])));
        }
        assert!(honest.lock().farewell.is_none());
        for _ in 0..100 {
            hoards[0].push(Class::Member, steady(Bytes::from(vec![0; 1_000])));
        }
        assert!(hoards[0].lock().farewell.is_some(), "nothing of what must arrive can be dropped");
        assert_eq!(drain(&honest).len(), 5);
        drop((hoards, honest));
        assert_eq!(room.left(), 100_000);
    }

    #[test]
    fn a_close_follows_queued_messages_and_keeps_its_reason() {
        let outbox = Outbox::default();
        outbox.push(Class::Member, steady(Bytes::from_static(b"refused")));
        outbox.close(CloseReason::Silent.into());
        outbox.close(Farewell::GONE);
        assert_eq!(outbox.push(Class::Member, packet(Bytes::from_static(b"late"))), 1);
        let silent = Next::Close(CloseReason::Silent.into());
        assert_eq!(drain(&outbox), [Next::Send(steady(Bytes::from_static(b"refused"))), silent]);
    }
}
