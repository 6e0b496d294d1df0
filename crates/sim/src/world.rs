//! The world: processes with real peers, a relay with the real directory, and a simulated network between them.
//!
//! Time jumps from one event to the next. All random numbers come from the plan's seed, and events of one moment
//! happen in the order in which they were queued. So a plan always runs the same way.

mod cast;
mod direct;
mod faults;
mod judge;
mod judges;
mod lies;
mod net;
mod process;
mod relay;
mod relay_path;
mod session;
mod sockets;
mod tell;

use samovar_directory::{ConnId, TermRecord};
use samovar_peer::PeerConfig;
use samovar_wire::relay::Purpose;
use samovar_wire::{Duration, Entropy, GameCode, Mode, PeerId, SessionId, Ticket, Time};

use crate::check::{Recovery, Standstills};
use crate::dice::Dice;
use crate::game::{Game, ProcessId};
use crate::network::Place;
use crate::plan::Plan;
use crate::promise::{Broken, Violation};
use crate::queue::Queue;
use crate::trace::Trace;
use cast::Cast;
pub(crate) use faults::Ending;
pub use judges::Figures;
use judges::Judges;
use net::Net;
use relay::Relay;

/// The world's time at its beginning.
const BEGINNING: Time = Time::from_micros(1_000_000);
/// How often the world makes the checks that do not follow an event.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The number of looks after which the memory of the next process is measured. At the end all are measured.
const WEIGH_EVERY: u64 = 20;
/// The game code of all players.
const CODE: &str = "SIM";

/// An event to come.
#[derive(Debug)]
enum Event {
    Wake(ProcessId),
    Packet { to: ProcessId, attempt: u32, mode: Mode, bytes: Vec<u8> },
    RelayPathOpened(ConnId, u32),
    ToRelayPath { conn: ConnId, attempt: u32, mode: Mode, bytes: Vec<u8> },
    RelayPathClosed(ConnId, u32),
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

/// A write of the relay's disk.
#[derive(Clone, Debug)]
enum Write {
    Keep(TermRecord),
    Forget(SessionId),
}

/// The sources of all random numbers of a run.
struct Chance {
    entropy: Entropy,
    dice: Dice,
    /// The game's own dice.
    game: Dice,
}

/// The world of one run.
pub(crate) struct World<G> {
    now: Time,
    plan: Plan,
    queue: Queue<Event>,
    chance: Chance,
    cast: Cast,
    relay: Relay,
    net: Net,
    game: G,
    judges: Judges,
    trace: Trace,
    resting: bool,
    /// Whether all faults have healed. No fault strikes after that.
    healing: bool,
}

impl<G: Game> World<G> {
    pub(crate) fn new(plan: Plan, mut game: G, full_trace: bool) -> Self {
        game.begin(&plan);
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&plan.seed.to_le_bytes());
        let mut entropy = Entropy::new(seed);
        let dice = Dice::from_entropy(&mut entropy);
        let game_dice = Dice::from_entropy(&mut entropy);
        let mut world = Self {
            now: BEGINNING,
            queue: Queue::new(),
            relay: Relay::new(&mut entropy, plan.disk),
            chance: Chance { entropy, dice, game: game_dice },
            cast: Cast::default(),
            net: Net::new(plan.has_direct),
            game,
            judges: Judges::new(plan.rules.forks),
            trace: Trace::new(full_trace),
            resting: false,
            healing: false,
            plan,
        };
        world.start_relay();
        world.queue.push(BEGINNING + LOOK_EVERY, Event::Look);
        world
    }

    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.judges.violation.as_ref()
    }

    pub(crate) const fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(crate) const fn figures(&self) -> &Figures {
        &self.judges.figures
    }

    pub(crate) fn recovery_times(&self) -> &[Recovery] {
        &self.judges.recoveries.times
    }

    pub(crate) fn standstills(&self) -> Vec<Duration> {
        let at_rises = self.plan.standstills_at_rises;
        self.judges.standstills.as_ref().map_or_else(Vec::new, |standstills| standstills.longest(at_rises))
    }

    /// Runs until `until`, or until a promise is broken.
    pub(crate) fn run_until(&mut self, until: Time) {
        while !self.judges.is_over() {
            let Some((at, event)) = self.queue.pop(until) else { break };
            self.now = self.now.max(at);
            self.happen(event);
        }
        if !self.judges.is_over() {
            self.now = self.now.max(until);
        }
    }

    fn happen(&mut self, event: Event) {
        let Some(event) = self.relay.put_off(event) else { return };
        match event {
            Event::Wake(process) => self.on_wake(process),
            Event::Packet { to, attempt, mode, bytes } => self.on_packet(to, attempt, mode, bytes),
            Event::RelayPathOpened(conn, attempt) => self.on_relay_path_opened(conn, attempt),
            Event::ToRelayPath { conn, attempt, mode, bytes } => {
                self.on_to_relay_path(conn, attempt, mode, bytes)
            }
            Event::RelayPathClosed(conn, attempt) => self.on_relay_path_closed(conn, attempt),
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
            Event::Measure => self.judges.standstills = Some(Standstills::default()),
            Event::End(ending) => self.on_end(&ending),
            Event::Look => self.on_look(),
        }
    }

    fn on_look(&mut self) {
        self.queue.push(self.now + LOOK_EVERY, Event::Look);
        let looks = self.judges.look();
        self.tend_sockets();
        self.look_at_all();
        if looks.is_multiple_of(WEIGH_EVERY) {
            self.weigh_next();
        }
    }

    pub(crate) fn break_promise(&mut self, broken: Broken) {
        if !self.judges.is_over() {
            let Broken { promise, what } = broken;
            self.trace.note(self.now, Place::Relay, || format!("BROKEN {}: {what}", promise.name()));
            self.judges.violation = Some(Violation { promise, at: self.now, what });
        }
    }

    fn peer_config(&mut self, player: usize, purpose: Purpose, ticket: Option<Ticket>) -> PeerConfig {
        let schemas = self.game.schemas();
        let kept = self.cast.players[player].kept.clone().filter(|_| matches!(purpose, Purpose::Rejoin(..)));
        PeerConfig {
            entropy: self.chance.entropy.bytes(),
            purpose,
            token: None,
            ticket,
            kept: kept.map(|(_, kept)| kept),
            name: format!("P{player}"),
            attributes: 0,
            params: schemas.hash(),
            schemas,
            paths: self.plan.paths,
            capacity: 16,
            public: true,
            rules: self.plan.rules,
        }
    }

    fn code() -> GameCode {
        GameCode::parse(CODE).expect("three letters are a code")
    }
}
