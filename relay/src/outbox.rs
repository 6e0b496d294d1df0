//! What waits to be sent on one socket: bounded, whatever the peer at its other end does.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use samovar_directory::CloseReason;
use samovar_wire::relay::Refusal;
use tokio::sync::Notify;

/// Unreliable packets that wait; beyond it the oldest is dropped.
const LOSSY_MAX: usize = 256;
/// Bytes of unreliable packets that wait; beyond it the oldest are dropped.
const LOSSY_BYTES_MAX: usize = 512 * 1_024;
/// Bytes of everything else that waits; beyond it the connection is too slow, and closed.
const STEADY_BYTES_MAX: usize = 1_024 * 1_024;
/// What a waiting message costs beside its bytes, so that many small ones count.
const OVERHEAD: usize = 64;

/// The end of a connection, as the WebSocket's close frame tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Farewell {
    /// The code of RFC 6455 §7.4.1.
    pub(crate) code: u16,
    /// For the person who reads the browser's log.
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
            CloseReason::Silent => Self { code: 1008, reason: "no Enter" },
            CloseReason::Refused(Refusal::Misbehaved) => Self { code: 1008, reason: "misbehaved" },
            CloseReason::Refused(_) => Self { code: 1000, reason: "refused" },
        }
    }
}

/// What is next to do on a socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To send a message.
    Send(Bytes),
    /// To close: nothing comes after it.
    Close(Farewell),
    /// Nothing.
    Idle,
}

/// The queue of one socket.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
    overflown: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<(Kind, Bytes)>,
    lossy: usize,
    lossy_bytes: usize,
    steady_bytes: usize,
    farewell: Option<Farewell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lossy,
    Steady,
}

impl Outbox {
    /// Queues an unreliable packet; the oldest of its kind make room for it.
    pub(crate) fn push_lossy(&self, bytes: Bytes) {
        let mut queue = self.lock();
        if queue.farewell.is_some() {
            return;
        }
        queue.lossy += 1;
        queue.lossy_bytes += bytes.len();
        queue.messages.push_back((Kind::Lossy, bytes));
        while queue.lossy > LOSSY_MAX || queue.lossy_bytes > LOSSY_BYTES_MAX {
            let Some(oldest) = queue.messages.iter().position(|&(kind, _)| kind == Kind::Lossy) else {
                break;
            };
            queue.take(oldest);
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Queues what must arrive. A connection that lets too much of it wait is given up.
    pub(crate) fn push_steady(&self, bytes: Bytes) {
        let mut queue = self.lock();
        if queue.farewell.is_some() {
            return;
        }
        queue.steady_bytes += bytes.len() + OVERHEAD;
        queue.messages.push_back((Kind::Steady, bytes));
        if queue.steady_bytes > STEADY_BYTES_MAX {
            *queue =
                Queue { farewell: Some(Farewell { code: 1008, reason: "too slow" }), ..Queue::default() };
            self.overflown.notify_one();
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Closes the socket behind what waits now. The first reason counts.
    pub(crate) fn close(&self, farewell: Farewell) {
        self.lock().farewell.get_or_insert(farewell);
        self.filled.notify_one();
    }

    /// What to do next.
    pub(crate) fn pop(&self) -> Next {
        let mut queue = self.lock();
        match queue.take(0) {
            Some(bytes) => Next::Send(bytes),
            None => queue.farewell.map_or(Next::Idle, Next::Close),
        }
    }

    /// Ends when there may be something to do.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Ends when the connection is too slow.
    pub(crate) async fn overflown(&self) {
        self.overflown.notified().await;
    }

    /// A queue is whole after every statement that can panic, so a poisoned lock loses nothing.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn take(&mut self, index: usize) -> Option<Bytes> {
        let (kind, bytes) = self.messages.remove(index)?;
        match kind {
            Kind::Lossy => {
                self.lossy -= 1;
                self.lossy_bytes -= bytes.len();
            }
            Kind::Steady => self.steady_bytes -= bytes.len() + OVERHEAD,
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_oldest_packets_make_room_and_what_must_arrive_stays_in_order() {
        let outbox = Outbox::default();
        outbox.push_steady(Bytes::from_static(b"first"));
        for n in 0..1_000_u32 {
            outbox.push_lossy(Bytes::copy_from_slice(&n.to_le_bytes()));
        }
        outbox.push_steady(Bytes::from_static(b"last"));
        let all = drain(&outbox);
        assert_eq!(all.len(), LOSSY_MAX + 2);
        assert_eq!(all[0], Next::Send(Bytes::from_static(b"first")));
        assert_eq!(all[1], Next::Send(Bytes::copy_from_slice(&(1_000 - LOSSY_MAX as u32).to_le_bytes())));
        assert_eq!(all[LOSSY_MAX + 1], Next::Send(Bytes::from_static(b"last")));
    }

    #[test]
    fn packets_are_bounded_in_bytes_too() {
        let outbox = Outbox::default();
        for _ in 0..100 {
            outbox.push_lossy(Bytes::from(vec![0; 16 * 1_024]));
        }
        assert_eq!(drain(&outbox).len(), 32);
    }

    #[tokio::test]
    async fn a_socket_that_takes_nothing_is_given_up_at_a_megabyte() {
        let outbox = Outbox::default();
        for _ in 0..63 {
            outbox.push_steady(Bytes::from(vec![0; 16 * 1_024]));
        }
        assert!(!outbox.lock().messages.is_empty());
        outbox.push_steady(Bytes::from(vec![0; 16 * 1_024]));
        outbox.overflown().await;
        outbox.push_steady(Bytes::from_static(b"late"));
        let all = drain(&outbox);
        assert!(matches!(all[..], [Next::Close(Farewell { code: 1008, .. })]), "{all:?}");
    }

    #[test]
    fn a_close_waits_for_what_was_queued_before_and_keeps_its_first_reason() {
        let outbox = Outbox::default();
        outbox.push_steady(Bytes::from_static(b"refused"));
        outbox.close(CloseReason::Silent.into());
        outbox.close(Farewell::GONE);
        outbox.push_lossy(Bytes::from_static(b"late"));
        let silent = Next::Close(CloseReason::Silent.into());
        assert_eq!(drain(&outbox), [Next::Send(Bytes::from_static(b"refused")), silent]);
    }
}
