//! Why the relay's WebSocket does not open: a browser tells a page nothing about it, so the same place is asked by
//! `fetch`, and what it answers is kept.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Reflect, Uint8Array};
use samovar_wire::name::tidy;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ReadableStreamDefaultReader, RequestInit, Response};

/// Bytes of an answer that are read as text.
const TEXT_MAX: u32 = 400;

/// What was answered in place of a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The status of HTTP.
    pub status: u16,
    /// What it says in plain text: one line of at most 400 bytes, empty when it says nothing in plain text. It is a
    /// stranger's text.
    pub text: String,
}

impl Obstacle {
    /// Reads an answer: its body only when that is plain text, and only as much as is kept.
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

/// Asks once for each socket that closed before it was open.
#[derive(Debug, Default)]
pub(crate) struct Inquiry {
    is_open: Cell<bool>,
    is_asking: Rc<Cell<bool>>,
    found: Rc<RefCell<Option<Obstacle>>>,
}

impl Inquiry {
    /// A socket is open: nothing is in its way.
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
        // `ws` becomes `http`, and `wss` becomes `https`.
        let url = url.strip_prefix("ws").map_or(url.to_owned(), |rest| ["http", rest].concat());
        spawn_local(async move {
            let answer = ask(&url).await.ok();
            *found.borrow_mut() = answer;
            is_asking.set(false);
        });
    }

    /// What the place of the last socket that did not open says instead; `None` while that is not known.
    pub(crate) fn obstacle(&self) -> Option<Obstacle> {
        self.found.borrow().clone()
    }
}

/// # Errors
/// Nobody answers, or the page may not read the answer.
async fn ask(url: &str) -> Result<Obstacle, JsValue> {
    let window = web_sys::window().ok_or(JsValue::UNDEFINED)?;
    let request = RequestInit::new();
    // By this method the browser names the page as it does with a WebSocket, even to the page's own origin.
    request.set_method("POST");
    let response: Response =
        JsFuture::from(window.fetch_with_str_and_init(url, &request)).await?.dyn_into()?;
    Ok(Obstacle::of(&response).await)
}

/// The first part of the body, of which an answer in a line or two has no second.
async fn read(response: &Response) -> Result<String, JsValue> {
    let body = response.body().ok_or(JsValue::UNDEFINED)?;
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let part = JsFuture::from(reader.read()).await?;
    let bytes: Uint8Array = Reflect::get(&part, &"value".into())?.dyn_into()?;
    // Whether the rest is refused or has come already makes no difference.
    drop(reader.cancel());
    Ok(tidy(&String::from_utf8_lossy(&bytes.subarray(0, TEXT_MAX).to_vec())))
}
