//! The page's own address: the place of the relay, the link that invites others, and the query that a reload reads.

use samovar_duel::course::Stakes;
use web_sys::{Url, Window};

use crate::params::{Entry, Mode, Params, PathChoice};

/// The address of the relay's WebSocket: beside the page.
pub fn relay_url(window: &Window) -> String {
    let url = beside(window, "ws");
    // `http` becomes `ws`, and `https` becomes `wss`. `replacen` would cost the page a kilobyte.
    url.strip_prefix("http").map_or(url.clone(), |rest| ["ws", rest].concat())
}

/// The token behind `#token=`, if there is one. It is gone from the address once the page shows a game.
pub fn token(window: &Window) -> Option<String> {
    let hash = window.location().hash().ok()?;
    Some(hash.strip_prefix("#token=")?.split('&').next()?.to_owned())
}

/// The link that brings other people into the game.
pub fn invite(window: &Window, code: &str, mode: Mode) -> String {
    let mode = if mode == Mode::Maze { "&mode=maze" } else { "" };
    beside(window, &format!("./?game={code}{mode}"))
}

/// The full form of a relative address on this page, which a server may serve below any path.
fn beside(window: &Window, relative: &str) -> String {
    let base = window.document().and_then(|document| document.base_uri().ok().flatten());
    Url::new_with_base(relative, &base.unwrap_or_default())
        .map_or_else(|_| relative.to_owned(), |url| url.href())
}

/// Puts the game's code into the address, so that a reload comes back to the game. Without a code, the address is
/// that of the lobby. The step from the lobby into a game is a step of the tab's history, so the Back button leads to
/// the lobby.
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
    // A name in the address is meant for this tab and outlives a reload. The browser remembers a typed name anyway.
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
    if stakes.table != usual.table {
        append("table=", stakes.table.word());
    }
    match params.path {
        PathChoice::Auto => {}
        PathChoice::Direct => append("path=", "direct"),
        PathChoice::Relayed => append("path=", "relayed"),
        PathChoice::ByHost => append("by=", "host"),
    }
    let survival = params.survival;
    for (is_set, key, value) in
        [(survival.ends_with_host, "ends=", "host"), (survival.is_strict, "split=", "wait")]
    {
        if is_set {
            append(key, value);
        }
    }
    for (is_set, key) in [(params.low, "low"), (params.stats, "stats")] {
        if is_set {
            append(key, "");
        }
    }
    let path = window.location().pathname().unwrap_or_else(|_| "/".to_owned());
    let address = path + &query;
    if let Ok(history) = window.history() {
        // The history's state stays as it is, since the guard may keep its record there. If the browser forbids the
        // change, a reload does not come back to the game.
        let state = history.state().unwrap_or_default();
        let is_at_lobby =
            Params::parse(&window.location().search().unwrap_or_default()).entry == Entry::Lobby;
        let _ = if is_at_lobby && code.is_some() {
            history.push_state_with_url(&state, "", Some(&address))
        } else {
            history.replace_state_with_url(&state, "", Some(&address))
        };
    }
}
