//! The protocol that drives a browser: commands, their answers, and the browser's own events.
//!
//! One WebSocket leads to the whole browser, and each tab is a session on it. The reader never waits for a test: an
//! answer wakes the task that asked, and the events that tests need are kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::place::Place;

/// The longest time until the browser answers. A tab that draws in software on a busy machine needs seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(40);

/// The names of the events that are kept. Others, such as a line for each packet of a WebSocket, would only fill the
/// memory.
const KEPT: [&str; 7] = [
    "Runtime.consoleAPICalled",
    "Runtime.exceptionThrown",
    "Log.entryAdded",
    "Network.requestWillBeSent",
    "Network.webSocketCreated",
    "Inspector.targetCrashed",
    "Page.javascriptDialogOpening",
];

/// An event that the browser sent by itself.
#[derive(Clone, Debug)]
pub struct Event {
    /// The tab's session.
    pub session: String,
    /// Its name, such as `Runtime.exceptionThrown`.
    pub method: String,
    /// The content.
    pub params: Value,
}

/// A connection to a browser.
#[derive(Clone, Debug)]
pub struct Devtools {
    commands: mpsc::UnboundedSender<Command>,
    events: Arc<Mutex<Vec<Event>>>,
}

#[derive(Debug)]
struct Command {
    session: Option<String>,
    method: &'static str,
    params: Value,
    answer: oneshot::Sender<Result<Value, String>>,
}

impl Devtools {
    /// Connects to the browser at this place that listens at this port and path.
    ///
    /// # Panics
    /// No browser listens there.
    pub async fn connect(place: &Place, port: &str, path: &str) -> Self {
        let address = format!("127.0.0.1:{port}");
        let stream = place.connect(&address).unwrap_or_else(|error| panic!("{address}: {error}"));
        stream.set_nonblocking(true).expect("a socket");
        let stream = TcpStream::from_std(stream).expect("within a runtime");
        let url = format!("ws://{address}{path}");
        let (socket, _) = client_async(&url, stream).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let (commands, inbox) = mpsc::unbounded_channel();
        let events = Arc::<Mutex<Vec<Event>>>::default();
        tokio::spawn(run(socket, inbox, Arc::clone(&events)));
        Self { commands, events }
    }

    /// Sends a command to a tab's session, or to the browser itself, and waits for its answer.
    ///
    /// # Errors
    /// The browser's error message, or a message that the browser is gone or silent.
    pub async fn ask(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
    ) -> Result<Value, String> {
        let (answer, result) = oneshot::channel();
        let command = Command { session: session.map(str::to_owned), method, params, answer };
        let gone = || format!("{method}: the browser is gone");
        self.commands.send(command).map_err(|_| gone())?;
        match timeout(ANSWER_WITHIN, result).await {
            Ok(Ok(result)) => result.map_err(|error| format!("{method}: {error}")),
            Ok(Err(_)) => Err(gone()),
            Err(_) => Err(format!("{method}: no answer within {ANSWER_WITHIN:?}")),
        }
    }

    /// The events that were kept so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn run(
    mut socket: WebSocketStream<TcpStream>,
    mut inbox: mpsc::UnboundedReceiver<Command>,
    events: Arc<Mutex<Vec<Event>>>,
) {
    let mut waiting = HashMap::new();
    let mut last = 0_u64;
    loop {
        tokio::select! {
            command = inbox.recv() => {
                let Some(Command { session, method, params, answer }) = command else { return };
                last += 1;
                let mut message = json!({ "id": last, "method": method, "params": params });
                if let Some(session) = session {
                    message["sessionId"] = session.into();
                }
                waiting.insert(last, answer);
                if socket.send(Message::text(message.to_string())).await.is_err() {
                    return;
                }
            }
            message = socket.next() => {
                let Some(Ok(message)) = message else { return };
                let Ok(message) = serde_json::from_slice::<Value>(&message.into_data()) else { continue };
                match message["id"].as_u64() {
                    Some(id) => drop(waiting.remove(&id).map(|answer| answer.send(outcome(message)))),
                    None => keep(message, &events),
                }
            }
        }
    }
}

fn outcome(mut message: Value) -> Result<Value, String> {
    match message.get("error") {
        Some(error) => Err(error.to_string()),
        None => Ok(message["result"].take()),
    }
}

fn keep(mut message: Value, events: &Mutex<Vec<Event>>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let method = text(&message["method"]);
    if KEPT.contains(&method.as_str()) {
        let event = Event { session: text(&message["sessionId"]), method, params: message["params"].take() };
        events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}
