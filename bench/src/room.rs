//! A whole session in virtual time: peers, the relay's directory, and paths that have a delay and lose nothing.

use std::collections::{BTreeMap, VecDeque};

use samovar_directory::{ConnId, Directory, DirectoryConfig, Output, Request as DirectoryRequest};
use samovar_peer::{PathPolicy, Peer, PeerConfig, Request, Rules, SocketId, Transmit};
use samovar_session::{Schemas, Session};
use samovar_wire::relay::Purpose;
use samovar_wire::{Duration, GameCode, Mode, PeerId, Time};

use crate::network::Traffic;

/// The one-way delay.
const DELAY: Duration = Duration::from_millis(20);
const STEP: Duration = Duration::from_millis(1);

enum Parcel {
    ToRelay(ConnId, Vec<u8>),
    FromRelay(ConnId, Vec<u8>),
    Direct { from: PeerId, to: usize, attempt: u32, mode: Mode, bytes: Vec<u8> },
}

struct Seat {
    peer: Peer,
    sockets: BTreeMap<SocketId, ConnId>,
    /// Bytes and datagrams that the peer sent over direct paths.
    sent: Traffic,
}

/// A session whose members all own something that moves.
pub struct Room {
    now: Time,
    directory: Directory,
    seats: Vec<Seat>,
    conns: BTreeMap<ConnId, (usize, SocketId)>,
    /// Both ends of each direct connection: seat and attempt.
    channels: BTreeMap<(usize, u32), (usize, u32)>,
    /// Messages on their way, in the order of arrival, since all take equally long.
    wire: VecDeque<(Time, Parcel)>,
    relayed: u64,
}

impl Room {
    /// A session of this many members that all have the same path policy.
    ///
    /// # Panics
    /// When a member does not get into the session.
    #[must_use]
    pub fn new(members: usize, paths: PathPolicy, schemas: fn() -> Schemas) -> Self {
        let config = DirectoryConfig { secret: [1; 32], entropy: [2; 32] };
        let mut room = Self {
            now: Time::from_micros(1_000_000),
            directory: Directory::new(&config),
            seats: Vec::new(),
            conns: BTreeMap::new(),
            channels: BTreeMap::new(),
            wire: VecDeque::new(),
            relayed: 0,
        };
        let code = GameCode::parse("TEA").expect("three letters are a code");
        for index in 0..members {
            let purpose = match index {
                0 => Purpose::Create(Some(code.clone())),
                _ => Purpose::Join(code.clone()),
            };
            room.start(index, purpose, paths, schemas());
            room.run(Duration::from_millis(500));
        }
        room.run(Duration::from_millis(3_000));
        let is_there = |seat: &Seat| seat.peer.session().is_some_and(Session::is_member);
        assert!(room.seats.iter().all(is_there), "all have joined");
        room
    }

    fn start(&mut self, index: usize, purpose: Purpose, paths: PathPolicy, schemas: Schemas) {
        let config = PeerConfig {
            entropy: [10 + index as u8; 32],
            purpose,
            token: None,
            ticket: None,
            kept: None,
            name: format!("P{index}"),
            attributes: 0,
            params: 3,
            schemas,
            paths,
            capacity: 32,
            public: true,
            rules: Rules::default(),
        };
        let peer = Peer::new(self.now, config);
        self.seats.push(Seat { peer, sockets: BTreeMap::new(), sent: Traffic::default() });
    }

    /// Calls `play` with a member's session, as the member's game would. `seat` is its place among the members; the
    /// first one hosts.
    ///
    /// # Panics
    /// When the member's session has ended.
    pub fn play<R>(&mut self, seat: usize, play: impl FnOnce(Time, &mut Session) -> R) -> R {
        let session = self.seats[seat].peer.session_mut().expect("it is a member");
        play(self.now, session)
    }

    /// Sends at once what the games have written.
    pub fn flush(&mut self) {
        (0..self.seats.len()).for_each(|seat| self.drain(seat));
    }

    /// Runs the session for this span of virtual time.
    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now = (self.now + STEP).min(end);
            self.step();
        }
    }

    /// The seats of the host's backups.
    ///
    /// # Panics
    /// When the host's session has ended.
    #[must_use]
    pub fn backups(&self) -> Vec<usize> {
        let backups = self.seats[0].peer.session().expect("it hosts").view().backups().to_vec();
        let is_one = |seat: &usize| self.id(*seat).is_some_and(|peer| backups.contains(&peer));
        (0..self.seats.len()).filter(is_one).collect()
    }

    /// Bytes and datagrams that each member has sent directly so far, and how many packets went by the relay.
    #[must_use]
    pub fn sent(&self) -> (Vec<Traffic>, u64) {
        (self.seats.iter().map(|seat| seat.sent).collect(), self.relayed)
    }

    fn id(&self, seat: usize) -> Option<PeerId> {
        self.seats[seat].peer.session().map(Session::me)
    }

    fn step(&mut self) {
        while self.wire.front().is_some_and(|(at, _)| *at <= self.now) {
            if let Some((_, parcel)) = self.wire.pop_front() {
                self.deliver(parcel);
            }
        }
        self.directory.handle_timeout(self.now);
        self.run_directory();
        for seat in 0..self.seats.len() {
            if self.seats[seat].peer.poll_timeout().is_some_and(|at| at <= self.now) {
                self.seats[seat].peer.handle_timeout(self.now);
            }
            self.drain(seat);
        }
        self.run_directory();
    }

    fn deliver(&mut self, parcel: Parcel) {
        match parcel {
            Parcel::ToRelay(conn, bytes) => self.directory.handle_message(self.now, conn, &bytes),
            Parcel::FromRelay(conn, bytes) => {
                if let Some(&(seat, socket)) = self.conns.get(&conn) {
                    self.seats[seat].peer.handle_relay_message(self.now, socket, &bytes);
                }
            }
            Parcel::Direct { from, to, attempt, mode, bytes } => {
                self.seats[to].peer.handle_direct_packet(self.now, from, attempt, mode, &bytes);
            }
        }
    }

    fn run_directory(&mut self) {
        while let Some(request) = self.directory.poll_request() {
            if let DirectoryRequest::Persist(record) = request {
                self.directory.handle_persisted(self.now, record.session, record.term);
            }
        }
        while let Some(output) = self.directory.poll_output() {
            if let Output::Send { conn, bytes, .. } = output {
                self.wire.push_back((self.now + DELAY, Parcel::FromRelay(conn, bytes)));
            }
        }
    }

    fn drain(&mut self, seat: usize) {
        loop {
            let peer = &mut self.seats[seat].peer;
            if let Some(request) = peer.poll_request() {
                self.obey(seat, request);
            } else if let Some(transmit) = peer.poll_transmit(self.now) {
                self.transmit(seat, transmit);
            } else if peer.poll_event().is_none() {
                return;
            }
        }
    }

    fn transmit(&mut self, seat: usize, transmit: Transmit) {
        let parcel = match transmit {
            Transmit::Relay { socket, bytes } => {
                let Some(&conn) = self.seats[seat].sockets.get(&socket) else { return };
                self.relayed += 1;
                Parcel::ToRelay(conn, bytes)
            }
            Transmit::Direct { attempt, mode, bytes, .. } => {
                let (Some(&(to, theirs)), Some(from)) = (self.channels.get(&(seat, attempt)), self.id(seat))
                else {
                    return;
                };
                let sent = &mut self.seats[seat].sent;
                sent.bytes += bytes.len() as u64;
                sent.datagrams += 1;
                Parcel::Direct { from, to, attempt: theirs, mode, bytes }
            }
        };
        self.wire.push_back((self.now + DELAY, parcel));
    }

    fn obey(&mut self, seat: usize, request: Request) {
        match request {
            Request::OpenRelay(socket) => {
                let conn = ConnId(self.conns.len() as u64);
                self.conns.insert(conn, (seat, socket));
                self.seats[seat].sockets.insert(socket, conn);
                self.directory.handle_opened(self.now, conn, None);
                self.seats[seat].peer.handle_relay_opened(self.now, socket);
            }
            Request::Offer { peer, attempt } => self.describe(seat, peer, attempt),
            Request::Answer { peer, attempt, offer } => {
                self.channels.insert((seat, attempt), parse(&offer));
                self.describe(seat, peer, attempt);
            }
            Request::Accept { attempt, answer, .. } => self.open(seat, attempt, parse(&answer)),
            Request::CloseRelay(_) | Request::CloseDirect { .. } => {}
        }
    }

    /// Gives a peer its own description. In this network a description is only the seat and the attempt of its peer.
    fn describe(&mut self, seat: usize, peer: PeerId, attempt: u32) {
        self.seats[seat].peer.handle_local_description(self.now, peer, attempt, format!("{seat} {attempt}"));
    }

    fn open(&mut self, seat: usize, attempt: u32, other: (usize, u32)) {
        self.channels.insert((seat, attempt), other);
        let (Some(me), Some(them)) = (self.id(seat), self.id(other.0)) else { return };
        self.seats[seat].peer.handle_direct_opened(self.now, them, attempt);
        self.seats[other.0].peer.handle_direct_opened(self.now, me, other.1);
    }
}

fn parse(description: &str) -> (usize, u32) {
    let (seat, attempt) = description.split_once(' ').expect("a description has two parts");
    (seat.parse().expect("a seat"), attempt.parse().expect("an attempt"))
}
