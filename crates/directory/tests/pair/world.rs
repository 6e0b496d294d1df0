//! The harness: it settles everything that happens at one moment before time moves to the next timer.

use std::collections::BTreeMap;

use samovar_directory::limits::ALIVE_HOLDS;
use samovar_directory::{
    Client, ClientConfig, ClientEvent, ClientRequest, CloseReason, ConnId, Connected, Directory,
    DirectoryConfig, Note, Origin, Output, Request, SocketId, TermRecord,
};
use samovar_wire::relay::{Denial, Enter, FromRelay, Listing, Purpose, RelayFrame, ToRelay};
use samovar_wire::{Duration, GameCode, PROTOCOL_VERSION, PeerId, SessionId, Term, Time, Warrant};

/// Hash of the parameters that all peers agree on unless a test says otherwise.
pub(crate) const PARAMS: u64 = 77;

pub(crate) fn code(text: &str) -> GameCode {
    GameCode::parse(text).expect("the test's code")
}

/// The n-th witnessed term.
pub(crate) const fn term(n: u64) -> Term {
    Term(n * Term::FIRST.0)
}

pub(crate) const fn denied(n: u64, denial: Denial) -> ClientEvent {
    ClientEvent::Denied(term(n), denial)
}

pub(crate) fn seconds(n: u64) -> Duration {
    Duration::from_millis(n * 1_000)
}

pub(crate) fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn listing(players: u8) -> Listing {
    Listing {
        players,
        capacity: 8,
        open: true,
        public: true,
        title: String::new(),
        host_name: "Ann".to_owned(),
    }
}

/// A client, its socket and its events.
pub(crate) struct Seat {
    pub(crate) client: Client,
    pub(crate) conn: Option<ConnId>,
    pub(crate) events: Vec<ClientEvent>,
    pub(crate) over: bool,
    /// Whether its process stands still: it neither reads nor runs.
    pub(crate) frozen: bool,
    /// Whether its sockets cannot be opened.
    pub(crate) cut: bool,
    /// Set while the seat misses its host and repeats its claim.
    missing: Option<Missing>,
    /// The client's id for the socket of `conn`. `former` is the socket that the client has moved from.
    socket: SocketId,
    former: Option<(SocketId, ConnId)>,
    unread: Vec<(SocketId, Vec<u8>)>,
}

impl Seat {
    /// The connection of one of the client's sockets.
    fn conn_of(&self, socket: SocketId) -> Option<ConnId> {
        let former = self.former.filter(|former| former.0 == socket).map(|former| former.1);
        if socket == self.socket { self.conn } else { former }
    }

    fn socket_of(&mut self, conn: ConnId) -> Option<(&mut Self, SocketId)> {
        let former = self.former.filter(|former| former.1 == conn).map(|former| former.0);
        let socket = if self.conn == Some(conn) { Some(self.socket) } else { former };
        socket.map(|socket| (self, socket))
    }

    fn take_conn(&mut self, socket: SocketId) -> Option<ConnId> {
        let former = self.former.take_if(|former| former.0 == socket).map(|former| former.1);
        if socket == self.socket { self.conn.take() } else { former }
    }

    /// The client hears that its socket is lost.
    pub(crate) fn lose_socket(&mut self, now: Time) {
        self.client.handle_closed(now, self.socket);
    }
}

struct Missing {
    host: PeerId,
    candidate: PeerId,
    next_claim: Time,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) directory: Directory,
    pub(crate) secret: [u8; 32],
    pub(crate) relay_up: bool,
    /// The relay's own code.
    pub(crate) own_code: Option<GameCode>,
    pub(crate) disk: BTreeMap<SessionId, TermRecord>,
    /// Whether writes reach the disk; they wait otherwise.
    pub(crate) disk_works: bool,
    pub(crate) writes: Vec<TermRecord>,
    pub(crate) forgotten: Vec<SessionId>,
    pub(crate) seats: Vec<Seat>,
    /// The messages to raw connections.
    pub(crate) heard: BTreeMap<ConnId, Vec<FromRelay>>,
    pub(crate) closed: BTreeMap<ConnId, CloseReason>,
    /// Every message of the relay to any connection.
    pub(crate) said: Vec<(ConnId, FromRelay)>,
    /// The directory's events for logs.
    pub(crate) notes: Vec<Note>,
    /// A copy of the connected peers of each session, as a driver keeps it.
    connected: BTreeMap<SessionId, Vec<Connected>>,
    next_conn: u64,
    starts: u8,
}

impl Seat {
    fn claim_again(&mut self, now: Time) {
        let Some(warrant) = self.client.warrant() else { return };
        self.missing.take_if(|missing| missing.host != warrant.host);
        if let Some(missing) = self.missing.as_mut().filter(|missing| missing.next_claim <= now) {
            missing.next_claim = now + millis(250);
            self.client.claim(now, warrant.term.next_witnessed(), missing.candidate);
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let secret = [9; 32];
        let mut directory = Directory::new(&DirectoryConfig { secret, entropy: [1; 32] });
        directory.set_reports_changes(true);
        Self {
            now: Time::from_micros(1_000_000),
            directory,
            secret,
            relay_up: true,
            own_code: None,
            disk: BTreeMap::new(),
            disk_works: true,
            writes: Vec::new(),
            forgotten: Vec::new(),
            seats: Vec::new(),
            heard: BTreeMap::new(),
            closed: BTreeMap::new(),
            said: Vec::new(),
            notes: Vec::new(),
            next_conn: 0,
            connected: BTreeMap::new(),
            starts: 1,
        }
    }

    /// A world with a game `TEA` of `n` members. The first member is the host and has named them.
    pub(crate) fn with_members(n: usize) -> Self {
        let mut world = Self::new();
        world.create("TEA");
        for _ in 1..n {
            world.join("TEA");
        }
        world.name_members(0, &(0..n.max(1)).collect::<Vec<_>>());
        world
    }

    pub(crate) fn create(&mut self, text: &str) -> usize {
        self.add(PROTOCOL_VERSION, PARAMS, Purpose::Create(Some(code(text))))
    }

    pub(crate) fn join(&mut self, text: &str) -> usize {
        self.add(PROTOCOL_VERSION, PARAMS, Purpose::Join(code(text)))
    }

    pub(crate) fn add(&mut self, version: u16, params: u64, purpose: Purpose) -> usize {
        let entropy = [self.seats.len() as u8 + 1; 32];
        let client = Client::new(self.now, ClientConfig { version, params, purpose, token: None, entropy });
        self.seats.push(Seat {
            client,
            conn: None,
            events: Vec::new(),
            over: false,
            frozen: false,
            cut: false,
            missing: None,
            socket: SocketId::FIRST,
            former: None,
            unread: Vec::new(),
        });
        self.settle();
        self.seats.len() - 1
    }

    /// A connection without a client behind it.
    pub(crate) fn raw(&mut self) -> ConnId {
        self.raw_of(None)
    }

    /// A connection from an origin, without a client behind it.
    pub(crate) fn raw_of(&mut self, origin: Option<Origin>) -> ConnId {
        self.next_conn += 1;
        let conn = ConnId(self.next_conn);
        self.heard.insert(conn, Vec::new());
        self.directory.handle_opened(self.now, conn, origin);
        self.settle();
        conn
    }

    /// A connection of the relay's own, without a client behind it.
    pub(crate) fn raw_of_own(&mut self) -> ConnId {
        self.next_conn += 1;
        let conn = ConnId(self.next_conn);
        self.heard.insert(conn, Vec::new());
        self.directory.handle_opened_own(self.now, conn);
        self.settle();
        conn
    }

    pub(crate) fn raw_send(&mut self, conn: ConnId, message: &ToRelay) {
        self.raw_bytes(conn, &RelayFrame::control(message));
    }

    pub(crate) fn raw_bytes(&mut self, conn: ConnId, bytes: &[u8]) {
        self.directory.handle_message(self.now, conn, bytes);
        self.settle();
    }

    pub(crate) fn raw_enter(&mut self, purpose: Purpose) -> ConnId {
        self.raw_enter_from(None, purpose)
    }

    pub(crate) fn raw_enter_from(&mut self, origin: Option<Origin>, purpose: Purpose) -> ConnId {
        let conn = self.raw_of(origin);
        self.raw_send(conn, &ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: PARAMS, purpose }));
        conn
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        self.settle();
        while let Some(next) = self.next_timer().filter(|&next| next <= end) {
            self.now = self.now.max(next);
            if self.relay_up {
                self.directory.handle_timeout(self.now);
            }
            for seat in self.seats.iter_mut().filter(|seat| !seat.frozen) {
                seat.client.handle_timeout(self.now);
                seat.claim_again(self.now);
            }
            self.settle();
            let later = self.next_timer().is_none_or(|next| next > self.now);
            assert!(later, "a timer that was due is still due");
        }
        self.now = end;
    }

    /// The relay dies at once; its disk stays.
    pub(crate) fn kill_relay(&mut self) {
        self.relay_up = false;
        for i in 0..self.seats.len() {
            self.drop_socket(i);
        }
        self.settle();
    }

    pub(crate) fn start_relay(&mut self) {
        self.starts += 1;
        let config = DirectoryConfig { secret: self.secret, entropy: [self.starts; 32] };
        self.directory = Directory::new(&config);
        self.directory.set_reports_changes(true);
        self.directory.set_own_code(self.own_code.clone());
        self.directory.restore(self.now, self.disk.values().cloned());
        self.connected.clear();
        self.writes.clear();
        self.relay_up = true;
        self.settle();
    }

    /// The process behind a seat dies: its socket closes.
    pub(crate) fn kill(&mut self, i: usize) {
        self.seats[i].frozen = true;
        self.drop_socket(i);
        self.settle();
    }

    /// The socket breaks; both ends hear of it.
    pub(crate) fn drop_socket(&mut self, i: usize) {
        if let Some(conn) = self.seats[i].conn.take() {
            if self.relay_up {
                self.directory.handle_closed(self.now, conn);
            }
            let seat = &mut self.seats[i];
            if !seat.frozen {
                seat.client.handle_closed(self.now, seat.socket);
            }
        }
    }

    /// One claim of the n-th witnessed term by a seat for itself.
    pub(crate) fn claim(&mut self, i: usize, n: u64) {
        self.claim_for(i, n, i);
    }

    /// One claim for another candidate.
    pub(crate) fn claim_for(&mut self, i: usize, n: u64, candidate: usize) {
        let candidate = self.peer(candidate);
        assert!(self.seats[i].client.claim(self.now, term(n), candidate));
        self.settle();
    }

    /// Members depose a host that answers the relay: they claim again once its answer no longer counts.
    pub(crate) fn outvote(&mut self, members: &[usize], n: u64, candidate: usize) {
        members.iter().for_each(|&i| self.claim_for(i, n, candidate));
        self.run_for(ALIVE_HOLDS + millis(1));
        for &i in members {
            if self.warrant(i).term < term(n) {
                self.claim_for(i, n, candidate);
            }
        }
    }

    /// A seat misses its host from now on, until another peer hosts.
    pub(crate) fn miss(&mut self, i: usize, candidate: usize) {
        let (host, candidate) = (self.warrant(i).host, self.peer(candidate));
        self.seats[i].missing = Some(Missing { host, candidate, next_claim: self.now });
        self.run_for(Duration::from_micros(0));
    }

    /// A seat hears its host again.
    pub(crate) fn hear_host(&mut self, i: usize) {
        self.seats[i].missing = None;
    }

    /// The host names its members.
    pub(crate) fn name_members(&mut self, host: usize, members: &[usize]) {
        self.name_peers(host, members.iter().map(|&i| self.peer(i)).collect());
    }

    pub(crate) fn name_peers(&mut self, host: usize, members: Vec<PeerId>) {
        self.seats[host].client.set_members(self.now, members, 0);
        self.settle();
    }

    /// The peer of a raw connection.
    pub(crate) fn raw_peer(&self, conn: ConnId) -> PeerId {
        let entered = self.heard[&conn].iter().find_map(|said| match said {
            FromRelay::Entered(entered) => Some(entered.pass.peer),
            _ => None,
        });
        entered.expect("the connection has entered")
    }

    pub(crate) fn peer(&self, i: usize) -> PeerId {
        self.seats[i].client.peer().expect("the seat has entered")
    }

    pub(crate) fn warrant(&self, i: usize) -> Warrant {
        self.seats[i].client.warrant().expect("the seat has entered")
    }

    /// The events of a seat since the last call.
    pub(crate) fn events(&mut self, i: usize) -> Vec<ClientEvent> {
        std::mem::take(&mut self.seats[i].events)
    }

    /// The numbers of the probes that a seat was sent.
    pub(crate) fn probes_of(&self, i: usize) -> Vec<u64> {
        let conn = self.seats[i].conn.expect("connected");
        let probes = self.said.iter().filter_map(|(to, message)| match message {
            FromRelay::Probe(nonce) if *to == conn => Some(*nonce),
            _ => None,
        });
        probes.collect()
    }

    /// The warrants of the n-th witnessed term that were sent to any peer.
    pub(crate) fn issued(&self, n: u64) -> Vec<Warrant> {
        let warrants = self.said.iter().filter_map(|(_, message)| match message {
            FromRelay::Issued(warrant) => Some(*warrant),
            FromRelay::Entered(entered) => Some(entered.warrant),
            _ => None,
        });
        warrants.filter(|warrant| warrant.term == term(n)).collect()
    }

    /// Lets the writes that wait reach the disk.
    pub(crate) fn write(&mut self) {
        for record in std::mem::take(&mut self.writes) {
            let (session, term) = (record.session, record.term);
            self.disk.insert(session, record);
            self.directory.handle_persisted(self.now, session, term);
        }
        self.settle();
    }

    /// Moves messages until none is left.
    pub(crate) fn settle(&mut self) {
        while self.move_clients() | self.move_directory() {}
    }

    fn next_timer(&self) -> Option<Time> {
        let relay = self.directory.poll_timeout().filter(|_| self.relay_up);
        let awake = || self.seats.iter().filter(|seat| !seat.frozen);
        let clients = awake().filter_map(|seat| seat.client.poll_timeout());
        let claims = awake().filter_map(|seat| Some(seat.missing.as_ref()?.next_claim));
        relay.into_iter().chain(clients).chain(claims).min()
    }

    fn move_clients(&mut self) -> bool {
        let mut moved = false;
        for i in 0..self.seats.len() {
            if self.seats[i].frozen {
                continue;
            }
            for (socket, bytes) in std::mem::take(&mut self.seats[i].unread) {
                self.seats[i].client.handle_message(self.now, socket, &bytes);
                moved = true;
            }
            while let Some(request) = self.seats[i].client.poll_request() {
                moved = true;
                self.answer(i, request);
            }
            while let Some((socket, bytes)) = self.seats[i].client.poll_transmit() {
                moved = true;
                if let Some(conn) = self.seats[i].conn_of(socket) {
                    self.directory.handle_message(self.now, conn, &bytes);
                }
            }
            while let Some(event) = self.seats[i].client.poll_event() {
                self.seats[i].over |= matches!(event, ClientEvent::Refused(_) | ClientEvent::Failed(_));
                self.seats[i].events.push(event);
            }
        }
        moved
    }

    fn answer(&mut self, i: usize, request: ClientRequest) {
        match request {
            ClientRequest::Open(socket) if self.relay_up && !self.seats[i].cut => {
                self.next_conn += 1;
                let conn = ConnId(self.next_conn);
                let seat = &mut self.seats[i];
                seat.former = seat.conn.replace(conn).map(|former| (seat.socket, former));
                seat.socket = socket;
                self.directory.handle_opened(self.now, conn, None);
                self.seats[i].client.handle_opened(self.now, socket);
            }
            ClientRequest::Open(socket) => self.seats[i].client.handle_closed(self.now, socket),
            ClientRequest::Close(socket) => {
                if let Some(conn) = self.seats[i].take_conn(socket) {
                    self.directory.handle_closed(self.now, conn);
                }
            }
        }
    }

    fn move_directory(&mut self) -> bool {
        let mut moved = false;
        while let Some(request) = self.directory.poll_request() {
            moved = true;
            match request {
                Request::Persist(record) => self.writes.push(record),
                Request::Forget(session) => {
                    self.disk.remove(&session);
                    self.forgotten.push(session);
                }
            }
        }
        while let Some(output) = self.directory.poll_output() {
            moved = true;
            self.deliver(output);
        }
        if self.disk_works && !self.writes.is_empty() {
            moved = true;
            self.write();
        }
        self.copy_connected();
        moved
    }

    /// Takes anew what the directory says has changed, and checks that nothing else has.
    fn copy_connected(&mut self) {
        let fresh = |directory: &Directory, session| directory.connected(session).collect::<Vec<_>>();
        while let Some(session) = self.directory.poll_changed() {
            self.connected.insert(session, fresh(&self.directory, session));
        }
        for (&session, copy) in &self.connected {
            assert_eq!(*copy, fresh(&self.directory, session), "a change went by the driver");
        }
        let peers = self.connected.values().map(Vec::len).sum::<usize>();
        assert_eq!(peers, self.directory.usage().members);
    }

    fn deliver(&mut self, output: Output) {
        match output {
            Output::Send { conn, bytes, .. } => {
                assert!(!self.closed.contains_key(&conn), "nothing is sent behind a close");
                if let Ok(RelayFrame::Control(body)) = RelayFrame::decode(&bytes) {
                    let message = FromRelay::decode(body).expect("the directory speaks the protocol");
                    if message != FromRelay::Pulse {
                        self.said.push((conn, message.clone()));
                        self.heard.entry(conn).and_modify(|heard| heard.push(message));
                    }
                }
                let seats = self.seats.iter_mut();
                if let Some((seat, socket)) = seats.filter_map(|seat| seat.socket_of(conn)).next() {
                    seat.unread.push((socket, bytes));
                }
            }
            Output::Note(note) => self.notes.push(note),
            Output::Close { conn, reason } => {
                self.closed.insert(conn, reason);
                let seats = self.seats.iter_mut();
                if let Some((seat, closed)) = seats.filter_map(|seat| seat.socket_of(conn)).next() {
                    for (socket, bytes) in std::mem::take(&mut seat.unread) {
                        seat.client.handle_message(self.now, socket, &bytes);
                    }
                    seat.take_conn(closed);
                    seat.client.handle_closed(self.now, closed);
                }
            }
        }
    }
}

/// A span less one millisecond.
pub(crate) fn almost(span: Duration) -> Duration {
    Duration::from_micros(span.as_micros() - 1_000)
}
