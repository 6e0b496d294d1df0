//! Calls of the plain script around the game (`web/guard.js`). The script survives a panic, which ends all code of
//! the game.

use js_sys::Reflect;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = samovarGuard)]
    fn anew(why: &str, details: &str) -> Result<bool, JsValue>;
    #[wasm_bindgen(catch, js_namespace = samovarGuard)]
    fn reason() -> Result<String, JsValue>;
    #[wasm_bindgen(catch, js_namespace = samovarGuard)]
    fn halted() -> Result<bool, JsValue>;
}

/// Reports that the game's code cannot go on. The script loads the page anew, or shows these details if it did so
/// just now.
pub fn crash(details: &str) {
    web_sys::console::error_1(&details.into());
    // If the script is missing, the page can do nothing else.
    let _ = anew("crash", details);
}

/// Sets the function that tells the others when the page crashes.
pub fn on_crash(farewell: impl Fn() + 'static) {
    let farewell = Closure::<dyn Fn()>::new(farewell).into_js_value();
    // If the script is missing, nothing would call the function.
    let _ = Reflect::get(&js_sys::global(), &"samovarGuard".into())
        .and_then(|guard| Reflect::set(&guard, &"farewell".into(), &farewell));
}

/// Loads the page anew, because the relay or the host has another version; `false` if the script did so just now.
pub fn is_updating() -> bool {
    anew("version", "").unwrap_or(false)
}

/// Whether the page shows why it has stopped, so that the game must not begin.
pub fn is_halted() -> bool {
    halted().unwrap_or(false)
}

/// The reason for a reload of the page, if there was one, in a line for the player.
pub fn explanation() -> Option<&'static str> {
    match reason().ok()?.as_str() {
        "crash" => Some("The page met an error and was loaded again. Your seat was kept."),
        "version" => Some("The game has a new version, so the page was loaded again. Your seat was kept."),
        _ => None,
    }
}
