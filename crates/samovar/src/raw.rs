//! Games below the types of this crate: they bring objects, messages and params of their own, and use the session
//! itself. This crate still enters the game, keeps the seat, takes it back and hands the office over. Dueling Teapots
//! is such a game. A game of the types of this crate is shorter and needs nothing of this.

use samovar_peer::Peer;
use samovar_session::{Schemas, Session};
use samovar_wire::Time;

use crate::entry::Entry;
use crate::game::{Agreed, Game};
use crate::room::Room;
use crate::running::Running;

#[cfg(target_arch = "wasm32")]
pub use samovar_peer_web::Obstacle;
pub use samovar_session::{Event, Rules};

/// The values that the members of a raw game agree on, and this program's own. They take the place of those in
/// [`game!`](crate::game).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Raw {
    /// The hash of all that the members agree on.
    pub params: u64,
    /// The schemas of the game's objects, and how they are shared.
    pub schemas: Schemas,
    /// How the session is kept alive.
    pub rules: Rules,
    /// Attributes of this member, which all members see.
    pub attributes: u32,
    /// Whether a player who has left gets its seat back when it joins again. A page then keeps the seat.
    pub comes_back: bool,
}

impl Raw {
    /// A game with these params, schemas and rules, whose members have no attributes and leave for good.
    #[must_use]
    pub const fn new(params: u64, schemas: Schemas, rules: Rules) -> Self {
        Self { params, schemas, rules, attributes: 0, comes_back: false }
    }
}

/// The session as a raw game sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Below<'a> {
    /// Local time.
    pub now: Time,
    /// The session.
    pub session: &'a mut Session,
    /// Whether this player had a seat before.
    pub is_back: bool,
    /// The bytes that [`Game::kept`] last returned, in this run or an earlier one.
    pub kept: Option<&'a [u8]>,
}

impl Entry {
    /// Gives the values of a raw game ([`Agreed::IS_RAW`]), which needs them; for another game they are an error.
    /// `begin` is then called at once when this program has become a member, and [`Game::event`] tells the game of all
    /// events of its session. There is no host's state, so [`Game::decide`] and [`Game::message`] are not called.
    pub fn raw(mut self, raw: Raw) -> Self {
        self.raw = Some(raw);
        self
    }
}

#[cfg(target_arch = "wasm32")]
impl Entry {
    /// Calls this function whenever a message arrived or a timer ran out, also while the browser withholds frames. A
    /// page with a loop of its own then plays on in it.
    pub fn on_wake(mut self, on_wake: impl FnMut() + 'static) -> Self {
        self.on_wake = Some(Box::new(on_wake));
        self
    }
}

#[cfg(target_arch = "wasm32")]
impl<G: Game> Running<G> {
    /// The HTTP answer that came in place of the relay's WebSocket: its status, and its plain text, which is untrusted.
    /// `None` when a socket is open, and while no server answers at all.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.seat.obstacle()
    }
}

/// Makes this tab take over from one of this browser that played the game of this code and is gone, as joining does. A
/// page calls it before, if it draws something for each tab ([`samovar_peer_web::tab::number`]): a player who closed the
/// page and opens the link again then has what was drawn first.
#[cfg(target_arch = "wasm32")]
pub fn take_over(code: &str) {
    crate::web::take_over(code);
}

/// Tells the others that this page goes away and may come back: for a page that loads itself anew after an error.
#[cfg(target_arch = "wasm32")]
pub fn say_farewell() {
    crate::farewell::say_all();
}

impl<G: Agreed> Room<'_, G> {
    /// The session below: see [`raw`](crate::raw).
    pub fn below(&mut self) -> Below<'_> {
        let Self { now, session, inner } = self;
        Below { now: *now, session, is_back: inner.is_back, kept: inner.kept.as_deref() }
    }
}

impl<G: Game> Running<G> {
    /// Gives access to the peer below, member or not. `None` while there is none: between two attempts to enter the
    /// game, and after the end. The game itself is out of reach meanwhile.
    pub fn peer<R>(&self, call: impl FnOnce(Time, &mut Peer) -> R) -> Option<R> {
        self.seat.peer(call)
    }
}
