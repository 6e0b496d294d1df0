//! The relay's answers over HTTP.

mod cross_origin;
mod request_id;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{ConnectInfo, Extension, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, any, get, post};
use serde::Deserialize;

use crate::bans::{Ban, unix_time};
use crate::door::{Caller, Doorkeeper};
use crate::duration::rounded_up;
use crate::fresh::Fresh;
use crate::games::GameList;
use crate::hub::Hub;
use crate::line::Visitor;
use crate::metrics::Turned;
use crate::overview::Overview;
use crate::page::Page;
use crate::refusals::{ShownOrigin, answer};
use crate::socket;
use request_id::RequestId;

/// The media type of Prometheus' text.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The state that the answers need.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) hub: Arc<Hub>,
    pub(crate) keeper: Arc<Doorkeeper>,
    pub(crate) overview: Arc<Overview>,
    pub(crate) games: Arc<GameList>,
    /// The cached text of the metrics.
    pub(crate) scrape: Arc<Fresh>,
    /// The cached page about the relay.
    pub(crate) page: Arc<Fresh>,
    /// The token of the relay's own referee.
    pub(crate) token: Arc<str>,
    pub(crate) logs_addresses: bool,
}

impl House {
    /// The text of the metrics, which is made a few times a second at most.
    fn metrics(&self) -> Bytes {
        self.scrape.get(Instant::now(), || {
            let mut levels = self.hub.levels();
            levels.tcp = self.keeper.open();
            self.hub.metrics.text(&levels).into()
        })
    }

    fn is_local(&self, ConnectInfo(caller): &ConnectInfo<Caller>, headers: &HeaderMap) -> bool {
        self.keeper.is_local(caller, forwarded_for(headers))
    }
}

/// The public routes. Their answers count against the budget of the caller's address. The metrics are among these
/// routes, for callers on this machine alone, unless the metrics have an address of their own.
pub(crate) fn public(house: House, page: Option<Page>, has_metrics: bool) -> Router {
    let page = Arc::new(page);
    let serve_page = get(async move |uri: Uri, headers| match page.as_ref() {
        Some(page) => page.respond(uri.path(), &headers),
        None => no_page(),
    });
    let mut router = Router::new()
        .route("/healthz", health())
        .route("/readyz", get(readiness))
        .route("/api/games", get(games))
        .route("/api/crashed", post(page_crashed))
        // Any method, so that a page whose socket was refused can ask for the reason by a method that names its origin.
        .route("/ws", any(web_socket));
    if has_metrics {
        router = router.route("/metrics", get(local_metrics)).route("/status", get(local_status));
    }
    let paid = from_fn_with_state(house.clone(), pay);
    finish(router.fallback_service(serve_page).layer(paid), house)
}

/// The operator's routes.
pub(crate) fn private(house: House) -> Router {
    let router = Router::new()
        .route("/healthz", health())
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .route("/", get(status));
    finish(router, house)
}

fn finish(router: Router<House>, house: House) -> Router {
    let with_headers = map_response(async |mut response: Response| {
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        response
    });
    let share = from_fn_with_state(house.clone(), cross_origin::share);
    let number = from_fn_with_state(house.clone(), request_id::number);
    router.layer(share).layer(with_headers).layer(number).with_state(house)
}

/// Answers that the process lives.
fn health() -> MethodRouter<House> {
    get(async || "ok\n")
}

/// Tells whether games can be founded. Load balancers in front of several relays ask this.
async fn readiness(State(house): State<House>) -> Response {
    match house.hub.unready() {
        None => "ready\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

async fn metrics(State(house): State<House>) -> Response {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], house.metrics()).into_response()
}

/// A page for people about the relay.
async fn status(State(house): State<House>) -> Response {
    let page = house
        .page
        .get(Instant::now(), || house.overview.page(&String::from_utf8_lossy(&house.metrics())).into());
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
    ];
    (headers, page).into_response()
}

async fn local_metrics(house: State<House>, caller: ConnectInfo<Caller>, headers: HeaderMap) -> Response {
    if house.is_local(&caller, &headers) { metrics(house).await } else { not_local() }
}

async fn local_status(house: State<House>, caller: ConnectInfo<Caller>, headers: HeaderMap) -> Response {
    if house.is_local(&caller, &headers) { status(house).await } else { not_local() }
}

fn not_local() -> Response {
    let text =
        "The metrics are for this machine, or at the address that the relay's setting --metrics names.\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Tells a banned caller how long.
fn banned_until(ban: &Ban) -> Response {
    let left = ban.until.map(|until| until.saturating_sub(unix_time()));
    let end = left.map_or_else(String::new, |left| format!(" for another {}", rounded_up(left)));
    let text = format!("The operator of this relay lets nobody in from your address{end}.\n");
    let headers = [(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (StatusCode::FORBIDDEN, headers, text).into_response()
}

/// Counts an answer against the budget of its receiver's address, as packets of peers at that address are counted.
/// Refuses if the budget does not cover the answer soon.
async fn pay(
    State(house): State<House>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let banned = house.keeper.banned(&caller, forwarded_for(&headers));
    let response = match &banned {
        Some(ban) => {
            house.keeper.refusals.note(Turned::Banned);
            banned_until(ban)
        }
        None => next.run(request).await,
    };
    let bytes = response.body().size_hint().lower();
    match house.keeper.pay(&caller, forwarded_for(&headers), bytes).await {
        Ok(()) => response,
        Err(reason) => {
            house.keeper.refusals.note(reason);
            answer(reason, ShownOrigin(b""))
        }
    }
}

/// Answers a peer that asks for a WebSocket.
async fn web_socket(
    State(house): State<House>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    Query(shown): Query<ShownToken>,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let refusals = &house.keeper.refusals;
    // Browsers always name the page. Other clients could name any page, so this check restricts only pages.
    let origin = headers.get(header::ORIGIN).map_or(&b""[..], HeaderValue::as_bytes);
    let is_own = shown.own.is_some_and(|own| *own == *house.token);
    let shown = ShownOrigin(origin);
    if headers.contains_key(header::ORIGIN) && !house.hub.limits.all().admits_origin(origin) {
        refusals.note_page(shown);
        return answer(Turned::Origin, shown);
    }
    let (address, place) = match house.keeper.place(&caller, forwarded_for(&headers)) {
        Ok(place) => place,
        Err(reason) => {
            refusals.note(reason);
            return answer(reason, shown);
        }
    };
    let Ok(upgrade) = upgrade else {
        // A request with this line asks for a WebSocket, and a proxy has left out the other lines. A request without
        // the line may come from a person who visits this address, and is no fault to report.
        if headers.contains_key(header::SEC_WEBSOCKET_KEY) {
            refusals.note(Turned::NoUpgrade);
        }
        return answer(Turned::NoUpgrade, shown);
    };
    let logged: Option<IpAddr> = house.logs_addresses.then_some(address);
    tracing::debug!(request = request.0, address = logged.map(tracing::field::display), "a peer connects");
    // An address without limits is a proxy's own, and not a client's.
    let address = place.as_ref().map(|_| address);
    Doorkeeper::upgrade(&caller);
    socket::accept(upgrade, house.hub, Visitor { place, is_own, address, request: request.0 })
}

/// The query of a WebSocket's address.
#[derive(Debug, Deserialize)]
struct ShownToken {
    own: Option<String>,
}

/// The listed games.
async fn games(State(house): State<House>) -> Response {
    let body = house.games.body(Instant::now(), || house.hub.games());
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Counts a page that ended by an error. The request has no content.
async fn page_crashed(
    State(house): State<House>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    headers: HeaderMap,
) -> StatusCode {
    if let Err(reason) = house.keeper.hear(&caller, forwarded_for(&headers)) {
        house.keeper.refusals.note(reason);
        return StatusCode::TOO_MANY_REQUESTS;
    }
    house.hub.metrics.page_crashed();
    StatusCode::NO_CONTENT
}

/// The proxies' statements about their clients; of several lines the last is the nearest proxy's.
fn forwarded_for(headers: &HeaderMap) -> impl DoubleEndedIterator<Item = &[u8]> {
    headers.get_all("x-forwarded-for").iter().map(HeaderValue::as_bytes)
}

fn no_page() -> Response {
    let text = "This relay serves no page: start it with --web and the directory of a built one.\n";
    (StatusCode::NOT_FOUND, text).into_response()
}
