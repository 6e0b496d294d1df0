//! Calls the page once per frame while it is visible.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;

type Callback = Closure<dyn FnMut(f64)>;

/// Starts calling `draw` with the time of each frame in milliseconds, for the life of the page.
///
/// # Errors
/// There is no window.
pub fn start(mut draw: impl FnMut(f64) + 'static) -> Result<(), JsValue> {
    let window = web_sys::window().ok_or(JsValue::UNDEFINED)?;
    let slot: Rc<RefCell<Option<Callback>>> = Rc::default();
    let again = Rc::clone(&slot);
    let frames = window.clone();
    *slot.borrow_mut() = Some(Closure::new(move |time: f64| {
        draw(time);
        if let Some(callback) = again.borrow().as_ref() {
            // Fails only in a page that is being torn down.
            let _ = frames.request_animation_frame(callback.as_ref().unchecked_ref());
        }
    }));
    if let Some(callback) = slot.borrow().as_ref() {
        window.request_animation_frame(callback.as_ref().unchecked_ref())?;
    }
    // The closure holds itself: it lives as long as the page calls it.
    Ok(())
}
