//! The lobby: the player's name and colour, the open games, a new game, a code to join.

use std::cell::{Cell, RefCell};

use js_sys::Math;
use samovar_duel::arena::Table;
use samovar_peer_web::tab;
use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlButtonElement, HtmlElement, HtmlInputElement};

use super::dom::{self, Text};
use super::name::{clean_name, default_name};
use super::palette::{self, PALETTE};
use super::store::{self, Key};
use super::{GameRow, RelayState};
use crate::params::{Mode, NewGame, Survival};

const SHOWN: &str = "shown";
const HIDDEN: &str = "hidden";

/// The lobby's elements and what they show.
pub struct Lobby {
    document: Document,
    name: HtmlInputElement,
    name_note: Text,
    /// The name of a player who gives none.
    drawn_name: RefCell<String>,
    /// A random number, if the browser keeps none for this tab.
    chance: u32,
    colour: Cell<u8>,
    is_colour_wanted: Cell<bool>,
    colour_name: Text,
    swatches: Vec<HtmlInputElement>,
    note: Text,
    list: HtmlElement,
    rows: RefCell<Vec<Row>>,
    code: HtmlInputElement,
    code_error: Text,
    needs_relay: Vec<HtmlButtonElement>,
    hides_address: HtmlInputElement,
    /// Whether the player has read that others will see the address, and has chosen.
    has_chosen: Cell<bool>,
}

impl Lobby {
    /// Takes over the lobby and fills in what the browser remembers.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        let lobby = Self {
            document: document.clone(),
            name: dom::by_id(document, "name")?,
            name_note: Text::new(dom::by_id(document, "name-note")?),
            drawn_name: RefCell::default(),
            chance: (Math::random() * f64::from(u32::MAX)) as u32,
            colour: Cell::new(0),
            is_colour_wanted: Cell::new(false),
            colour_name: Text::new(dom::by_id(document, "colour-name")?),
            swatches: swatches(document)?,
            note: Text::new(dom::by_id(document, "games-note")?),
            list: dom::by_id(document, "games")?,
            rows: RefCell::default(),
            code: dom::by_id(document, "join-code")?,
            code_error: Text::new(dom::by_id(document, "join-error")?),
            needs_relay: needs_relay(document)?,
            hides_address: dom::by_id(document, "hides-address")?,
            has_chosen: Cell::new(false),
        };
        if let Some(name) = store::read(Key::Name).and_then(|name| clean_name(&name)) {
            lobby.name.set_value(&name);
        }
        if let Some(remembered) = store::read(Key::Colour).and_then(|text| palette::parse_colour(&text)) {
            lobby.set_colour(remembered);
        }
        lobby.draw();
        let chosen = store::read(Key::Address);
        lobby.has_chosen.set(chosen.is_some());
        lobby.hides_address.set_checked(chosen.as_deref() == Some(HIDDEN));
        Ok(lobby)
    }

    /// Whether to hide the browser's network address from other players.
    pub fn hides_address(&self) -> bool {
        self.hides_address.checked()
    }

    /// Whether the player was told that others see the network address, and has chosen whether to hide it.
    pub fn has_chosen_address(&self) -> bool {
        self.has_chosen.get()
    }

    /// Remembers whether to hide the address; `None` takes the choice that the lobby shows.
    pub fn choose_address(&self, hides: Option<bool>) {
        let hides = hides.unwrap_or_else(|| self.hides_address());
        self.has_chosen.set(true);
        self.hides_address.set_checked(hides);
        store::write(Key::Address, if hides { HIDDEN } else { SHOWN });
    }

    /// The name as the page sends it: clean and never empty.
    pub fn name(&self) -> String {
        clean_name(&self.name.value()).unwrap_or_else(|| self.drawn_name.borrow().clone())
    }

    /// Shows this name without remembering it.
    pub fn set_name(&self, name: &str) {
        self.name.set_value(&clean_name(name).unwrap_or_default());
    }

    /// Remembers the name typed so far, and tells the player if others will not see all of it.
    pub fn on_name_edited(&self) {
        let typed = self.name.value();
        let name = clean_name(&typed).unwrap_or_default();
        let is_cut = samovar_wire::name::tidy(&typed).len() > name.len();
        self.name_note.set(if is_cut { "Others see the first 20 characters." } else { "" });
        store::write(Key::Name, &name);
    }

    /// Takes the name that the player typed, and remembers it. Returns the name as the page sends it.
    pub fn on_name_typed(&self) -> String {
        self.on_name_edited();
        self.name.set_value(&clean_name(&self.name.value()).unwrap_or_default());
        self.name()
    }

    /// The colour, an index of the palette.
    pub fn colour(&self) -> u8 {
        self.colour.get()
    }

    /// Shows this colour without remembering it.
    pub fn set_colour(&self, index: u8) {
        let index = index % PALETTE.len() as u8;
        self.colour.set(index);
        self.is_colour_wanted.set(true);
        self.colour_name.set(palette::colour(index).name);
        if let Some(swatch) = self.swatches.get(usize::from(index)) {
            swatch.set_checked(true);
        }
    }

    /// Draws a name and a colour for a player who chooses none. A reloaded tab, and one that takes over from this one,
    /// draw the same.
    pub fn draw(&self) {
        let number = tab::number().unwrap_or(self.chance);
        let name = default_name(number / 8);
        self.name.set_placeholder(&name);
        *self.drawn_name.borrow_mut() = name;
        if !self.is_colour_wanted.get() {
            self.set_colour((number % 8) as u8);
            self.is_colour_wanted.set(false);
        }
    }

    /// Takes the colour the player picked, and remembers it.
    pub fn on_colour_picked(&self, value: &str) -> Option<u8> {
        let index = palette::parse_colour(value)?;
        self.set_colour(index);
        store::write(Key::Colour, value);
        Some(index)
    }

    /// The game wanted at a new table.
    pub fn new_game(&self) -> NewGame {
        let survival = Survival {
            ends_with_host: self.checked("ends").is_some(),
            is_strict: self.checked("split").is_some(),
        };
        let robots = self.checked("robots").and_then(|robots| robots.parse().ok()).unwrap_or(1);
        let table = self.checked("table").and_then(|table| Table::parse(&table)).unwrap_or_default();
        NewGame { mode: self.mode(), table, robots, survival }
    }

    /// The choice between duel and maze.
    pub fn mode(&self) -> Mode {
        self.checked("mode").and_then(|mode| Mode::parse(&mode)).unwrap_or_default()
    }

    /// The value of the choice of this name; `None` when nothing is chosen.
    fn checked(&self, name: &str) -> Option<String> {
        let chosen =
            self.document.query_selector(&["input[name=", name, "]:checked"].concat()).ok().flatten();
        Some(chosen?.dyn_into::<HtmlInputElement>().ok()?.value())
    }

    /// The typed code. If it is not a code, shows what is wrong with it and returns `None`.
    pub fn typed_code(&self) -> Option<String> {
        match crate::params::typed_code(&self.code.value()) {
            Ok(code) => {
                self.code_error.set("");
                dom::attribute(&self.code, "aria-invalid", "false");
                Some(code)
            }
            Err(explanation) => {
                self.code_error.set(&explanation);
                dom::attribute(&self.code, "aria-invalid", "true");
                dom::focus(&self.code);
                None
            }
        }
    }

    /// Shows the open games, `None` while they are not known yet; `said` is the answer that came in the list's place.
    pub fn show(&self, games: Option<&[GameRow]>, relay: RelayState, said: Option<&str>) {
        for button in &self.needs_relay {
            button.set_disabled(relay == RelayState::Lost);
        }
        let refused = said.map(|said| format!("The relay lists no tables; trying again… {said}"));
        self.note.set_or_hide(match (games, relay) {
            _ if refused.is_some() => refused.as_deref(),
            (_, RelayState::Lost) => Some("The relay does not answer; trying again…"),
            (None, _) => Some("Looking for open tables…"),
            (Some([]), _) => Some("No table is set yet. Start a game and send the link to a friend."),
            (Some(_), _) => None,
        });
        let games = if relay == RelayState::Lost { &[] } else { games.unwrap_or_default() };
        let mut rows = self.rows.take();
        if !rows.iter().map(|row| &row.game).eq(games) {
            self.arrange(&mut rows, games);
        }
        self.rows.replace(rows);
    }

    /// Keeps the row of each game that stays, so that a button under a finger or the focus does not turn into that of
    /// another game.
    fn arrange(&self, rows: &mut Vec<Row>, games: &[GameRow]) {
        let mut old = std::mem::take(rows);
        for game in games {
            let row = match old.iter().position(|row| row.game.code == game.code) {
                Some(index) => old.swap_remove(index),
                None => Row::new(&self.document, game),
            };
            rows.push(row.update(game));
        }
        for row in old {
            row.root.remove();
        }
        for (index, row) in rows.iter().enumerate() {
            let place = self.list.children().item(u32::try_from(index).unwrap_or(u32::MAX));
            if place.as_ref() != Some(row.root.as_ref()) {
                let before = place.as_deref();
                dom::sure(
                    self.list.insert_before(&row.root, before),
                    "the place was just read from this list",
                );
            }
        }
    }
}

/// One open game.
struct Row {
    root: HtmlElement,
    seats: Text,
    host: Text,
    button: HtmlElement,
    game: GameRow,
}

impl Row {
    fn new(document: &Document, game: &GameRow) -> Self {
        let root = dom::create(document, "li", "");
        let who = dom::append(&root, "div", "who");
        let code = dom::append(&who, "span", "code");
        code.set_text_content(Some(&game.code));
        let seats = Text::new(dom::append(&who, "span", "seats"));
        let host = Text::new(dom::append(&who, "span", "host"));
        let button = dom::append(&root, "button", "button");
        dom::attribute(&button, "type", "button");
        dom::attribute(&button, "data-action", "join");
        dom::attribute(&button, "data-code", &game.code);
        button.set_text_content(Some("Join"));
        Self { root, seats, host, button, game: game.clone() }
    }

    fn update(mut self, game: &GameRow) -> Self {
        let full = game.players >= game.seats;
        self.seats.set(&format!(
            "{}: {} of {} seats{}",
            game.mode.word(),
            game.players,
            game.seats,
            if full { ", full" } else { "" }
        ));
        self.host.set(&match &game.host {
            Some(host) => format!("Host: {host}"),
            None => "Host: nobody yet".to_owned(),
        });
        self.button.unchecked_ref::<HtmlButtonElement>().set_disabled(full);
        dom::attribute(&self.button, "aria-label", &format!("Join {}", game.code));
        self.game.clone_from(game);
        self
    }
}

fn swatches(document: &Document) -> Result<Vec<HtmlInputElement>, JsValue> {
    let group: HtmlElement = dom::by_id(document, "colours")?;
    let swatch = |index: u8| {
        let colour = palette::colour(index);
        let label = dom::append(&group, "label", "");
        let input: HtmlInputElement = dom::append(&label, "input", "").unchecked_into();
        for (name, value) in [("type", "radio"), ("name", "colour"), ("value", &index.to_string())] {
            dom::attribute(&input, name, value);
        }
        let spoken = format!("{}, {}", colour.name, colour.shape);
        dom::attribute(&input, "aria-label", &spoken);
        dom::attribute(&label, "title", colour.name);
        dom::paint_mark(&dom::append(&dom::append(&label, "span", ""), "i", "mark"), index);
        input
    };
    Ok((0..PALETTE.len() as u8).map(swatch).collect())
}

fn needs_relay(document: &Document) -> Result<Vec<HtmlButtonElement>, JsValue> {
    let found = document.query_selector_all("[data-needs-relay]")?;
    Ok((0..found.length()).filter_map(|index| found.item(index)?.dyn_into().ok()).collect())
}
