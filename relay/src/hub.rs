//! The directory with its sockets, its disk and its clock around it, behind one lock.
//!
//! One lock is enough: a control message costs microseconds (a signature, at worst), and packets are forwarded without
//! it. The directory's output is in the sockets' queues before the peers of a game are known for forwarding, so that no
//! forwarded packet overtakes an `Entered`.

use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use samovar_directory::{
    Clearance, ConnId, Directory, GameReport, Incoming, MemberReport, Note, OperatorError, Output, Preview,
    Request,
};
use samovar_roster::RelayKey;
use samovar_wire::relay::{Enter, Refusal, RelayFrame, TokenFault};
use samovar_wire::{GameCode, PeerId, Time};
use tokio::sync::Notify;

use crate::bans::Bans;
use crate::clock::Clock;
use crate::door::AddressPlace;
use crate::forwarder::Forwarder;
use crate::games::Shown;
use crate::gate::Gate;
use crate::limits::LiveLimits;
use crate::line::{Line, Visitor};
use crate::lines::Lines;
use crate::metrics::{Dropped, Kind, Levels, Metrics};
use crate::outbox::{Farewell, Outbox, Waiting};
use crate::reach::Reach;
use crate::reports::{GameRow, MemberRow, Path, Queue};
use crate::store::Persisted;
use crate::writing::Writing;

/// The shared state of a relay's tasks.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// Fires when the directory's next timer is earlier than before.
    rearmed: Notify,
    clock: Clock,
    /// Verifies the relay's signatures, without the lock.
    key: RelayKey,
    forwarder: Forwarder,
    writing: Writing,
    /// The gate; `None` lets everybody in.
    pub(crate) gate: Option<Gate>,
    bans: Arc<Bans>,
    pub(crate) limits: Arc<LiveLimits>,
    pub(crate) metrics: Arc<Metrics>,
}

#[derive(Debug)]
struct State {
    directory: Directory,
    lines: Lines,
    metrics: Arc<Metrics>,
    /// `None` once the relay has stopped.
    disk: Option<Sender<Request>>,
    /// The time when the timer task next wakes up by itself.
    armed: Option<Time>,
}

impl Hub {
    /// A hub whose directory writes by `disk`, and whose members' data channels are reached by `reach`.
    pub(crate) fn new(
        mut directory: Directory,
        disk: Sender<Request>,
        (reach, gate, bans): (Option<Arc<Reach>>, Option<Gate>, Arc<Bans>),
        limits: Arc<LiveLimits>,
        metrics: Arc<Metrics>,
    ) -> Self {
        directory.set_quota(limits.all().quota());
        directory.set_reachable(reach.is_some());
        directory.set_reports_probes(true);
        directory.set_reports_changes(true);
        directory.set_gated(gate.is_some());
        let key = directory.key();
        let lines = Lines::new(reach.clone(), Arc::clone(&metrics));
        let state = State { directory, lines, metrics: Arc::clone(&metrics), disk: Some(disk), armed: None };
        Self {
            state: Mutex::new(state),
            rearmed: Notify::new(),
            clock: Clock::start(),
            key,
            forwarder: Forwarder::new(reach, Arc::clone(&metrics)),
            writing: Writing::default(),
            gate,
            bans,
            limits,
            metrics,
        }
    }

    /// Opens a connection for an accepted socket.
    pub(crate) fn open(&self, visitor: Visitor) -> Arc<Line> {
        self.with(|state, now| {
            let line = state.lines.open(visitor, self.limits.room());
            tracing::debug!(request = line.request(), conn = line.conn.0, "a peer is connected");
            if line.is_own() {
                state.directory.handle_opened_own(now, line.conn);
            } else {
                state.directory.handle_opened(now, line.conn, line.place().map(AddressPlace::origin));
                // The ban may be newer than the request by which the connection came.
                if line.address().is_some_and(|address| self.bans.of(address).is_some()) {
                    state.directory.ban(now, line.conn);
                }
            }
            line
        })
    }

    /// Closes the connection of a socket that is gone. A second call has no effect.
    pub(crate) fn close(&self, conn: ConnId) {
        self.with(|state, now| {
            if state.lines.end(conn, Farewell::GONE) {
                state.directory.handle_closed(now, conn);
            }
        });
    }

    /// Handles a socket's message, which came at `since`. `bytes` is empty if it was no message of the protocol.
    pub(crate) fn message(&self, line: &Line, bytes: Bytes, since: u64) {
        if let Ok(RelayFrame::Forward { peer: PeerId::RELAY, payload: [], .. }) = RelayFrame::decode(&bytes) {
            return line.channels.doubt(since);
        }
        if let Ok(frame @ RelayFrame::Forward { peer, .. }) = RelayFrame::decode(&bytes)
            && let Some(routes) = line.routes()
        {
            let kind = Kind::of(&frame);
            match routes.to(peer) {
                Some(target) => self.forwarder.pass_on(target, &routes, Waiting { kind, bytes, since }),
                None => self.metrics.dropped(line.shard, Dropped::NoReceiver, 1),
            }
            return;
        }
        // The costly part of a message, its signatures, is verified before the lock is taken.
        let incoming = Incoming::read(&self.key, &bytes);
        self.with(|state, now| {
            #[cfg(test)]
            crate::panics::trip(&bytes);
            state.directory.handle_incoming(now, line.conn, incoming);
        });
    }

    /// The intent of a peer that is about to enter.
    ///
    /// # Errors
    /// It would be refused whatever the game's own server says.
    pub(crate) fn preview(&self, line: &Line, enter: &Enter, is_genuine: bool) -> Result<Preview, Refusal> {
        self.with(|state, now| state.directory.preview(now, line.conn, enter, is_genuine))
    }

    /// Lets a peer enter that the game's own server vouches for.
    pub(crate) fn admit(&self, line: &Line, clearance: Clearance) {
        self.with(|state, _| state.directory.handle_vouched(line.conn, clearance));
    }

    /// Notes the fault of a peer's token.
    pub(crate) fn fault(&self, line: &Line, fault: TokenFault) {
        self.with(|state, _| state.directory.handle_fault(line.conn, fault));
    }

    /// Refuses a peer that has not entered, with words for the player, if there are any.
    pub(crate) fn refuse(&self, line: &Line, refusal: Refusal, told: Option<String>) {
        self.with(|state, now| state.directory.handle_not_vouched(now, line.conn, refusal, told));
    }

    /// The key that verifies the relay's signatures.
    pub(crate) const fn key(&self) -> &RelayKey {
        &self.key
    }

    /// Notes that the relay has sent a probe on this connection.
    pub(crate) fn asked(&self, conn: ConnId, nonce: u64) {
        self.with(|state, now| state.directory.handle_probe_sent(now, conn, nonce));
    }

    /// Handles a message of a member's data channels for `receiver`.
    pub(crate) fn channel_message(
        &self,
        line: &Line,
        receiver: PeerId,
        message: (Kind, Vec<u8>),
        since: u64,
    ) {
        let routes = line.routes();
        match routes.as_ref().and_then(|routes| Some((routes, routes.to(receiver)?))) {
            Some((routes, target)) => self.forwarder.pass_on_channels(target, routes, message, since),
            None => self.metrics.dropped(line.shard, Dropped::NoReceiver, 1),
        }
    }

    /// Passes on the endpoint's answer to an offer.
    pub(crate) fn answer(&self, conn: ConnId, attempt: u32, description: String) {
        self.with(|state, _| state.directory.handle_answer(conn, attempt, description));
    }

    /// Notes that the disk begins to write.
    pub(crate) fn writing(&self) {
        self.writing.begin(self.nanos());
    }

    /// Notes that terms have reached the disk.
    pub(crate) fn persisted(&self, terms: &Persisted) {
        self.writing.end();
        self.with(|state, now| {
            for &(session, term) in terms {
                state.directory.handle_persisted(now, session, term);
            }
        });
    }

    /// The listed games, each with the origin of its host, and whether the relay's own referee hosts it.
    pub(crate) fn games(&self) -> Vec<Shown> {
        let state = self.lock();
        let shown = |info: samovar_directory::GameInfo| {
            let host = info.host.and_then(|conn| state.lines.get(conn));
            let origin = host.and_then(|line| line.place()).map(AddressPlace::origin);
            Shown { is_own: host.is_some_and(|line| line.is_own()), origin, info }
        };
        state.directory.games().map(shown).collect()
    }

    /// The games, by code, for the operator.
    pub(crate) fn game_rows(&self) -> Vec<GameRow> {
        let now = self.clock.now();
        let state = self.lock();
        let row = |game: GameReport| {
            let host = game.members.iter().find(|member| Some(member.peer) == game.host);
            let host = host.and_then(|member| state.lines.get(member.conn));
            let listing = game.listing;
            GameRow {
                code: game.code.to_string(),
                connected: game.members.len(),
                players: listing.as_ref().map(|listing| listing.players),
                capacity: listing.as_ref().map(|listing| listing.capacity),
                public: listing.as_ref().is_some_and(|listing| listing.public),
                title: listing.as_ref().map(|listing| listing.title.clone()).unwrap_or_default(),
                host_name: listing.map(|listing| listing.host_name).unwrap_or_default(),
                host: game.host.map(|host| host.0),
                own: host.is_some_and(|line| line.is_own()),
                params: format!("{:016x}", game.params),
            }
        };
        state.directory.reports(now).map(row).collect()
    }

    /// The connected members of a game, by id, for the operator.
    ///
    /// # Errors
    /// No game with a connection has this code.
    pub(crate) fn member_rows(&self, code: &GameCode) -> Result<Vec<MemberRow>, String> {
        let (now, nanos) = (self.clock.now(), self.nanos());
        let state = self.lock();
        let game = state.directory.report(now, code);
        let game = game.ok_or_else(|| OperatorError::NoSuchGame.to_string())?;
        let queue = |outbox: &Outbox| {
            let depth = outbox.depth();
            Queue { messages: depth.messages, bytes: depth.bytes }
        };
        let row = |member: &MemberReport| {
            let line = state.lines.get(member.conn)?;
            Some(MemberRow {
                member: member.peer.0,
                host: Some(member.peer) == game.host,
                named: member.is_named,
                own: line.is_own(),
                address: line.address().map(|address| address.to_string()),
                since: member.entered.as_micros() / 1_000_000,
                path: if line.channels.carry(nanos) { Path::Webrtc } else { Path::Websocket },
                socket_queue: queue(&line.outbox),
                channel_queue: queue(&line.channels.outbox),
            })
        };
        Ok(game.members.iter().filter_map(row).collect())
    }

    /// The address of a connected member.
    ///
    /// # Errors
    /// There is no such member, or its address is not known.
    pub(crate) fn address_of(&self, code: &GameCode, peer: PeerId) -> Result<IpAddr, String> {
        let now = self.clock.now();
        let state = self.lock();
        let game = state.directory.report(now, code);
        let game = game.ok_or_else(|| OperatorError::NoSuchGame.to_string())?;
        let member = game.members.iter().find(|member| member.peer == peer);
        let member = member.ok_or_else(|| OperatorError::NoSuchMember.to_string())?;
        let line = state.lines.get(member.conn);
        line.and_then(|line| line.address()).ok_or_else(|| "the member's address is not known".to_owned())
    }

    /// Puts a member out of its game.
    ///
    /// # Errors
    /// There is no such member, or it is the relay's own.
    pub(crate) fn kick(&self, code: &GameCode, peer: PeerId) -> Result<(), String> {
        self.with(|state, now| state.directory.put_out(now, code, peer).map_err(|error| error.to_string()))
    }

    /// Ends a game.
    ///
    /// # Errors
    /// There is no such game, or it is the relay's own.
    pub(crate) fn end_game(&self, code: &GameCode) -> Result<(), String> {
        self.with(|state, now| state.directory.end_game(now, code).map_err(|error| error.to_string()))
    }

    /// Closes the connections from these addresses, and puts their members out. Returns how many there were.
    pub(crate) fn ban(&self, is_banned: impl Fn(IpAddr) -> bool) -> usize {
        self.with(|state, now| {
            let is_meant = |line: &&Arc<Line>| line.address().is_some_and(&is_banned);
            let conns: Vec<_> = state.lines.all().filter(is_meant).map(|line| line.conn).collect();
            for &conn in &conns {
                state.directory.ban(now, conn);
            }
            conns.len()
        })
    }

    /// Closes every socket, including those that open later.
    pub(crate) fn stop(&self) {
        self.lock().lines.stop();
    }

    /// Lets the disk's thread end after its pending requests.
    pub(crate) fn release_disk(&self) {
        self.lock().disk = None;
    }

    /// Announces that the relay stops within this time: it founds no more games, and tells all peers.
    pub(crate) fn drain(&self, within: Duration) {
        let within =
            samovar_wire::Duration::from_micros(u64::try_from(within.as_micros()).unwrap_or(u64::MAX));
        self.with(|state, now| state.directory.handle_draining(now, within));
    }

    /// Sets the limits from now on.
    pub(crate) fn set_limits(&self, limits: crate::limits::Limits) {
        let quota = limits.quota();
        self.limits.set(limits);
        self.lock().directory.set_quota(quota);
    }

    /// The reason why the relay takes no games, if any: it stops, or its disk does not answer.
    pub(crate) fn unready(&self) -> Option<&'static str> {
        let is_late = self.writing.is_late(self.nanos());
        let state = self.lock();
        if state.lines.is_stopping() || state.directory.is_draining() || state.disk.is_none() {
            return Some("stopping\n");
        }
        is_late.then_some("waiting for the disk\n")
    }

    /// Whether the relay has no game.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().directory.usage().games == 0
    }

    /// The current levels, except `tcp`, which the hub does not know.
    pub(crate) fn levels(&self) -> Levels {
        let (mut levels, lines): (_, Vec<_>) = {
            let state = self.lock();
            let (usage, is_draining) = (state.directory.usage(), state.directory.is_draining());
            let levels = Levels { usage, is_draining, ..Levels::default() };
            (levels, state.lines.all().map(Arc::clone).collect())
        };
        let now = self.nanos();
        for line in lines {
            levels.on_channels += usize::from(line.channels.carry(now));
            for depth in [line.outbox.depth(), line.channels.outbox.depth()] {
                levels.queues.messages += depth.messages;
                levels.queues.bytes += depth.bytes;
                levels.deepest = levels.deepest.max(depth.messages);
            }
        }
        levels
    }

    /// The relay's own time, in nanoseconds.
    pub(crate) fn nanos(&self) -> u64 {
        self.clock.nanos()
    }

    /// The number of open sockets.
    pub(crate) fn sockets(&self) -> usize {
        self.lock().lines.all().len()
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
                    Some(next) => tokio::time::sleep(self.clock.until(next)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.rearmed.notified() => {}
            }
        }
    }

    /// Acts on the directory and carries out its requests.
    fn with<R>(&self, act: impl FnOnce(&mut State, Time) -> R) -> R {
        let mut state = self.lock();
        // The clock is read under the lock, so that the directory's time never runs backwards.
        let now = self.clock.now();
        let result = act(&mut state, now);
        state.carry_out(self.nanos());
        let next = state.directory.poll_timeout();
        if next.is_some_and(|next| state.armed.is_none_or(|armed| next < armed)) {
            state.armed = next;
            self.rearmed.notify_one();
        }
        result
    }

    /// Takes the lock, even after a panic has poisoned it: a panic in one connection's task must not end the others.
    /// That task closes its own connection as it unwinds.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn carry_out(&mut self, since: u64) {
        while let Some(request) = self.directory.poll_request() {
            // Sending fails only if the disk has failed or the relay stops. A term that is not written is not
            // announced either.
            self.disk.as_ref().and_then(|disk| disk.send(request).ok());
        }
        while let Some(output) = self.directory.poll_output() {
            match output {
                Output::Send { conn, bytes, class } => self.lines.send(conn, bytes.into(), class, since),
                Output::Close { conn, reason } => {
                    tracing::debug!(conn = conn.0, ?reason, "closed by the relay");
                    self.metrics.closed(reason);
                    self.lines.end(conn, reason.into());
                }
                Output::Note(note) => self.take_note(note),
            }
        }
        while let Some(offer) = self.directory.poll_offer() {
            self.lines.offer(offer);
        }
        while let Some(session) = self.directory.poll_changed() {
            self.lines.connect(session, self.directory.connected(session));
        }
    }

    fn take_note(&mut self, note: Note) {
        match note {
            Note::Entered { .. } => self.metrics.joined(),
            Note::HostChanged { cause, recovery, .. } => {
                let recovery = recovery.map(|time| Duration::from_micros(time.as_micros()));
                let _span = tracing::info_span!("host change").entered();
                tracing::info!(?cause, ?recovery, "a session has another host");
                self.metrics.host_changed(cause, recovery);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::settings::Settings;

    /// A hub without connections, whose disk takes nothing.
    pub(crate) fn hub(reach: Option<Arc<Reach>>) -> Hub {
        let settings: Settings = toml::from_str("data = \"d\"").expect("settings");
        let limits = Arc::new(LiveLimits::new(settings.resolve().expect("complete").0.limits));
        let config = samovar_directory::DirectoryConfig { secret: [1; 32], entropy: [2; 32] };
        let (disk, _) = std::sync::mpsc::channel();
        Hub::new(
            Directory::new(&config),
            disk,
            (reach, None, Arc::new(Bans::none())),
            limits,
            Arc::new(Metrics::new()),
        )
    }

    #[test]
    fn a_relay_whose_disk_hangs_is_not_ready() {
        let mut hub = hub(None);
        hub.writing();
        assert_eq!(hub.unready(), None, "it has just begun");
        hub.clock.start -= Duration::from_secs(3);
        assert_eq!(hub.unready(), Some("waiting for the disk\n"));
        hub.persisted(&Vec::new());
        assert_eq!(hub.unready(), None);
    }
}
