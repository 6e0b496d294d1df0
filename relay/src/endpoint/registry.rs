//! The connections of all threads: the member of each, and the thread that serves it.
//!
//! A member has at most two: the current one, and a newer one that has not been heard. Threads ask the registry when a
//! connection begins, is heard first or ends, and for checks that name no connection of their own; so its lock is not
//! on the way of a packet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use samovar_directory::ConnId;

use super::answered::Answered;
use crate::line::Line;
use crate::processors::ThreadId;

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<u64, Entry>,
    by_ufrag: HashMap<String, u64>,
    members: HashMap<ConnId, Pair>,
    /// The number of the last connection.
    opened: u64,
}

#[derive(Debug)]
struct Entry {
    line: Arc<Line>,
    ufrag: String,
    server: Server,
}

/// The state of a connection.
#[derive(Debug)]
enum Server {
    /// No check has come.
    Waiting(Box<Answered>),
    Thread(ThreadId),
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    current: Option<u64>,
    next: Option<u64>,
}

/// The connection that a check names.
#[derive(Debug)]
pub(super) enum Claim {
    /// A connection that begins with this check, at the thread that asks.
    Begins(u64, Box<Answered>),
    /// This member's connection of another thread.
    Elsewhere(ThreadId, Arc<Line>),
    /// None.
    Unknown,
}

/// A connection that must end because its member is gone or has a newer one.
#[derive(Debug)]
pub(super) enum Former {
    /// No check has come for it, and it is forgotten already.
    Unclaimed(Box<Answered>),
    /// This thread has to close it.
    Served(ThreadId, u64),
}

impl Registry {
    /// Adds an answered offer. Returns the member's connection that was heard least, if it had a newer one than its
    /// current one.
    pub(super) fn add(&self, answered: Answered) -> Option<Former> {
        let mut state = self.lock();
        state.opened += 1;
        let (id, line, ufrag) = (state.opened, Arc::clone(&answered.line), answered.ufrag.clone());
        let conn = line.conn;
        state.by_ufrag.insert(ufrag.clone(), id);
        state.entries.insert(id, Entry { line, ufrag, server: Server::Waiting(Box::new(answered)) });
        let former = state.members.entry(conn).or_default().next.replace(id)?;
        state.end(former)
    }

    /// The connection that a check names by the relay's user name fragment. If no thread serves it yet, `thread` does
    /// from now on.
    pub(super) fn claim(&self, ufrag: &str, thread: ThreadId) -> Claim {
        let mut state = self.lock();
        let Some(&id) = state.by_ufrag.get(ufrag) else { return Claim::Unknown };
        let Some(entry) = state.entries.get_mut(&id) else { return Claim::Unknown };
        match std::mem::replace(&mut entry.server, Server::Thread(thread)) {
            Server::Waiting(answered) => Claim::Begins(id, answered),
            Server::Thread(other) => {
                entry.server = Server::Thread(other);
                if other == thread {
                    Claim::Unknown
                } else {
                    Claim::Elsewhere(other, Arc::clone(&entry.line))
                }
            }
        }
    }

    /// Notes that a connection was heard for the first time, at the relay's time `now`. It becomes its member's current
    /// one, and the former one is returned. If the member has a newer one already, nothing changes.
    pub(super) fn hear(&self, (id, thread): (u64, ThreadId), (line, now): (&Line, u64)) -> Option<Former> {
        let mut state = self.lock();
        let pair = state.members.get_mut(&line.conn).filter(|pair| pair.next == Some(id))?;
        pair.next = None;
        let former = pair.current.replace(id);
        line.channels.begin((id, thread), now);
        former.and_then(|former| state.end(former))
    }

    /// Forgets a connection. If it is its member's current one, the member has no channels any more.
    pub(super) fn close(&self, id: u64, line: &Line) {
        let mut state = self.lock();
        if let Some(pair) = state.members.get_mut(&line.conn) {
            if pair.current == Some(id) {
                pair.current = None;
                line.channels.lose();
            }
            pair.next = pair.next.filter(|next| *next != id);
        }
        state.remove(id);
    }

    /// Forgets a member. Returns its connections.
    pub(super) fn forget(&self, conn: ConnId) -> impl Iterator<Item = Former> + use<> {
        let mut state = self.lock();
        let pair = state.members.remove(&conn).unwrap_or_default();
        [pair.current, pair.next].map(|id| id.and_then(|id| state.end(id))).into_iter().flatten()
    }

    /// Forgets the offers for which no check has come within this time.
    pub(super) fn expire(&self, now: Instant, within: Duration) -> Vec<Answered> {
        let mut state = self.lock();
        let is_late = |entry: &Entry| match &entry.server {
            Server::Waiting(answered) => now >= answered.born + within,
            Server::Thread(_) => false,
        };
        let late = state.entries.iter().filter(|(_, entry)| is_late(entry)).map(|(id, _)| *id);
        let late: Vec<u64> = late.collect();
        let ended = late.into_iter().filter_map(|id| {
            let pair = state.entries.get(&id).map(|entry| entry.line.conn);
            if let Some(pair) = pair.and_then(|conn| state.members.get_mut(&conn)) {
                pair.next = pair.next.filter(|next| *next != id);
            }
            match state.end(id)? {
                Former::Unclaimed(answered) => Some(*answered),
                Former::Served(..) => None,
            }
        });
        ended.collect()
    }

    /// Takes the lock, even if it is poisoned: no statement that can panic leaves it inconsistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends a connection that is in no pair any more. One that a thread serves stays until that thread has closed it.
    fn end(&mut self, id: u64) -> Option<Former> {
        match self.entries.get(&id)?.server {
            Server::Thread(thread) => Some(Former::Served(thread, id)),
            Server::Waiting(_) => match self.remove(id)?.server {
                Server::Waiting(answered) => Some(Former::Unclaimed(answered)),
                Server::Thread(_) => None,
            },
        }
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        let entry = self.entries.remove(&id)?;
        self.by_ufrag.remove(&entry.ufrag);
        Some(entry)
    }
}
