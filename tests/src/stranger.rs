//! A WebSocket to the relay that sends any message that a test wants.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_duel::game::params;
use samovar_wire::PROTOCOL_VERSION;
use samovar_wire::relay::{Enter, Entered, FromRelay, Purpose, Refusal, RelayFrame, ToRelay};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::relay::Relay;

/// The longest time until the relay answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A client that is connected to the relay.
#[derive(Debug)]
pub struct Stranger {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Stranger {
    /// Connects to the relay.
    ///
    /// # Panics
    /// The relay does not accept.
    pub async fn connect(relay: &Relay) -> Self {
        let url = format!("ws://{}/ws", relay.address());
        let (socket, _) = connect_async(&url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        Self { socket }
    }

    /// Connects, and asks the relay to be let in for this purpose.
    ///
    /// # Errors
    /// The relay's refusal.
    ///
    /// # Panics
    /// The relay does not answer.
    pub async fn enter(relay: &Relay, purpose: Purpose) -> Result<(Self, Entered), Refusal> {
        let mut stranger = Self::connect(relay).await;
        let enter = Enter { version: PROTOCOL_VERSION, params: params(), purpose };
        stranger.send(RelayFrame::control(&ToRelay::Enter(enter))).await;
        loop {
            match stranger.hear().await.expect("an answer") {
                FromRelay::Entered(entered) => return Ok((stranger, entered)),
                FromRelay::Refused(refusal) => return Err(refusal),
                _ => {}
            }
        }
    }

    /// Sends a message. A relay that has closed already is no failure of a test.
    pub async fn send(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::binary(bytes)).await.ok();
    }

    /// The next control message; `None` when the connection has closed.
    ///
    /// # Panics
    /// There is no message in time, or it breaks the protocol.
    pub async fn hear(&mut self) -> Option<FromRelay> {
        loop {
            let message = timeout(ANSWER_WITHIN, self.socket.next()).await.expect("the relay says something");
            let Some(Ok(message)) = message else { return None };
            if let Message::Binary(bytes) = message
                && let RelayFrame::Control(body) = RelayFrame::decode(&bytes).expect("a frame")
            {
                return Some(FromRelay::decode(body).expect("a message"));
            }
        }
    }

    /// Waits until the relay has closed the connection.
    ///
    /// # Panics
    /// The relay goes on sending.
    pub async fn is_closed(&mut self) {
        for _ in 0..1_000 {
            if self.hear().await.is_none() {
                return;
            }
        }
        panic!("the relay did not close the connection");
    }
}
