//! The directory with its sockets, its disk and its clock around it, behind one lock.
//!
//! One lock is enough: a control message costs microseconds (a signature, at worst), and forwarding a packet holds
//! it for three look-ups. What the directory has to say is in the sockets' queues before the lock is released, so
//! that nothing forwarded overtakes an `Entered`.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::body::Bytes;
use samovar_directory::{ConnId, Directory, GameInfo, Output, Request};
use samovar_wire::relay::RelayFrame;
use samovar_wire::{Mode, PeerId, Time};
use tokio::sync::Notify;

use crate::outbox::{Farewell, Outbox};
use crate::store::Persisted;

/// Everything that the tasks of a relay have in common.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// The directory's timer is earlier than it was.
    rearmed: Notify,
    /// The origin of the directory's time.
    start: Instant,
}

#[derive(Debug)]
struct State {
    directory: Directory,
    sockets: HashMap<ConnId, Arc<Outbox>>,
    /// `None` once the relay has stopped.
    disk: Option<Sender<Request>>,
    opened: u64,
    /// When the timer task will wake up by itself.
    armed: Option<Time>,
    stopping: bool,
}

impl Hub {
    /// A hub whose directory writes by `disk`.
    pub(crate) fn new(directory: Directory, disk: Sender<Request>) -> Self {
        let state = State {
            directory,
            sockets: HashMap::new(),
            disk: Some(disk),
            opened: 0,
            armed: None,
            stopping: false,
        };
        Self { state: Mutex::new(state), rearmed: Notify::new(), start: Instant::now() }
    }

    /// A socket was accepted: its number and its queue.
    pub(crate) fn open(&self) -> (ConnId, Arc<Outbox>) {
        self.with(|state, now| {
            state.opened += 1;
            let (conn, outbox) = (ConnId(state.opened), Arc::new(Outbox::default()));
            state.sockets.insert(conn, Arc::clone(&outbox));
            if state.stopping {
                outbox.close(Farewell::STOPPING);
            }
            state.directory.handle_opened(now, conn);
            (conn, outbox)
        })
    }

    /// A socket is gone. May be said more than once.
    pub(crate) fn close(&self, conn: ConnId) {
        self.with(|state, now| {
            if let Some(outbox) = state.sockets.remove(&conn) {
                outbox.close(Farewell::GONE);
                state.directory.handle_closed(now, conn);
            }
        });
    }

    /// A socket's message; empty when it was none of the protocol.
    pub(crate) fn message(&self, conn: ConnId, bytes: Bytes) {
        if let Ok(RelayFrame::Forward { peer, mode, .. }) = RelayFrame::decode(&bytes)
            && let Some((from, target)) = self.route(conn, peer)
        {
            if let Some(target) = target {
                pass_on(&target, from, mode, bytes);
            }
            return;
        }
        self.with(|state, now| state.directory.handle_message(now, conn, &bytes));
    }

    /// Terms reached the disk.
    pub(crate) fn persisted(&self, terms: &Persisted) {
        self.with(|state, now| {
            for &(session, term) in terms {
                state.directory.handle_persisted(now, session, term);
            }
        });
    }

    /// The games to show.
    pub(crate) fn games(&self) -> Vec<GameInfo> {
        self.lock().directory.games().collect()
    }

    /// Closes every socket, and those that are still to open.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopping = true;
        state.sockets.values().for_each(|outbox| outbox.close(Farewell::STOPPING));
    }

    /// Lets the disk's thread end, behind what was asked of it.
    pub(crate) fn release_disk(&self) {
        self.lock().disk = None;
    }

    /// Sockets that are open.
    pub(crate) fn sockets(&self) -> usize {
        self.lock().sockets.len()
    }

    /// Drives the directory's timers, for ever.
    pub(crate) async fn run_timers(&self) {
        loop {
            let next = self.with(|state, now| {
                if state.directory.poll_timeout().is_some_and(|next| next <= now) {
                    state.directory.handle_timeout(now);
                }
                state.armed = state.directory.poll_timeout();
                state.armed
            });
            let sleep = async {
                match next {
                    Some(next) => tokio::time::sleep(self.until(next)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.rearmed.notified() => {}
            }
        }
    }

    /// Who sends on `conn`, and the queue of the member it names; `None` when the sender has not entered.
    fn route(&self, conn: ConnId, to: PeerId) -> Option<(PeerId, Option<Arc<Outbox>>)> {
        let state = self.lock();
        let from = state.directory.peer_of(conn)?;
        let target = state.directory.route(conn, to).and_then(|target| state.sockets.get(&target));
        Some((from, target.map(Arc::clone)))
    }

    /// Does something to the directory and carries out what it wants done.
    fn with<R>(&self, act: impl FnOnce(&mut State, Time) -> R) -> R {
        let mut state = self.lock();
        // Read under the lock, so that the directory's time never runs backwards.
        let now = self.now();
        let result = act(&mut state, now);
        state.carry_out();
        let next = state.directory.poll_timeout();
        if next.is_some_and(|next| state.armed.is_none_or(|armed| next < armed)) {
            state.armed = next;
            self.rearmed.notify_one();
        }
        result
    }

    fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn until(&self, time: Time) -> std::time::Duration {
        std::time::Duration::from_micros(time.since(self.now()).as_micros())
    }

    /// A panic in one connection's task must not end the others, so a poisoned lock is taken all the same: the
    /// connection whose message it was is closed as that task unwinds.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn carry_out(&mut self) {
        while let Some(request) = self.directory.poll_request() {
            // The disk is gone only when it failed or the relay stops; what is not written is not announced either.
            self.disk.as_ref().and_then(|disk| disk.send(request).ok());
        }
        while let Some(output) = self.directory.poll_output() {
            match output {
                Output::Send { conn, bytes } => {
                    if let Some(outbox) = self.sockets.get(&conn) {
                        outbox.push_steady(bytes.into());
                    }
                }
                Output::Close { conn, reason } => {
                    tracing::debug!(conn = conn.0, ?reason, "closed by the relay");
                    if let Some(outbox) = self.sockets.remove(&conn) {
                        outbox.close(reason.into());
                    }
                }
            }
        }
    }
}

fn pass_on(target: &Outbox, from: PeerId, mode: Mode, bytes: Bytes) {
    // Takes the bytes over without a copy when nothing else refers to them.
    let mut bytes = Vec::from(bytes);
    RelayFrame::readdress(&mut bytes, from);
    match mode {
        Mode::Unreliable => target.push_lossy(bytes.into()),
        Mode::Reliable => target.push_steady(bytes.into()),
    }
}
