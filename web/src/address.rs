//! The page's own address: where the relay is, what to invite others with, what a reload shall find.

use samovar_duel::course::Stakes;
use web_sys::Window;

use crate::params::{Mode, Params, PathChoice};

/// Where the relay's WebSocket is: beside the page.
pub fn relay_url(window: &Window) -> String {
    let location = window.location();
    let secure = location.protocol().is_ok_and(|protocol| protocol == "https:");
    let host = location.host().unwrap_or_default();
    format!("{}://{host}/ws", if secure { "wss" } else { "ws" })
}

/// The link that brings somebody else into the game.
pub fn invite(window: &Window, code: &str, mode: Mode) -> String {
    let origin = window.location().origin().unwrap_or_default();
    let mode = if mode == Mode::Maze { "&mode=maze" } else { "" };
    format!("{origin}/?game={code}{mode}")
}

/// Puts the game into the address, so that a reload comes back to it; without a code, the lobby.
pub fn show_game(window: &Window, params: &Params, code: Option<&str>) {
    let mut query = String::new();
    let mut append = |key: &str, value: &str| {
        let before = if query.is_empty() { '?' } else { '&' };
        query.push(before);
        query.push_str(key);
        query.push_str(value);
    };
    if let Some(code) = code {
        append("game=", code);
    }
    // A name in the address is somebody's wish for this tab and outlives a reload; a typed one is remembered anyway.
    if let Some(name) = &params.name {
        append("name=", &String::from(js_sys::encode_uri_component(name)));
    }
    if code.is_some() && params.mode != Mode::Duel {
        append("mode=", params.mode.word());
    }
    if let Some(robots) = params.robots {
        append("robots=", &robots.to_string());
    }
    let (stakes, usual) = (params.stakes, Stakes::default());
    for (key, value, usual) in [
        ("points=", stakes.points, usual.points),
        ("minutes=", stakes.seconds / 60, usual.seconds / 60),
        ("bowls=", stakes.bowl_seconds, usual.bowl_seconds),
    ] {
        if value != usual {
            append(key, &value.to_string());
        }
    }
    match params.path {
        PathChoice::Auto => {}
        PathChoice::Direct => append("path=", "direct"),
        PathChoice::Relayed => append("path=", "relayed"),
    }
    if params.low {
        append("low", "");
    }
    let path = window.location().pathname().unwrap_or_else(|_| "/".to_owned());
    let address = path + &query;
    if let Ok(history) = window.history() {
        // A browser that forbids it costs the convenience of the reload only.
        let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&address));
    }
}
