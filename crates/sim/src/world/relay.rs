//! The relay: the real directory, with a disk that takes time and a process that can end.

use std::collections::BTreeMap;

use samovar_directory::{ConnId, Directory, DirectoryConfig, Output, Request, TermRecord};
use samovar_wire::{Duration, Entropy, Mode, SessionId, Time};

use super::process::DATAGRAMS_MAX;
use super::{Event, World, Write};
use crate::game::Game;
use crate::network::Place;

/// The relay.
pub(super) struct Relay {
    pub(super) directory: Option<Directory>,
    /// The records on disk.
    disk: BTreeMap<SessionId, TermRecord>,
    pub(super) delay: Duration,
    /// The time at which the disk finishes all requested writes.
    busy_until: Time,
    /// The number of the relay's starts. Writes that it requested before the last start are lost.
    life: u64,
    secret: [u8; 32],
    wake: Time,
    /// The last time at which a fault struck the relay or ended.
    pub(super) disturbed: Time,
    /// The events that wait while the relay does not run; `None` while it runs.
    pub(super) inbox: Option<Vec<Event>>,
}

impl Relay {
    pub(super) fn new(entropy: &mut Entropy, delay: Duration) -> Self {
        Self {
            directory: None,
            disk: BTreeMap::new(),
            delay,
            busy_until: Time::ZERO,
            life: 0,
            secret: entropy.bytes(),
            wake: Time::FAR,
            disturbed: Time::ZERO,
            inbox: None,
        }
    }

    /// Replaces the key, and clears the disk.
    pub(super) fn lose_everything(&mut self, entropy: &mut Entropy) {
        self.secret = entropy.bytes();
        self.disk.clear();
    }

    /// Whether the relay's process exists.
    pub(super) const fn is_up(&self) -> bool {
        self.directory.is_some()
    }

    /// Whether the relay's process exists and runs.
    pub(super) const fn runs(&self) -> bool {
        self.is_up() && self.inbox.is_none()
    }

    /// Keeps an event for a relay that does not run, until it runs again. Datagrams are kept only while there is
    /// room. Returns the event if it need not wait.
    pub(super) fn put_off(&mut self, event: Event) -> Option<Event> {
        let Some(inbox) = &mut self.inbox else { return Some(event) };
        match event {
            Event::RelayWake => {}
            Event::ToRelayPath { mode: Mode::Unreliable, .. } if inbox.len() >= DATAGRAMS_MAX => {}
            Event::SocketAccepted(_)
            | Event::ToRelay(..)
            | Event::HungUp(_)
            | Event::RelayPathOpened(..)
            | Event::ToRelayPath { .. }
            | Event::RelayPathClosed(..)
            | Event::Written { .. } => inbox.push(event),
            other => return Some(other),
        }
        None
    }
}

/// The connection that an event came on; `None` for the disk's events.
const fn conn_of(event: &Event) -> Option<ConnId> {
    match *event {
        Event::SocketAccepted(conn)
        | Event::ToRelay(conn, _)
        | Event::HungUp(conn)
        | Event::RelayPathOpened(conn, _)
        | Event::ToRelayPath { conn, .. }
        | Event::RelayPathClosed(conn, _) => Some(conn),
        _ => None,
    }
}

impl<G: Game> World<G> {
    pub(super) fn start_relay(&mut self) {
        if self.relay.is_up() {
            return;
        }
        let config = DirectoryConfig { secret: self.relay.secret, entropy: self.chance.entropy.bytes() };
        let mut directory = Directory::new(&config);
        directory.set_reachable(self.plan.has_endpoint);
        directory.restore(self.now, self.relay.disk.values().cloned());
        self.relay.directory = Some(directory);
        self.relay.life += 1;
        self.relay.busy_until = self.now;
        self.relay.wake = Time::FAR;
        self.relay.disturbed = self.now;
        self.trace.note(self.now, Place::Relay, || "starts".to_owned());
        self.judges.is_orphaned |= self.disk_names_nobody_left();
        self.run_relay();
    }

    /// Whether the relay's disk names members of the founded session, and none of them plays on. If the host names a
    /// member while the relay is being killed, that member is not on the disk, and the relay then takes it for a
    /// stranger.
    fn disk_names_nobody_left(&self) -> bool {
        let record = self.judges.founded.and_then(|session| self.relay.disk.get(&session));
        let staying = || self.cast.processes.iter().filter(|process| process.leaving.is_none());
        let members =
            || staying().filter_map(|process| process.peer.as_ref()?.session()).filter(|s| s.is_member());
        record.is_some_and(|record| !members().any(|session| record.is_member(session.me())))
    }

    /// Freezes the relay's process.
    pub(super) fn stop_relay(&mut self) {
        self.relay.inbox = Some(Vec::new());
        self.relay.disturbed = self.now;
        self.trace.note(self.now, Place::Relay, || "stops".to_owned());
    }

    /// Lets the relay run again. It takes the connections in random order, but reads each connection in order. Its
    /// timers may fire first.
    pub(super) fn resume_relay(&mut self) {
        let Some(mut inbox) = self.relay.inbox.take() else { return };
        self.relay.disturbed = self.now;
        self.trace.note(self.now, Place::Relay, || format!("runs on, and {} wait", inbox.len()));
        let mut places = BTreeMap::new();
        for conn in inbox.iter().filter_map(conn_of) {
            places.entry(conn).or_insert_with(|| self.chance.dice.number());
        }
        inbox.sort_by_key(|event| conn_of(event).and_then(|conn| places.get(&conn)).copied());
        self.relay.wake = Time::FAR;
        if self.chance.dice.chance(0.5) {
            self.run_relay();
        }
        inbox.into_iter().for_each(|event| self.happen(event));
        self.run_relay();
    }

    /// Lets the relay announce that it will stop after this time.
    pub(super) fn drain_relay(&mut self, within: Duration) {
        if let Some(directory) = &mut self.relay.directory {
            directory.handle_draining(self.now, within);
        }
        self.trace.note(self.now, Place::Relay, || "is about to stop".to_owned());
        self.run_relay();
    }

    /// Ends the relay's process. All state that is not on disk is lost.
    pub(super) fn end_relay(&mut self) {
        self.relay.directory = None;
        // The events that waited for the relay now find no process.
        self.relay.inbox.take().into_iter().flatten().for_each(|event| self.happen(event));
        self.relay.disturbed = self.now;
        self.trace.note(self.now, Place::Relay, || "is killed".to_owned());
        self.break_all_sockets();
        self.abandon_relay_paths();
    }

    pub(super) fn relay_opened(&mut self, conn: ConnId) {
        if let Some(directory) = &mut self.relay.directory {
            directory.handle_opened(self.now, conn, None);
        }
        self.run_relay();
    }

    pub(super) fn relay_message(&mut self, conn: ConnId, bytes: &[u8]) {
        if let Some(directory) = &mut self.relay.directory {
            self.trace.mix(self.now.as_micros(), bytes.len() as u64);
            self.trace.mix_bytes(bytes);
            directory.handle_message(self.now, conn, bytes);
        }
        self.run_relay();
    }

    pub(super) fn relay_closed(&mut self, conn: ConnId) {
        if let Some(directory) = &mut self.relay.directory {
            directory.handle_closed(self.now, conn);
        }
        self.end_relay_path(conn);
        self.run_relay();
    }

    pub(super) fn on_written(&mut self, life: u64, write: Write) {
        if life != self.relay.life || !self.relay.is_up() {
            return;
        }
        match write {
            Write::Keep(record) => {
                let (session, term) = (record.session, record.term);
                // If the new host is a liar, it may shut others out. The session then ends for them.
                self.judges.is_orphaned |= self.cast.liars.contains(&record.host);
                self.relay.disk.insert(session, record);
                if let Some(directory) = &mut self.relay.directory {
                    directory.handle_persisted(self.now, session, term);
                }
            }
            Write::Forget(session) => drop(self.relay.disk.remove(&session)),
        }
        self.run_relay();
    }

    /// Lets the directory handle its due timers, and carries out its requests.
    pub(super) fn run_relay(&mut self) {
        let Some(directory) = &mut self.relay.directory else { return };
        if directory.poll_timeout().is_some_and(|due| due <= self.now) {
            directory.handle_timeout(self.now);
        }
        while let Some(request) = self.relay.directory.as_mut().and_then(Directory::poll_request) {
            let write = match request {
                Request::Persist(record) => Write::Keep(record),
                Request::Forget(session) => Write::Forget(session),
            };
            let done = self.relay.busy_until.max(self.now) + self.relay.delay;
            self.relay.busy_until = done;
            self.queue.push(done, Event::Written { life: self.relay.life, write });
        }
        self.answer_offers();
        while let Some(output) = self.relay.directory.as_mut().and_then(Directory::poll_output) {
            match output {
                Output::Send { conn, bytes, .. } => self.forward_down(conn, bytes),
                Output::Close { conn, .. } => {
                    self.end_relay_path(conn);
                    self.hang_up(conn);
                }
                Output::Note(_) => {}
            }
        }
        let next = self.relay.directory.as_ref().and_then(Directory::poll_timeout);
        if self.relay.wake <= self.now {
            self.relay.wake = Time::FAR;
        }
        if let Some(at) = next.filter(|&at| at < self.relay.wake) {
            self.relay.wake = at.max(self.now);
            self.queue.push(self.relay.wake, Event::RelayWake);
        }
    }
}
