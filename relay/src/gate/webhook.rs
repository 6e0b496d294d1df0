//! The relay's question to the game's own server: one `POST` for each peer that wants to enter. The server's answer is
//! bounded in time and in bytes, and so is the number of questions at a time.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use samovar_peer_native::fit_name;
use samovar_wire::Vouched;
use samovar_wire::limits::TOLD_MAX;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tracing::Instrument as _;

use super::token::{Role, failed, read_secret};
use super::{Question, WebhookConfig};
use crate::error::RelayError;
use crate::network::Network;
use crate::seldom::Seldom;
use crate::tls::roots;
use crate::value::HttpUrl;

/// The most questions at a time; further ones wait.
const AT_ONCE: usize = 64;
/// The longest answer, in bytes, and the longest head of an answer.
const ANSWER_MAX: usize = 16 * 1_024;
/// The text for a player when the server does not answer.
const NO_ANSWER: &str = "The game's server does not answer. Try again in a moment.";

/// The most questions at a time about peers of one address.
const AT_ONCE_OF_ADDRESS: usize = 4;
/// The text for a player when others of its address are being asked about.
const TOO_MANY: &str = "Too many players of your network enter at once. Try again in a moment.";

/// The questions about peers of each address.
#[derive(Debug, Default)]
struct Asking(Mutex<HashMap<Network, usize>>);

/// One question's place.
struct Place<'a> {
    asking: &'a Asking,
    network: Network,
}

impl Asking {
    /// A place for a question about a peer of this address; `None` when there are as many as may be. Peers without an
    /// address have no such bound.
    fn place(&self, address: Option<IpAddr>) -> Option<Option<Place<'_>>> {
        let Some(address) = address else { return Some(None) };
        let network = Network::of_household(address);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(network).or_default();
        if *count >= AT_ONCE_OF_ADDRESS {
            return None;
        }
        *count += 1;
        Some(Some(Place { asking: self, network }))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self.asking.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.network);
            }
        }
    }
}

/// The server.
#[derive(Debug)]
pub(super) struct Webhook {
    url: HttpUrl,
    authorization: Option<HeaderValue>,
    tls: Option<Tls>,
    within: Duration,
    turns: Semaphore,
    asking: Asking,
    untold: Seldom,
}

struct Tls(TlsConnector, ServerName<'static>);

/// The server's answer.
#[derive(Debug, Deserialize)]
struct Answer {
    allow: bool,
    /// The player's name, in place of that of its token and its own.
    name: Option<String>,
    /// The player's role, in place of that of its token and its own.
    role: Option<Role>,
    /// Why the player may not enter, in words for the player.
    reason: Option<String>,
}

impl Webhook {
    /// # Errors
    /// A file cannot be used.
    pub(super) fn new(config: WebhookConfig) -> Result<Self, RelayError> {
        let WebhookConfig { url, secret, authority, within } = config;
        let authorization = match secret {
            Some(path) => {
                let secret = [b"Bearer ", &read_secret(&path)?[..]].concat();
                let mut value = HeaderValue::from_bytes(&secret)
                    .map_err(|_| failed(&path, "a secret is one line without control characters"))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let tls = if url.is_secure() {
            let config = roots::client(authority.as_deref())?;
            let name = ServerName::try_from(url.host().to_owned()).map_err(|error| RelayError::System {
                what: "ask the server of --webhook",
                source: io::Error::other(error),
            })?;
            Some(Tls(TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        Ok(Self {
            url,
            authorization,
            tls,
            within,
            turns: Semaphore::new(AT_ONCE),
            asking: Asking::default(),
            untold: Seldom::default(),
        })
    }

    /// Asks about a peer.
    ///
    /// # Errors
    /// The peer may not enter; the text is for the player.
    pub(super) async fn ask(
        &self,
        question: &Question<'_>,
        address: Option<IpAddr>,
    ) -> Result<Vouched, Option<String>> {
        // A few addresses must not keep the server from hearing of others.
        let Some(_place) = self.asking.place(address) else {
            return Err(Some(TOO_MANY.to_owned()));
        };
        let asked = async {
            let turn = self.turns.acquire().await.map_err(|error| error.to_string())?;
            let span = tracing::info_span!(
                "webhook",
                otel.name = "POST",
                otel.kind = "client",
                server.address = self.url.host(),
                action = question.action,
            );
            let answer = self.post(question).instrument(span).await?;
            drop(turn);
            Ok(answer)
        };
        let answer: Result<Answer, String> = timeout(self.within, asked)
            .await
            .unwrap_or_else(|_| Err(format!("it has not answered for {} s", self.within.as_secs_f32())));
        match answer {
            Ok(Answer { allow: true, name, role, .. }) => {
                let name = name.as_deref().map(fit_name).filter(|name| !name.is_empty());
                Ok(Vouched { name, watches: role.map(Role::watches) })
            }
            Ok(Answer { reason, .. }) => Err(reason.map(|reason| readable(&reason))),
            Err(error) => {
                if let Some(times) = self.untold.happened(std::time::Instant::now()) {
                    tracing::error!(error, times, "the server of --webhook fails, so peers are refused");
                }
                Err(Some(NO_ANSWER.to_owned()))
            }
        }
    }

    async fn post(&self, question: &Question<'_>) -> Result<Answer, String> {
        let body = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.url.path())
            .header(HOST, self.url.authority())
            .header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
        #[cfg(feature = "otel")]
        let request = {
            let mut request = request;
            crate::traces::carry(request.headers_mut());
            request
        };
        let stream = TcpStream::connect((self.url.host(), self.url.port())).await;
        let stream = stream.map_err(|error| format!("it cannot be reached ({error})"))?;
        match &self.tls {
            Some(Tls(connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await;
                exchange(stream.map_err(|error| format!("TLS fails ({error})"))?, request).await
            }
            None => exchange(stream, request).await,
        }
    }
}

/// Sends a request, and reads the answer.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, String> {
    let mut connections = http1::Builder::new();
    connections.max_buf_size(ANSWER_MAX);
    let (mut sender, connection) =
        connections.handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            return Err(format!("its status is {}, and not 200", response.status()));
        }
        let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
        let body = body.map_err(|error| format!("its answer cannot be read ({error})"))?.to_bytes();
        serde_json::from_slice(&body).map_err(|error| format!("its answer is none ({error})"))
    };
    let mut exchange = pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // An answer that came before the end is read all the same; without one there is an error.
        _ = connection => exchange.await,
    }
}

/// A text for a player: one line, and short.
fn readable(text: &str) -> String {
    let mut line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    line.truncate(line.floor_char_boundary(TOLD_MAX));
    line
}

impl core::fmt::Debug for Tls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Tls").field(&self.1).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(readable("Not\r\ntoday\u{1b}[2J."), "Not  today [2J.");
        let long = readable(&"ä".repeat(150));
        assert!(long.len() <= TOLD_MAX && long.chars().all(|letter| letter == 'ä'));
    }
}
