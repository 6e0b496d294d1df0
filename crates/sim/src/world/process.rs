//! A process: a peer with a clock and a driver, and the faults that keep it from running.

mod rebirth;

use std::collections::VecDeque;

use samovar_directory::ConnId;
use samovar_peer::{Buffer, ConnectionKey, Path, Peer, PeerEvent, Request, SocketId, Transmit};
use samovar_session::{EndReason, Event as SessionEvent, Session};
use samovar_wire::relay::{Addressed, Purpose, Refusal, RelayFrame};
use samovar_wire::{CloseCode, Duration, Mode, PeerId, SeatId, SortedMap, Ticket, Time};

use super::cast::Player;
use super::direct::Channel;
use super::lies::Liar;
use super::{Event, World};
use crate::check::SLEPT;
use crate::clock::LocalClock;
use crate::game::{Game, ProcessId, Turn};
use crate::network::Place;
use crate::promise::{Broken, Promise};

/// The most rounds of handling timers and draining the peer, after which no timer may be due.
const ROUNDS_MAX: usize = 4;
/// A datagram for a process that does not run is dropped when this many events wait already, as by a kernel's full
/// buffer.
pub(super) const DATAGRAMS_MAX: usize = 256;
/// A tab in the background has one timer a second.
const HIDDEN_INTERVAL: Duration = Duration::from_millis(1_000);
/// How long after the end of its session a player reloads the page.
const RELOAD_AFTER: Duration = Duration::from_millis(700);
/// The longest time that a leaving process may take to end.
const LEAVE_WITHIN: Duration = Duration::from_millis(3_000);

/// Something that arrived at a process.
#[derive(Debug)]
pub(super) enum Arrival {
    Packet { attempt: u32, mode: Mode, bytes: Vec<u8> },
    Relay(ConnId, Vec<u8>),
    SocketLost(ConnId),
    DirectClosed(u32),
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// The process has not run since `since`. With `keeps_datagrams` its system answers for it and keeps datagrams.
    /// Otherwise the machine sleeps, and the system does neither.
    Stopped {
        since: Time,
        keeps_datagrams: bool,
        clock_stops: bool,
    },
    /// The process has ended.
    Ended,
}

/// A process.
pub(super) struct Process {
    pub(super) player: usize,
    pub(super) peer: Option<Box<Peer>>,
    pub(super) clock: LocalClock,
    pub(super) state: State,
    /// The number of faults that hide the process's tab now.
    pub(super) hidden: u32,
    /// The number of faults by which the process's game stands still now.
    pub(super) still: u32,
    /// The process's connections to the relay; two while it moves from one network to another.
    pub(super) sockets: SortedMap<SocketId, ConnId>,
    pub(super) channels: SortedMap<u32, Channel>,
    pub(super) inbox: VecDeque<Arrival>,
    /// Local times of the next frame, and of the next timer of a hidden tab.
    pub(super) next_frame: Time,
    next_timer: Time,
    /// World time of the earliest wake-up that is queued.
    wake: Time,
    /// The last time at which a fault struck the process or ended.
    pub(super) disturbed: Time,
    /// The time at which the process last sent a packet.
    pub(super) last_sent: Time,
    /// The time since which the process has been leaving.
    pub(super) leaving: Option<Time>,
    told_backlog: bool,
    is_tuned: bool,
    /// The id of its peer, also after the peer has ended.
    pub(super) known_as: Option<PeerId>,
    pub(super) forbidden_seat: Option<ForbiddenSeat>,
    /// Whether its peer takes its seat back under a new peer id.
    is_reborn: bool,
    pub(super) liar: Option<Liar>,
    pub(super) heir: Option<ProcessId>,
}

/// The seat that a ticket must not open.
pub(super) struct ForbiddenSeat {
    pub(super) seat: SeatId,
    /// The number of the view when the ticket was shown.
    pub(super) view: u64,
    /// The processes that knew that the ticket was used.
    pub(super) knowing: Vec<ProcessId>,
}

impl Process {
    pub(super) fn is_awake(&self) -> bool {
        self.state == State::Running && self.peer.is_some()
    }
}

impl<G: Game> World<G> {
    /// Adds a player, who founds the game or joins it.
    pub(super) fn add_player(&mut self) {
        let player = self.cast.players.len();
        self.cast.players.push(Player { founds: player == 0, ..Default::default() });
        self.on_start(player);
    }

    /// Starts a process for a player.
    pub(super) fn on_start(&mut self, player: usize) {
        let seat = &mut self.cast.players[player];
        seat.is_starting = false;
        if seat.is_gone || seat.process.is_some() {
            return;
        }
        let (ticket, founds) = (seat.ticket, seat.founds);
        let kept = seat.kept.clone();
        let purpose = match &kept {
            Some((pass, _)) => Purpose::Rejoin(Self::code(), *pass),
            None if founds => Purpose::Create(Some(Self::code())),
            None => Purpose::Join(Self::code()),
        };
        let process = self.start_process(player, purpose, ticket);
        self.cast.players[player].process = Some(process);
        self.turn(process);
    }

    pub(super) fn start_process(
        &mut self,
        player: usize,
        purpose: Purpose,
        ticket: Option<Ticket>,
    ) -> ProcessId {
        let id = self.cast.processes.len();
        let config = self.peer_config(player, purpose, ticket);
        let drift = self.chance.dice.range(0, 2 * self.plan.drift) as i64 - self.plan.drift as i64;
        let local = Time::from_micros(self.chance.dice.below(1 << 40));
        let clock = LocalClock::new(self.now, local, drift);
        let frame = self.chance.dice.span(self.frame());
        self.trace.note(self.now, Place::Player(player), || format!("process {id} starts"));
        self.cast.processes.push(Process {
            player,
            peer: Some(Box::new(Peer::new(local, config))),
            clock,
            state: State::Running,
            hidden: 0,
            still: 0,
            sockets: SortedMap::new(),
            channels: SortedMap::new(),
            inbox: VecDeque::new(),
            next_frame: local + frame,
            next_timer: local,
            wake: Time::FAR,
            disturbed: self.now,
            last_sent: self.now,
            leaving: None,
            told_backlog: false,
            is_tuned: false,
            known_as: None,
            forbidden_seat: None,
            is_reborn: false,
            liar: None,
            heir: None,
        });
        id
    }

    const fn frame(&self) -> Duration {
        Duration::from_micros(1_000_000 / self.plan.frame_rate)
    }

    pub(super) fn on_wake(&mut self, id: ProcessId) {
        let process = &mut self.cast.processes[id];
        if process.wake <= self.now {
            process.wake = Time::FAR;
            if process.is_awake() {
                self.trace.mix(self.now.as_micros(), id as u64);
                self.turn(id);
            }
        }
    }

    /// Hands an arrival to a process, or keeps it while the process does not run.
    pub(super) fn arrive(&mut self, id: ProcessId, arrival: Arrival) {
        let process = &mut self.cast.processes[id];
        match process.state {
            State::Running if process.peer.is_some() => {
                self.receive(id, arrival);
                self.turn(id);
            }
            State::Stopped { keeps_datagrams, .. } => {
                let is_datagram = matches!(arrival, Arrival::Packet { mode: Mode::Unreliable, .. });
                if !is_datagram || (keeps_datagrams && process.inbox.len() < DATAGRAMS_MAX) {
                    process.inbox.push_back(arrival);
                }
            }
            State::Running | State::Ended => {}
        }
    }

    fn receive(&mut self, id: ProcessId, arrival: Arrival) {
        let process = &mut self.cast.processes[id];
        let now = process.clock.local(self.now);
        let Some(peer) = &mut process.peer else { return };
        match arrival {
            Arrival::Packet { attempt, mode, bytes } => {
                let Some(channel) = process.channels.get(&attempt) else { return };
                self.judges.figures.packets += 1;
                self.judges.figures.bytes += bytes.len() as u64;
                self.trace.mix(self.now.as_micros() ^ bytes.len() as u64, id as u64);
                self.trace.mix_bytes(&bytes);
                peer.handle_direct_packet(now, channel.peer, attempt, mode, &bytes);
            }
            Arrival::Relay(conn, bytes) => {
                let Some(socket) = socket_of(&process.sockets, conn) else { return };
                self.judges.figures.packets += 1;
                self.judges.figures.bytes += bytes.len() as u64;
                self.trace.mix(self.now.as_micros() ^ bytes.len() as u64, id as u64);
                self.trace.mix_bytes(&bytes);
                peer.handle_relay_message(now, socket, &bytes);
            }
            Arrival::SocketLost(conn) => {
                let Some(socket) = socket_of(&process.sockets, conn) else { return };
                process.sockets.remove(&socket);
                peer.handle_relay_closed(now, socket);
            }
            Arrival::DirectClosed(attempt) => {
                if let Some(channel) = process.channels.remove(&attempt) {
                    peer.handle_direct_closed(now, channel.peer, attempt);
                }
            }
        }
    }

    /// Lets a stopped process run again.
    pub(super) fn resume(&mut self, id: ProcessId) {
        let process = &mut self.cast.processes[id];
        let State::Stopped { since, clock_stops, .. } = process.state else { return };
        if clock_stops {
            process.clock.stand_still(since, self.now);
        }
        self.judges.checks.offices.wake(id, !clock_stops && self.now.since(since) > SLEPT);
        process.state = State::Running;
        process.disturbed = self.now;
        // Frames and timers that were missed are not made up for.
        let local = process.clock.local(self.now);
        process.next_frame = process.next_frame.max(local);
        for arrival in std::mem::take(&mut process.inbox) {
            self.receive(id, arrival);
        }
        self.turn(id);
    }

    /// Runs a process's driver once: handles due timers, runs a frame of the game if one is due, and drains the peer.
    pub(super) fn turn(&mut self, id: ProcessId) {
        let Some(mut peer) = self.cast.processes[id].peer.take() else { return };
        self.judges.figures.turns += 1;
        let process = &mut self.cast.processes[id];
        let now = process.clock.local(self.now);
        let (mut timers, mut frame) = (true, process.next_frame <= now);
        if process.hidden > 0 {
            timers = process.next_timer <= now;
            frame = timers;
            if timers {
                process.next_timer = now + HIDDEN_INTERVAL;
            }
        }
        frame &= process.still == 0;
        if timers && peer.poll_timeout().is_some_and(|due| due <= now) {
            peer.handle_timeout(now);
        }
        if frame {
            // The game takes its events before it acts.
            self.take_events(id, &mut peer);
            self.play_frame(id, &mut peer, now);
        }
        self.tell_backlogs(id, &mut peer, now);
        self.drain(id, &mut peer, now);
        if timers {
            self.finish(id, &mut peer, now);
        }
        self.look_at(id, &peer);
        if self.cast.processes[id].forbidden_seat.is_some() {
            self.judge_seat(id, &peer);
        }
        self.plan_wake(id, &peer);
        self.cast.processes[id].peer = Some(peer);
        self.after_turn(id);
        self.watch_liar(id);
    }

    /// Repeats timers and draining until no timer is due. Draining may make a timer due at once, but a few rounds
    /// must be enough.
    fn finish(&mut self, id: ProcessId, peer: &mut Peer, now: Time) {
        for _ in 0..ROUNDS_MAX {
            if peer.poll_timeout().is_none_or(|due| due > now) {
                return;
            }
            peer.handle_timeout(now);
            self.drain(id, peer, now);
        }
        let due = peer.session().and_then(Session::poll_timeout);
        let what =
            format!("process {id} still has a timer due, drained at {now:?}; its session's is {due:?}");
        self.break_promise(Broken::new(Promise::Timers, what));
    }

    fn play_frame(&mut self, id: ProcessId, peer: &mut Peer, now: Time) {
        let frame = self.frame();
        let process = &mut self.cast.processes[id];
        process.next_frame = (process.next_frame + frame).max(now);
        let Some(session) = peer.session_mut() else { return };
        if !std::mem::replace(&mut process.is_tuned, true) {
            session.set_update_interval(Duration::from_micros(1_000_000 / self.plan.update_rate));
        }
        session.stepped(now);
        if session.is_member() {
            let (resting, dice) = (self.resting, &mut self.chance.game);
            self.game.tick(&mut Turn { process: id, now, session, resting, dice });
        }
        if let Some(session) = peer.session_mut() {
            self.lie(id, session);
            self.judge_silence(id, now, session);
        }
    }

    /// Queues the driver's next wake-up.
    fn plan_wake(&mut self, id: ProcessId, peer: &Peer) {
        let process = &mut self.cast.processes[id];
        let frame = if process.still == 0 { process.next_frame } else { Time::FAR };
        let mut local = frame.min(peer.poll_timeout().unwrap_or(Time::FAR));
        if process.hidden > 0 {
            local = process.next_timer;
        }
        let at = process.clock.world(local).max(self.now);
        if at < process.wake {
            process.wake = at;
            self.queue.push(at, Event::Wake(id));
        }
    }

    fn drain(&mut self, id: ProcessId, peer: &mut Peer, now: Time) {
        loop {
            let mut idle = true;
            while let Some(transmit) = peer.poll_transmit(now) {
                idle = false;
                self.transmit(id, transmit);
            }
            while let Some(request) = peer.poll_request() {
                idle = false;
                self.obey(id, peer, request);
            }
            idle &= !self.take_events(id, peer);
            if idle || self.judges.is_over() {
                return;
            }
        }
    }

    /// Takes the peer's events. Returns whether there were any.
    fn take_events(&mut self, id: ProcessId, peer: &mut Peer) -> bool {
        let mut any = false;
        while let Some(event) = peer.poll_event() {
            any = true;
            self.on_peer_event(id, peer, event);
        }
        any
    }

    fn tell_backlogs(&mut self, id: ProcessId, peer: &mut Peer, now: Time) {
        let process = &self.cast.processes[id];
        let place = Place::Player(process.player);
        let backlogs: Vec<_> = process
            .sockets
            .iter()
            .filter_map(|(&id, conn)| {
                Some((id, self.net.sockets.get(conn)?.up.backlog(self.now, &self.plan.relay)))
            })
            .collect();
        let is_clear = backlogs.iter().all(|&(_, bytes)| bytes == 0)
            && self.net.clogs.is_empty()
            && self.plan.direct.bandwidth.is_none();
        if is_clear && !process.told_backlog {
            return;
        }
        for (socket, bytes) in backlogs {
            peer.handle_backlog(now, Buffer::Relay(socket), bytes as usize);
        }
        let weather = self.direct_weather(place);
        for (&attempt, channel) in &process.channels {
            let bytes = channel.bulk.backlog(self.now, &weather);
            let key = ConnectionKey { peer: channel.peer, attempt };
            peer.handle_backlog(now, Buffer::Direct(key), bytes as usize);
        }
        self.cast.processes[id].told_backlog = !is_clear;
    }

    fn transmit(&mut self, id: ProcessId, mut transmit: Transmit) {
        self.cast.processes[id].last_sent = self.now;
        if self.judges.standstills.is_some() && !self.healing {
            self.count(&transmit);
        }
        if let Some(liar) = &mut self.cast.processes[id].liar {
            liar.pass(&mut transmit);
        }
        if !self.may_send(id, &transmit) {
            return;
        }
        match transmit {
            Transmit::Relay { socket, bytes } => self.send_up(id, socket, bytes),
            Transmit::Direct { attempt, mode, bytes, .. } => self.send_direct(id, attempt, mode, bytes),
        }
    }

    /// Counts packets for members. Complaints and echoes do not count.
    fn count(&mut self, transmit: &Transmit) {
        let is_relayed = match transmit {
            Transmit::Direct { peer: PeerId::RELAY, mode, bytes, .. } => {
                Addressed::decode(*mode, bytes).is_ok_and(|message| !message.payload.is_empty())
            }
            Transmit::Direct { bytes, .. } if bytes.is_empty() => return,
            Transmit::Direct { .. } => {
                self.judges.figures.sent[0] += 1;
                return;
            }
            Transmit::Relay { bytes, .. } => {
                matches!(RelayFrame::decode(bytes), Ok(RelayFrame::Forward { payload: [_, ..], .. }))
            }
        };
        self.judges.figures.sent[1] += u64::from(is_relayed);
    }

    fn obey(&mut self, id: ProcessId, peer: &mut Peer, request: Request) {
        match request {
            Request::OpenRelay(socket) => self.open_socket(id, socket),
            Request::CloseRelay(socket) => self.close_socket(id, socket),
            Request::Offer { peer: to, attempt } => self.describe(id, to, attempt, None),
            Request::Answer { peer: from, attempt, offer } => self.describe(id, from, attempt, Some(&offer)),
            Request::Accept { peer: from, attempt, answer } => self.connect(id, from, attempt, &answer),
            Request::CloseDirect { attempt, .. } => self.close_direct(id, attempt),
        }
        let _ = peer;
    }

    fn on_peer_event(&mut self, id: ProcessId, peer: &mut Peer, event: PeerEvent) {
        self.tell_event(id, &event);
        match &event {
            PeerEvent::PathChanged(to, Path::Direct) if self.plan.standstills_at_rises => {
                if let Some(standstills) = &mut self.judges.standstills
                    && peer.session().is_some_and(|session| session.host() == *to)
                {
                    standstills.rise(self.now, id);
                }
            }
            PeerEvent::Session(event) => {
                self.judge_event(id, peer.session().map(Session::host), event);
                self.remember_end(id, event);
                let is_of_liar = self.is_word_of_liar(event);
                let now = self.cast.processes[id].clock.local(self.now);
                if let Some(session) = peer.session_mut() {
                    self.judge_divergence(id, session, event);
                    let (resting, dice) = (self.resting, &mut self.chance.game);
                    if !is_of_liar {
                        self.game.event(&mut Turn { process: id, now, session, resting, dice }, event);
                    }
                    if is_about_objects(event) {
                        let checked = self.judges.checks.look(id, session);
                        let checked = checked.and_then(|()| self.game.check(id, session));
                        checked.unwrap_or_else(|broken| self.break_promise(broken));
                    }
                }
            }
            PeerEvent::Rejoining { .. } => self.cast.processes[id].is_reborn = true,
            PeerEvent::Refused(refusal) => {
                let player = self.cast.processes[id].player;
                // If the relay knows no such game any more, the player founds it anew next time.
                self.cast.players[player].founds = *refusal == Refusal::UnknownGame;
            }
            PeerEvent::NoSession(error) => {
                self.break_promise(Broken::new(
                    Promise::NoBlame,
                    format!("process {id} has no session: {error}"),
                ));
            }
            PeerEvent::Failed(fault) => {
                let what = format!("process {id} says that the relay misbehaves: {fault:?}");
                self.break_promise(Broken::new(Promise::NoBlame, what));
            }
            _ => {}
        }
    }

    /// Forgets a player's ticket when its session ended because the ticket is void.
    fn remember_end(&mut self, id: ProcessId, event: &SessionEvent) {
        let process = &self.cast.processes[id];
        let player = &mut self.cast.players[process.player];
        if player.process != Some(id) {
            return;
        }
        match event {
            SessionEvent::Ended(EndReason::SeatTaken) => player.ticket = None,
            SessionEvent::Ended(EndReason::Refused(CloseCode::BadTicket)) => player.ticket = None,
            _ => {}
        }
    }

    /// Remembers the player's ticket, and ends the process when its peer is over.
    fn after_turn(&mut self, id: ProcessId) {
        let process = &self.cast.processes[id];
        let Some(peer) = &process.peer else { return };
        let number = process.player;
        let is_over = peer.is_over();
        let ticket = peer.session().and_then(Session::ticket);
        let known_as = peer.session().map(Session::me);
        self.cast.processes[id].known_as = known_as;
        let player = &mut self.cast.players[number];
        if ticket.is_some() && ticket != player.ticket {
            player.founds = false;
            player.old_ticket = std::mem::replace(&mut player.ticket, ticket);
        }
        if self.cast.processes[id].is_reborn {
            return self.bear_again(id);
        }
        let process = &self.cast.processes[id];
        let is_late = process.leaving.is_some_and(|since| since + LEAVE_WITHIN <= self.now);
        let is_done = process.sockets.is_empty() && process.channels.is_empty();
        if is_late || (is_over && is_done) {
            // All others may have fallen asleep since the player chose to leave.
            self.judges.is_orphaned |= process.leaving.is_some() && !self.can_spare(id);
            self.end_process(id);
            self.reload_later(number, RELOAD_AFTER);
        }
    }

    /// Lets a player whose process has ended start another later, unless the player left for good.
    pub(super) fn reload_later(&mut self, player: usize, after: Duration) {
        let seat = &mut self.cast.players[player];
        if !seat.is_gone && seat.process.is_none() && !std::mem::replace(&mut seat.is_starting, true) {
            let jitter = self.chance.dice.millis(0, 300);
            self.queue.push(self.now + after + jitter, Event::Start(player));
        }
    }

    /// Ends a process at once. Its sockets stay open at the relay, and its channels at their other ends.
    pub(super) fn end_process(&mut self, id: ProcessId) {
        let process = &mut self.cast.processes[id];
        let peer = process.peer.take();
        process.state = State::Ended;
        process.inbox.clear();
        process.sockets.clear();
        let player = process.player;
        if self.cast.players[player].process == Some(id) {
            self.cast.players[player].process = None;
            if peer.and_then(|peer| Some(peer.session()?.ticket().is_none())) == Some(true) {
                self.cast.players[player].first_seat = None;
            }
        }
        self.trace.note(self.now, Place::Player(player), || format!("process {id} is over"));
        self.judges.checks.forget(id);
        self.judges.recoveries.forget(self.now, id);
        self.abandon_channels(id);
    }
}

/// The name that a process has for a connection to the relay; `None` if the process has closed the connection.
pub(super) fn socket_of(sockets: &SortedMap<SocketId, ConnId>, conn: ConnId) -> Option<SocketId> {
    sockets.iter().find(|(_, known)| **known == conn).map(|(&socket, _)| socket)
}

const fn is_about_objects(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::ObjectCreated(_)
            | SessionEvent::OwnerChanged { .. }
            | SessionEvent::Ownership { .. }
            | SessionEvent::HostChanged(_)
    )
}
