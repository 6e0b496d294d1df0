//! One direct connection: an `RTCPeerConnection` with its two channels.
//!
//! Responsible for one attempt from its description to its end. The attempt reports [`ConnectionEvent::Opened`] only
//! when both channels can carry messages, and [`ConnectionEvent::Closed`] once, for any of these reasons: a channel
//! or the connection closed, the attempt took too long, a message was larger than any honest one. After its owner
//! dropped it, it reports nothing. It refuses to queue without a bound for a slow link.
//!
//! The offerer greets with an empty message, because a native peer that answers waits for a first message (see
//! `peer-native`). The connection drops empty messages on the reliable channel.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use futures_util::future::{AbortHandle, Abortable};
use js_sys::{Array, ArrayBuffer, Uint8Array};
pub use samovar_peer::{ConnectionEvent, ConnectionKey, IceServer, Side};
use samovar_wire::Mode;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{
    Event, MessageEvent, RtcConfiguration, RtcDataChannel, RtcDataChannelInit, RtcDataChannelState,
    RtcDataChannelType, RtcIceGatheringState, RtcIceServer, RtcPeerConnection, RtcPeerConnectionState,
    RtcSdpType, RtcSessionDescriptionInit,
};

use crate::listener::{Listener, Timeout};
use crate::scope::scope;

/// The function that takes a connection's events. The browser's callbacks call it, and so do the connection's own
/// methods.
pub type Sink = Rc<dyn Fn(ConnectionKey, ConnectionEvent)>;

/// The settings of direct connections.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// STUN and TURN servers besides the relay, whose own port is a STUN server (PROTOCOL §5.7). Default: none, so that
    /// no third party hears of a game.
    pub ice_servers: Vec<IceServer>,
    /// Milliseconds within which an attempt must open, or it is closed. Default: 10,000.
    pub open_within_millis: i32,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self { ice_servers: Vec::new(), open_within_millis: 10_000 }
    }
}

/// The error of a reliable message that found more than 1 MiB queued before it, or could not be sent at all. The
/// connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// Bytes: the connection drops unreliable messages while more than this is queued.
const UNRELIABLE_QUEUE: u32 = 64 * 1_024;
/// Bytes: a reliable message that finds more than this queued ends the connection.
pub(crate) const RELIABLE_QUEUE: u32 = 1_024 * 1_024;
/// Bytes of the largest message that is passed on. Every layer above has a smaller limit.
const MESSAGE_MAX: u32 = 64 * 1_024;
/// The most messages that a connection keeps until both channels have said that they are open.
const EARLY_MAX: usize = 64;
/// The longest time to gather candidates, in milliseconds.
const GATHER_WITHIN: i32 = 1_000;
/// Milliseconds that a connection has, after its owner dropped it, to deliver the queued messages.
const LINGER: i32 = 250;

/// The handle of a connection. Dropping it closes the connection; the queued messages have a quarter of a second to
/// go out first.
#[derive(Debug)]
pub struct Connection {
    shared: Rc<Shared>,
    /// Tasks that end with the connection, even while they wait for a promise that the browser never settles.
    negotiations: RefCell<Vec<AbortHandle>>,
    _listeners: Vec<Listener>,
    _deadline: Option<Timeout>,
}

impl Connection {
    /// Starts an attempt. Its events go to `sink`, under `key`.
    ///
    /// # Errors
    /// The error that the browser threw: it has no WebRTC, or refuses an ICE server.
    pub fn start(key: ConnectionKey, side: Side, config: &WebConfig, sink: Sink) -> Result<Self, JsValue> {
        let connection = RtcPeerConnection::new_with_configuration(&configuration(config))?;
        let channels = channel(&connection, Mode::Unreliable)
            .and_then(|unreliable| Ok((unreliable, channel(&connection, Mode::Reliable)?)));
        let (unreliable, reliable) = channels.inspect_err(|_| connection.close())?;
        let shared = Rc::new(Shared {
            key,
            unreliable,
            reliable,
            connection,
            sink,
            greets: matches!(side, Side::Offer),
            stage: Cell::new(Stage::Negotiating),
            gathering: RefCell::new(None),
            early: RefCell::new(Vec::new()),
        });
        let listeners = listen(&shared).inspect_err(|_| shared.connection.close())?;
        let late = Rc::clone(&shared);
        let deadline = Timeout::after(config.open_within_millis, move || late.on_deadline());
        let started = Self {
            shared,
            negotiations: RefCell::new(Vec::with_capacity(2)),
            _listeners: listeners,
            _deadline: deadline,
        };
        started.spawn(negotiate(Rc::downgrade(&started.shared), started.shared.connection.clone(), side));
        Ok(started)
    }

    /// Hands over the answer to the offer of this attempt.
    pub fn accept(&self, answer: &str) {
        let shared = Rc::downgrade(&self.shared);
        let accepted =
            self.shared.connection.set_remote_description(&description(RtcSdpType::Answer, answer));
        self.spawn(async move {
            if accepted.await.is_err()
                && let Some(shared) = shared.upgrade()
            {
                shared.fail();
            }
        });
    }

    fn spawn(&self, negotiation: impl Future<Output = ()> + 'static) {
        let (handle, aborted) = AbortHandle::new_pair();
        self.negotiations.borrow_mut().push(handle);
        js_sys::futures::spawn_local(async move {
            let _ = Abortable::new(negotiation, aborted).await;
        });
    }

    /// Queues a message; never waits. An unreliable one is dropped while 64 KiB are queued in its channel.
    ///
    /// # Errors
    /// [`Overflow`] when the reliable channel does not take it: drop the connection.
    pub fn send(&self, mode: Mode, bytes: &[u8]) -> Result<(), Overflow> {
        let channel = self.shared.channel(mode);
        match (mode, channel.buffered_amount()) {
            (Mode::Unreliable, queued) if queued > UNRELIABLE_QUEUE => Ok(()),
            (Mode::Reliable, queued) if queued > RELIABLE_QUEUE => Err(Overflow),
            (Mode::Unreliable, _) => {
                // An unreliable message may be lost. A channel that is gone reports that by its own event.
                let _ = channel.send_with_u8_array(bytes);
                Ok(())
            }
            (Mode::Reliable, _) => channel.send_with_u8_array(bytes).map_err(|_| Overflow),
        }
    }

    /// Bytes that wait in both channels.
    #[must_use]
    pub fn backlog(&self) -> usize {
        let channels = [&self.shared.unreliable, &self.shared.reliable];
        channels.iter().map(|channel| channel.buffered_amount() as usize).sum()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for negotiation in self.negotiations.take() {
            negotiation.abort();
        }
        if self.shared.stage.replace(Stage::Closed) != Stage::Open {
            self.shared.connection.close();
            return;
        }
        // A channel closes when it has sent its queued messages. Closing the connection at once would discard them.
        // Only this channel closes: the other end gives the connection up when the first channel closes, and all
        // messages of this channel must have arrived by then.
        self.shared.reliable.close();
        let connection = self.shared.connection.clone();
        let close = Closure::once_into_js(move || connection.close());
        let close = close.unchecked_ref();
        if scope().set_timeout_with_callback_and_timeout_and_arguments_0(close, LINGER).is_err() {
            self.shared.connection.close();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No description yet.
    Negotiating,
    /// The description is set; its candidates follow.
    Gathering,
    Described,
    Open,
    Closed,
}

struct Shared {
    key: ConnectionKey,
    connection: RtcPeerConnection,
    unreliable: RtcDataChannel,
    reliable: RtcDataChannel,
    sink: Sink,
    greets: bool,
    stage: Cell<Stage>,
    /// Ends the wait for candidates.
    gathering: RefCell<Option<Timeout>>,
    early: RefCell<Vec<(Mode, Vec<u8>)>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("key", &self.key).field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Shared {
    fn channel(&self, mode: Mode) -> &RtcDataChannel {
        match mode {
            Mode::Unreliable => &self.unreliable,
            Mode::Reliable => &self.reliable,
        }
    }

    fn report(&self, event: ConnectionEvent) {
        if self.stage.get() != Stage::Closed {
            (self.sink)(self.key, event);
        }
    }

    fn fail(&self) {
        if self.stage.replace(Stage::Closed) != Stage::Closed {
            self.connection.close();
            (self.sink)(self.key, ConnectionEvent::Closed);
        }
    }

    fn on_deadline(&self) {
        if self.stage.get() != Stage::Open {
            self.fail();
        }
    }

    fn become_gathering(self: &Rc<Self>) {
        self.stage.set(Stage::Gathering);
        let weak = Rc::downgrade(self);
        let timeout = Timeout::after(GATHER_WITHIN, move || {
            if let Some(shared) = weak.upgrade() {
                shared.report_description();
            }
        });
        self.gathering.replace(timeout);
        self.on_gathering_change();
    }

    fn on_gathering_change(&self) {
        if self.connection.ice_gathering_state() == RtcIceGatheringState::Complete {
            self.report_description();
        }
    }

    fn report_description(&self) {
        if self.stage.get() != Stage::Gathering {
            return;
        }
        match self.connection.local_description() {
            Some(description) => {
                self.stage.set(Stage::Described);
                self.report(ConnectionEvent::Described(description.sdp()));
            }
            None => self.fail(),
        }
    }

    fn on_state_change(&self) {
        if matches!(
            self.connection.connection_state(),
            RtcPeerConnectionState::Failed | RtcPeerConnectionState::Closed
        ) {
            self.fail();
        }
    }

    fn on_channel_open(&self) {
        let is_open = |channel: &RtcDataChannel| channel.ready_state() == RtcDataChannelState::Open;
        if matches!(self.stage.get(), Stage::Open | Stage::Closed)
            || !is_open(&self.unreliable)
            || !is_open(&self.reliable)
        {
            return;
        }
        self.stage.set(Stage::Open);
        if self.greets && self.reliable.send_with_u8_array(&[]).is_err() {
            return self.fail();
        }
        self.report(ConnectionEvent::Opened);
        for (mode, bytes) in self.early.take() {
            self.report(ConnectionEvent::Packet(mode, bytes));
        }
    }

    fn on_message(&self, mode: Mode, event: &Event) {
        let Some(event) = event.dyn_ref::<MessageEvent>() else { return };
        match message(&event.data()) {
            Ok(bytes) if bytes.is_empty() && mode == Mode::Reliable => {}
            Ok(bytes) if self.stage.get() == Stage::Open => self.report(ConnectionEvent::Packet(mode, bytes)),
            Ok(bytes) => {
                let mut early = self.early.borrow_mut();
                early.push((mode, bytes));
                if early.len() > EARLY_MAX {
                    drop(early);
                    self.fail();
                }
            }
            Err(TooLarge) => self.fail(),
        }
    }
}

/// A message larger than every limit.
struct TooLarge;

/// Returns the bytes of a message. A text is taken as its bytes, which the peer checks as it checks any others.
fn message(data: &JsValue) -> Result<Vec<u8>, TooLarge> {
    let bytes = match (data.dyn_ref::<ArrayBuffer>(), data.as_string()) {
        (Some(buffer), _) if buffer.byte_length() > MESSAGE_MAX => return Err(TooLarge),
        (Some(buffer), _) => Uint8Array::new(buffer).to_vec(),
        (None, Some(text)) => text.into_bytes(),
        // The channels were set to deliver buffers; any other value is ignored.
        (None, None) => Vec::new(),
    };
    if bytes.len() > MESSAGE_MAX as usize { Err(TooLarge) } else { Ok(bytes) }
}

async fn negotiate(shared: Weak<Shared>, connection: RtcPeerConnection, side: Side) {
    let result = describe(&connection, side).await;
    let Some(shared) = shared.upgrade() else { return };
    match result {
        Ok(()) if shared.stage.get() == Stage::Negotiating => shared.become_gathering(),
        // The connection closed in the meantime.
        Ok(()) => {}
        Err(_) => shared.fail(),
    }
}

async fn describe(connection: &RtcPeerConnection, side: Side) -> Result<(), JsValue> {
    let own = match side {
        Side::Offer => connection.create_offer().await?,
        Side::Answer(offer) => {
            connection.set_remote_description(&description(RtcSdpType::Offer, &offer)).await?;
            connection.create_answer().await?
        }
    };
    connection.set_local_description(own.unchecked_ref()).await?;
    Ok(())
}

fn description(kind: RtcSdpType, sdp: &str) -> RtcSessionDescriptionInit {
    let description = RtcSessionDescriptionInit::new(kind);
    description.set_sdp(sdp);
    description
}

#[wasm_bindgen]
extern "C" {
    /// `RTCPeerConnection`, with a `createDataChannel` whose exception Rust can catch. web-sys declares this method
    /// without `catch`: its exception would pass through every caller. The result has no type yet, because an
    /// extension may have replaced the method.
    type Channels;

    #[wasm_bindgen(method, catch, js_name = createDataChannel)]
    fn create_data_channel(
        this: &Channels,
        label: &str,
        init: &RtcDataChannelInit,
    ) -> Result<JsValue, JsValue>;
}

/// Makes a channel. Returns the browser's error when it has no room for a channel or an extension interferes.
fn channel(connection: &RtcPeerConnection, mode: Mode) -> Result<RtcDataChannel, JsValue> {
    let init = RtcDataChannelInit::new();
    init.set_negotiated(true);
    let label = match mode {
        Mode::Unreliable => {
            init.set_id(0);
            init.set_ordered(false);
            init.set_max_retransmits(0);
            "unreliable"
        }
        Mode::Reliable => {
            init.set_id(1);
            "reliable"
        }
    };
    let channel = connection.unchecked_ref::<Channels>().create_data_channel(label, &init)?;
    let channel: RtcDataChannel = channel.dyn_into()?;
    channel.set_binary_type(RtcDataChannelType::Arraybuffer);
    Ok(channel)
}

fn configuration(config: &WebConfig) -> RtcConfiguration {
    let servers = Array::new();
    for server in &config.ice_servers {
        let entry = RtcIceServer::new();
        entry.set_urls_str(&server.url);
        entry.set_username(&server.username);
        entry.set_credential(&server.credential);
        servers.push(&entry);
    }
    let configuration = RtcConfiguration::new();
    configuration.set_ice_servers(&servers);
    configuration
}

fn listen(shared: &Rc<Shared>) -> Result<Vec<Listener>, JsValue> {
    let mut listeners = Vec::with_capacity(11);
    let mut on = |target: &web_sys::EventTarget, kind, callback: fn(&Shared, &Event)| {
        let shared = Rc::clone(shared);
        listeners.push(Listener::on(target, kind, move |event| {
            // Keeps the connection alive during the call: its owner may drop it while it handles the event.
            let shared = Rc::clone(&shared);
            if shared.stage.get() != Stage::Closed {
                callback(&shared, &event);
            }
        })?);
        Ok::<(), JsValue>(())
    };
    let connection = &shared.connection;
    on(connection, "connectionstatechange", |shared, _| shared.on_state_change())?;
    on(connection, "icegatheringstatechange", |shared, _| shared.on_gathering_change())?;
    // Both sides agree on the two channels beforehand: a peer that opens a third one speaks another protocol.
    on(connection, "datachannel", |shared, _| shared.fail())?;
    for channel in [&shared.unreliable, &shared.reliable] {
        on(channel, "open", |shared, _| shared.on_channel_open())?;
        on(channel, "close", |shared, _| shared.fail())?;
        on(channel, "error", |shared, _| shared.fail())?;
    }
    on(&shared.unreliable, "message", |shared, event| shared.on_message(Mode::Unreliable, event))?;
    on(&shared.reliable, "message", |shared, event| shared.on_message(Mode::Reliable, event))?;
    Ok(listeners)
}
