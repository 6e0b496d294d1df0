//! Dueling Teapots in the browser: scene, page, input, and the driver between them and a peer.

// The unit tests of the page's parts run natively, where there is no page to run.
#![cfg_attr(
    not(target_arch = "wasm32"),
    expect(dead_code, unused_imports, reason = "only the page uses its parts")
)]

mod address;
#[cfg(target_arch = "wasm32")]
mod app;
mod automation;
mod battery;
mod frame_loop;
mod games;
mod guard;
mod input;
mod page;
mod params;
#[cfg(target_arch = "wasm32")]
mod play;
mod sound;
mod tenths;
mod view;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen::prelude::*;

#[cfg(target_arch = "wasm32")]
fn main() {
    guard::on_crash(samovar::raw::say_farewell);
    std::panic::set_hook(Box::new(|info| guard::crash(&info.to_string())));
    if guard::is_halted() {
        return;
    }
    if let Err(error) = run() {
        guard::crash(&String::from(error.unchecked_into::<js_sys::Object>().to_string()));
    }
}

#[cfg(target_arch = "wasm32")]
fn run() -> Result<(), JsValue> {
    let place = app::App::start()?;
    // The listeners live as long as the page does.
    std::mem::forget(app::App::listen(place)?);
    frame_loop::start(move |time| {
        // No other function works on the state when a frame is due. If the state is not in its place, an exception
        // took it.
        if place.with(|app| app.frame(time)).is_none() {
            guard::crash("What was thrown at the page's work took its state.");
        }
    })
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This program runs in a page: `cargo xtask play`.");
}
