//! Pages of other origins may use `/api/*` like the relay's own pages, if `--origin` admits them.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::House;

/// The time for which a browser may cache the permission, in seconds.
const REMEMBERED: &str = "600";

/// For the API, tells a browser whether a page may read an answer, and whether it may send a request (the Fetch
/// standard, §3.2).
pub(super) async fn share(State(house): State<House>, request: Request, next: Next) -> Response {
    if !request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let limits = house.hub.limits.all();
    let origin = request.headers().get(header::ORIGIN).cloned();
    let asks_whether = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response =
        if asks_whether { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    let is_admitted = match origin {
        _ if limits.origins.is_empty() => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            true
        }
        // The answer depends on the origin that asks, and `Vary` tells this to caches, even if this origin is not
        // admitted.
        origin => {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
            let admitted = origin.filter(|origin| limits.admits_origin(origin.as_bytes()));
            admitted.map(|origin| headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin)).is_some()
        }
    };
    if asks_whether && is_admitted {
        allow(headers);
    }
    response
}

fn allow(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
