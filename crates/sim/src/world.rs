//! The world: processes with real peers, a relay with the real directory, and everything between them.
//!
//! Time jumps from one event to the next. All chance comes from the plan's seed, and events of one moment happen in the
//! order in which they were caused, so that a plan always runs the same way.

mod direct;
mod faults;
mod ferry;
mod judge;
mod process;
mod relay;
mod session;
mod sockets;
mod tell;

use std::collections::BTreeMap;

use samovar_directory::{ConnId, TermRecord};
use samovar_peer::{Kept, PeerConfig};
use samovar_wire::relay::Purpose;
use samovar_wire::{
    Duration, Entropy, GameCode, Mode, PeerId, PeerPass, SeatId, SessionId, SortedMap, Ticket, Time,
};

use crate::check::{Broken, Checks, Recoveries, Recovery, Standstills, Violation};
use crate::dice::Dice;
use crate::game::{Game, ProcessId};
use crate::network::{Cuts, Place, Weather};
use crate::plan::Plan;
use crate::queue::Queue;
use crate::trace::Trace;
pub(crate) use faults::Ending;
use ferry::Ferry;
use process::Process;
use relay::Relay;
use sockets::Socket;

/// The world's time at its beginning.
const BEGINNING: Time = Time::from_micros(1_000_000);
/// How often what needs no event is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After how many looks the memory of the next process is weighed; of all of them at the end.
const WEIGH_EVERY: u64 = 20;
/// The code that everybody plays under.
const CODE: &str = "SIM";

/// Something that is going to happen.
#[derive(Debug)]
enum Event {
    Wake(ProcessId),
    Packet { to: ProcessId, attempt: u32, mode: Mode, bytes: Vec<u8> },
    FerryOpened(ConnId, u32),
    ToFerry { conn: ConnId, attempt: u32, mode: Mode, bytes: Vec<u8> },
    FerryClosed(ConnId, u32),
    Described { process: ProcessId, peer: PeerId, attempt: u32, text: String },
    DirectOpened { process: ProcessId, attempt: u32 },
    DirectClosed { process: ProcessId, attempt: u32 },
    SocketAccepted(ConnId),
    SocketOpened(ConnId),
    SocketLost(ConnId),
    SocketReset(ConnId),
    SocketBroken(ConnId),
    ToRelay(ConnId, Vec<u8>),
    FromRelay(ConnId, Vec<u8>),
    HungUp(ConnId),
    RelayWake,
    Written { life: u64, write: Write },
    Start(usize),
    Fault(usize),
    Measure,
    End(Ending),
    Look,
}

/// What the relay's disk is doing.
#[derive(Clone, Debug)]
enum Write {
    Keep(TermRecord),
    Forget(SessionId),
}

/// Somebody who plays, in one process after another.
#[derive(Clone, Debug, Default)]
struct Player {
    process: Option<ProcessId>,
    ticket: Option<Ticket>,
    /// The ticket before that, which must open nothing.
    old_ticket: Option<Ticket>,
    /// Does not come back.
    is_gone: bool,
    /// A start is under way.
    is_starting: bool,
    /// The next attempt founds the game anew, since nobody knows it.
    founds: bool,
    /// What its page has kept when it was loaded anew, and where it sat.
    kept: Option<(PeerPass, Kept)>,
    seat: Option<SeatId>,
    /// When its session removed it, until it is a member again.
    removed_at: Option<Time>,
}

/// Figures of a run.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Faults that struck, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Terms that began after a session's first.
    pub host_changes: u64,
    /// Hosts that were replaced though nothing was wrong with them.
    pub deposed: u64,
    /// Packets handed to peers.
    pub packets: u64,
    /// Packets that members sent each other directly, and through the relay.
    pub sent: [u64; 2],
    /// Times that processes ran.
    pub turns: u64,
    /// For how long a member that runs was not heard by another at the most, where that is bounded.
    pub silence: Duration,
    /// The largest footprint of a peer, in bytes of its `Debug` output.
    pub footprint: usize,
    /// Members that their sessions removed.
    pub exits: u64,
    /// Members that told of what they had done alone.
    pub diverged: u64,
    /// From each such exit until the player was a member again.
    pub returns: Vec<Duration>,
}

/// The world of one run.
pub(crate) struct World<G> {
    now: Time,
    plan: Plan,
    queue: Queue<Event>,
    entropy: Entropy,
    dice: Dice,
    game_dice: Dice,
    players: Vec<Player>,
    processes: Vec<Process>,
    relay: Relay,
    sockets: SortedMap<ConnId, Socket>,
    next_conn: u64,
    cuts: Cuts,
    storm: Option<Weather>,
    /// Players whose direct paths carry so little.
    clogs: SortedMap<usize, u64>,
    has_direct: bool,
    /// Whether datagrams get through anywhere.
    has_udp: bool,
    /// The relay's ends of data channels, by the sockets of their members.
    ferries: SortedMap<ConnId, Ferry>,
    /// When something was wrong with the relay last, and with the network.
    relay_disturbed: Time,
    network_disturbed: Time,
    game: G,
    checks: Checks,
    recoveries: Recoveries,
    /// What is measured now of [`Plan::standstills_from`].
    standstills: Option<Standstills>,
    trace: Trace,
    figures: Figures,
    violation: Option<Violation>,
    looks: u64,
    /// The process that was weighed last.
    weighed: ProcessId,
    resting: bool,
    /// Nothing goes wrong any more.
    healing: bool,
    /// The session that all players were members of before anything happened.
    founded: Option<SessionId>,
    /// Whoever lived under its highest term is gone, at one moment or another.
    is_orphaned: bool,
}

impl<G: Game> World<G> {
    pub(crate) fn new(plan: Plan, mut game: G, full_trace: bool) -> Self {
        let checks = Checks { forks: plan.rules.forks, ..Checks::default() };
        game.begin(&plan);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&plan.seed.to_le_bytes());
        let mut entropy = Entropy::new(seed);
        let dice = Dice::from_entropy(&mut entropy);
        let game_dice = Dice::from_entropy(&mut entropy);
        let relay = Relay::new(&mut entropy, plan.disk);
        let has_direct = plan.has_direct;
        let mut world = Self {
            now: BEGINNING,
            plan,
            queue: Queue::new(),
            entropy,
            dice,
            game_dice,
            players: Vec::new(),
            processes: Vec::new(),
            relay,
            sockets: SortedMap::new(),
            next_conn: 0,
            cuts: Cuts::default(),
            storm: None,
            clogs: SortedMap::new(),
            has_direct,
            has_udp: true,
            ferries: SortedMap::new(),
            relay_disturbed: Time::ZERO,
            network_disturbed: Time::ZERO,
            game,
            checks,
            recoveries: Recoveries::default(),
            standstills: None,
            trace: Trace::new(full_trace),
            figures: Figures::default(),
            violation: None,
            looks: 0,
            weighed: 0,
            resting: false,
            healing: false,
            founded: None,
            is_orphaned: false,
        };
        world.start_relay();
        world.queue.push(BEGINNING + LOOK_EVERY, Event::Look);
        world
    }

    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    pub(crate) const fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(crate) const fn figures(&self) -> &Figures {
        &self.figures
    }

    pub(crate) fn recovery_times(&self) -> &[Recovery] {
        &self.recoveries.times
    }

    pub(crate) fn standstills(&self) -> Vec<Duration> {
        let at_rises = self.plan.standstills_at_rises;
        self.standstills.as_ref().map_or_else(Vec::new, |standstills| standstills.longest(at_rises))
    }

    /// Runs until `until`, or until a promise is broken.
    pub(crate) fn run_until(&mut self, until: Time) {
        while self.violation.is_none() {
            let Some((at, event)) = self.queue.pop(until) else { break };
            self.now = self.now.max(at);
            self.happen(event);
        }
        if self.violation.is_none() {
            self.now = self.now.max(until);
        }
    }

    fn happen(&mut self, event: Event) {
        let Some(event) = self.relay.put_off(event) else { return };
        match event {
            Event::Wake(process) => self.on_wake(process),
            Event::Packet { to, attempt, mode, bytes } => self.on_packet(to, attempt, mode, bytes),
            Event::FerryOpened(conn, attempt) => self.on_ferry_opened(conn, attempt),
            Event::ToFerry { conn, attempt, mode, bytes } => self.on_to_ferry(conn, attempt, mode, bytes),
            Event::FerryClosed(conn, attempt) => self.on_ferry_closed(conn, attempt),
            Event::Described { process, peer, attempt, text } => {
                self.on_described(process, peer, attempt, text)
            }
            Event::DirectOpened { process, attempt } => self.on_direct_opened(process, attempt),
            Event::DirectClosed { process, attempt } => self.on_direct_closed(process, attempt),
            Event::SocketAccepted(conn) => self.on_socket_accepted(conn),
            Event::SocketOpened(conn) => self.on_socket_opened(conn),
            Event::SocketLost(conn) => self.on_socket_lost(conn),
            Event::SocketReset(conn) => self.on_socket_reset(conn),
            Event::SocketBroken(conn) => self.on_socket_broken(conn),
            Event::ToRelay(conn, bytes) => self.on_to_relay(conn, &bytes),
            Event::FromRelay(conn, bytes) => self.on_from_relay(conn, bytes),
            Event::HungUp(conn) => self.on_hung_up(conn),
            Event::RelayWake => self.run_relay(),
            Event::Written { life, write } => self.on_written(life, write),
            Event::Start(player) => self.on_start(player),
            Event::Fault(index) => self.strike(index),
            Event::Measure => self.standstills = Some(Standstills::default()),
            Event::End(ending) => self.on_end(&ending),
            Event::Look => self.on_look(),
        }
    }

    fn on_look(&mut self) {
        self.queue.push(self.now + LOOK_EVERY, Event::Look);
        self.looks += 1;
        self.tend_sockets();
        self.look_at_all();
        if self.looks.is_multiple_of(WEIGH_EVERY) {
            self.weigh_next();
        }
    }

    pub(crate) fn break_promise(&mut self, broken: Broken) {
        if self.violation.is_none() {
            let Broken { promise, what } = broken;
            self.trace.note(self.now, Place::Relay, || format!("BROKEN {}: {what}", promise.name()));
            self.violation = Some(Violation { promise, at: self.now, what });
        }
    }

    fn peer_config(&mut self, player: usize, purpose: Purpose, ticket: Option<Ticket>) -> PeerConfig {
        let schemas = self.game.schemas();
        let kept = self.players[player].kept.clone().filter(|_| matches!(purpose, Purpose::Rejoin(..)));
        PeerConfig {
            entropy: self.entropy.bytes(),
            purpose,
            ticket,
            kept: kept.map(|(_, kept)| kept),
            name: format!("P{player}"),
            attributes: 0,
            params: schemas.hash(),
            schemas,
            paths: self.plan.paths,
            capacity: 16,
            rules: self.plan.rules,
        }
    }

    fn code() -> GameCode {
        GameCode::parse(CODE).expect("three letters are a code")
    }
}
