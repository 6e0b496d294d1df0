//! Finds out why the relay's WebSocket does not open. A browser does not tell a page the reason. So the page asks the
//! same address by `fetch`, and keeps the answer.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Reflect, Uint8Array};
use samovar_wire::name::tidy;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ReadableStreamDefaultReader, RequestInit, Response};

use crate::scope::scope;

/// The most bytes of an answer that are read as text.
const TEXT_MAX: u32 = 400;

/// The answer that came in place of a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The HTTP status.
    pub status: u16,
    /// The answer's plain text: one line of at most 400 bytes, empty when the answer holds no plain text. It is
    /// untrusted.
    pub text: String,
}

impl Obstacle {
    /// Whether another attempt would most likely end alike. Three answers are not final. A gateway whose relay is
    /// starting answers with a status of 500 or more. A relay that refuses this address for a moment answers with
    /// 429. If it refused the WebSocket and now accepts this request, which asks for no WebSocket, it answers with
    /// 426.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        self.status < 500 && self.status != 429 && self.status != 426
    }

    /// Reads an answer. Takes the body only when it is plain text, and only as many bytes as are kept.
    pub async fn of(response: &Response) -> Self {
        let kind = response.headers().get("content-type").ok().flatten().unwrap_or_default();
        let text = if kind.starts_with("text/plain") {
            read(response).await.unwrap_or_default()
        } else {
            String::new()
        };
        Self { status: response.status(), text }
    }
}

/// Asks the relay once for each socket that closed before it was open.
#[derive(Debug, Default)]
pub(crate) struct Inquiry {
    is_open: Rc<Cell<bool>>,
    is_asking: Rc<Cell<bool>>,
    found: Rc<RefCell<Option<Obstacle>>>,
}

impl Inquiry {
    /// A socket has opened, so there is no obstacle.
    pub(crate) fn on_opened(&self) {
        self.is_open.set(true);
        *self.found.borrow_mut() = None;
    }

    /// A socket to this address has closed.
    pub(crate) fn on_closed(&self, url: &str) {
        if self.is_open.replace(false) || self.is_asking.replace(true) {
            return;
        }
        let (is_asking, found) = (Rc::clone(&self.is_asking), Rc::clone(&self.found));
        let is_open = Rc::clone(&self.is_open);
        // `ws` becomes `http`, and `wss` becomes `https`.
        let url = url.strip_prefix("ws").map_or(url.to_owned(), |rest| ["http", rest].concat());
        spawn_local(async move {
            let answer = ask(&url).await.ok();
            *found.borrow_mut() = answer.filter(|_| !is_open.get());
            is_asking.set(false);
        });
    }

    /// The answer that came in place of the last socket that did not open; `None` while it is not known.
    pub(crate) fn obstacle(&self) -> Option<Obstacle> {
        self.found.borrow().clone()
    }
}

/// Asks this address, and returns the answer.
///
/// # Errors
/// No server answers, or the page may not read the answer.
async fn ask(url: &str) -> Result<Obstacle, JsValue> {
    let request = RequestInit::new();
    // For a POST request the browser sends the page's origin, as it does for a WebSocket, even to that same origin.
    request.set_method("POST");
    let response: Response =
        JsFuture::from(scope().fetch_with_str_and_init(url, &request)).await?.dyn_into()?;
    Ok(Obstacle::of(&response).await)
}

/// Reads the first part of the body. An answer of a line or two has no second part.
async fn read(response: &Response) -> Result<String, JsValue> {
    let body = response.body().ok_or(JsValue::UNDEFINED)?;
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let part = JsFuture::from(reader.read()).await?;
    let bytes: Uint8Array = Reflect::get(&part, &"value".into())?.dyn_into()?;
    // Cancelling refuses the rest of the body. It does not matter whether the rest has already come.
    drop(reader.cancel());
    Ok(tidy(&String::from_utf8_lossy(&bytes.subarray(0, TEXT_MAX).to_vec())))
}
