//! A number for each request, which connects the lines of the log about it. A trusted proxy may have given it one.

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;
use tracing::Instrument as _;
use tracing::field::Empty;

use super::House;
use crate::door::Caller;

/// The header of the number, in both directions.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest number of a proxy, in bytes.
const LENGTH_MAX: usize = 64;

/// The number of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    fn new(headers: &HeaderMap, is_trusted: bool) -> Self {
        let given = headers.get(HEADER).and_then(|given| given.to_str().ok()).filter(|given| {
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            is_trusted && (1..=LENGTH_MAX).contains(&given.len()) && given.bytes().all(is_safe)
        });
        Self(given.map_or_else(drawn, str::to_owned))
    }
}

/// A random number in hexadecimal digits.
fn drawn() -> String {
    let mut bytes = [0; 8];
    // Without randomness the requests have the same number, which no answer depends on.
    let _ = getrandom::fill(&mut bytes);
    format!("{:016x}", u64::from_le_bytes(bytes))
}

/// Gives a request its number, and logs the answer at the level `debug`.
pub(super) async fn number(State(house): State<House>, mut request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<ConnectInfo<Caller>>();
    let is_trusted = caller.is_some_and(|ConnectInfo(caller)| house.keeper.is_proxy(caller));
    let id = RequestId::new(request.headers(), is_trusted);
    request.extensions_mut().insert(id.clone());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let start = Instant::now();
    let span = tracing::info_span!(
        "request",
        otel.name = %method,
        otel.kind = "server",
        request = id.0,
        http.request.method = %method,
        url.path = path,
        http.response.status_code = Empty,
    );
    #[cfg(feature = "otel")]
    if is_trusted {
        crate::traces::continue_from(&span, request.headers());
    }
    let mut response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::debug!(request = id.0, %method, path, status = response.status().as_u16(), micros, "answered");
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_gives_numbers() {
        let headers = |given: &'static str| HeaderMap::from_iter([(HEADER, HeaderValue::from_static(given))]);
        assert_eq!(RequestId::new(&headers("tea-1.2_3"), true).0, "tea-1.2_3");
        for (given, is_trusted) in [("tea", false), ("", true), ("a b", true), ("a\"b", true)] {
            let drawn = RequestId::new(&headers(given), is_trusted).0;
            assert!(drawn.len() == 16 && drawn != given, "{drawn}");
        }
        assert_ne!(RequestId::new(&HeaderMap::new(), true).0, RequestId::new(&HeaderMap::new(), true).0);
    }
}
