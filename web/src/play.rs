//! One game in progress: the duel or the maze over a session that `samovar` keeps alive, and the page's view of both.

mod ending;
mod game;

use std::cell::RefCell;
use std::rc::Rc;

use samovar::raw::{Below, Obstacle};
use samovar::{Agreed, Error, Room, Running, Schemas, Status as Standing};
use samovar_duel::course::Stakes;
use samovar_duel::game::{DuelEvent, attributes};
use samovar_duel::journal::Journal;
use samovar_duel::maze::Role;
use samovar_duel::maze::game::MazeNews;
use samovar_duel::player::{Glaze, PlayerName};
use samovar_duel::status::{Outside, PathWord, Status, TrafficCount};
use samovar_duel::teapot::Controls;
use samovar_peer::{Path, PathPolicy, Peer};
use samovar_session::{Event, Migration, Session, Suspension};
use samovar_wire::{Duration, GameCode, PeerId, Time};

use crate::page::{Pause, Problem, RelayState};
use crate::params::{Mode, Survival};
pub use game::Game;

/// The most members of a game.
const CAPACITY: usize = 8;

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
    /// How a new game survives.
    pub survival: Survival,
    /// The paths to use.
    pub paths: PathPolicy,
    /// The token of the game's own server, for a relay that asks for one.
    pub token: Option<String>,
}

/// An event that the page must show or act on.
#[derive(Clone, Debug)]
pub enum News {
    /// The relay has named the game.
    Entered(GameCode),
    /// This peer has become a member.
    Joined,
    /// The others went on without this player, who takes the seat back. The value is whether objects changed here
    /// meanwhile.
    Rejoining(bool),
    /// Another member is host now.
    HostChanged(Migration),
    /// The relay is back (`true`), or cannot be reached (`false`).
    Relay(bool),
    /// The relay stops within this number of seconds.
    Draining(f64),
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
    running: Running<Table>,
    table: Table,
    wish: Wish,
    /// The last answer that came in place of the relay's.
    obstacle: Option<Obstacle>,
    frames: u64,
    was_told: bool,
}

/// The game, which `samovar` calls and the page looks at.
#[derive(Clone)]
struct Table(Rc<RefCell<Played>>);

struct Played {
    game: Game,
    journal: Journal,
    news: Vec<News>,
}

impl Agreed for Table {
    const NAME: &'static str = "teapots";
    const VERSION: u32 = 0;
    const IS_RAW: bool = true;
    type State = ();
    type Message = ();
    type Ask = ();
    type World = ();

    fn schemas() -> Schemas {
        // The duel and the maze bring their own: see [`Play::start`].
        Schemas::new()
    }

    fn shapes(_: &mut samovar::objects::Shape) {}
}

impl samovar::Game for Table {
    fn event(&mut self, room: &mut Room<'_, Self>, event: &Event) {
        let Below { now, session, .. } = room.below();
        let Played { game, journal, news } = &mut *self.0.borrow_mut();
        journal.on_event(event);
        game.on_event(now, session, event);
        match event {
            Event::Joined => news.push(News::Joined),
            Event::HostChanged(migration) => news.push(News::HostChanged(*migration)),
            _ => {}
        }
    }

    fn kept(&self) -> Option<Vec<u8>> {
        Some(self.0.borrow().game.kept())
    }
}

impl Played {
    /// Handles a change of the connection.
    fn on_standing(&mut self, standing: &Standing) {
        self.news.push(match standing {
            Standing::Entered(code) => match GameCode::parse(code) {
                Some(code) => News::Entered(code),
                None => return,
            },
            Standing::Unreachable(_) | Standing::RelayLost => News::Relay(false),
            Standing::RelayBack => News::Relay(true),
            Standing::RelayStops(seconds) => News::Draining(*seconds),
            Standing::Refused(why) => {
                let what = match why {
                    Error::OtherVersion | Error::OtherGame => "another version",
                    Error::Misbehaved(_) => "Misbehaved",
                    _ => "it takes nobody",
                };
                self.journal.error(format!("the relay refused ({what})"));
                match why {
                    Error::OtherVersion | Error::OtherGame => News::Outdated,
                    _ => return,
                }
            }
            Standing::Away { has_diverged } => News::Rejoining(*has_diverged),
            _ => return,
        });
    }
}

impl Play {
    /// Starts the game: asks the relay for it, then the host. Calls `on_wake` when a message arrived.
    ///
    /// # Errors
    /// The address of the relay cannot work.
    pub fn start(relay_url: &str, wish: Wish, on_wake: impl FnMut() + 'static) -> Result<Self, Error> {
        let entry = match &wish.code {
            Some(code) if !wish.create => samovar::join(relay_url, code.as_str(), &wish.name),
            Some(code) => samovar::create(relay_url, &wish.name).code(code.as_str()),
            None => samovar::create(relay_url, &wish.name),
        };
        let entry = match &wish.token {
            Some(token) => entry.token(token.as_str()),
            None => entry,
        };
        let mut raw = game::agreed(&wish);
        raw.attributes = attributes(Glaze::new(usize::from(wish.colour)), false);
        raw.comes_back = true;
        let played =
            Played { game: Game::new(&wish, false, None), journal: Journal::default(), news: Vec::new() };
        let table = Table(Rc::new(RefCell::new(played)));
        let (telling, beginning, wanted) = (table.clone(), table.clone(), wish.clone());
        let running = entry
            .raw(raw)
            .capacity(CAPACITY)
            .paths(wish.paths)
            .on_status(move |standing| telling.0.borrow_mut().on_standing(standing))
            .on_wake(on_wake)
            .start(move |room: &mut Room<'_, Table>| {
                let Below { is_back, kept, .. } = room.below();
                beginning.0.borrow_mut().game = Game::new(&wanted, is_back, kept);
                beginning.clone()
            })?;
        Ok(Self { running, table, wish, obstacle: None, frames: 0, was_told: false })
    }

    /// The player's choice.
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Sets the game's code, which the relay has named.
    pub fn set_code(&mut self, code: GameCode) {
        self.wish.code = Some(code);
    }

    /// Calls `look` with the session; `None` before there is one.
    fn session<R>(&self, look: impl FnOnce(Time, &mut Session) -> R) -> Option<R> {
        self.running.peer(|now, peer| Some(look(now, peer.session_mut()?))).flatten()
    }

    /// Whether the host has admitted this peer.
    pub fn is_member(&self) -> bool {
        self.session(|_, session| session.is_member()).unwrap_or(false)
    }

    /// Whether this peer is the only member.
    pub fn is_alone(&self) -> bool {
        self.session(|_, session| session.view().members().count() == 1).unwrap_or(false)
    }

    /// The name of another member; `None` for this peer itself.
    pub fn name_of(&self, other: PeerId) -> Option<PlayerName> {
        let name = |session: &Session| {
            PlayerName::new(session.seat_of(other).map_or("Somebody", |seat| seat.name.as_str()))
        };
        self.session(|_, session| (session.me() != other).then(|| name(session))).flatten()
    }

    /// Whether a member's game makes no steps.
    pub fn stands_still(&self, member: PeerId) -> bool {
        self.session(|_, session| session.view().is_still(member)).unwrap_or(false)
    }

    /// Steps the game to the present. Returns the news for the page.
    pub fn step(&mut self, controls: Controls) -> Vec<News> {
        self.running.with(|table, room| {
            let Below { now, session, .. } = room.below();
            table.0.borrow_mut().game.step(now, session, controls);
        });
        let Played { game, news, .. } = &mut *self.table.0.borrow_mut();
        let mut all = core::mem::take(news);
        all.extend(std::iter::from_fn(|| game.poll_news()));
        if all.iter().any(|news| matches!(news, News::Rejoining(_))) {
            self.wish.create = false;
        }
        if !self.is_over() {
            self.obstacle = self.running.obstacle();
        } else if let Some(Err(error)) = self.running.end()
            && !core::mem::replace(&mut self.was_told, true)
        {
            all.push(News::Over(ending::of(&error, &self.wish, self.obstacle.take())));
        }
        all
    }

    /// Lets another member host, for instance because the browser will soon stop this page. `false` when this peer
    /// does not host, or is alone.
    pub fn hand_over(&self) -> bool {
        self.session(|now, session| session.hand_over(now)).unwrap_or(false)
    }

    /// Counts a drawn frame.
    pub fn count_frame(&mut self) {
        self.frames += 1;
    }

    /// Calls `look` with the time, the peer and its game. `None` also while there is no peer.
    pub fn look<R>(&self, look: impl FnOnce(Time, &Peer, &Game) -> Option<R>) -> Option<R> {
        self.running.peer(|now, peer| look(now, peer, &self.table.0.borrow().game)).flatten()
    }

    /// Leaves the game and tells the others. A host hands over first: the caller plays on until [`Self::is_over`].
    /// `false` if this peer is no member, so that there is nothing to wait for.
    pub fn leave(&mut self) -> bool {
        self.running.with(|_, room| room.leave()).is_some()
    }

    /// Leaves at once, when there is no time for a hand-over.
    pub fn leave_at_once(&self) {
        self.running.peer(|now, peer| peer.leave_at_once(now));
    }

    /// Puts another member out until the game ends, if this peer hosts.
    pub fn put_out(&self, other: PeerId) {
        self.session(|now, session| session.bar(now, other));
    }

    /// Wishes to play this teapot of the maze, by its number from 0. Returns whether the player has to wait for it.
    pub fn take(&self, role: u8) -> bool {
        let game = &mut self.table.0.borrow_mut().game;
        let (Game::Maze(maze), Some(&role)) = (game, Role::ALL.get(usize::from(role))) else { return false };
        maze.wish_for(role);
        self.session(|_, session| maze.waits_for(session, role)).unwrap_or(false)
    }

    /// Whether the game is over: this peer has left, was refused, or cannot come back.
    pub fn is_over(&self) -> bool {
        self.running.end().is_some()
    }

    /// Notes an error for `status().errors`.
    pub fn note_error(&mut self, text: String) {
        self.table.0.borrow_mut().journal.error(text);
    }

    /// The status for scripts; outside a session it takes the relay's state from the page.
    pub fn status(&self, relay: RelayState) -> Status {
        let Played { game, journal, .. } = &*self.table.0.borrow();
        let outside = |relay| Status::outside(&self.wish.name, relay, journal);
        let of_peer = |now, peer: &mut Peer| {
            let Some(session) = peer.session() else {
                return outside(if peer.is_relay_connected() { RelayState::Connected } else { relay });
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
            Status::of(now, session, game.played(), journal, &outside)
        };
        self.running.peer(of_peer).unwrap_or_else(|| outside(relay))
    }

    /// The HTTP answer that came in place of the relay's WebSocket, if one came.
    pub fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }

    /// The reason why the session is suspended; `None` while it is not.
    pub fn pause(&self, is_offline: bool) -> Option<Pause> {
        let pause = |now, peer: &mut Peer| {
            let session = peer.session()?;
            let why = session.suspension(now)?;
            Some(pause_of(why, is_cut_off(now, peer, session, is_offline)))
        };
        self.running.peer(pause).flatten()
    }
}

/// Whether this peer hears no member because this browser seems to have no network.
pub fn is_cut_off(now: Time, peer: &Peer, session: &Session, is_offline: bool) -> bool {
    let others = session.view().members().map(|m| m.peer).filter(|&other| other != session.me());
    let is_heard = |other| session.link(other).is_some_and(|link| link.silence(now) < UNHEARD_AFTER);
    let is_alone = !others.into_iter().any(is_heard);
    // A relay that could be reached would have named a new host by now. So if the host stays lost while the relay
    // counts as connected, this browser does not hear the relay either. A game that ends with its host gets no new one.
    let is_unanswered = session.view().migrates()
        && peer.is_relay_connected()
        && session.suspension(now) == Some(Suspension::HostLost);
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
