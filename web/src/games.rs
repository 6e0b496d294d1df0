//! The list of open games, fetched from the relay that served the page.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Array, Reflect};
use samovar_duel::player::PlayerName;
use samovar_peer_web::Obstacle;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Response;

use crate::page::GameRow;
use crate::params::Mode;

/// The most games that the list shows.
const GAMES_MAX: usize = 100;

/// The last answer to a request for the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The open games.
    Games(Vec<GameRow>),
    /// The relay, or another server in its place, answered with an error.
    Refused(Obstacle),
    /// The relay did not answer, or its answer was no list.
    Unreachable,
}

/// Asks for the list and keeps the answer until it is taken.
#[derive(Clone, Default)]
pub struct GameList {
    answer: Rc<RefCell<Option<Answer>>>,
    asking: Rc<Cell<bool>>,
}

impl GameList {
    /// Asks, unless the page already waits for an answer.
    pub fn ask(&self) {
        if self.asking.replace(true) {
            return;
        }
        let list = self.clone();
        spawn_local(async move {
            let answer = fetch().await.unwrap_or(Answer::Unreachable);
            *list.answer.borrow_mut() = Some(answer);
            list.asking.set(false);
        });
    }

    /// Takes the answer, if one has arrived since the last call.
    pub fn take(&self) -> Option<Answer> {
        self.answer.borrow_mut().take()
    }
}

async fn fetch() -> Result<Answer, JsValue> {
    let window = web_sys::window().ok_or(JsValue::UNDEFINED)?;
    let response: Response = JsFuture::from(window.fetch_with_str("api/games")).await?.dyn_into()?;
    if !response.ok() {
        return Ok(Answer::Refused(Obstacle::of(&response).await));
    }
    let list: Array = JsFuture::from(response.json()?).await?.dyn_into()?;
    let maze = format!("{:016x}", samovar_duel::maze::game::params());
    Ok(Answer::Games(list.iter().take(GAMES_MAX).filter_map(|game| row(&game, &maze)).collect()))
}

/// Reads one game of the list; `None` if it is not open or not readable. `maze` is the hash of the maze's agreed
/// parameters.
fn row(game: &JsValue, maze: &str) -> Option<GameRow> {
    let text = |name: &str| Reflect::get(game, &name.into()).ok()?.as_string();
    let number = |name: &str| Reflect::get(game, &name.into()).ok()?.as_f64();
    let open = Reflect::get(game, &"open".into()).ok()?.as_bool()?;
    let count = |value: f64| value.clamp(0.0, 255.0) as u32;
    open.then_some(())?;
    Some(GameRow {
        code: text("code")?,
        players: count(number("players")?),
        seats: count(number("capacity")?),
        host: text("host").filter(|host| !host.is_empty()).map(|host| PlayerName::new(&host)),
        mode: if text("params")? == maze { Mode::Maze } else { Mode::Duel },
    })
}
