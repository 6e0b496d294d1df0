//! Whole peers and the real directory in virtual time; sockets and data channels are queues that delay and lose.

mod endpoint;

use std::collections::{BTreeMap, BTreeSet};

use endpoint::Endpoint;
use samovar_directory::{
    ConnId, Directory, DirectoryConfig, Output, Request as DirectoryRequest, TermRecord,
};
use samovar_peer::{ConnectionKey, PathPolicy, Peer, PeerConfig, PeerEvent, Request, SocketId, Transmit};
use samovar_session::{Object, Session};
use samovar_wire::object::Traits;
use samovar_wire::relay::{FromRelay, Purpose, RelayFrame};
use samovar_wire::{Duration, Entropy, GameCode, Kind, Mode, ObjectId, PeerId, SessionId, Ticket, Time};

pub(crate) const TEAPOT: Traits = Traits::of(Kind(1));

/// A process: a tab or a robot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Process(pub(crate) usize);

enum Parcel {
    ToRelay(Process, ConnId, Vec<u8>),
    FromRelay(Process, ConnId, Vec<u8>),
    Closed(Process, ConnId),
    Described(Process, PeerId, u32, String),
    ToEndpoint(ConnId, u32, Mode, Vec<u8>),
    FromEndpoint(Process, u32, Mode, Vec<u8>),
    Direct { from: Process, to: Process, their_attempt: u32, mode: Mode, bytes: Vec<u8> },
}

#[derive(Default)]
struct Sockets(BTreeMap<SocketId, ConnId>);

impl Sockets {
    fn find(&self, conn: ConnId) -> Option<SocketId> {
        self.0.iter().find(|(_, known)| **known == conn).map(|(&socket, _)| socket)
    }
}

/// The path policy under test: `ByHost` in the modules of `by_host`, and `Auto` elsewhere.
pub(crate) fn policy() -> PathPolicy {
    if module_path!().contains("::by_host::") { PathPolicy::ByHost } else { PathPolicy::Auto }
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) peers: BTreeMap<Process, Peer>,
    pub(crate) events: BTreeMap<Process, Vec<PeerEvent>>,
    sockets: BTreeMap<Process, Sockets>,
    /// Open or opening direct connections: (process, attempt) to (process, attempt).
    channels: BTreeMap<(Process, u32), (Process, u32)>,
    pub(crate) directory: Option<Directory>,
    pub(crate) disk: BTreeMap<SessionId, TermRecord>,
    seed: [u8; 32],
    dice: Entropy,
    next_conn: u64,
    next_process: usize,
    wire: Vec<(Time, Parcel)>,
    pub(crate) loss_percent: u64,
    /// Whether direct data channels can be opened at all, and carry anything.
    pub(crate) udp: bool,
    /// Directions in which direct paths are cut: from and to.
    pub(crate) deaf: BTreeSet<(Process, Process)>,
    /// The relay's own data channels.
    pub(crate) endpoint: Endpoint,
    /// Attempts that drivers were asked for, and when.
    pub(crate) attempts: BTreeMap<(Process, ConnectionKey), Time>,
    pub(crate) direct_packets: u64,
    pub(crate) relayed_packets: u64,
    /// Sockets that carry nothing any more, although neither end knows.
    pub(crate) dead_conns: BTreeSet<ConnId>,
    /// The time that drivers take to gather candidates, in ms.
    pub(crate) gathers: u64,
}

/// The longest time of a test.
const END: Time = Time::from_micros(600_000_000);

/// A game of `members` members, with time to find direct paths.
pub(crate) fn game(mut world: World, members: usize) -> (World, Vec<Process>) {
    let mut processes = vec![world.create("TEA")];
    world.run(300);
    for _ in 1..members {
        processes.push(world.join("TEA"));
        world.run(700);
    }
    world.run(1_000);
    (world, processes)
}

impl World {
    pub(crate) fn new(seed: u8) -> Self {
        let mut world = Self {
            now: Time::from_micros(1_000_000),
            peers: BTreeMap::new(),
            events: BTreeMap::new(),
            sockets: BTreeMap::new(),
            channels: BTreeMap::new(),
            directory: None,
            disk: BTreeMap::new(),
            seed: [seed; 32],
            dice: Entropy::new([seed; 32]),
            next_conn: 0,
            next_process: 0,
            wire: Vec::new(),
            loss_percent: 0,
            udp: true,
            deaf: BTreeSet::new(),
            endpoint: Endpoint::default(),
            attempts: BTreeMap::new(),
            direct_packets: 0,
            relayed_packets: 0,
            dead_conns: BTreeSet::new(),
            gathers: 0,
        };
        world.start_relay();
        world
    }

    pub(crate) fn start_relay(&mut self) {
        let config = DirectoryConfig { secret: self.seed, entropy: self.dice.bytes() };
        let mut directory = Directory::new(&config);
        directory.set_reachable(self.endpoint.is_there);
        directory.restore(self.now, self.disk.values().cloned());
        self.directory = Some(directory);
    }

    pub(crate) fn kill_relay(&mut self) {
        self.directory = None;
        for process in self.sockets.keys().copied().collect::<Vec<_>>() {
            let lost = self.sockets.insert(process, Sockets::default()).unwrap_or_default();
            for socket in lost.0.into_keys() {
                let now = self.now;
                self.peers.get_mut(&process).unwrap().handle_relay_closed(now, socket);
            }
        }
    }

    pub(crate) fn start(&mut self, purpose: Purpose, paths: PathPolicy, ticket: Option<Ticket>) -> Process {
        let process = Process(self.next_process);
        self.next_process += 1;
        let config = PeerConfig {
            entropy: self.dice.bytes(),
            purpose,
            token: None,
            ticket,
            kept: None,
            name: format!("P{}", process.0),
            attributes: 0,
            params: 3,
            schemas: samovar_peer::Schemas::new(),
            paths,
            capacity: 8,
            public: true,
            rules: samovar_peer::Rules::default(),
        };
        self.peers.insert(process, Peer::new(self.now, config));
        self.events.insert(process, Vec::new());
        self.sockets.insert(process, Sockets::default());
        process
    }

    pub(crate) fn create(&mut self, code: &str) -> Process {
        self.start(Purpose::Create(GameCode::parse(code)), policy(), None)
    }

    pub(crate) fn join(&mut self, code: &str) -> Process {
        self.start(Purpose::Join(GameCode::parse(code).unwrap()), policy(), None)
    }

    /// Lets a process receive a message as if from the relay.
    pub(crate) fn hear_from_relay(&mut self, process: Process, message: &FromRelay) {
        let socket = self.sockets[&process].0.keys().next_back().copied().expect("it has a socket");
        let (now, bytes) = (self.now, RelayFrame::control(message));
        self.peers.get_mut(&process).unwrap().handle_relay_message(now, socket, &bytes);
    }

    /// Breaks the sockets to the relay, those of one process after another. Both ends learn of it.
    pub(crate) fn break_sockets(&mut self, processes: &[Process]) {
        for &process in processes {
            let now = self.now;
            for (socket, conn) in core::mem::take(self.sockets.get_mut(&process).unwrap()).0 {
                if let Some(directory) = &mut self.directory {
                    directory.handle_closed(now, conn);
                }
                self.peers.get_mut(&process).unwrap().handle_relay_closed(now, socket);
            }
            self.run(7);
        }
    }

    /// Stops a process for `ms` ms; its arrivals wait.
    pub(crate) fn stall(&mut self, process: Process, ms: u64) {
        let peer = self.peers.remove(&process).unwrap();
        self.run(ms);
        self.peers.insert(process, peer);
    }

    /// Makes the sockets of a process dead, as when a NAT forgets them. Neither end is told.
    pub(crate) fn cut_socket(&mut self, process: Process) {
        self.dead_conns.extend(self.sockets[&process].0.values());
    }

    /// Makes all direct connections dead, as after a change of network. Neither end is told.
    pub(crate) fn cut_channels(&mut self) {
        self.channels.clear();
    }

    /// Ends a process: its sockets close, its data channels fall silent.
    pub(crate) fn kill(&mut self, process: Process) {
        self.peers.remove(&process);
        for conn in self.sockets.remove(&process).unwrap_or_default().0.into_values() {
            if let Some(directory) = &mut self.directory {
                directory.handle_closed(self.now, conn);
            }
        }
        self.channels.retain(|from, to| from.0 != process && to.0 != process);
    }

    fn process_of(&self, peer: PeerId) -> Option<Process> {
        let is = |p: &Peer| p.session().is_some_and(|s| s.me() == peer);
        self.peers.iter().find(|(_, p)| is(p)).map(|(&process, _)| process)
    }

    fn delay(&mut self, mode: Mode) -> Time {
        let jitter = if mode == Mode::Reliable { 5_000 } else { self.dice.number() % 5_000 };
        self.now + Duration::from_micros(15_000 + jitter)
    }

    pub(crate) fn step(&mut self) {
        self.now += Duration::from_millis(1);
        assert!(self.now < END, "what the test waits for does not come");
        let (due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.wire).into_iter().partition(|p| p.0 <= self.now && !self.is_held(&p.1));
        self.wire = later;
        due.into_iter().for_each(|(_, parcel)| self.deliver(parcel));
        self.run_directory();
        for process in self.peers.keys().copied().collect::<Vec<_>>() {
            let now = self.now;
            self.peers.get_mut(&process).unwrap().handle_timeout(now);
            self.drain(process);
        }
        self.run_directory();
    }

    pub(crate) fn run(&mut self, ms: u64) {
        (0..ms).for_each(|_| self.step());
    }

    /// Whether a parcel waits because its process hangs: the kernel keeps the arrivals, in order.
    fn is_held(&self, parcel: &Parcel) -> bool {
        let (Parcel::FromRelay(process, ..) | Parcel::Closed(process, _)) = parcel else { return false };
        self.sockets.contains_key(process) && !self.peers.contains_key(process)
    }

    fn deliver(&mut self, parcel: Parcel) {
        let now = self.now;
        match parcel {
            Parcel::ToRelay(_, conn, _) | Parcel::FromRelay(_, conn, _) | Parcel::Closed(_, conn)
                if self.dead_conns.contains(&conn) => {}
            Parcel::ToRelay(process, conn, bytes) => {
                let alive = self.sockets.get(&process).is_some_and(|s| s.find(conn).is_some());
                let Some(directory) = self.directory.as_mut().filter(|_| alive) else { return };
                self.relayed_packets +=
                    u64::from(matches!(RelayFrame::decode(&bytes), Ok(RelayFrame::Forward { .. })));
                directory.handle_message(now, conn, &bytes);
                self.answer_offers();
            }
            Parcel::Described(process, peer, attempt, description) => {
                if let Some(end) = self.peers.get_mut(&process) {
                    end.handle_local_description(now, peer, attempt, description);
                }
            }
            Parcel::ToEndpoint(conn, attempt, mode, bytes) => self.on_endpoint(conn, attempt, mode, bytes),
            Parcel::FromEndpoint(process, attempt, mode, bytes) => {
                if let Some(peer) = self.peers.get_mut(&process) {
                    peer.handle_direct_packet(now, PeerId::RELAY, attempt, mode, &bytes);
                }
            }
            Parcel::FromRelay(process, conn, bytes) => {
                if let Some(socket) = self.sockets.get(&process).and_then(|s| s.find(conn))
                    && let Some(peer) = self.peers.get_mut(&process)
                {
                    peer.handle_relay_message(now, socket, &bytes);
                }
            }
            Parcel::Closed(process, conn) => {
                let Some(sockets) = self.sockets.get_mut(&process) else { return };
                if let Some(socket) = sockets.find(conn) {
                    sockets.0.remove(&socket);
                    if let Some(peer) = self.peers.get_mut(&process) {
                        peer.handle_relay_closed(now, socket);
                    }
                }
            }
            Parcel::Direct { from, to, their_attempt, mode, bytes } => {
                let sender = self.peers.get(&from).and_then(|p| p.session()).map(Session::me);
                if let (Some(sender), Some(peer)) = (sender, self.peers.get_mut(&to)) {
                    self.direct_packets += 1;
                    peer.handle_direct_packet(now, sender, their_attempt, mode, &bytes);
                }
            }
        }
    }

    fn send_from_relay(&mut self, conn: ConnId, bytes: Vec<u8>) {
        let at = self.delay(Mode::Reliable);
        if let Some((&process, _)) = self.sockets.iter().find(|(_, s)| s.find(conn).is_some()) {
            self.wire.push((at, Parcel::FromRelay(process, conn, bytes)));
        }
    }

    fn run_directory(&mut self) {
        let now = self.now;
        let Some(directory) = &mut self.directory else { return };
        directory.handle_timeout(now);
        while let Some(request) = directory.poll_request() {
            match request {
                DirectoryRequest::Persist(record) => {
                    let (session, term) = (record.session, record.term);
                    self.disk.insert(session, record);
                    directory.handle_persisted(now, session, term);
                }
                DirectoryRequest::Forget(session) => {
                    self.disk.remove(&session);
                }
            }
        }
        self.send_outputs();
    }

    /// Sends what the directory has to say. A packet that the endpoint passes on comes behind that, as in the relay.
    fn send_outputs(&mut self) {
        while let Some(output) = self.directory.as_mut().and_then(Directory::poll_output) {
            match output {
                Output::Send { conn, bytes, .. } => self.send_from_relay(conn, bytes),
                Output::Note(_) => {}
                Output::Close { conn, .. } => {
                    let at = self.delay(Mode::Reliable);
                    if let Some((&process, _)) = self.sockets.iter().find(|(_, s)| s.find(conn).is_some()) {
                        self.wire.push((at, Parcel::Closed(process, conn)));
                    }
                }
            }
        }
    }

    fn drain(&mut self, process: Process) {
        let now = self.now;
        let mut turns = 0;
        loop {
            let peer = self.peers.get_mut(&process).unwrap();
            if let Some(request) = peer.poll_request() {
                self.obey(process, request);
            } else if let Some(out) = peer.poll_transmit(now) {
                self.transmit(process, out);
            } else if let Some(event) = peer.poll_event() {
                self.events.get_mut(&process).unwrap().push(event);
            } else {
                if peer.poll_timeout().is_none_or(|t| t > now) {
                    break;
                }
                // A request may have caused more work, but there must be an end to it.
                turns += 1;
                assert!(turns < 8, "a peer that is drained again and again still has something due");
                peer.handle_timeout(now);
            }
        }
    }

    fn transmit(&mut self, process: Process, out: Transmit) {
        match out {
            Transmit::Relay { socket, bytes } => {
                if let Some(&conn) = self.sockets[&process].0.get(&socket) {
                    let at = self.delay(Mode::Reliable);
                    self.wire.push((at, Parcel::ToRelay(process, conn, bytes)));
                }
            }
            Transmit::Direct { peer: PeerId::RELAY, attempt, mode, bytes } => {
                self.send_to_endpoint(process, attempt, mode, bytes);
            }
            Transmit::Direct { attempt, mode, bytes, .. } => {
                let Some(&(to, their_attempt)) = self.channels.get(&(process, attempt)) else { return };
                let lost = mode == Mode::Unreliable && self.dice.number() % 100 < self.loss_percent;
                if self.udp && !lost && !self.deaf.contains(&(process, to)) {
                    let at = self.delay(mode);
                    self.wire.push((at, Parcel::Direct { from: process, to, their_attempt, mode, bytes }));
                }
            }
        }
    }

    fn obey(&mut self, process: Process, request: Request) {
        let now = self.now;
        if let Request::Offer { peer, attempt } | Request::Answer { peer, attempt, .. } = request {
            self.attempts.insert((process, ConnectionKey { peer, attempt }), now);
        }
        match request {
            Request::Accept { peer: PeerId::RELAY, attempt, .. } => self.open_endpoint(process, attempt),
            Request::CloseDirect { peer: PeerId::RELAY, attempt } => self.close_endpoint(process, attempt),
            Request::OpenRelay(socket) => {
                let conn = ConnId(self.next_conn);
                self.next_conn += 1;
                let peer = self.peers.get_mut(&process).unwrap();
                if let Some(directory) = &mut self.directory {
                    self.sockets.entry(process).or_default().0.insert(socket, conn);
                    directory.handle_opened(now, conn, None);
                    peer.handle_relay_opened(now, socket);
                } else {
                    peer.handle_relay_closed(now, socket);
                }
            }
            Request::CloseRelay(socket) => {
                let conn = self.sockets.entry(process).or_default().0.remove(&socket);
                let conn = conn.filter(|conn| !self.dead_conns.contains(conn));
                if let (Some(directory), Some(conn)) = (&mut self.directory, conn) {
                    directory.handle_closed(now, conn);
                }
            }
            Request::Offer { peer, attempt } => self.describe(process, peer, attempt),
            Request::Answer { peer, attempt, offer } => {
                let (from, theirs) = offer.split_once(' ').unwrap();
                let from = Process(from.parse().unwrap());
                self.channels.insert((process, attempt), (from, theirs.parse().unwrap()));
                self.describe(process, peer, attempt);
            }
            Request::Accept { attempt, answer, .. } => {
                let (from, theirs) = answer.split_once(' ').unwrap();
                let (from, theirs) = (Process(from.parse().unwrap()), theirs.parse().unwrap());
                self.channels.insert((process, attempt), (from, theirs));
                self.open_channels(process, attempt, from, theirs);
            }
            Request::CloseDirect { attempt, .. } => {
                if let Some((other, theirs)) = self.channels.remove(&(process, attempt)) {
                    self.channels.remove(&(other, theirs));
                    let me = self.peers[&process].session().map(Session::me);
                    if let (Some(me), Some(peer)) = (me, self.peers.get_mut(&other)) {
                        peer.handle_direct_closed(now, me, theirs);
                    }
                }
            }
        }
    }

    /// Makes a description after the driver has gathered candidates for `gathers` ms.
    fn describe(&mut self, process: Process, peer: PeerId, attempt: u32) {
        let description = format!("{} {attempt}", process.0);
        if self.gathers > 0 {
            let at = self.now + Duration::from_millis(self.gathers);
            self.wire.push((at, Parcel::Described(process, peer, attempt, description)));
        } else if let Some(end) = self.peers.get_mut(&process) {
            end.handle_local_description(self.now, peer, attempt, description);
        }
    }

    fn open_channels(&mut self, a: Process, a_attempt: u32, b: Process, b_attempt: u32) {
        let now = self.now;
        let id = |world: &Self, process| world.peers.get(&process).and_then(|p| p.session()).map(Session::me);
        let (Some(a_id), Some(b_id)) = (id(self, a), id(self, b)) else { return };
        for (process, other, attempt) in [(a, b_id, a_attempt), (b, a_id, b_attempt)] {
            let peer = self.peers.get_mut(&process).unwrap();
            if self.udp {
                peer.handle_direct_opened(now, other, attempt);
            } else {
                peer.handle_direct_closed(now, other, attempt);
            }
        }
    }

    /// The open direct connection of a process with another.
    pub(crate) fn attempt_with(&self, process: Process, other: PeerId) -> Option<u32> {
        let other = self.process_of(other)?;
        let mut open = self.channels.iter().filter(|(from, to)| from.0 == process && to.0 == other);
        open.next_back().map(|(from, _)| from.1)
    }

    pub(crate) fn session(&self, process: Process) -> &Session {
        self.peers[&process].session().unwrap()
    }

    pub(crate) fn session_mut(&mut self, process: Process) -> &mut Session {
        self.peers.get_mut(&process).unwrap().session_mut().unwrap()
    }

    pub(crate) fn picture(&self, process: Process) -> Vec<(ObjectId, PeerId, String, Vec<Vec<u8>>)> {
        let object = |o: &Object| {
            let fields = (0..o.field_count()).map(|i| o.field(i).to_vec()).collect();
            (o.id(), o.owner(), format!("{:?}", o.stamp()), fields)
        };
        self.session(process).objects().map(object).collect()
    }

    /// Asserts promises 1 and 4 of docs/recovery.md: all members have one host, and the same objects.
    pub(crate) fn assert_converged(&self) {
        let processes: Vec<_> = self.peers.keys().copied().collect();
        let hosts: BTreeSet<_> = processes.iter().map(|&p| self.session(p).host()).collect();
        assert_eq!(hosts.len(), 1, "one host");
        assert!(self.process_of(*hosts.first().unwrap()).is_some(), "the host lives");
        for &process in &processes {
            assert!(self.session(process).is_member(), "{process:?}: {:?}", self.events[&process].last());
            assert_eq!(self.picture(process), self.picture(processes[0]), "{process:?}");
        }
    }
}
