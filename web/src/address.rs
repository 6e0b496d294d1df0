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
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(code) = code {
        query.append_pair("game", code);
    }
    // A name in the address is somebody's wish for this tab and outlives a reload; a typed one is remembered anyway.
    if let Some(name) = &params.name {
        query.append_pair("name", name);
    }
    if code.is_some() && params.mode != Mode::Duel {
        query.append_pair("mode", params.mode.word());
    }
    if let Some(robots) = params.robots {
        query.append_pair("robots", &robots.to_string());
    }
    let (stakes, usual) = (params.stakes, Stakes::default());
    for (key, value, usual) in [
        ("points", stakes.points, usual.points),
        ("minutes", stakes.seconds / 60, usual.seconds / 60),
        ("bowls", stakes.bowl_seconds, usual.bowl_seconds),
    ] {
        if value != usual {
            query.append_pair(key, &value.to_string());
        }
    }
    match params.path {
        PathChoice::Auto => {}
        PathChoice::Direct => drop(query.append_pair("path", "direct")),
        PathChoice::Relayed => drop(query.append_pair("path", "relayed")),
    }
    let mut address = query.finish();
    if params.low {
        address.push_str(if address.is_empty() { "low" } else { "&low" });
    }
    let path = window.location().pathname().unwrap_or_else(|_| "/".to_owned());
    let address = if address.is_empty() { path } else { format!("{path}?{address}") };
    if let Ok(history) = window.history() {
        // A browser that forbids it costs the convenience of the reload only.
        let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&address));
    }
}
