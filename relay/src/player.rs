//! The duel or the maze on one native peer: a robot, or a spectator that hosts.

use samovar_duel::game::DuelConfig;
use samovar_duel::journal::Journal;
use samovar_duel::mode::Mode;
use samovar_duel::status::{Outside, PathWord, RelayState, Status, TrafficCount};
use samovar_peer::{Kept, Path, Peer, PeerEvent};
use samovar_peer_native::{Game, OpenError};
use samovar_session::{EndReason, Event};
use samovar_wire::relay::Refusal;
use samovar_wire::{CloseCode, PROTOCOL_VERSION, PeerId, PeerPass, Ticket, Time};

use crate::play::Play;

/// The state of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The member is not in the game yet.
    Waiting,
    /// The member has a seat and plays.
    Playing,
    /// The member was not let in again, or had no ticket when the others went on without it. Another peer may be
    /// started for it.
    Away,
    /// Another game than expected is played under this code: a maze, or a duel.
    OtherGame,
    /// The member is out for good, for this reason.
    Over(String),
}

/// The state that a member takes from one peer to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// The ticket that takes the member's seat back.
    pub(crate) ticket: Option<Ticket>,
    /// The state with which the member founds the game anew, if all members have gone or the relay does not know
    /// them.
    pub(crate) table: Option<Table>,
    journal: Journal,
    ticks: u64,
}

/// The game state that a member keeps.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) pass: PeerPass,
    pub(crate) kept: Kept,
    pub(crate) game: Vec<u8>,
}

/// A member updates its `Table` once in this many ticks.
const KEEP_EVERY: u64 = 30;

/// A robot, or a spectator, whose controls move nothing.
pub(crate) struct Player {
    play: Play,
    mode: Mode,
    /// The settings of the duel, to begin it anew.
    config: DuelConfig,
    /// Whether no other game than this is left to try.
    is_last_guess: bool,
    name: String,
    memory: Memory,
    /// Whether the member had a seat before.
    is_back: bool,
    pub(crate) fate: Fate,
    /// The last reason why the relay could not be reached; `None` after success.
    pub(crate) unreachable: Option<OpenError>,
}

impl Player {
    pub(crate) fn new(name: String, (mode, config): (Mode, DuelConfig), memory: Memory) -> Self {
        let is_back = memory.ticket.is_some();
        let kept = memory.table.as_ref().map(|table| &table.game[..]);
        let play = Play::new(mode, DuelConfig { is_resuming: is_back, ..config }, kept);
        let (fate, unreachable) = (Fate::Waiting, None);
        Self { play, mode, config, is_last_guess: false, name, memory, is_back, fate, unreachable }
    }

    /// Takes a refusal by the game's parameters for the end: no other game is tried.
    pub(crate) const fn with_last_guess(mut self, is_last: bool) -> Self {
        self.is_last_guess = is_last;
        self
    }

    /// The state for the member's next peer.
    pub(crate) fn memory(&self) -> Memory {
        self.memory.clone()
    }

    fn on_session_event(&mut self, event: &Event) {
        self.memory.journal.on_event(event);
        match event {
            Event::Joined => self.fate = Fate::Playing,
            Event::Ticket(ticket) => self.memory.ticket = Some(*ticket),
            Event::Ended(EndReason::Removed) if self.is_back || self.fate == Fate::Playing => {
                self.fate = Fate::Away
            }
            Event::Ended(EndReason::Refused(code)) if self.is_back && *code != CloseCode::PutOut => {
                self.fate = Fate::Away
            }
            Event::Ended(reason) => self.fate = Fate::Over(format!("{reason:?}")),
            _ => {}
        }
    }

    /// The status, as JSON.
    pub(crate) fn status(&self, now: Time, peer: &Peer) -> String {
        let relay_connected = peer.is_relay_connected();
        let journal = &self.memory.journal;
        // The state of an ended session is of no use.
        let Some(session) = peer.session().filter(|_| !peer.is_over()) else {
            let relay = if relay_connected { RelayState::Connected } else { RelayState::Connecting };
            return Status::outside(&self.name, relay, journal).to_json();
        };
        let me = session.me();
        let path = |other: PeerId| path_word(me, other, peer.path(now, other));
        let traffic = peer.traffic();
        let traffic = TrafficCount {
            packets_out: traffic.packets_out,
            packets_in: traffic.packets_in,
            bytes_out: traffic.bytes_out,
            bytes_in: traffic.bytes_in,
        };
        let outside = Outside { relay_connected, path: &path, frames: self.memory.ticks, traffic };
        Status::of(now, session, self.play.played(), journal, &outside).to_json()
    }
}

impl Game for Player {
    fn on_event(&mut self, now: Time, peer: &mut Peer, event: PeerEvent) {
        match event {
            PeerEvent::Entered(_) => self.unreachable = None,
            PeerEvent::Session(event) => {
                self.on_session_event(&event);
                if let Some(session) = peer.session() {
                    self.play.on_event(now, session, &event);
                }
            }
            PeerEvent::Rejoining { .. } => {
                (self.fate, self.is_back) = (Fate::Waiting, true);
                let config = DuelConfig { is_resuming: true, ..self.config };
                self.play = Play::new(self.mode, config, Some(&self.play.kept()));
            }
            PeerEvent::Refused(Refusal::Parameters) if !self.is_back && !self.is_last_guess => {
                self.fate = Fate::OtherGame;
            }
            PeerEvent::Refused(refusal) => {
                let text = format!("the relay refused: {}", words(refusal));
                if !peer.is_over() || self.is_back {
                    self.memory.journal.error(text);
                    if peer.is_over() {
                        self.fate = Fate::Away;
                    }
                } else {
                    self.fate = Fate::Over(text);
                }
            }
            PeerEvent::NoSession(error) => self.fate = Fate::Over(error.to_string()),
            PeerEvent::Failed(fault) => {
                self.memory.journal.error(format!("the relay breaks the protocol: {fault:?}"));
            }
            _ => {}
        }
    }

    fn on_unreachable(&mut self, _: Time, _: &mut Peer, error: OpenError) {
        self.unreachable = Some(error);
    }

    fn on_tick(&mut self, now: Time, peer: &mut Peer) {
        self.memory.ticks += 1;
        if self.memory.ticks.is_multiple_of(KEEP_EVERY) {
            let kept = peer.session().and_then(|session| session.kept(now));
            if let Some((pass, kept)) = peer.pass().zip(kept) {
                self.memory.table = Some(Table { pass, kept, game: self.play.kept() });
            }
        }
        let Some(session) = peer.session_mut().filter(|session| session.is_member()) else { return };
        self.play.step(now, session);
    }
}

/// The reason of a refusal, and what to do.
fn words(refusal: Refusal) -> String {
    match refusal {
        Refusal::UnknownGame => "there is no game with this code; it may have ended".to_owned(),
        Refusal::CodeTaken => "another game has this code".to_owned(),
        Refusal::Full => "every seat of the game is taken; try again when somebody has left".to_owned(),
        Refusal::Closed => "the game has ended or takes nobody in".to_owned(),
        Refusal::Parameters => {
            "another game is played under this code, or a duel or maze of another version; robots play those of \
             their own version: give the code of one with --game, or found one with --new"
                .to_owned()
        }
        Refusal::Version(theirs) => format!(
            "it speaks version {theirs} of the protocol, and these robots {PROTOCOL_VERSION}; take both from one release"
        ),
        Refusal::Busy => "it holds as many games as it can".to_owned(),
        Refusal::Draining => "it is about to stop; try again in a minute".to_owned(),
        Refusal::Barred => "the host of the game has barred this peer, or its address, until the game ends".to_owned(),
        Refusal::Reserved => "this code is kept for the relay's own table; give another with --game".to_owned(),
        Refusal::Banned => "its operator lets nobody in from this address".to_owned(),
        Refusal::Ended => "its operator has ended this game".to_owned(),
        Refusal::Token(_) => "it lets in players with a token of the game's own server, and robots have none".to_owned(),
        Refusal::NotAllowed => "the game's own server does not let this robot in".to_owned(),
        Refusal::BadPass | Refusal::Misbehaved => format!("{refusal:?}; this is a bug"),
    }
}

fn path_word(me: PeerId, other: PeerId, path: Path) -> PathWord {
    match path {
        _ if me == other => PathWord::Myself,
        Path::Direct => PathWord::Direct,
        Path::ByHost => PathWord::ByHost,
        Path::RelayedUdp => PathWord::RelayedUdp,
        Path::Relayed | Path::None => PathWord::Relayed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(ticket: Option<Ticket>) -> Player {
        let memory = Memory { ticket, ..Memory::default() };
        Player::new("Bot 1".to_owned(), (Mode::Duel, DuelConfig::default()), memory)
    }

    #[test]
    fn only_a_player_that_had_a_seat_comes_back() {
        let fate = |ticket, reason| {
            let mut player = player(ticket);
            player.on_session_event(&Event::Ended(reason));
            player.fate
        };
        let (ticket, full) = (
            Some(Ticket { session: samovar_wire::SessionId(1), secret: [7; 16] }),
            EndReason::Refused(CloseCode::Full),
        );
        assert_eq!(fate(ticket, EndReason::Removed), Fate::Away);
        assert_eq!(fate(ticket, full), Fate::Away, "somebody may leave again");
        assert!(matches!(fate(None, full), Fate::Over(_)));
        let mut new = player(None);
        new.on_session_event(&Event::Joined);
        new.on_session_event(&Event::Ended(EndReason::Removed));
        assert_eq!(new.fate, Fate::Away, "its host died before it had a ticket");
        assert!(matches!(fate(ticket, EndReason::Refused(CloseCode::PutOut)), Fate::Over(_)));
        assert!(matches!(fate(ticket, EndReason::SeatTaken), Fate::Over(_)));
        assert!(matches!(fate(ticket, EndReason::HostLost), Fate::Over(_)));
    }
}
