//! One game in progress: the peer, the duel or the maze over it, and the page's view of both.

mod game;

use samovar_duel::course::Stakes;
use samovar_duel::game::{DuelEvent, attributes};
use samovar_duel::journal::Journal;
use samovar_duel::maze::game::MazeNews;
use samovar_duel::player::{Glaze, PlayerName};
use samovar_duel::status::{Outside, PathWord, Status, TrafficCount};
use samovar_duel::teapot::Controls;
use samovar_peer::{Path, PathPolicy, Peer, PeerConfig, PeerEvent};
use samovar_peer_web::{Obstacle, WebPeer, entropy};
use samovar_session::{EndReason, Event, Migration, Role, Session, Suspension};
use samovar_wire::control::Presence;
use samovar_wire::relay::{Purpose, Refusal};
use samovar_wire::{
    Blame, CloseCode, Duration, GameCode, PeerId, PeerPass, SessionId, Signature, Ticket, Time,
};

use crate::guard;
use crate::page::{Pause, Problem, RelayState};
use crate::params::Mode;
use crate::seat::Table;
use game::Agreed;
pub use game::Game;

/// The most members of a game.
const CAPACITY: u8 = 8;

/// A member that has been silent for this long is out of reach.
pub const UNHEARD_AFTER: Duration = Duration::from_millis(1_000);

/// The player's choice of a game.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The game to join, or to create when `create` says so.
    pub code: Option<GameCode>,
    /// Whether to create the game.
    pub create: bool,
    /// The game that is played there, as far as the player knows.
    pub mode: Mode,
    /// Whether the page has already tried the other game.
    pub is_last_guess: bool,
    /// The player's name.
    pub name: String,
    /// Index into the palette.
    pub colour: u8,
    /// Robots in a new game.
    pub robots: u8,
    /// The goal of a new duel.
    pub stakes: Stakes,
    /// The paths to use.
    pub paths: PathPolicy,
    /// The ticket that takes a seat back.
    pub ticket: Option<Ticket>,
    /// The data from which the game is founded anew, should all others have gone.
    pub table: Option<Table>,
}

/// The pass that a player with a seat, but without a pass, shows to the relay: it belongs to no peer.
const NO_PASS: PeerPass = PeerPass { session: SessionId(0), peer: PeerId(0), signature: Signature([0; 64]) };

/// An event that the page must show or act on.
#[derive(Clone, Debug)]
pub enum News {
    /// The relay has named the game.
    Entered(GameCode),
    /// This peer has become a member.
    Joined,
    /// The ticket that brings the player back.
    Ticket(Ticket),
    /// The others went on without this player, who takes the seat back. The value is whether objects changed here
    /// meanwhile.
    Rejoining(bool),
    /// Another member is host now.
    HostChanged(Migration),
    /// The relay is back (`true`), or cannot be reached (`false`).
    Relay(bool),
    /// The relay stops within this time.
    Draining(Duration),
    /// The relay speaks another version. Direct links carry the game as long as there are any.
    Outdated,
    /// An event of the duel.
    Duel(DuelEvent),
    /// An event of the maze.
    Maze(MazeNews),
    /// The game is over for this peer, with the reason.
    Over(Ending),
}

/// The reason why a game is over for this peer.
#[derive(Clone, Debug)]
pub enum Ending {
    /// The game with this code is another one than expected: a maze or a duel.
    OtherGame,
    /// A problem that the player must read.
    Problem(Problem),
}

/// One game in progress.
pub struct Play {
    peer: WebPeer,
    game: Game,
    journal: Journal,
    wish: Wish,
    frames: u64,
    is_visible: bool,
}

impl Play {
    /// Starts the game: asks the relay for it, then the host. The peer calls `on_wake` when a message arrived.
    pub fn start(relay_url: &str, wish: Wish, on_wake: impl FnMut() + 'static) -> Self {
        let purpose = match (&wish.code, wish.create) {
            (Some(code), false) if wish.ticket.is_some() => {
                Purpose::Rejoin(code.clone(), wish.table.as_ref().map_or(NO_PASS, |table| table.pass))
            }
            (Some(code), false) => Purpose::Join(code.clone()),
            (code, _) => Purpose::Create(code.clone()),
        };
        let game = Game::new(&wish, seed());
        let Agreed { params, schemas, rules } = game.agreed();
        let glaze = Glaze::new(usize::from(wish.colour));
        let config = PeerConfig {
            entropy: entropy(),
            purpose,
            ticket: wish.ticket,
            kept: wish.table.as_ref().map(|table| table.kept.clone()),
            name: wish.name.clone(),
            attributes: attributes(glaze, false),
            params,
            schemas,
            paths: wish.paths,
            capacity: CAPACITY,
            public: true,
            rules,
        };
        let peer = WebPeer::start(relay_url, config, on_wake);
        guard::on_crash(peer.farewell());
        Self { peer, game, journal: Journal::default(), wish, frames: 0, is_visible: true }
    }

    /// The player's choice.
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Sets the game's code, which the relay has named.
    pub fn set_code(&mut self, code: GameCode) {
        self.wish.code = Some(code);
    }

    /// Whether the host has admitted this peer.
    pub fn is_member(&self) -> bool {
        self.peer.with(|peer, _| peer.session().is_some_and(Session::is_member))
    }

    /// Whether this peer is the only member.
    pub fn is_alone(&self) -> bool {
        self.peer.with(|peer, _| peer.session().is_some_and(|session| session.view().members().count() == 1))
    }

    /// The name of another member; `None` for this peer itself.
    pub fn name_of(&self, other: PeerId) -> Option<PlayerName> {
        self.peer.with(|peer, _| {
            let session = peer.session().filter(|session| session.me() != other)?;
            Some(PlayerName::new(session.seat_of(other).map_or("Somebody", |seat| seat.name.as_str())))
        })
    }

    /// Whether a member's game makes no steps.
    pub fn stands_still(&self, member: PeerId) -> bool {
        self.peer.with(|peer, _| peer.session().is_some_and(|session| session.view().is_still(member)))
    }

    /// Handles the waiting events and steps the game to the present. Returns the news for the page.
    pub fn step(&mut self, controls: Controls) -> Vec<News> {
        let Self { peer, game, journal, wish, .. } = self;
        peer.with(|peer, now| {
            let mut news = Vec::new();
            while let Some(event) = peer.poll_event() {
                on_peer_event(now, peer, event, (game, journal, wish), &mut news);
            }
            if let Some(session) = peer.session_mut().filter(|session| session.is_member()) {
                game.step(now, session, controls);
            }
            news.extend(std::iter::from_fn(|| game.poll_news()));
            news
        })
    }

    /// As the host on a hidden page, hands over as soon as a visible member can host. A hidden page hosts if no
    /// visible member could host when the page was hidden, for instance because it was alone.
    pub fn tend_office(&self) {
        if self.is_visible {
            return;
        }
        self.peer.with(|peer, now| {
            let Some(session) = peer.session_mut() else { return };
            let backup = session.view().backup().and_then(|backup| session.seat_of(backup));
            if session.role(now) == Role::ActiveBackedUp
                && backup.is_some_and(|seat| seat.standing.presence == Presence::Visible)
            {
                session.hand_over(now);
            }
        });
    }

    /// Lets another member host, for instance because the browser will soon stop this page. `false` when this peer
    /// does not host, or is alone.
    pub fn hand_over(&self) -> bool {
        self.peer.with(|peer, now| peer.session_mut().is_some_and(|session| session.hand_over(now)))
    }

    /// Counts a drawn frame.
    pub fn count_frame(&mut self) {
        self.frames += 1;
    }

    /// Calls `look` with the time, the peer and its game.
    pub fn look<R>(&self, look: impl FnOnce(Time, &Peer, &Game) -> R) -> R {
        self.peer.with(|peer, now| look(now, peer, &self.game))
    }

    /// Tells the peer that the page was hidden or shown.
    pub fn set_visible(&mut self, visible: bool) {
        self.is_visible = visible;
        self.peer.with(|peer, now| peer.set_visible(now, visible));
    }

    /// Leaves the game for good and tells the others. A host hands over first: the caller plays on until
    /// [`Self::is_over`].
    pub fn leave(&self) {
        self.peer.with(|peer, now| peer.leave(now));
    }

    /// Puts another member out until the game ends, if this peer hosts.
    pub fn put_out(&self, other: PeerId) {
        self.peer.with(|peer, now| peer.session_mut().map(|session| session.bar(now, other)));
    }

    /// Leaves at once, when there is no time for a hand-over.
    pub fn leave_at_once(&self) {
        self.peer.with(|peer, now| peer.leave_at_once(now));
    }

    /// Tells the others that the page goes and may come back.
    pub fn go_away(&self) {
        self.peer.with(|peer, now| peer.go_away(now));
    }

    /// The data from which the game is founded anew if all players go at once.
    pub fn table(&self) -> Option<Table> {
        self.peer.with(|peer, now| {
            let (pass, kept) = (peer.pass()?, peer.session()?.kept(now)?);
            Some(Table { pass, kept, game: self.game.kept() })
        })
    }

    /// Whether the peer is over: it has left, was refused, or its session ended and it cannot come back.
    pub fn is_over(&self) -> bool {
        self.peer.with(|peer, _| peer.is_over())
    }

    /// Notes an error for `status().errors`.
    pub fn note_error(&mut self, text: String) {
        self.journal.error(text);
    }

    /// The status for scripts; outside a session it takes the relay's state from the page.
    pub fn status(&self, relay: RelayState) -> Status {
        self.peer.with(|peer, now| {
            let Some(session) = peer.session() else {
                let relay = if peer.is_relay_connected() { RelayState::Connected } else { relay };
                return Status::outside(&self.wish.name, relay, &self.journal);
            };
            let me = session.me();
            let path = |other: PeerId| match peer.path(now, other) {
                _ if other == me => PathWord::Myself,
                Path::Direct => PathWord::Direct,
                Path::ByHost => PathWord::ByHost,
                Path::RelayedUdp => PathWord::RelayedUdp,
                Path::Relayed | Path::None => PathWord::Relayed,
            };
            let traffic = peer.traffic();
            let traffic = TrafficCount {
                packets_out: traffic.packets_out,
                packets_in: traffic.packets_in,
                bytes_out: traffic.bytes_out,
                bytes_in: traffic.bytes_in,
            };
            let relay_connected = peer.is_relay_connected();
            let outside = Outside { relay_connected, path: &path, frames: self.frames, traffic };
            Status::of(now, session, self.game.played(), &self.journal, &outside)
        })
    }

    /// The HTTP answer that came in place of the relay's WebSocket, if one came: see [`WebPeer::obstacle`].
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.peer.obstacle()
    }

    /// The reason why the session is suspended; `None` while it is not.
    pub fn pause(&self, is_offline: bool) -> Option<Pause> {
        self.peer.with(|peer, now| {
            let session = peer.session()?;
            let why = session.suspension(now)?;
            Some(pause_of(why, is_cut_off(now, peer, session, is_offline)))
        })
    }
}

/// Whether this peer hears no member because this browser seems to have no network.
pub fn is_cut_off(now: Time, peer: &Peer, session: &Session, is_offline: bool) -> bool {
    let others = session.view().members().map(|m| m.peer).filter(|&other| other != session.me());
    let is_heard = |other| session.link(other).is_some_and(|link| link.silence(now) < UNHEARD_AFTER);
    let is_alone = !others.into_iter().any(is_heard);
    // A relay that could be reached would have named a new host by now. So if the host stays lost while the relay
    // counts as connected, this browser does not hear the relay either.
    let is_unanswered = peer.is_relay_connected() && session.suspension(now) == Some(Suspension::HostLost);
    session.is_cut_off() || is_alone && (is_offline || is_unanswered)
}

/// The pause to show for a suspension. If this peer misses the host because it is cut off itself, the pause says so.
pub const fn pause_of(why: Suspension, is_cut_off: bool) -> Pause {
    match why {
        Suspension::HostLost if is_cut_off => Pause::CutOff,
        Suspension::HostLost => Pause::HostLost,
        Suspension::NoMajority => Pause::CutOff,
        Suspension::Slept => Pause::Slept,
    }
}

/// A seed for the game's random numbers.
fn seed() -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = entropy();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

type Parts<'a> = (&'a mut Game, &'a mut Journal, &'a mut Wish);

fn on_peer_event(now: Time, peer: &mut Peer, event: PeerEvent, parts: Parts<'_>, news: &mut Vec<News>) {
    let (game, journal, wish) = parts;
    match event {
        PeerEvent::Entered(code) => news.push(News::Entered(code)),
        PeerEvent::Refused(refusal) => {
            let what = format!("the relay refused ({refusal:?})");
            journal.error(what.clone());
            // The page learns of a refusal only here. The peer may have another id by now, so its session does not
            // report it.
            match refusal {
                refusal if peer.is_over() => news.push(News::Over(refused(refusal, wish, what))),
                Refusal::Version(_) | Refusal::Parameters => news.push(News::Outdated),
                _ => {}
            }
        }
        PeerEvent::Failed(fault) => {
            let what = format!("the relay breaks the protocol ({fault:?})");
            journal.error(what.clone());
            if peer.is_over() {
                news.push(News::Over(broken(what)));
            }
        }
        PeerEvent::NoSession(error) => {
            journal.error(error.to_string());
            news.push(News::Over(broken(error.to_string())));
        }
        PeerEvent::Rejoining { has_diverged } => {
            wish.create = false;
            *game = game.resumed(wish, seed());
            news.push(News::Rejoining(has_diverged));
        }
        PeerEvent::RelayLost => news.push(News::Relay(false)),
        PeerEvent::RelayRestored => news.push(News::Relay(true)),
        PeerEvent::RelayDraining(within) => news.push(News::Draining(within)),
        PeerEvent::Session(event) => {
            journal.on_event(&event);
            if let Some(session) = peer.session_mut() {
                game.on_event(now, session, &event);
            }
            match event {
                Event::Joined => news.push(News::Joined),
                Event::Ticket(ticket) => news.push(News::Ticket(ticket)),
                Event::HostChanged(migration) => news.push(News::HostChanged(migration)),
                // A peer that is not over comes back by itself.
                Event::Ended(reason) if peer.is_over() => news.push(News::Over(ended(reason, wish, peer))),
                _ => {}
            }
        }
        _ => {}
    }
}

fn broken(detail: String) -> Ending {
    Ending::Problem(Problem::Broken { detail })
}

fn refused(refusal: Refusal, wish: &Wish, what: String) -> Ending {
    let code = wish.code.as_ref().map(|code| code.as_str().to_owned()).unwrap_or_default();
    Ending::Problem(match refusal {
        Refusal::UnknownGame => Problem::UnknownGame { code },
        Refusal::CodeTaken | Refusal::Reserved => Problem::CodeTaken { code },
        Refusal::Full => Problem::FullGame { code },
        Refusal::Closed => Problem::ClosedGame { code },
        Refusal::Parameters if !wish.create && !wish.is_last_guess => return Ending::OtherGame,
        Refusal::Version(_) | Refusal::Parameters => Problem::VersionMismatch,
        Refusal::Busy => return broken("the relay holds as many games as it can".to_owned()),
        Refusal::Draining => return broken("the relay is about to stop; try again in a minute".to_owned()),
        Refusal::Barred => Problem::PutOut { code },
        Refusal::BadPass | Refusal::Misbehaved => return broken(what),
    })
}

fn ended(reason: EndReason, wish: &Wish, peer: &Peer) -> Ending {
    let code = peer.code().or(wish.code.as_ref()).map(|code| code.as_str().to_owned()).unwrap_or_default();
    Ending::Problem(match reason {
        EndReason::Removed => Problem::Removed { code },
        EndReason::SeatTaken => Problem::Replaced { code },
        EndReason::Refused(CloseCode::Full) => Problem::FullGame { code },
        EndReason::Refused(CloseCode::PutOut) => Problem::PutOut { code },
        EndReason::Refused(CloseCode::Closed) => Problem::ClosedGame { code },
        EndReason::Refused(reason) if reason.blame() == Blame::Incompatible => Problem::VersionMismatch,
        EndReason::Refused(reason) | EndReason::Misbehaviour(reason) => {
            return broken(format!("the host ended the link: {reason}"));
        }
        EndReason::HostLost => Problem::HostGone { code },
    })
}
