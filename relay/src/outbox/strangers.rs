//! Strangers' messages for one receiver. All together are limited, and those of each stranger; beyond these limits
//! the oldest are dropped.

use std::collections::{HashMap, VecDeque};

use samovar_directory::ConnId;

use super::{OVERHEAD, Waiting};

/// The most messages of all strangers that wait.
const MESSAGES_MAX: usize = 128;
/// The most bytes of all strangers' messages that wait.
const BYTES_MAX: usize = 256 * 1_024;
/// The most messages of one stranger that wait.
const SENDER_MESSAGES_MAX: usize = 16;
/// The most bytes of one stranger's messages that wait: a join request needs less.
const SENDER_BYTES_MAX: usize = 64 * 1_024;

/// The strangers' part of a queue.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    messages: VecDeque<(ConnId, Waiting)>,
    senders: HashMap<ConnId, Held>,
    all: Held,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    messages: usize,
    bytes: usize,
}

impl Strangers {
    /// Queues a message, and returns the number of messages dropped for it. A stranger over its own limit makes room
    /// itself. Otherwise the stranger with the most waiting bytes makes room.
    pub(super) fn push(&mut self, sender: ConnId, message: Waiting, room: usize) -> usize {
        let held = self.senders.entry(sender).or_default();
        held.add(&message);
        self.all.add(&message);
        self.messages.push_back((sender, message));
        let mut dropped = 0;
        loop {
            let own = self.senders.get(&sender).copied().unwrap_or_default();
            let loser = if own.exceeds(SENDER_MESSAGES_MAX, SENDER_BYTES_MAX) {
                sender
            } else if self.all.exceeds(MESSAGES_MAX, BYTES_MAX.min(room)) {
                let Some(loser) = self.greediest() else { return dropped };
                loser
            } else {
                return dropped;
            };
            let Some(oldest) = self.messages.iter().position(|(of, _)| *of == loser) else { return dropped };
            self.take(oldest);
            dropped += 1;
        }
    }

    pub(super) fn front(&self) -> Option<&Waiting> {
        self.messages.front().map(|(_, message)| message)
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        self.take(0)
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Bytes of the messages alone.
    pub(super) fn bytes(&self) -> usize {
        self.all.bytes - self.all.messages * OVERHEAD
    }

    /// The messages' cost in the shared room.
    pub(super) fn held(&self) -> usize {
        self.all.bytes
    }

    /// The stranger with the most waiting bytes; among equals the one that came first.
    fn greediest(&self) -> Option<ConnId> {
        self.senders
            .iter()
            .max_by_key(|(conn, held)| (held.bytes, std::cmp::Reverse(**conn)))
            .map(|(conn, _)| *conn)
    }

    fn take(&mut self, index: usize) -> Option<Waiting> {
        let (sender, message) = self.messages.remove(index)?;
        self.all.remove(&message);
        if let Some(held) = self.senders.get_mut(&sender) {
            held.remove(&message);
            if held.messages == 0 {
                self.senders.remove(&sender);
            }
        }
        Some(message)
    }
}

impl Held {
    fn add(&mut self, message: &Waiting) {
        self.messages += 1;
        self.bytes += message.bytes.len() + OVERHEAD;
    }

    fn remove(&mut self, message: &Waiting) {
        self.messages -= 1;
        self.bytes -= message.bytes.len() + OVERHEAD;
    }

    const fn exceeds(self, messages: usize, bytes: usize) -> bool {
        self.messages > messages || self.bytes > bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Kind;
    use axum::body::Bytes;

    fn signal(sender: u64, length: usize) -> (ConnId, Waiting) {
        let bytes = Bytes::from(vec![sender as u8; length]);
        let conn = ConnId(sender);
        (conn, Waiting { kind: Kind::Control, bytes, since: 0 })
    }

    #[test]
    fn a_strangers_own_messages_make_room_for_its_next() {
        let mut strangers = Strangers::default();
        let (quiet, knock) = signal(1, 100);
        assert_eq!(strangers.push(quiet, knock.clone(), usize::MAX), 0);
        let dropped = (0..100).map(|_| {
            let (greedy, signal) = signal(2, 8_000);
            strangers.push(greedy, signal, usize::MAX)
        });
        assert_eq!(dropped.sum::<usize>(), 92, "eight of them are as much as one may have");
        assert_eq!(strangers.pop(), Some(knock));
        assert_eq!(strangers.len(), 8);
        while strangers.pop().is_some() {}
        assert_eq!((strangers.held(), strangers.senders.len()), (0, 0));
    }

    #[test]
    fn greedy_strangers_make_room_for_a_join_request() {
        let mut strangers = Strangers::default();
        for round in 0..1_000 {
            let (greedy, signal) = signal(2 + round % 60, 8_000);
            strangers.push(greedy, signal, usize::MAX);
        }
        let (quiet, knock) = signal(1, 100);
        strangers.push(quiet, knock.clone(), usize::MAX);
        for round in 0..1_000 {
            let (greedy, signal) = signal(2 + round % 60, 8_000);
            strangers.push(greedy, signal, usize::MAX);
        }
        assert!(strangers.held() <= BYTES_MAX && strangers.len() <= MESSAGES_MAX);
        let left: Vec<_> = std::iter::from_fn(|| strangers.pop()).collect();
        assert!(left.contains(&knock));
    }
}
