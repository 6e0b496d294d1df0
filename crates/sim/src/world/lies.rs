//! Liars. A liar's peer is honest, but the liar also sends messages that may do harm, to the relay and to other
//! members.
//!
//! The checkers ignore the messages of a liar. A liar that becomes host is ended, because a host may shut out any
//! member.

mod forger;

use samovar_link::close_packet;
use samovar_peer::{PathPolicy, Transmit};
use samovar_session::{Event, Session, Target};
use samovar_wire::relay::{Listing, RelayFrame, Signal, ToRelay};
use samovar_wire::{CloseCode, Duration, Lane, Mode, PeerId, Time};

use super::World;
use super::cast::Player;
use crate::dice::Dice;
use crate::fault::Fault;
use crate::game::{Game, ProcessId};
use forger::Forger;

/// The most harmful messages that a liar sends in one frame.
const AT_ONCE: u64 = 6;
/// The most bytes of a packet of random bytes.
const NOISE_MAX: u64 = 1_200;
/// The probability, in each frame, that a liar forges a change of owner.
const FORGES: f64 = 0.1;
/// The most messages of the game that a flood sends in one frame.
const FLOOD: u64 = 150;
/// The most bytes of each message of a flood.
const FLOOD_BYTES: u64 = 400;
/// The most packets of its own that a liar keeps. It sends them again, to the same members or to others.
const KEPT_MAX: usize = 16;

/// The dice and the memory of a process that lies.
#[derive(Debug)]
pub(super) struct Liar {
    dice: Dice,
    /// Packets that the liar has sent.
    kept: Vec<Vec<u8>>,
    forger: Forger,
}

impl Liar {
    /// Forges messages in a packet that its peer sends, and may keep the packet.
    pub(super) fn pass(&mut self, transmit: &mut Transmit) {
        let (Transmit::Direct { bytes, .. } | Transmit::Relay { bytes, .. }) = &mut *transmit;
        self.forger.rewrite(bytes);
        match transmit {
            Transmit::Direct { bytes, .. } => self.keep(bytes),
            Transmit::Relay { bytes, .. } => {
                if let Ok(RelayFrame::Forward { payload, .. }) = RelayFrame::decode(bytes) {
                    self.keep(payload);
                }
            }
        }
    }

    fn keep(&mut self, packet: &[u8]) {
        if self.kept.len() < KEPT_MAX {
            self.kept.push(packet.to_vec());
        } else if let Some(old) = self.kept.get_mut(self.dice.below(KEPT_MAX as u64 * 8) as usize) {
            *old = packet.to_vec();
        }
    }

    /// Makes a packet that the receiving member's link does not expect.
    fn packet(&mut self) -> Vec<u8> {
        let dice = &mut self.dice;
        match dice.below(4) {
            0 => (0..dice.range(1, NOISE_MAX)).map(|_| dice.number() as u8).collect(),
            1 => {
                let codes = [CloseCode::Left, CloseCode::Silent, CloseCode::PutOut, CloseCode::NotAMember];
                close_packet(dice.pick(&codes).copied().unwrap_or(CloseCode::Left))
            }
            kind => {
                let mut packet = dice.pick(&self.kept).cloned().unwrap_or_default();
                if kind == 3 {
                    packet.truncate(dice.below(packet.len() as u64 + 1) as usize);
                }
                packet
            }
        }
    }

    /// Makes a harmful message for the relay, which the relay must withstand.
    fn word(&mut self, session: &Session) -> ToRelay {
        let mut members: Vec<_> = session.view().members().map(|member| member.peer).collect();
        if members.is_empty() {
            members.push(session.host());
        }
        let dice = &mut self.dice;
        let somebody = dice.pick(&members).copied().unwrap_or(PeerId(dice.number() as u32));
        let term = if dice.chance(0.8) { session.term().next_witnessed() } else { session.term() };
        match dice.below(8) {
            0 => ToRelay::Claim(term, session.me()),
            1 => ToRelay::Claim(term, somebody),
            2 => ToRelay::Members(vec![session.me()], 0),
            3 => ToRelay::Doubt,
            4 => ToRelay::Alive(dice.number()),
            5 => ToRelay::Listing(Listing {
                players: 0,
                capacity: 0,
                open: false,
                public: false,
                title: String::new(),
                host_name: "Liar".to_owned(),
            }),
            6 => ToRelay::Signal(somebody, Signal::Answer(dice.below(4) as u32, "no answer".to_owned())),
            _ => ToRelay::Signal(somebody, Signal::Offer(dice.number() as u32, "no offer".to_owned())),
        }
    }
}

/// Sends more messages than any game needs, by an unreliable or a reliable lane.
fn flood(dice: &mut Dice, session: &mut Session) {
    let lanes = [Lane::Unreliable, Lane::Sequenced(1), Lane::Reliable(2), Lane::Bulk];
    let lane = dice.pick(&lanes).copied().unwrap_or(Lane::Unreliable);
    let target = if dice.chance(0.5) { Target::All } else { Target::Host };
    for _ in 0..dice.range(1, FLOOD) {
        let bytes = vec![dice.number() as u8; dice.range(1, FLOOD_BYTES) as usize];
        if session.send(target, lane, &bytes).is_err() {
            return;
        }
    }
}

impl<G: Game> World<G> {
    /// Lets a liar send harmful messages, while its driver runs.
    pub(super) fn lie(&mut self, id: ProcessId, session: &mut Session) {
        let process = &mut self.cast.processes[id];
        let lies = self.now < self.cast.players[process.player].lies_until;
        let Some(socket) = process.sockets.keys().next().copied().filter(|_| lies && !self.healing) else {
            return;
        };
        let seed = self.plan.seed ^ (id as u64) << 32 ^ 0x11e5;
        let mut liar = process.liar.take().unwrap_or_else(|| Liar {
            dice: Dice::new(seed),
            kept: Vec::new(),
            forger: Forger::default(),
        });
        // The protocol cannot keep a carrier from forging the packets that it carries (PROTOCOL §2.6). So a liar that
        // carries packets sends harmful messages to the relay alone.
        let carries =
            self.plan.paths == PathPolicy::ByHost && session.view().backups().contains(&session.me());
        if carries {
            liar.kept.clear();
        }
        let members = session.view().members().map(|member| member.peer).filter(|_| !carries);
        let mut others: Vec<_> = members.filter(|&peer| peer != session.me()).collect();
        if self.cast.players[self.cast.processes[id].player].is_stranger {
            // A stranger has no view, and knows the host from the relay.
            others = vec![session.host()];
        }
        if liar.dice.chance(0.03) {
            flood(&mut liar.dice, session);
        }
        for _ in 0..liar.dice.below(AT_ONCE + 1) {
            let bytes = match liar.dice.pick(&others).copied() {
                Some(to) if liar.dice.chance(0.5) => {
                    RelayFrame::forward(to, Mode::Unreliable, &liar.packet())
                }
                _ => RelayFrame::control(&liar.word(session)),
            };
            self.send_up(id, socket, bytes);
        }
        if !carries && liar.dice.chance(FORGES) {
            let forged = liar.forger.forge(session, &self.game.schemas(), &mut liar.dice);
            let session = session.warrant().session;
            self.judges.checks.owners.forged.extend(forged.map(|(object, stamp)| (session, object, stamp)));
        }
        self.cast.processes[id].liar = Some(liar);
    }

    /// Lets a member begin to lie, unless it hosts.
    pub(super) fn begin_lies(&mut self, id: ProcessId, until: Time) -> bool {
        if self.hosts(id) {
            return false;
        }
        self.disturb(id, "lies");
        let player = self.cast.processes[id].player;
        self.cast.players[player].lies_until = until;
        true
    }

    /// Adds a stranger that sends harmful messages.
    pub(super) fn add_stranger(&mut self, lasts: Duration) -> bool {
        let (player, lies_until) = (self.cast.players.len(), self.now + lasts);
        self.cast.players.push(Player { is_stranger: true, lies_until, ..Default::default() });
        self.on_start(player);
        true
    }

    /// Whether a process may send this. The peer of a stranger may send to the relay only, because its messages to
    /// other peers would make it a member. Harmful messages are sent without this check.
    pub(super) fn may_send(&self, id: ProcessId, transmit: &Transmit) -> bool {
        let is_for_relay = match transmit {
            Transmit::Direct { peer, .. } => *peer == PeerId::RELAY,
            Transmit::Relay { bytes, .. } => {
                !matches!(RelayFrame::decode(bytes), Ok(RelayFrame::Forward { .. }))
            }
        };
        is_for_relay || !self.cast.players[self.cast.processes[id].player].is_stranger
    }

    /// Notes the peer of a liar, and ends a liar that hosts.
    pub(super) fn watch_liar(&mut self, id: ProcessId) {
        if !self.lies(id) {
            return;
        }
        if let Some(peer) = self.cast.processes[id].known_as
            && self.cast.liars.insert(peer)
        {
            self.game.distrust(peer);
        }
        if self.hosts(id) {
            self.end_liar(id);
        }
    }

    /// Ends all liars for good, so that the others can be judged.
    pub(super) fn end_liars(&mut self) {
        for player in 0..self.cast.players.len() {
            if self.is_liar(player) {
                self.cast.players[player].is_gone = true;
                self.cast.players[player].process.into_iter().for_each(|id| self.end_liar(id));
            }
        }
    }

    /// Whether a process is that of a player who lies at any time of the run.
    pub(super) fn lies(&self, id: ProcessId) -> bool {
        self.is_liar(self.cast.processes[id].player)
    }

    fn is_liar(&self, player: usize) -> bool {
        let lies = |fault: &Fault| matches!(fault, Fault::Lie { player: liar, .. } if *liar == player);
        self.cast.players[player].is_stranger || self.plan.faults.iter().any(|(_, fault)| lies(fault))
    }

    /// Whether an event is a message from a liar. Such messages are not checked, because a liar may send a message
    /// twice, or send others something else.
    pub(super) fn is_word_of_liar(&self, event: &Event) -> bool {
        matches!(event, Event::Message { from, .. } | Event::Late { from, .. } if self.cast.liars.contains(from))
    }

    fn hosts(&self, id: ProcessId) -> bool {
        let peer = self.cast.processes[id].peer.as_ref();
        peer.and_then(|peer| peer.session()).is_some_and(Session::is_host)
    }

    fn end_liar(&mut self, id: ProcessId) {
        if !self.can_spare(id) {
            self.judges.is_orphaned = true;
        }
        self.begin_crisis(id);
        self.disturb(id, "is a liar, and ends");
        let player = self.cast.processes[id].player;
        self.cast.players[player].is_gone = true;
        self.close_sockets(id);
        self.end_process(id);
    }
}
