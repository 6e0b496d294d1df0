//! Connections that are refused before they are a WebSocket. The caller is told the reason and what to do. The log
//! tells the operator, too: the first of each kind at once, and the others once a minute.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::metrics::{Metrics, Turned};
use crate::seldom::Seldom;

/// The most bytes of an origin that are shown.
const ORIGIN_MAX: usize = 120;

/// Counts and logs refusals.
#[derive(Debug)]
pub(crate) struct Refusals {
    metrics: Arc<Metrics>,
    untold: [Seldom; Turned::COUNT],
}

/// A page's origin as its browser states it. It is untrusted, so it is shown without characters that no origin has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownOrigin<'a>(pub(crate) &'a [u8]);

impl Refusals {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, untold: std::array::from_fn(|_| Seldom::default()) }
    }

    /// Counts a refusal, and logs it if a line is due.
    pub(crate) fn note(&self, reason: Turned) {
        self.tell(reason, None);
    }

    /// Counts the refusal of a page, and logs it with the page's origin if a line is due.
    pub(crate) fn note_page(&self, origin: ShownOrigin<'_>) {
        self.tell(Turned::Origin, Some(origin));
    }

    fn tell(&self, reason: Turned, origin: Option<ShownOrigin<'_>>) {
        self.metrics.turned(reason);
        if let Some(times) = self.untold[reason as usize].happened(Instant::now()) {
            let origin = origin.map(tracing::field::display);
            tracing::warn!(reason = reason.label(), times, origin, "refused: {}", for_operator(reason));
        }
    }
}

impl fmt::Display for ShownOrigin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().take(ORIGIN_MAX).filter(|byte| byte.is_ascii_graphic());
        shown.map(|byte| char::from(*byte)).try_for_each(|letter| fmt::Write::write_char(f, letter))
    }
}

/// The answer to a refused caller. Any page may read it, because it tells nothing about other callers.
pub(crate) fn answer(reason: Turned, origin: ShownOrigin<'_>) -> Response {
    let (status, text) = words(reason, origin);
    let mut answer = (status, text).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    if status == StatusCode::UPGRADE_REQUIRED {
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    answer
}

/// Status and text for the refused caller: the side at fault, and what to do.
pub(crate) fn words(reason: Turned, origin: ShownOrigin<'_>) -> (StatusCode, String) {
    let busy = StatusCode::SERVICE_UNAVAILABLE;
    let (status, text) = match reason {
        Turned::Origin => {
            let text = format!(
                "This relay is not for pages of {origin}. Whoever runs the relay lets them in with --origin {origin}.\n"
            );
            return (StatusCode::FORBIDDEN, text);
        }
        Turned::Connections => (
            busy,
            "The relay has as many connections as it takes (its setting --connections). Try again later.\n",
        ),
        Turned::Descriptors => (
            busy,
            "The relay's system lets it open no more connections. Try again later; whoever runs the relay raises its \
             limit of open files.\n",
        ),
        Turned::AddressConnections => (
            StatusCode::TOO_MANY_REQUESTS,
            "Too many connections come from this address (the relay's setting --address-connections). Close some tabs, or \
             try again later. If this is everybody behind a proxy, whoever runs the relay names it with --trusted-proxy.\n",
        ),
        Turned::AddressOpens => (
            StatusCode::TOO_MANY_REQUESTS,
            "Too many connections were opened from this address in a second (the relay's setting --address-opens). Try again \
             in a moment. If this is everybody behind a proxy, whoever runs the relay names it with --trusted-proxy.\n",
        ),
        Turned::AddressRate => (
            StatusCode::TOO_MANY_REQUESTS,
            "This address has had as many answers as it may (the relay's settings --address-packets and --address-bytes). Try \
             again in a moment. If this is everybody behind a proxy, whoever runs the relay names it with --trusted-proxy.\n",
        ),
        Turned::NoUpgrade => (
            StatusCode::UPGRADE_REQUIRED,
            "Games connect here by WebSocket, and this request came without the lines Upgrade and Connection. If a game does \
             not connect, a proxy in front of the relay leaves them out: whoever runs it finds the lines for nginx and Caddy \
             in docs/relay.md.\n",
        ),
        Turned::Banned => {
            (StatusCode::FORBIDDEN, "The operator of this relay lets nobody in from your address.\n")
        }
        Turned::Handshake | Turned::RequestSize => {
            (StatusCode::BAD_REQUEST, "This is no request of a game.\n")
        }
    };
    (status, text.to_owned())
}

/// The reason in words for the operator, with a remedy.
const fn for_operator(reason: Turned) -> &'static str {
    match reason {
        Turned::Connections => "there are as many connections as --connections allows",
        Turned::AddressConnections => {
            "an address has as many connections as --address-connections allows; if it is a proxy's, name it with --trusted-proxy"
        }
        Turned::AddressOpens => {
            "an address opened more connections in a second than --address-opens allows; if it is a proxy's, name it with \
             --trusted-proxy"
        }
        Turned::AddressRate => {
            "an address asked for more than --address-packets or --address-bytes allow; if it is a proxy's, name it with \
             --trusted-proxy"
        }
        Turned::Banned => "an address that was banned; `samovar-relay admin bans` lists them",
        Turned::Handshake => "a connection did not say within --handshake seconds what it wants",
        Turned::Origin => "a page that is not among those of --origin",
        Turned::RequestSize => "a request was larger than 16 KiB",
        Turned::NoUpgrade => {
            "a WebSocket was asked for without the lines Upgrade and Connection: a proxy in front leaves them out \
             (docs/relay.md has the lines for nginx and Caddy)"
        }
        Turned::Descriptors => {
            "the system gives no more descriptors: raise the limit of open files (LimitNOFILE of systemd, ulimit -n), or \
             lower --connections"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_one_line_whatever_the_origin_holds() {
        let origin = ShownOrigin(b"https://evil.example\r\nx: \x1b[31m");
        for reason in Turned::ALL {
            let (status, text) = words(reason, origin);
            assert!(status.is_client_error() || status.is_server_error(), "{reason:?}");
            assert!(text.ends_with(".\n") && text.matches('\n').count() == 1, "{text}");
        }
        let (_, text) = words(Turned::Origin, origin);
        assert!(text.contains("--origin https://evil.examplex:[31m."), "{text}");
        assert!(ShownOrigin(&[b'a'; 10_000]).to_string().len() == ORIGIN_MAX);
    }
}
