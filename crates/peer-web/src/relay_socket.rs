//! The WebSocket to the relay.
//!
//! Responsible for one connection from its opening to its end; the end is reported once. After its owner dropped it,
//! the socket reports nothing. It refuses to queue more than 1 MiB for a relay that does not read.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{BinaryType, Event, MessageEvent, WebSocket};

use crate::connection::{Overflow, RELIABLE_QUEUE};
use crate::listener::{Listener, Timeout};

/// An event of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The socket is open.
    Opened,
    /// A binary message arrived.
    Message(Vec<u8>),
    /// The socket closed, or did not open. No event follows.
    Closed,
}

/// The function that takes a socket's events; the browser's callbacks call it.
pub type RelaySink = Rc<dyn Fn(RelayEvent)>;

/// Milliseconds: a relay that does not take a connection within this time counts as dead.
const OPEN_WITHIN: i32 = 5_000;

/// The handle of a WebSocket. Dropping it sends the queued messages, then closes.
#[derive(Debug)]
pub struct RelaySocket {
    shared: Rc<Shared>,
    _listeners: [Listener; 3],
    _deadline: Option<Timeout>,
}

struct Shared {
    socket: WebSocket,
    sink: RelaySink,
    stage: Cell<Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    Open,
    Closed,
}

impl RelaySocket {
    /// Opens `url` (`wss://host/ws`). Its events go to `sink`.
    ///
    /// # Errors
    /// The error that the browser threw: `url` is no address, or the page may not speak to it.
    pub fn open(url: &str, sink: RelaySink) -> Result<Self, JsValue> {
        let socket = WebSocket::new(url)?;
        socket.set_binary_type(BinaryType::Arraybuffer);
        let shared = Rc::new(Shared { socket, sink, stage: Cell::new(Stage::Opening) });
        let on = |kind, callback: fn(&Shared, &Event)| {
            let shared = Rc::clone(&shared);
            Listener::on(&Rc::clone(&shared).socket, kind, move |event| {
                // Keeps the socket alive during the call: its owner may drop it while it handles the event.
                callback(&Rc::clone(&shared), &event);
            })
        };
        // An error needs no listener: the browser closes a socket after every error.
        let listeners = [
            on("open", |shared, _| shared.on_open())?,
            on("message", Shared::on_message)?,
            on("close", |shared, _| shared.on_close())?,
        ];
        let late = Rc::clone(&shared);
        let deadline = Timeout::after(OPEN_WITHIN, move || late.on_deadline());
        Ok(Self { shared, _listeners: listeners, _deadline: deadline })
    }

    /// Queues a binary message; never waits.
    ///
    /// # Errors
    /// [`Overflow`] when more than 1 MiB is queued or the socket is not open: drop the socket.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Overflow> {
        if self.shared.socket.ready_state() > WebSocket::OPEN {
            // The socket is about to report its closing. The browser counts a message on it as an error of the page.
            return Ok(());
        }
        if self.shared.socket.buffered_amount() > RELIABLE_QUEUE {
            return Err(Overflow);
        }
        self.shared.socket.send_with_u8_array(bytes).map_err(|_| Overflow)
    }

    /// Bytes that the browser has not given to the network yet.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.shared.socket.buffered_amount() as usize
    }
}

impl Drop for RelaySocket {
    fn drop(&mut self) {
        self.shared.stage.set(Stage::Closed);
        // This fails only for an invalid close code, and none is given here.
        let _ = self.shared.socket.close();
    }
}

impl Shared {
    fn on_open(&self) {
        if self.stage.get() == Stage::Opening {
            self.stage.set(Stage::Open);
            (self.sink)(RelayEvent::Opened);
        }
    }

    fn on_message(&self, event: &Event) {
        let data = event.dyn_ref::<MessageEvent>().map(MessageEvent::data);
        // The relay sends only binary messages.
        let Some(buffer) = data.and_then(|data| data.dyn_into::<ArrayBuffer>().ok()) else { return };
        if self.stage.get() == Stage::Open {
            (self.sink)(RelayEvent::Message(Uint8Array::new(&buffer).to_vec()));
        }
    }

    fn on_close(&self) {
        if self.stage.replace(Stage::Closed) != Stage::Closed {
            (self.sink)(RelayEvent::Closed);
        }
    }

    fn on_deadline(&self) {
        if self.stage.get() == Stage::Opening {
            // The browser reports late that a socket which never opened has closed. The owner learns it now.
            let _ = self.socket.close();
            self.on_close();
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("stage", &self.stage).finish_non_exhaustive()
    }
}
