//! Calls the page once per frame while it is visible.

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::Function;
use wasm_bindgen::prelude::*;

/// Starts calling `draw` with the time of each frame in milliseconds, for the life of the page.
///
/// # Errors
/// There is no window.
pub fn start(mut draw: impl FnMut(f64) + 'static) -> Result<(), JsValue> {
    let window = web_sys::window().ok_or(JsValue::UNDEFINED)?;
    let slot: Rc<OnceCell<Function>> = Rc::default();
    let again = Rc::clone(&slot);
    let frames = window.clone();
    let callback = Closure::<dyn FnMut(f64)>::new(move |time: f64| {
        if let Some(callback) = again.get() {
            // The page asks for the next frame before it draws: an exception while drawing must not end the frames.
            // Asking fails only in a page that is being torn down.
            let _ = frames.request_animation_frame(callback);
        }
        draw(time);
    });
    let callback = slot.get_or_init(|| callback.into_js_value().unchecked_into());
    window.request_animation_frame(callback)?;
    Ok(())
}
