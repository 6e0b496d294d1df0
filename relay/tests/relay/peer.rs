//! The other end of the relay's WebSocket, byte by byte.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, RelayFrame, Signal, ToRelay};
use samovar_wire::{GameCode, Mode, PROTOCOL_VERSION, PeerId};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::process::RelayProcess;

const PATIENCE: Duration = Duration::from_secs(10);

/// A message of the relay. Pulses and probes are left out.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and patterns cannot look into a box")]
pub(crate) enum Heard {
    Control(FromRelay),
    Packet { from: PeerId, mode: Mode, payload: Vec<u8> },
    Closed(Option<u16>),
}

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

pub(crate) fn code(text: &str) -> GameCode {
    GameCode::parse(text).expect("a code")
}

impl Peer {
    pub(crate) async fn connect(relay: &RelayProcess) -> Self {
        Self::connect_with(relay, &[]).await.expect("the relay accepts")
    }

    /// Connects with further headers. Returns the status code if the relay refuses.
    pub(crate) async fn connect_with(
        relay: &RelayProcess,
        headers: &[(&'static str, &'static str)],
    ) -> Result<Self, u16> {
        let mut request = format!("ws://{}/ws", relay.address).into_client_request().expect("a request");
        for &(name, value) in headers {
            request.headers_mut().append(name, HeaderValue::from_static(value));
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("not refused by HTTP: {error}"),
        }
    }

    /// Connects and enters a game.
    pub(crate) async fn enter(relay: &RelayProcess, purpose: Purpose) -> (Self, Entered) {
        Self::connect(relay).await.go_in(purpose).await
    }

    /// Enters a game.
    pub(crate) async fn go_in(self, purpose: Purpose) -> (Self, Entered) {
        let mut peer = self;
        peer.tell(&ToRelay::Enter(Enter { version: PROTOCOL_VERSION, params: 1, purpose })).await;
        match peer.hear().await {
            Heard::Control(FromRelay::Entered(entered)) => (peer, entered),
            other => panic!("not entered: {other:?}"),
        }
    }

    pub(crate) async fn create(relay: &RelayProcess, text: &str) -> (Self, Entered) {
        Self::enter(relay, Purpose::Create(Some(code(text)))).await
    }

    pub(crate) async fn join(relay: &RelayProcess, text: &str) -> (Self, Entered) {
        Self::enter(relay, Purpose::Join(code(text))).await
    }

    /// Names the members to the relay as their host, whose id comes first. Waits until the relay has read the list.
    pub(crate) async fn name(&mut self, members: &[PeerId]) {
        self.tell(&ToRelay::Members(members.to_vec(), 0)).await;
        let (me, echo) = (members[0], Signal::Answer(0, String::new()));
        self.tell(&ToRelay::Signal(me, echo.clone())).await;
        assert_eq!(self.hear().await, Heard::Control(FromRelay::Signal(me, echo)));
    }

    pub(crate) async fn tell(&mut self, message: &ToRelay) {
        self.send(RelayFrame::control(message)).await;
    }

    pub(crate) async fn send(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::binary(bytes)).await.expect("sends");
    }

    pub(crate) async fn hear(&mut self) -> Heard {
        timeout(PATIENCE, self.next()).await.expect("the relay says something in time")
    }

    /// Waits for something else, and answers the relay's pings meanwhile: a socket that is silent for 6 s is closed.
    pub(crate) async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        tokio::select! {
            done = other => done,
            heard = self.next() => panic!("the relay says meanwhile: {heard:?}"),
        }
    }

    async fn next(&mut self) -> Heard {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Binary(bytes))) => match RelayFrame::decode(&bytes).expect("a frame") {
                    RelayFrame::Control(body) => match FromRelay::decode(body).expect("a message") {
                        FromRelay::Pulse | FromRelay::Probe(_) | FromRelay::Pass(_) => {}
                        message => return Heard::Control(message),
                    },
                    RelayFrame::Forward { peer, mode, payload } => {
                        return Heard::Packet { from: peer, mode, payload: payload.to_vec() };
                    }
                },
                Some(Ok(Message::Close(frame))) => {
                    return Heard::Closed(frame.map(|CloseFrame { code, .. }| code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Heard::Closed(None),
            }
        }
    }
}
