//! The global object of the program: a page's window, or the scope of a worker.

use js_sys::Reflect;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::Window;

/// The global object, as a window. A worker's scope has the same clock, timers, randomness and `fetch`. What it lacks, such
/// as a document and storage, is `None` or an error.
#[must_use]
pub fn scope() -> Window {
    js_sys::global().unchecked_into()
}

/// Whether the program runs in a page or in a worker of a browser.
#[must_use]
pub fn is_browser() -> bool {
    has("document") || has("WorkerGlobalScope")
}

/// Whether there are direct connections. A worker has none.
#[must_use]
pub fn has_direct() -> bool {
    has("RTCPeerConnection")
}

fn has(name: &str) -> bool {
    Reflect::has(&js_sys::global(), &JsValue::from(name)).unwrap_or_default()
}
