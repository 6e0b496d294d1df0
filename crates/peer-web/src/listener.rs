//! Two kinds of callbacks from the browser: event listeners and timers. Each stops when its owner drops its value.
//!
//! A callback may drop its own value. The call in progress then finishes, and no other follows.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Event, EventTarget};

use crate::scope::scope;

/// An event listener, removed when dropped.
#[derive(Debug)]
pub struct Listener {
    target: EventTarget,
    kind: &'static str,
    closure: Closure<dyn Fn(Event)>,
}

impl Listener {
    /// Calls back on each event of this kind.
    ///
    /// # Errors
    /// The browser refuses the listener.
    pub fn on(
        target: &EventTarget,
        kind: &'static str,
        callback: impl Fn(Event) + 'static,
    ) -> Result<Self, JsValue> {
        let closure = Closure::<dyn Fn(Event)>::new(callback);
        target.add_event_listener_with_callback(kind, closure.as_ref().unchecked_ref())?;
        Ok(Self { target: target.clone(), kind, closure })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Removing an absent listener is no error, and no other error could be handled here.
        let _ =
            self.target.remove_event_listener_with_callback(self.kind, self.closure.as_ref().unchecked_ref());
    }
}

/// A timer, cleared when dropped.
#[derive(Debug)]
pub(crate) struct Timeout {
    id: i32,
    _closure: Closure<dyn Fn()>,
}

impl Timeout {
    /// Calls back once, after `millis`. The browser may call later, above all in a hidden tab. Returns `None` if the
    /// browser sets no timer.
    pub(crate) fn after(millis: i32, callback: impl Fn() + 'static) -> Option<Self> {
        let closure = Closure::<dyn Fn()>::new(callback);
        let handler = closure.as_ref().unchecked_ref();
        let id = scope().set_timeout_with_callback_and_timeout_and_arguments_0(handler, millis).ok()?;
        Some(Self { id, _closure: closure })
    }
}

impl Drop for Timeout {
    fn drop(&mut self) {
        scope().clear_timeout_with_handle(self.id);
    }
}
