//! Learns from the browser that the machine has changed its network.
//!
//! Two events say so: `online` after a time without a network, and a change of the connection's type, for example
//! from Wi-Fi to cellular, in browsers that tell it (Chromium on phones). The connection's other changes are
//! estimates of speed, and are ignored. Going offline is ignored, too: the peer can do nothing about it, and its open
//! connections fall silent.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Reflect;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::EventTarget;

use crate::listener::Listener;
use crate::scope::scope;

/// Watches the network as long as it is not dropped.
pub(crate) struct Network {
    _listeners: Vec<Listener>,
}

impl Network {
    /// Calls `changed` for every change of network.
    pub(crate) fn watch(changed: Rc<dyn Fn()>) -> Self {
        let (mut listeners, scope) = (Vec::new(), scope());
        let online = Rc::clone(&changed);
        listeners.extend(Listener::on(&scope, "online", move |_| online()));
        listeners.extend(connection(&scope).and_then(|connection| watch_type(connection, changed)));
        Self { _listeners: listeners }
    }
}

/// `navigator.connection`, where there is one.
fn connection(window: &JsValue) -> Option<EventTarget> {
    let navigator = Reflect::get(window, &"navigator".into()).ok()?;
    Reflect::get(&navigator, &"connection".into()).ok()?.dyn_into().ok()
}

fn watch_type(connection: EventTarget, changed: Rc<dyn Fn()>) -> Option<Listener> {
    let kind = |connection: &EventTarget| Reflect::get(connection, &"type".into()).ok()?.as_string();
    let known = RefCell::new(kind(&connection));
    let target = connection.clone();
    let listener = Listener::on(&target, "change", move |_| {
        let now = kind(&connection);
        if known.replace(now.clone()) != now {
            changed();
        }
    });
    listener.ok()
}

#[cfg(all(test, target_arch = "wasm32"))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

    wasm_bindgen_test_configure!(run_in_browser);

    fn counted() -> (Rc<Cell<u32>>, Rc<dyn Fn()>) {
        let count = Rc::new(Cell::new(0));
        let counts = Rc::clone(&count);
        (count, Rc::new(move || counts.set(counts.get() + 1)))
    }

    fn say(target: &EventTarget, what: &str) {
        let event = web_sys::Event::new(what).expect("an event");
        target.dispatch_event(&event).expect("it is dispatched");
    }

    #[wasm_bindgen_test]
    fn coming_online_is_a_change_while_the_page_listens() {
        let (count, changed) = counted();
        let window = scope();
        let network = Network::watch(changed);
        say(&window, "online");
        say(&window, "offline");
        assert_eq!(count.get(), 1);
        drop(network);
        say(&window, "online");
        assert_eq!(count.get(), 1);
    }

    #[wasm_bindgen_test]
    fn only_another_connection_type_counts_as_a_change() {
        let (count, changed) = counted();
        let connection = EventTarget::new().expect("a target");
        let _listener = watch_type(connection.clone(), changed);
        say(&connection, "change");
        assert_eq!(count.get(), 0);
        for (kind, changes) in [("wifi", 1), ("wifi", 1), ("cellular", 2)] {
            Reflect::set(&connection, &"type".into(), &kind.into()).expect("it is set");
            say(&connection, "change");
            assert_eq!(count.get(), changes);
        }
    }
}
