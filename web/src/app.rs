//! The page's state: in the lobby, in a game, or showing a problem. The browser calls it once per frame, and arriving
//! messages call it while the page is hidden.

mod draw;
mod lifecycle;
mod maze;
mod news;
mod place;

use samovar::raw::Obstacle;
use samovar_duel::arena::Table;
use samovar_duel::course::Stakes;
use samovar_duel::teapot::Controls as Wheel;
use samovar_peer::PathPolicy;
use samovar_wire::GameCode;
use wasm_bindgen::prelude::*;
use web_sys::Window;

use crate::address;
use crate::automation::Automation;
use crate::battery::Battery;
use crate::games::{Answer, GameList};
use crate::guard;
use crate::input::{Controls, Input};
use crate::page::problem::answered;
use crate::page::{Page, PageEvent, Problem, RelayState};
use crate::params::{Entry, Mode, NewGame, Params, PathChoice, Survival};
use crate::play::{Play, Wish};
use crate::sound::Sound;
use crate::view::{Quality, View, ViewError, suggested_quality};
use draw::Meter;
pub use place::Place;

/// Milliseconds between two requests of the lobby for the list of games.
const LIST_EVERY: f64 = 2_500.0;
/// Milliseconds between two looks at the battery.
const POWER_EVERY: f64 = 5_000.0;
/// Milliseconds that the relay may be out of reach before the page gives up a join.
const RELAY_PATIENCE: f64 = 15_000.0;
/// Milliseconds that a session may be without a host before the page says so on a screen of its own.
const SUSPENDED_PATIENCE: f64 = 20_000.0;
/// If no frame comes for this many milliseconds, the browser withholds frames, and the page plays on without them.
const WITHHELD_AFTER: f64 = 100.0;

/// The page's state.
pub struct App {
    window: Window,
    page: Page,
    controls: Controls,
    sound: Sound,
    view: Option<View>,
    params: Params,
    games: GameList,
    automation: Option<Automation>,
    battery: Battery,
    /// Whether this page has handed over as the host because the battery is low.
    is_relieved: bool,
    powered_at: f64,
    /// How long a visible page has been without its graphics, in milliseconds.
    dark_for: f64,
    play: Option<Play>,
    /// A game that the player has left. It runs on until another member hosts it.
    leaving: Option<Play>,
    meter: Meter,
    framed_at: f64,
    /// When the chart of ages got its last point.
    charted_at: f64,
    listed_at: f64,
    in_lobby: bool,
    relay: RelayState,
    /// The time since which the game cannot go on, and whether the page has said so.
    trouble: Option<(f64, bool)>,
    /// Whether the browser says that it has no network.
    is_offline: bool,
    /// Set while this tab takes its seat back. The value tells whether changes made only here were lost; the page
    /// says so once the player sits again.
    comes_back: Option<bool>,
    /// The reason why the page was loaded anew, which the page says once.
    explanation: Option<&'static str>,
    /// Whether the relay speaks another version. Then the page loads itself anew when the game cannot go on without
    /// the relay.
    is_outdated: bool,
    /// The place that holds this state. It lives as long as the page, so it is never freed.
    myself: &'static Place,
}

impl App {
    /// Builds the page and shows the screen that its address asks for.
    ///
    /// # Errors
    /// Page and code are of different versions, or there is no window.
    pub fn start() -> Result<&'static Place, JsValue> {
        let window = web_sys::window().ok_or(JsValue::UNDEFINED)?;
        let mut params = Params::parse(&window.location().search().unwrap_or_default());
        params.token = address::token(&window);
        let page = Page::new()?;
        if let Some(name) = &mut params.name {
            page.set_name(name);
            *name = page.name();
        }
        if let Some(colour) = params.colour {
            page.set_colour(colour);
        }
        let controls = Controls::new(page.canvas())?;
        let sound = Sound::new(page.muted())?;
        let battery = Battery::ask(&window);
        let place: &'static Place = Box::leak(Box::default());
        let mut app = Box::new(Self {
            window,
            page,
            controls,
            sound,
            view: None,
            params,
            games: GameList::default(),
            automation: None,
            battery,
            is_relieved: false,
            powered_at: f64::NEG_INFINITY,
            dark_for: 0.0,
            play: None,
            leaving: None,
            meter: Meter::default(),
            framed_at: f64::NEG_INFINITY,
            charted_at: f64::NEG_INFINITY,
            listed_at: f64::NEG_INFINITY,
            in_lobby: false,
            relay: RelayState::Connecting,
            trouble: None,
            is_offline: false,
            comes_back: None,
            explanation: guard::explanation(),
            is_outdated: false,
            myself: place,
        });
        app.open()?;
        place.put(app);
        Ok(place)
    }

    fn open(&mut self) -> Result<(), JsValue> {
        for warning in &self.params.warnings {
            web_sys::console::warn_1(&warning.into());
        }
        let place = self.myself;
        let status = move || place.with(|app| app.status()).unwrap_or_default();
        self.automation = Some(Automation::install(status)?);
        if let Some(problem) = self.params.problem.clone() {
            self.page.problem(problem);
        } else if self.build_view() {
            self.enter();
        }
        Ok(())
    }

    /// Builds the scene, at the start or after the browser gave lost graphics back. Returns whether this worked, and
    /// shows the problem if it did not.
    fn build_view(&mut self) -> bool {
        let quality = if self.params.low { Quality::Low } else { suggested_quality() };
        // The old scene can no longer draw.
        self.view = None;
        match View::new(self.page.canvas(), quality) {
            Ok(view) => self.view = Some(view),
            Err(ViewError::NoWebGl2) => self.page.problem(Problem::NoWebGl2),
            Err(error) => self.page.problem(Problem::Broken { detail: error.to_string() }),
        }
        self.view.is_some()
    }

    /// Enters the game or lobby that the address names. A game shows the player's network address to the other
    /// players, so the page first asks a player who has not chosen whether to hide it.
    fn enter(&mut self) {
        let code = match &self.params.entry {
            Entry::Lobby => None,
            Entry::Join(code) => Some(Some(code.clone())),
            Entry::Create(code) => Some(code.clone()),
        };
        if let Some(code) = code
            && self.params.path != PathChoice::Relayed
            && !self.page.has_chosen_address()
        {
            return self.page.problem(Problem::AddressUnchosen { code });
        }
        match self.params.entry.clone() {
            Entry::Lobby => self.show_lobby(),
            Entry::Join(code) => self.join(&code),
            Entry::Create(code) => {
                let Params { mode, robots, survival, stakes: Stakes { table, .. }, .. } = self.params;
                self.create(code.as_deref(), NewGame { mode, table, robots: robots.unwrap_or(0), survival })
            }
        }
    }

    fn show_lobby(&mut self) {
        self.stop_playing();
        (self.params.robots, self.params.mode) = (None, Mode::Duel);
        (self.params.survival, self.params.stakes.table) = (Survival::default(), Table::Tea);
        address::show_game(&self.window, &self.params, None);
        self.in_lobby = true;
        self.listed_at = f64::NEG_INFINITY;
        self.page.show_lobby(None, self.relay, None);
        self.explain();
    }

    /// Says once why the page was loaded anew.
    fn explain(&mut self) {
        if let Some(text) = self.explanation.take() {
            self.page.toast(text);
        }
    }

    /// Shows the screen that a notice had covered.
    fn show_where_it_is(&self) {
        match &self.play {
            Some(play) => {
                if let Some(code) = play.wish().code.as_ref().filter(|_| play.is_member()) {
                    self.show_game(code.as_str());
                }
            }
            None => self.page.show_lobby(None, self.relay, None),
        }
    }

    fn join(&mut self, code: &str) {
        // The code was checked where it was typed or read.
        let Some(code) = GameCode::parse(code) else { return };
        self.page.show_waiting(&format!("Joining {code}…"));
        samovar::raw::take_over(code.as_str());
        self.page.draw();
        // The number of robots has an effect only if this tab founds the game anew.
        let robots = self.params.robots.unwrap_or(0);
        self.begin(Wish { code: Some(code), create: false, robots, ..self.wish() });
    }

    fn create(&mut self, code: Option<&str>, NewGame { mode, table, robots, survival }: NewGame) {
        self.page.show_waiting("Setting the table…");
        // The address keeps these over a reload, in case this tab founds the game anew.
        (self.params.robots, self.params.mode, self.params.survival) = (Some(robots), mode, survival);
        self.params.stakes.table = table;
        let code = code.and_then(GameCode::parse);
        self.begin(Wish { code, create: true, robots, ..self.wish() });
    }

    fn wish(&self) -> Wish {
        let paths = match self.params.path {
            _ if self.page.hides_address() => PathPolicy::Relayed,
            PathChoice::Auto => PathPolicy::Auto,
            PathChoice::Direct => PathPolicy::Direct,
            PathChoice::Relayed => PathPolicy::Relayed,
            PathChoice::ByHost => PathPolicy::ByHost,
        };
        let (name, colour) = (self.page.name(), self.page.colour());
        let mode = self.params.mode;
        Wish {
            code: None,
            create: false,
            mode,
            is_last_guess: false,
            name,
            colour,
            robots: 0,
            stakes: self.params.stakes,
            survival: self.params.survival,
            paths,
            token: self.params.token.clone(),
        }
    }

    fn begin(&mut self, wish: Wish) {
        self.in_lobby = false;
        self.is_outdated = false;
        self.meter = Meter::default();
        let place = self.myself;
        let on_wake = move || {
            // While the browser draws, the next frame handles the message. A page that is hidden, or gets no frames,
            // handles it here.
            place.with(|app| {
                let time = samovar_peer_web::now().as_micros() as f64 / 1_000.0;
                if app.is_hidden() || time - app.framed_at >= WITHHELD_AFTER {
                    app.turn(time);
                }
            });
        };
        match Play::start(&address::relay_url(&self.window), wish, on_wake) {
            Ok(mut play) => {
                self.params.warnings.iter().for_each(|warning| play.note_error(warning.clone()));
                self.play = Some(play);
            }
            // The page's address gives no address of a relay, for example that of a file.
            Err(_) => self.page.problem(Problem::RelayLost),
        }
    }

    fn show_game(&self, code: &str) {
        let mode = self.params.mode;
        self.page.show_game(code, mode, &address::invite(&self.window, code, mode));
    }

    fn stop_playing(&mut self) {
        self.rest();
        self.play = None;
    }

    /// Switches off the controls, and removes the labels and the banner.
    fn rest(&mut self) {
        self.controls.set_active(false);
        self.page.labels(&[]);
        self.page.banner(None);
    }

    /// Plays one frame at `time` milliseconds.
    pub fn frame(&mut self, time: f64) {
        self.watch_graphics(time);
        self.framed_at = time;
        self.turn(time);
        self.draw(time);
        self.chart(time);
    }

    /// Does the work of a frame except drawing, so it needs no frame of the browser.
    fn turn(&mut self, time: f64) {
        self.play_on();
        while let Some(event) = self.page.poll_event() {
            self.on_page_event(event);
        }
        if self.automation.as_ref().is_some_and(Automation::wants_to_leave) {
            self.leave();
        }
        self.refresh_list(time);
        self.watch_power(time);
        self.watch_for_trouble(time);
    }

    /// Tells the player when a join or a session has been stuck for long, and removes the notice when the game goes
    /// on.
    fn watch_for_trouble(&mut self, time: f64) {
        let Some(play) = &self.play else {
            self.trouble = None;
            return;
        };
        let (is_member, pause) = (play.is_member(), play.pause(self.is_offline));
        if self.is_outdated && (pause.is_some() || play.is_alone()) && guard::is_updating() {
            return;
        }
        let is_stuck = if is_member { pause.is_some() } else { self.relay == RelayState::Lost };
        let code = play.wish().code.as_ref().map(|code| code.as_str().to_owned()).unwrap_or_default();
        match self.trouble {
            Some((_, was_said)) if !is_stuck => {
                self.trouble = None;
                if was_said {
                    self.show_game(&code);
                }
            }
            None if is_stuck => self.trouble = Some((time, false)),
            Some((since, false)) if !is_member && time - since >= RELAY_PATIENCE => {
                let obstacle = play.obstacle().cloned();
                self.stop_playing();
                self.page.problem(obstacle.map_or(Problem::RelayLost, |Obstacle { status, text }| {
                    Problem::RelayRefuses { status, text }
                }));
            }
            Some((since, false)) if is_member && time - since >= SUSPENDED_PATIENCE => {
                self.trouble = Some((since, true));
                if let Some(pause) = pause {
                    self.page.problem(Problem::Suspended { code, pause });
                }
            }
            _ => {}
        }
    }

    /// Lets another member host before the device runs out of power.
    fn watch_power(&mut self, time: f64) {
        if time - self.powered_at < POWER_EVERY {
            return;
        }
        self.powered_at = time;
        // The page tries until one hand-over succeeds, and then not again while the battery is low. Otherwise two
        // members with low batteries would pass the host's office to and fro.
        self.is_relieved =
            self.battery.is_low() && (self.is_relieved || self.play.as_ref().is_some_and(Play::hand_over));
    }

    /// Steps the game, if there is one.
    fn play_on(&mut self) {
        if let Some(leaving) = &mut self.leaving {
            leaving.step(Wheel::default());
        }
        self.leaving.take_if(|leaving| leaving.is_over());
        if self.automation.as_ref().is_some_and(Automation::holds) {
            return;
        }
        let Some(play) = &mut self.play else { return };
        let mut hands = self.controls.read();
        if play.wish().mode == Mode::Maze && self.view.as_ref().is_some_and(View::is_upright) {
            hands = hands.turned();
        }
        let script = self.automation.as_ref().map(Automation::input).unwrap_or_default();
        let news = play.step(wheel(hands, script));
        news.into_iter().for_each(|news| self.on_news(news));
    }

    fn on_page_event(&mut self, event: PageEvent) {
        match event {
            PageEvent::Join { code } => self.join(&code),
            PageEvent::Create { code, game } => self.create(code.as_deref(), game),
            PageEvent::Enter => self.enter(),
            PageEvent::Leave => self.leave(),
            PageEvent::Take(role) => {
                if let Some(play) = &self.play
                    && play.take(role)
                {
                    self.page.toast("You get that teapot when it is free.");
                }
            }
            PageEvent::PutOut(peer) => {
                if let Some(play) = &self.play {
                    play.put_out(peer);
                }
            }
            PageEvent::BackToLobby => self.show_lobby(),
            PageEvent::Refresh => self.listed_at = f64::NEG_INFINITY,
            PageEvent::MuteToggled(muted) => self.sound.set_muted(muted),
            // A typed name or colour counts for the next game.
            PageEvent::NameChanged(_) | PageEvent::ColourChanged(_) => {}
        }
    }

    fn leave(&mut self) {
        if let Some(mut play) = self.play.take() {
            self.stop_leaving();
            self.leaving = play.leave().then_some(play);
        }
        self.show_lobby();
    }

    /// Ends the game that the player has left, without waiting for another host.
    fn stop_leaving(&mut self) {
        if let Some(leaving) = self.leaving.take() {
            leaving.leave_at_once();
        }
    }

    fn refresh_list(&mut self, time: f64) {
        if !self.in_lobby {
            return;
        }
        if time - self.listed_at >= LIST_EVERY {
            self.listed_at = time;
            self.games.ask();
        }
        match self.games.take() {
            Some(Answer::Games(rows)) => {
                self.relay = RelayState::Connected;
                self.page.show_lobby(Some(&rows), self.relay, None);
            }
            Some(answer) => {
                self.relay = RelayState::Lost;
                let said = match answer {
                    Answer::Refused(Obstacle { status, text }) => Some(answered(status, &text)),
                    Answer::Games(_) | Answer::Unreachable => None,
                };
                self.page.show_lobby(Some(&[]), self.relay, said.as_deref());
            }
            None => {}
        }
    }

    fn is_hidden(&self) -> bool {
        self.window.document().is_some_and(|document| document.hidden())
    }

    /// The status that scripts see, as JSON.
    fn status(&self) -> String {
        let outside = || {
            let mut journal = samovar_duel::journal::Journal::default();
            self.params.warnings.iter().for_each(|warning| journal.error(warning.clone()));
            samovar_duel::status::Status::outside(&self.page.name(), self.relay, &journal)
        };
        self.play.as_ref().map_or_else(outside, |play| play.status(self.relay)).to_json()
    }
}

/// Adds up the input of the hands and of the scripts.
fn wheel(hands: Input, script: Input) -> Wheel {
    Wheel {
        throttle: (hands.throttle + script.throttle).clamp(-1.0, 1.0),
        turn: (hands.turn + script.turn).clamp(-1.0, 1.0),
        fire: hands.fire || script.fire,
    }
}
