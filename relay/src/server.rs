//! The relay as a server: what it binds, what it answers, how it stops.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderValue, Uri, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use samovar_directory::{Directory, DirectoryConfig};
use samovar_wire::Time;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::RelayError;
use crate::hub::Hub;
use crate::page::Page;
use crate::referee::{Referee, RefereeConfig};
use crate::socket;
use crate::store::{self, Store};

/// How long connections may take to end when the relay stops.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// How long the referee may take to hand its games over when the relay stops.
const LEAVE_WITHIN: Duration = Duration::from_secs(4);

/// What a relay needs to know.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Directory of the key and the terms; created when it is not there.
    pub data: PathBuf,
    /// Directory of the built page; without it the one that was built in, if any.
    pub web: Option<PathBuf>,
    /// Whether the relay hosts games itself, and how.
    pub referee: Option<RefereeConfig>,
}

/// A relay that listens; nobody is answered before [`Relay::run`].
#[derive(Debug)]
pub struct Relay {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    hub: Arc<Hub>,
    disk: Disk,
    referee: Option<Referee>,
}

/// The thread that writes what the directory asks for.
#[derive(Debug)]
struct Disk {
    failure: oneshot::Receiver<RelayError>,
    thread: std::thread::JoinHandle<()>,
}

impl Relay {
    /// Reads the page and the data directory, and listens. To be called within a tokio runtime.
    ///
    /// # Errors
    /// [`RelayError`] says whose fault it is and what to do.
    pub async fn bind(config: ServeConfig) -> Result<Self, RelayError> {
        let ServeConfig { listen, data, web, referee } = config;
        let page = match web {
            Some(directory) => Some(Page::read(&directory)?),
            None => Page::built_in(),
        };
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|source| RelayError::Listen { address: listen, source })?;
        let address =
            listener.local_addr().map_err(|source| RelayError::Listen { address: listen, source })?;
        let (hub, disk) = open_hub(data).await?;
        let router = router(Arc::clone(&hub), page);
        let referee = referee.map(|config| Referee::new(address, config));
        Ok(Self { listener, address, router, hub, disk, referee })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` ends, then tells everybody and closes.
    ///
    /// # Errors
    /// When the disk fails, without which no term can be granted, or the relay itself.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), RelayError> {
        let Self { listener, router, hub, disk, referee, .. } = self;
        let mut timers = tokio::spawn({
            let hub = Arc::clone(&hub);
            async move { hub.run_timers().await }
        });
        let (stop_serving, stopped) = oneshot::channel::<()>();
        // Packets are small and late ones worthless: they must not wait for each other.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let serve = axum::serve(listener, router).with_graceful_shutdown(async { drop(stopped.await) });
        let serve = tokio::spawn(serve.into_future());
        let (stop_referee, referee_stopped) = oneshot::channel::<()>();
        let referee = referee.map(|referee| tokio::spawn(referee.run(referee_stopped)));
        let result = tokio::select! {
            () = stop => Ok(()),
            error = disk.failure => Err(error.unwrap_or_else(|_| broken("keep its disk's thread"))),
            _ = &mut timers => Err(broken("keep its clock")),
        };
        tracing::info!("stopping");
        // While there still is a relay to witness that others take its games over.
        drop(stop_referee);
        if let Some(referee) = referee {
            drop(timeout(LEAVE_WITHIN, referee).await);
        }
        hub.stop();
        drop(stop_serving);
        let ended = async {
            drop(serve.await);
            while hub.sockets() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        drop(timeout(STOP_WITHIN, ended).await);
        timers.abort();
        // Whoever starts a relay on the same data after this one must find the database free.
        hub.release_disk();
        drop(tokio::task::spawn_blocking(|| disk.thread.join()).await);
        result
    }
}

/// Reads the data directory, makes a directory of games of it, and starts the disk's thread.
async fn open_hub(data: PathBuf) -> Result<(Arc<Hub>, Disk), RelayError> {
    let opened = tokio::task::spawn_blocking(move || {
        store::prepare_directory(&data)?;
        let config = DirectoryConfig { secret: store::signing_key(&data)?, entropy: store::random()? };
        let store = Store::open(&data)?;
        let records = store.records()?;
        Ok((config, store, records))
    });
    let (config, store, records) = opened.await.map_err(|error| RelayError::System {
        what: "read its data",
        source: std::io::Error::other(error),
    })??;
    tracing::info!(terms = records.len(), "read the terms granted before");
    let mut directory = Directory::new(&config);
    directory.restore(Time::ZERO, records);
    let (requests, requested) = mpsc::channel();
    let hub = Arc::new(Hub::new(directory, requests));
    let (failed, failure) = oneshot::channel();
    let persisted = {
        let hub = Arc::downgrade(&hub);
        move |terms| {
            if let Some(hub) = hub.upgrade() {
                hub.persisted(&terms);
            }
        }
    };
    let serve = move || {
        if let Err(error) = store.serve(&requested, persisted) {
            drop(failed.send(error));
        }
    };
    let thread = std::thread::Builder::new()
        .name("samovar-disk".to_owned())
        .spawn(serve)
        .map_err(|source| RelayError::System { what: "start the disk's thread", source })?;
    Ok((hub, Disk { failure, thread }))
}

/// What every connection needs has panicked. A relay may die at any time; one that lives on without it may not.
fn broken(what: &'static str) -> RelayError {
    RelayError::System { what, source: std::io::Error::other("it panicked; this is a bug") }
}

fn router(hub: Arc<Hub>, page: Option<Page>) -> Router {
    let page = Arc::new(page);
    let serve_page = get(async move |uri: Uri, headers| match page.as_ref() {
        Some(page) => page.respond(uri.path(), &headers),
        None => no_page(),
    });
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/api/games", get(games))
        .route(
            "/ws",
            get(async |State(hub): State<Arc<Hub>>, upgrade: WebSocketUpgrade| socket::accept(upgrade, hub)),
        )
        .fallback_service(serve_page)
        .layer(map_response(async |mut response: Response| {
            let headers = response.headers_mut();
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
            response
        }))
        .with_state(hub)
}

/// A game of `GET /api/games`.
#[derive(Serialize)]
struct Listed {
    code: String,
    players: u8,
    capacity: u8,
    host: String,
    open: bool,
}

async fn games(State(hub): State<Arc<Hub>>) -> Json<Vec<Listed>> {
    let games = hub.games().into_iter().map(|game| Listed {
        code: game.code.to_string(),
        players: game.listing.players,
        capacity: game.listing.capacity,
        host: game.listing.host_name,
        open: game.listing.open,
    });
    Json(games.collect())
}

fn no_page() -> Response {
    let text = "This relay serves no page: start it with --web and the directory of a built one.\n";
    (axum::http::StatusCode::NOT_FOUND, text).into_response()
}
