//! Dueling Teapots in the browser: scene, page, input, and the driver between them and a peer.

mod address;
mod app;
mod automation;
mod battery;
mod frame_loop;
mod games;
mod input;
mod page;
mod params;
mod play;
mod seat;
mod sound;
mod tenths;
mod view;

use wasm_bindgen::prelude::*;

fn main() {
    std::panic::set_hook(Box::new(|info| web_sys::console::error_1(&info.to_string().into())));
    if let Err(error) = run() {
        web_sys::console::error_1(&error);
    }
}

fn run() -> Result<(), JsValue> {
    let app = app::App::start()?;
    // Both live as long as the page does.
    std::mem::forget(app::App::listen(app)?);
    frame_loop::start(move |time| app.borrow_mut().frame(time))
}
