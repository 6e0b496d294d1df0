//! The page around the scene: lobby, HUD, notices, problems.
//!
//! Plain data go in through `&self` methods, and the player's requests come out of [`Page::poll_event`]. The page
//! knows nothing of networks, and it decides only how to say things. Every text of a stranger enters the document as
//! a text node, and names stand isolated in their sentences.
//!
//! `index.html` holds the elements, `style.css` their looks. Buttons carry `data-action`; one listener serves them.

mod chart;
mod curtain;
pub mod dom;
mod hud;
mod invite;
mod labels;
mod lobby;
pub mod name;
mod notices;
pub mod palette;
pub mod problem;
mod put_out;
mod store;
mod wishes;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlCanvasElement, HtmlDialogElement, HtmlElement};

pub use chart::Ages;
pub use hud::{Hud, LinkKind, Pause, PlayerRow, Role, Traffic};
pub use labels::Label;
pub use notices::{CUT_OFF, CUT_OFF_AND_PAUSED, RECONNECTING, RELAY_GONE};
pub use problem::Problem;
pub use samovar_duel::status::RelayState;

use crate::params::{Mode, NewGame};
use chart::Chart;
use curtain::Curtain;
use dom::Listener;
use hud::HudView;
use invite::Invite;
use labels::LabelLayer;
use lobby::Lobby;
use notices::Notices;
use put_out::PutOutView;
use samovar_duel::player::PlayerName;
use samovar_wire::PeerId;
use store::Key;

/// The most requests kept for a driver that does not ask for them; a person never makes so many.
const EVENTS_MAX: usize = 64;

/// A request of the player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageEvent {
    /// Join the game with this code.
    Join {
        /// A valid code, in upper case.
        code: String,
    },
    /// Open a new game.
    Create {
        /// The wanted code; `None` lets the relay choose.
        code: Option<String>,
        /// The game to play.
        game: NewGame,
    },
    /// Leave the game that is shown.
    Leave,
    /// Ask for the list of games again.
    Refresh,
    /// Note the player's new name.
    NameChanged(String),
    /// Note the player's new colour, an index of the palette.
    ColourChanged(u8),
    /// Switch sounds off (`true`) or on.
    MuteToggled(bool),
    /// Leave a problem, or the wait for a game, and show the lobby.
    BackToLobby,
    /// Enter the game that the address names. The player has read that others will see the network address, and has
    /// chosen.
    Enter,
    /// Put a player out, as the host.
    PutOut(PeerId),
    /// Play this teapot of the maze, a number from 0 to 3.
    Take(u8),
}

/// One line of the list of open games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameRow {
    /// The game's code.
    pub code: String,
    /// Seats taken.
    pub players: u32,
    /// Seats in all.
    pub seats: u32,
    /// The host's name, once there is a host.
    pub host: Option<PlayerName>,
    /// The game that is played there.
    pub mode: Mode,
}

/// A screen that covers the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Screen {
    Loading,
    Lobby,
    Waiting,
    Game,
    Problem,
}

/// The page. Dropping it removes its listeners.
pub struct Page {
    parts: Rc<Parts>,
    _listeners: Vec<Listener>,
}

/// The state that handlers and the driver share.
struct Parts {
    document: Document,
    canvas: HtmlCanvasElement,
    screens: [(HtmlElement, &'static [Screen]); 4],
    screen: Cell<Screen>,
    lobby: Lobby,
    hud: HudView,
    chart: Chart,
    put_out: PutOutView,
    invite: Invite,
    labels: LabelLayer,
    notices: Notices,
    curtain: Curtain,
    help: HtmlDialogElement,
    help_title: HtmlElement,
    muted: Cell<bool>,
    game: RefCell<String>,
    covered: RefCell<Cover>,
    events: RefCell<VecDeque<PageEvent>>,
}

/// The text that the curtain shows.
#[derive(Debug, PartialEq, Eq)]
enum Cover {
    Nothing,
    Waiting(String),
    Problem(Problem),
}

impl Page {
    /// Takes over the elements of `index.html`. The loading note stays until the first screen is shown.
    ///
    /// # Errors
    /// An element is missing: page and code are of different versions.
    pub fn new() -> Result<Self, JsValue> {
        let parts = Rc::new(Parts::new(dom::document()?)?);
        parts.show_muted();
        let listeners = wishes::listen(&parts)?;
        Ok(Self { parts, _listeners: listeners })
    }

    /// The canvas behind everything.
    pub fn canvas(&self) -> &HtmlCanvasElement {
        &self.parts.canvas
    }

    /// The next request of the player.
    pub fn poll_event(&self) -> Option<PageEvent> {
        self.parts.events.borrow_mut().pop_front()
    }

    /// The player's name: clean, never empty, at most 20 characters as people count them.
    pub fn name(&self) -> String {
        self.parts.lobby.name()
    }

    /// Sets the name for this visit, as an address does, without remembering it.
    pub fn set_name(&self, name: &str) {
        self.parts.lobby.set_name(name);
    }

    /// The player's colour, an index of the palette.
    pub fn colour(&self) -> u8 {
        self.parts.lobby.colour()
    }

    /// Draws what the player and the address have not chosen: name and colour.
    pub fn draw(&self) {
        self.parts.lobby.draw();
    }

    /// Sets the colour for this visit, without remembering it.
    pub fn set_colour(&self, index: u8) {
        self.parts.lobby.set_colour(index);
    }

    /// Whether to hide the browser's network address from other players.
    pub fn hides_address(&self) -> bool {
        self.parts.lobby.hides_address()
    }

    /// Whether the player was told that others see the network address, and has chosen whether to hide it.
    pub fn has_chosen_address(&self) -> bool {
        self.parts.lobby.has_chosen_address()
    }

    /// Whether the player wants no sound; the browser remembers it.
    pub fn muted(&self) -> bool {
        self.parts.muted.get()
    }

    /// Shows the lobby in place of any other screen. `None` means that the page is still fetching the list; `said` is
    /// the answer that came in the list's place.
    pub fn show_lobby(&self, games: Option<&[GameRow]>, relay: RelayState, said: Option<&str>) {
        self.parts.lobby.show(games, relay, said);
        if self.parts.enter(Screen::Lobby) {
            self.parts.leave_game();
            self.parts.show_mode(self.parts.lobby.mode());
        }
    }

    /// Shows that a game is being opened or joined ("Joining TEA-42…"). The screen's button sends
    /// [`PageEvent::BackToLobby`].
    pub fn show_waiting(&self, text: &str) {
        if self.parts.cover(Cover::Waiting(text.to_owned())) {
            self.parts.curtain.show_waiting(text);
        }
        if self.parts.enter(Screen::Waiting) {
            self.parts.curtain.focus();
        }
    }

    /// Shows the game with this code; `invite` is the link for friends. May be called again at any time.
    pub fn show_game(&self, code: &str, mode: Mode, invite: &str) {
        self.parts.show_mode(mode);
        if *self.parts.game.borrow() != code {
            self.parts.leave_game();
            code.clone_into(&mut self.parts.game.borrow_mut());
            self.parts.document.set_title(&format!("{code} · Dueling Teapots"));
        }
        self.parts.invite.show(invite);
        if self.parts.enter(Screen::Game) {
            dom::focus(&self.parts.canvas);
        }
    }

    /// Shows the state of the session. Call it each frame; the document is touched only on change.
    pub fn hud(&self, hud: &Hud) {
        self.parts.hud.show(hud);
        self.parts.put_out.show(hud.can_be_put_out());
    }

    /// Shows the ages of others' data of the last second, or hides their chart.
    pub fn ages(&self, ages: Option<Ages>) {
        self.parts.chart.show(ages);
    }

    /// Shows exactly these name labels over the scene.
    pub fn labels(&self, labels: &[Label]) {
        self.parts.labels.show(labels);
    }

    /// Shows a message that matters for some seconds, such as a new host.
    pub fn toast(&self, text: &str) {
        self.parts.notices.toast(text);
    }

    /// Adds a line to the feed of events; the last five stay.
    pub fn feed(&self, text: &str) {
        self.parts.notices.feed(text);
    }

    /// Shows a banner for a lasting state ([`RELAY_GONE`], [`RECONNECTING`], [`CUT_OFF`], [`Pause::banner`]), or
    /// removes it. The driver may call it in each frame.
    pub fn banner(&self, text: Option<&str>) {
        self.parts.notices.banner(text);
    }

    /// Covers everything with a problem until another screen is shown.
    pub fn problem(&self, problem: Problem) {
        let news = *self.parts.covered.borrow() != Cover::Problem(problem.clone());
        if news {
            self.parts.curtain.show_problem(&problem);
            self.parts.cover(Cover::Problem(problem));
        }
        if self.parts.enter(Screen::Problem) || news {
            self.parts.curtain.focus();
        }
    }
}

impl Parts {
    fn new(document: Document) -> Result<Self, JsValue> {
        let screen = |id: &str, on: &'static [Screen]| Ok::<_, JsValue>((dom::by_id(&document, id)?, on));
        Ok(Self {
            canvas: dom::by_id(&document, "scene")?,
            screens: [
                screen("loading", &[Screen::Loading])?,
                screen("lobby", &[Screen::Lobby])?,
                screen("game", &[Screen::Game])?,
                screen("curtain", &[Screen::Waiting, Screen::Problem])?,
            ],
            screen: Cell::new(Screen::Loading),
            lobby: Lobby::new(&document)?,
            hud: HudView::new(&document)?,
            chart: Chart::new(&document)?,
            put_out: PutOutView::new(&document)?,
            invite: Invite::new(&document)?,
            labels: LabelLayer::new(&document)?,
            notices: Notices::new(&document)?,
            curtain: Curtain::new(&document)?,
            help: dom::by_id(&document, "help")?,
            help_title: dom::by_id(&document, "help-title")?,
            muted: Cell::new(store::read(Key::Muted).as_deref() == Some("1")),
            game: RefCell::default(),
            covered: RefCell::new(Cover::Nothing),
            events: RefCell::default(),
            document,
        })
    }

    fn join(&self, code: String) {
        self.note_choice();
        self.wish(PageEvent::Join { code });
    }

    /// The lobby says whether others will see the network address: a player who starts there has chosen.
    fn note_choice(&self) {
        if self.screen.get() == Screen::Lobby {
            self.lobby.choose_address(None);
        }
    }

    fn create(&self, code: Option<String>) {
        self.note_choice();
        self.wish(PageEvent::Create { code, game: self.lobby.new_game() });
    }

    /// Shows the elements of this game, and hides those of the other.
    fn show_mode(&self, mode: Mode) {
        if let Some(body) = self.document.body() {
            dom::attribute(&body, "data-mode", mode.word());
        }
    }

    /// Queues a request. If the driver never asks, the oldest are dropped.
    fn wish(&self, event: PageEvent) {
        let mut events = self.events.borrow_mut();
        if events.len() == EVENTS_MAX {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// Shows a screen; returns whether another one was shown before.
    fn enter(&self, screen: Screen) -> bool {
        if self.screen.replace(screen) == screen {
            return false;
        }
        for (element, on) in &self.screens {
            element.set_hidden(!on.contains(&screen));
        }
        if self.help.open() {
            self.help.close();
        }
        if let Some(body) = self.document.body() {
            // The style sheet shows labels and touch controls in the game only.
            let name = if screen == Screen::Game { "game" } else { "other" };
            dom::attribute(&body, "data-screen", name);
        }
        true
    }

    /// Notes the text of the curtain; returns whether the curtain had another one before.
    fn cover(&self, cover: Cover) -> bool {
        let mut covered = self.covered.borrow_mut();
        let news = *covered != cover;
        *covered = cover;
        news
    }

    /// Forgets the state of one game.
    fn leave_game(&self) {
        self.game.borrow_mut().clear();
        self.cover(Cover::Nothing);
        self.notices.clear();
        self.labels.show(&[]);
        self.document.set_title("Dueling Teapots");
    }

    fn toggle_muted(&self) {
        let muted = !self.muted.get();
        self.muted.set(muted);
        store::write(Key::Muted, if muted { "1" } else { "0" });
        self.show_muted();
        self.wish(PageEvent::MuteToggled(muted));
    }

    fn show_muted(&self) {
        let Ok(buttons) = self.document.query_selector_all("[data-action=mute]") else { return };
        for button in (0..buttons.length()).filter_map(|index| buttons.item(index)) {
            let pressed = if self.muted.get() { "true" } else { "false" };
            dom::attribute(button.unchecked_ref(), "aria-pressed", pressed);
        }
    }
}
