//! The relay: the real directory, its disk, and the peers' sockets.

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_directory::{ConnId, Directory, DirectoryConfig, Output, Request, TermRecord};
use samovar_roster::RelayKey;
use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, RelayFrame, ToRelay};
use samovar_wire::{GameCode, PROTOCOL_VERSION, Warrant};

use crate::world::{Member, Mind, RELAY, World};

/// A peer's WebSocket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Socket {
    pub(crate) conn: Option<ConnId>,
    /// Whether the peer has read that the relay let it in.
    has_entered: bool,
    pub(crate) up: VecDeque<Vec<u8>>,
    pub(crate) down: VecDeque<Vec<u8>>,
    /// The connection that has ended at the peer, while the relay has not noticed yet.
    pub(crate) dead: Option<ConnId>,
}

impl Socket {
    pub(crate) fn is_empty(&self) -> bool {
        self.up.is_empty() && self.down.is_empty() && self.dead.is_none()
    }
}

/// The relay's state that outlives its process, and its pending writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Desk {
    pub(crate) key: RelayKey,
    disk: Option<TermRecord>,
    writes: VecDeque<TermRecord>,
    next_conn: u64,
    starts: u8,
}

impl Desk {
    pub(crate) fn is_idle(&self) -> bool {
        self.writes.is_empty()
    }
}

const SECRET: [u8; 32] = [9; 32];

fn code() -> GameCode {
    GameCode::parse("TEA").unwrap()
}

fn enter(purpose: Purpose) -> ToRelay {
    ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 0, purpose })
}

pub(crate) fn new_relay() -> (Directory, Desk) {
    let directory = Directory::new(&DirectoryConfig { secret: SECRET, entropy: [1; 32] });
    let desk = Desk { key: directory.key(), disk: None, writes: VecDeque::new(), next_conn: 0, starts: 1 };
    (directory, desk)
}

fn decode(bytes: &[u8]) -> Option<FromRelay> {
    let RelayFrame::Control(body) = RelayFrame::decode(bytes).ok()? else { return None };
    FromRelay::decode(body).ok()
}

impl World {
    /// Whether the relay lists the game, so that newcomers need not wait for it.
    pub(crate) fn has_live_game(&self) -> bool {
        // The relay lists no game while only peers that want to join are connected. They wait, too.
        let is_listed = |relay: &Arc<Directory>| relay.usage().games > 0;
        self.relay.as_ref().is_some_and(is_listed) && !self.can_write()
    }

    fn desk_mut(&mut self) -> &mut Desk {
        Arc::make_mut(&mut self.desk)
    }

    /// Opens a socket and enters without delay. The relay's answer waits in the socket.
    fn dial(&mut self, slot: usize, purpose: Purpose) {
        let conn = {
            let desk = self.desk_mut();
            desk.next_conn += 1;
            ConnId(desk.next_conn)
        };
        let now = self.now;
        let directory = Arc::make_mut(self.relay.as_mut().unwrap());
        directory.handle_opened(now, conn, None);
        self.sockets[slot].conn = Some(conn);
        self.hand_to_relay(conn, &RelayFrame::control(&enter(purpose)));
    }

    fn hand_to_relay(&mut self, conn: ConnId, bytes: &[u8]) {
        let now = self.now;
        if let Some(directory) = self.relay.as_mut().map(Arc::make_mut) {
            directory.handle_message(now, conn, bytes);
        }
        let answered = match RelayFrame::decode(bytes) {
            Ok(RelayFrame::Control(body)) => matches!(ToRelay::decode(body), Ok(ToRelay::Alive(_))),
            _ => false,
        };
        self.drain(answered.then_some(conn));
    }

    /// Founds the game or joins it. Returns the relay's answer.
    pub(crate) fn enter_first(&mut self, slot: usize, founds: bool) -> Entered {
        self.dial(slot, if founds { Purpose::Create(Some(code())) } else { Purpose::Join(code()) });
        while self.can_write() {
            self.write();
        }
        let bytes = self.sockets[slot].down.pop_front().unwrap();
        self.sockets[slot].has_entered = true;
        let Some(FromRelay::Entered(entered)) = decode(&bytes) else { panic!("not entered") };
        entered
    }

    /// Delivers the directory's outputs, and queues its writes to the disk. It drops a probe to the connection
    /// `timed`, whose member has just answered or entered: such a probe only measures time.
    fn drain(&mut self, mut timed: Option<ConnId>) {
        let Some(directory) = self.relay.as_mut().map(Arc::make_mut) else { return };
        let requests: Vec<_> = std::iter::from_fn(|| directory.poll_request()).collect();
        let outputs: Vec<_> = std::iter::from_fn(|| directory.poll_output()).collect();
        for request in requests {
            match request {
                Request::Persist(record) => self.desk_mut().writes.push_back(record),
                Request::Forget(_) => self.desk_mut().disk = None,
            }
        }
        for output in outputs {
            match output {
                Output::Send { conn, bytes, .. } => {
                    let message = decode(&bytes);
                    match message {
                        Some(FromRelay::Entered(_)) => timed = Some(conn),
                        // Time passes in a few long ticks here, so the time that an entrant takes to answer has no
                        // meaning. Each open probe would multiply the histories.
                        Some(FromRelay::Probe(_)) if timed.take_if(|asked| *asked == conn).is_some() => {
                            continue;
                        }
                        _ => {}
                    }
                    self.on_sent(conn, bytes);
                }
                Output::Note(_) => {}
                Output::Close { conn, .. } => {
                    if let Some(slot) = self.sockets.iter().position(|socket| socket.conn == Some(conn)) {
                        self.sockets[slot] = Socket::default();
                        self.note_relay(slot, false);
                    }
                }
            }
        }
    }

    fn on_sent(&mut self, conn: ConnId, bytes: Vec<u8>) {
        let Some(message) = decode(&bytes) else { return };
        match &message {
            FromRelay::Issued(warrant) | FromRelay::Successor(warrant) => self.note_given(warrant),
            FromRelay::Entered(entered) => self.note_given(&entered.warrant),
            // A pulse has no effect here. A hint that a peer is gone only causes a suspicion, and suspicions are
            // steps of their own.
            FromRelay::Pulse | FromRelay::Gone(_) => return,
            _ => {}
        }
        if let Some(socket) = self.sockets.iter_mut().find(|socket| socket.conn == Some(conn)) {
            socket.down.push_back(bytes);
        }
    }

    fn note_given(&mut self, warrant: &Warrant) {
        let (term, host) = (warrant.term, warrant.host);
        let is_written =
            |record: &TermRecord| record.term > term || (record.term, record.host) == (term, host);
        if !self.desk.disk.as_ref().is_some_and(is_written) && self.broken.is_none() {
            self.broken = Some(format!("term {term} is announced and not on disk"));
        }
        self.note_host(warrant.term, warrant.host, "the relay");
    }

    pub(crate) fn can_write(&self) -> bool {
        !self.desk.writes.is_empty()
    }

    /// Lets the oldest write reach the disk.
    pub(crate) fn write(&mut self) {
        let Some(record) = self.desk_mut().writes.pop_front() else { return };
        let (session, term, now) = (record.session, record.term, self.now);
        self.desk_mut().disk = Some(record);
        if let Some(directory) = self.relay.as_mut().map(Arc::make_mut) {
            directory.handle_persisted(now, session, term);
        }
        self.drain(None);
    }

    pub(crate) fn crash_relay(&mut self) {
        self.relay = None;
        self.desk_mut().writes.clear();
        for slot in 0..self.sockets.len() {
            self.sockets[slot] = Socket::default();
            self.note_relay(slot, false);
        }
    }

    pub(crate) fn start_relay(&mut self) {
        let desk = self.desk_mut();
        desk.starts += 1;
        let config = DirectoryConfig { secret: SECRET, entropy: [desk.starts; 32] };
        let disk = desk.disk.clone();
        let mut directory = Directory::new(&config);
        directory.restore(self.now, disk);
        self.relay = Some(Arc::new(directory));
    }

    pub(crate) fn say_to_relay(&mut self, slot: usize, message: &ToRelay) {
        let Some(conn) = self.sockets[slot].conn.filter(|_| self.sockets[slot].has_entered) else { return };
        let bytes = RelayFrame::control(message);
        if matches!(message, ToRelay::Members(..)) && self.sockets[slot].up.is_empty() {
            self.hand_to_relay(conn, &bytes);
        } else {
            self.sockets[slot].up.push_back(bytes);
        }
    }

    /// Ends a socket at the peer's end.
    pub(crate) fn hang_up(&mut self, slot: usize) {
        let socket = std::mem::take(&mut self.sockets[slot]);
        let was_open = self.relay.is_some() && socket.conn.is_some();
        self.sockets[slot].dead = socket.dead.or(socket.conn).filter(|_| was_open || socket.dead.is_some());
        // The relay still reads the messages sent before.
        if let (Some(conn), true) = (socket.conn, self.reaches(slot, RELAY)) {
            socket.up.iter().for_each(|bytes| self.hand_to_relay(conn, bytes));
        }
        self.note_relay(slot, false);
    }

    /// Lets the relay notice that a socket ended.
    pub(crate) fn notice_end(&mut self, slot: usize) {
        let (dead, now) = (self.sockets[slot].dead.take(), self.now);
        if let (Some(conn), Some(directory)) = (dead, self.relay.as_mut().map(Arc::make_mut)) {
            directory.handle_closed(now, conn);
        }
        self.drain(None);
    }

    fn note_relay(&mut self, slot: usize, is_reached: bool) {
        let now = self.now;
        if let Some(roster) = self.member_mut(slot).and_then(Member::roster) {
            roster.set_relay(now, is_reached);
        }
    }

    pub(crate) fn can_resume(&self, slot: usize) -> bool {
        let is_member = self.member(slot).is_some_and(|member| matches!(member.mind, Mind::Samovar(_)));
        is_member && self.relay.is_some() && self.sockets[slot].conn.is_none() && self.reaches(slot, RELAY)
    }

    /// Lets a peer come back to the relay with its id.
    pub(crate) fn resume(&mut self, slot: usize) {
        let Some(member) = self.member(slot) else { return };
        let Mind::Samovar(roster) = &member.mind else { return };
        let warrant = member.joins_under.unwrap_or(*roster.warrant());
        self.dial(slot, Purpose::Resume(code(), member.pass, warrant));
    }

    /// Delivers a peer's first message to the relay.
    pub(crate) fn read_up(&mut self, slot: usize) {
        let socket = &mut self.sockets[slot];
        if let (Some(bytes), Some(conn)) = (socket.up.pop_front(), socket.conn) {
            self.hand_to_relay(conn, &bytes);
        }
    }

    /// Delivers the relay's first message to a peer.
    pub(crate) fn read_down(&mut self, slot: usize) {
        let Some(bytes) = self.sockets[slot].down.pop_front() else { return };
        match decode(&bytes) {
            Some(FromRelay::Entered(entered)) => {
                self.sockets[slot].has_entered = true;
                self.note_relay(slot, true);
                self.on_warrant(slot, entered.warrant);
            }
            Some(FromRelay::Issued(warrant)) => self.on_warrant(slot, warrant),
            Some(FromRelay::Successor(warrant)) => {
                if let Some(roster) = self.member_mut(slot).and_then(Member::roster) {
                    roster.keep_in_reserve(warrant);
                }
            }
            Some(FromRelay::Denied(term, denial)) => {
                let now = self.now;
                if let Some(roster) = self.member_mut(slot).and_then(Member::roster) {
                    roster.handle_denial(now, term, denial);
                }
            }
            Some(FromRelay::Probe(nonce)) => self.say_to_relay(slot, &ToRelay::Alive(nonce)),
            Some(FromRelay::Pass(pass)) => {
                if let Some(member) = self.member_mut(slot) {
                    member.pass = pass;
                }
            }
            _ => {}
        }
        self.look(slot);
    }

    /// Whether it makes no difference when the relay's next message reaches a peer. That holds for a denial, for a
    /// known warrant, and for a probe, whose answer may be late.
    pub(crate) fn is_routine(&self, slot: usize) -> bool {
        let Some(bytes) = self.sockets[slot].down.front() else { return false };
        match decode(bytes) {
            Some(FromRelay::Issued(warrant)) => {
                self.member(slot).is_none_or(|member| warrant.term <= member.known_term())
            }
            Some(FromRelay::Entered(_) | FromRelay::Successor(_)) => false,
            _ => true,
        }
    }

    pub(crate) fn pass_time_at_relay(&mut self) {
        let now = self.now;
        if let Some(directory) = self.relay.as_mut().map(Arc::make_mut) {
            directory.handle_timeout(now);
        }
        self.drain(None);
    }
}
