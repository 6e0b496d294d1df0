//! The relay's client, and what this peer has told it.

use samovar_directory::{Client, ClientConfig};
use samovar_session::Session;
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::relay::Listing;
use samovar_wire::sorted::sort_by_key;
use samovar_wire::{GameCode, Term, Time, Warrant};

/// The description of the game that this peer, while it hosts, shows to people who look for one.
#[derive(Debug)]
struct About {
    public: bool,
    open: bool,
    title: String,
}

/// The relay's client, and what the relay was told of the session.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) client: Client,
    /// The game's code; `None` until the relay lets this peer in.
    pub(crate) code: Option<GameCode>,
    about: About,
    shown_warrant: Option<Warrant>,
    /// The term and number of the view that the relay was told.
    shown_view: Option<(Term, u64, usize)>,
    /// The session's [`Session::stirs`] when the client was last told of the session.
    told_client: Option<u64>,
    /// Whether the client was settled at the last call of [`Relay::takes_settlement`].
    was_settled: bool,
    /// Bytes that wait for the WebSocket.
    pub(crate) backlog: u64,
}

impl Relay {
    pub(crate) fn new(now: Time, config: ClientConfig, public: bool) -> Self {
        Self {
            about: About { public, open: true, title: String::new() },
            client: Client::new(now, config),
            code: None,
            shown_warrant: None,
            shown_view: None,
            told_client: None,
            was_settled: false,
            backlog: 0,
        }
    }

    /// Whether [`Client::is_settled`] has changed since the last call.
    pub(crate) fn takes_settlement(&mut self) -> bool {
        let is_settled = self.client.is_settled();
        core::mem::replace(&mut self.was_settled, is_settled) != is_settled
    }

    /// Changes what the relay's list says of this game while this peer hosts. Returns whether that is a change.
    pub(crate) fn set_about(&mut self, title: &str, open: bool) -> bool {
        let is_new = (self.about.title.as_str(), self.about.open) != (title, open);
        if is_new {
            title.clone_into(&mut self.about.title);
            self.about.open = open;
            (self.shown_view, self.told_client) = (None, None);
        }
        is_new
    }

    /// Handles the start of another session: the client has to be told again.
    pub(crate) const fn begin_session(&mut self) {
        self.told_client = None;
    }

    /// Forgets what the relay was told, because the session is left and the relay knows nothing of the next one.
    pub(crate) const fn leave_session(&mut self) {
        (self.shown_warrant, self.shown_view, self.told_client) = (None, None, None);
    }

    /// Tells the relay this peer's warrant and, if this peer hosts, the members. Does nothing if the session cannot
    /// have changed since the last call.
    pub(crate) fn tell(&mut self, now: Time, session: &Session) {
        let stirs = Some(session.stirs());
        if core::mem::replace(&mut self.told_client, stirs) == stirs {
            return;
        }
        self.client.set_named(session.is_member());
        if self.shown_warrant.as_ref() != Some(session.warrant()) {
            let warrant = *session.warrant();
            self.shown_warrant = Some(warrant);
            self.client.set_warrant(now, warrant);
        }
        if !session.is_host() {
            return;
        }
        let view = session.view();
        let joining = view.members().filter(|member| session.is_joining(member.peer)).count();
        let shown = (session.term(), view.number(), joining);
        if self.shown_view.replace(shown) != Some(shown) {
            let spectators = view.spectators();
            let players = (view.members().count() - spectators).min(255) as u8;
            // Spectators that came while there was room may leave less of it.
            let capacity = view.capacity().min(MEMBERS_MAX.saturating_sub(spectators) as u8);
            let About { public, open, title } = &self.about;
            let (public, open, title) = (*public, *open, title.clone());
            let host_name = session.seat_of(session.me()).map(|seat| seat.name.clone()).unwrap_or_default();
            self.client.set_listing(now, Listing { players, capacity, open, public, title, host_name });
            let mut line = view.succession(session.me());
            line.insert(0, session.me());
            sort_by_key(&mut line, |&peer| session.is_joining(peer));
            self.client.set_members(now, line, joining);
        }
    }
}
