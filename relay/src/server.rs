//! The relay as a server: its sockets, its answers, its stop.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::Router;
use samovar_directory::{Directory, DirectoryConfig};
use samovar_wire::{GameCode, Time};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc as orders, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::admin::LogSwitch;
#[cfg(unix)]
use crate::admin::{AdminSocket, Ruler};
use crate::bans::Bans;
use crate::data;
use crate::door::{Caller, Door, Doorkeeper, OriginKey};
use crate::endpoint::{Endpoint, UdpConfig};
use crate::error::RelayError;
use crate::frames::FrameAncestors;
use crate::gate::{Gate, GateConfig};
use crate::hub::Hub;
use crate::limits::{LimitWords, Limits, LiveLimits};
use crate::metrics::Metrics;
use crate::order::Order;
use crate::overview::Overview;
use crate::page::Page;
use crate::reach::Reach;
use crate::redirect;
use crate::referee::{Referee, RefereeConfig};
use crate::refusals::Refusals;
use crate::routes::{self, House};
use crate::store::Store;
use crate::tls::{Renewal, Tls, TlsConfig};

/// The bytes that the system may hold for each connection until they are sent. Linux takes twice this number, its own
/// bookkeeping included.
const SEND_BUFFER: u32 = 128 * 1_024;

/// The number of connections that the system holds until they are accepted.
const BACKLOG: u32 = 1_024;

/// The longest time for connections to end when the relay stops.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// The longest time for the disk when the relay stops.
const WRITE_WITHIN: Duration = Duration::from_secs(5);

/// The longest time for the referee to hand over its games when the relay stops.
const LEAVE_WITHIN: Duration = Duration::from_secs(4);

/// The most orders that wait.
#[cfg(unix)]
const ORDERS_MAX: usize = 4;

/// The time between two looks for remaining games while the relay drains.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The configuration of a relay.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The address to listen at; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The origin of the certificate, if the relay speaks HTTPS.
    pub tls: Option<TlsConfig>,
    /// The address at which browsers are sent from HTTP to HTTPS, if any.
    pub redirect: Option<SocketAddr>,
    /// The endpoint of members' data channels, if any.
    pub udp: Option<UdpConfig>,
    /// Directory of the key and the terms; created if it does not exist.
    pub data: PathBuf,
    /// Directory of the built page; without it the built-in page, if any.
    pub web: Option<PathBuf>,
    /// The pages that may show this one in a frame.
    pub frames: FrameAncestors,
    /// The settings of the referee, if the relay hosts games itself.
    pub referee: Option<RefereeConfig>,
    /// The address of the metrics, if they are not among the public routes; port 0 takes a free one.
    pub metrics: Option<SocketAddr>,
    /// Whether peers' addresses may be logged.
    pub logs_addresses: bool,
    /// The longest time for games to go on when the relay is asked to stop; zero stops at once.
    pub drain: Duration,
    /// The switch of the log's filter, for the operator.
    pub log: Option<LogSwitch>,
    /// The gate: which peers may enter.
    pub gate: GateConfig,
    /// The limits, which may change later.
    pub limits: Limits,
    /// How limits are written and changed by words.
    pub limit_words: LimitWords,
}

/// A relay that listens; it answers nothing before [`Relay::run`].
#[derive(Debug)]
pub struct Relay {
    door: Door,
    address: SocketAddr,
    router: Router,
    tls: Option<Tls>,
    redirect: Option<(Door, Router)>,
    /// The door of the relay's own referee, if the public one has TLS.
    inner: Option<Door>,
    private: Option<(Door, SocketAddr, Router)>,
    #[cfg(unix)]
    admin: Option<(AdminSocket, Arc<Ruler>, orders::Receiver<Order>)>,
    endpoint: Option<Endpoint>,
    hub: Arc<Hub>,
    disk: Disk,
    referee: Option<Referee>,
    drain: Duration,
}

/// The thread that writes the directory's records.
#[derive(Debug)]
struct Disk {
    failure: oneshot::Receiver<RelayError>,
    thread: std::thread::JoinHandle<()>,
}

/// The running referee: its task, and the sender whose drop asks it to leave. Both are `None` if the relay has no
/// referee.
struct Sitting {
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Relay {
    /// Reads the page and the data directory, and listens. The caller must be within a tokio runtime.
    ///
    /// # Errors
    /// [`RelayError`] names the side at fault and what to do.
    pub async fn bind(config: ServeConfig) -> Result<Self, RelayError> {
        let ServeConfig {
            listen,
            tls,
            redirect,
            udp,
            data,
            web,
            frames,
            referee,
            metrics,
            logs_addresses,
            drain,
            log,
            gate,
            limits,
            limit_words,
        } = config;
        let page = match web {
            Some(directory) => Some(Page::read(&directory, &frames)?),
            None => Page::built_in(&frames),
        };
        let tls = tls.map(|config| Tls::new(config, &data)).transpose()?;
        let acceptor = tls.as_ref().map(Tls::acceptor);
        let (listener, address) = listen_at(listen, "--listen").await?;
        let redirect = match redirect {
            Some(http) => Some((listen_at(http, "--redirect").await?.0, redirect_to(tls.as_ref(), address))),
            None => None,
        };
        let private = match metrics {
            Some(address) => Some(listen_at(address, "--metrics").await?),
            None => None,
        };
        warn_of_few_files(limits.connections);
        let limits = Arc::new(LiveLimits::new(limits));
        let counts = Arc::new(Metrics::new());
        let refusals = Arc::new(Refusals::new(Arc::clone(&counts)));
        let endpoint = udp.map(|udp| Endpoint::bind(&udp)).transpose()?;
        let reach = endpoint.as_ref().map(Endpoint::reach);
        let own_code = referee.as_ref().map(|referee| referee.code.clone());
        let gate = if gate.is_open() { None } else { Some(Gate::new(gate)?) };
        let hub = open_hub((data.clone(), own_code), (reach, gate), Arc::clone(&limits), counts).await?;
        let (hub, disk, origins, bans) = hub;
        let (names, known) = (OriginKey::clone(&origins), Arc::clone(&bans));
        let keeper = Arc::new(Doorkeeper::new(limits, Arc::clone(&refusals), names, known));
        let token: String = data::random()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let overview = Arc::new(Overview::new(Arc::clone(&hub), Arc::clone(&keeper), bans));
        let house = House {
            hub: Arc::clone(&hub),
            keeper: Arc::clone(&keeper),
            overview: Arc::clone(&overview),
            games: Arc::default(),
            scrape: Arc::default(),
            page: Arc::default(),
            token: token.as_str().into(),
            logs_addresses,
        };
        let private = private.map(|(listener, address)| {
            // The private door has places of its own: a crowd at the public door must not lock out the operator.
            let keeper =
                Arc::new(Doorkeeper::new(Arc::clone(&hub.limits), refusals, origins, Arc::new(Bans::none())));
            (Door::new(listener, keeper, None), address, routes::private(house.clone()))
        });
        #[cfg(unix)]
        let admin = listen_to_operator(&data, overview, (log, limit_words));
        let router = routes::public(house, page, private.is_none());
        // Its connections count with those of the public door.
        let redirect =
            redirect.map(|(listener, router)| (Door::new(listener, Arc::clone(&keeper), None), router));
        let mut inner = None;
        let mut own_address = address;
        if acceptor.is_some() && referee.is_some() {
            let (listener, address) = listen_at((Ipv4Addr::LOCALHOST, 0).into(), "--referee").await?;
            own_address = address;
            inner = Some(Door::new(listener, Arc::clone(&keeper), None));
        }
        let referee = referee.map(|config| Referee::new(own_address, &token, config));
        let door = Door::new(listener, keeper, acceptor);
        Ok(Self {
            door,
            address,
            router,
            tls,
            redirect,
            inner,
            private,
            #[cfg(unix)]
            admin,
            endpoint,
            hub,
            disk,
            referee,
            drain,
        })
    }

    /// The address that the relay listens at.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the relay speaks HTTPS.
    #[must_use]
    pub const fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The address of the operator's routes, if that is not [`Relay::address`].
    #[must_use]
    pub fn private_address(&self) -> Option<SocketAddr> {
        self.private.as_ref().map(|(_, address, _)| *address)
    }

    /// The address of members' data channels, if any.
    #[must_use]
    pub fn udp_address(&self) -> Option<SocketAddr> {
        self.endpoint.as_ref().map(Endpoint::address)
    }

    /// Serves until told to stop, or until all senders of orders are dropped; then it tells all peers and closes.
    ///
    /// # Errors
    /// The disk fails, without which no term can be granted, or the relay itself fails.
    pub async fn run(self, orders: orders::Receiver<Order>) -> Result<(), RelayError> {
        let Self { door, router, tls, redirect, inner, private, endpoint, hub, disk, referee, drain, .. } =
            self;
        #[cfg(unix)]
        let admin = self.admin;
        let mut timers = tokio::spawn({
            let hub = Arc::clone(&hub);
            async move { hub.run_timers().await }
        });
        let (stop_serving, stopped) = oneshot::channel::<()>();
        let renewal = tls.as_ref().map(Tls::renewal);
        let mut renewing = tls.map(|tls| tokio::spawn(tls.run()));
        let redirect = redirect.map(|(door, router)| tokio::spawn(axum::serve(door, router).into_future()));
        let service = router.into_make_service_with_connect_info::<Caller>();
        let inner = inner.map(|door| tokio::spawn(axum::serve(door, service.clone()).into_future()));
        let serve = axum::serve(door, service).with_graceful_shutdown(async { drop(stopped.await) });
        let serve = tokio::spawn(serve.into_future());
        let private = private.map(|(door, _, router)| tokio::spawn(axum::serve(door, router).into_future()));
        let channels = endpoint.map(|endpoint| endpoint.start(Arc::clone(&hub))).transpose()?;
        let (channels, channels_ended) = channels.unzip();
        let channels_ended = async {
            match channels_ended {
                Some(mut ended) => drop(ended.recv().await),
                None => std::future::pending().await,
            }
        };
        let mut sitting = Sitting::new(referee);
        #[cfg(unix)]
        let (admin, own_orders) =
            admin.map(|(socket, ruler, orders)| (tokio::spawn(socket.serve(ruler)), orders)).unzip();
        #[cfg(not(unix))]
        let (admin, own_orders) = (None::<JoinHandle<()>>, None);
        let result = tokio::select! {
            () = obey((orders, own_orders), (&hub, renewal.as_ref()), &mut sitting, drain) => Ok(()),
            error = disk.failure => Err(error.unwrap_or_else(|_| broken("keep its disk's thread"))),
            _ = &mut timers => Err(broken("keep its clock")),
            () = channels_ended => Err(broken("keep its UDP port")),
            () = ended_task(renewing.as_mut()) => Err(broken("renew its certificate")),
        };
        tracing::info!("stopping");
        // The referee leaves first, while the relay can still witness that other hosts take over the referee's games.
        sitting.end().await;
        hub.stop();
        drop(stop_serving);
        let ended = async {
            drop(serve.await);
            while hub.sockets() > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        drop(timeout(STOP_WITHIN, ended).await);
        if let Some(threads) = channels {
            drop(timeout(STOP_WITHIN, tokio::task::spawn_blocking(|| threads.stop())).await);
        }
        timers.abort();
        for task in [private, inner, redirect].into_iter().flatten() {
            task.abort();
        }
        if let Some(admin) = admin {
            admin.abort();
        }
        if let Some(renewing) = renewing {
            renewing.abort();
        }
        // Lets the disk's thread end, so that the next relay on the same data finds the database free.
        hub.release_disk();
        result.and(end_of(disk.thread, WRITE_WITHIN).await)
    }
}

impl Sitting {
    fn new(referee: Option<Referee>) -> Self {
        let Some(referee) = referee else { return Self { stop: None, task: None } };
        let (stop, stopped) = oneshot::channel();
        Self { stop: Some(stop), task: Some(tokio::spawn(referee.run(stopped))) }
    }

    /// Lets the referee hand over its games and leave, without waiting for it.
    fn ask_to_leave(&mut self) {
        self.stop = None;
    }

    async fn end(&mut self) {
        self.ask_to_leave();
        if let Some(task) = self.task.take() {
            drop(timeout(LEAVE_WITHIN, task).await);
        }
    }
}

/// The routes of the port for HTTP.
fn redirect_to(tls: Option<&Tls>, address: SocketAddr) -> Router {
    // An authority looks at port 443, so browsers find the relay there, too, whatever its own port is.
    let is_by_authority = tls.is_some_and(Tls::is_by_authority);
    redirect::routes(if is_by_authority { 443 } else { address.port() })
}

/// Listens to the operator in the data directory. Without a socket there the relay goes on: it is worth more than its
/// operator's convenience.
#[cfg(unix)]
fn listen_to_operator(
    data: &Path,
    overview: Arc<Overview>,
    words: (Option<LogSwitch>, LimitWords),
) -> Option<(AdminSocket, Arc<Ruler>, orders::Receiver<Order>)> {
    let socket = AdminSocket::bind(data);
    let socket = socket.inspect_err(|error| {
        tracing::warn!(%error, "the data directory takes no socket, so `samovar-relay admin` does not reach this relay");
    });
    let (own_orders, orders) = orders::channel(ORDERS_MAX);
    Some((socket.ok()?, Arc::new(Ruler::new(overview, own_orders, words, data)), orders))
}

/// Obeys orders until told to stop.
async fn obey(
    (mut orders, mut own_orders): (orders::Receiver<Order>, Option<orders::Receiver<Order>>),
    (hub, renewal): (&Arc<Hub>, Option<&Renewal>),
    sitting: &mut Sitting,
    drain: Duration,
) {
    let mut deadline = None;
    // A second signal means haste; a second word of the operator does not, nor a first signal after it.
    let mut is_signalled = false;
    loop {
        let drained = async {
            let Some(deadline) = deadline else { return std::future::pending().await };
            while !hub.is_empty() && Instant::now() < deadline {
                sleep_until(deadline.min(Instant::now() + LOOK_EVERY)).await;
            }
        };
        let of_operator = async {
            match &mut own_orders {
                Some(orders) => orders.recv().await,
                None => std::future::pending().await,
            }
        };
        let (order, is_signal) = tokio::select! {
            order = orders.recv() => (order, true),
            Some(order) = of_operator => (Some(order), false),
            () = drained => return,
        };
        match order {
            Some(Order::Limit(limits)) => {
                hub.set_limits(*limits);
                tracing::info!("other limits hold");
            }
            Some(Order::Renew) => {
                let again = Arc::clone(hub);
                // The files may be anywhere, so no other task waits for them.
                drop(tokio::task::spawn_blocking(move || again.gate.as_ref().map(Gate::read_again)));
                if let Some(renewal) = renewal {
                    renewal.renew().await;
                }
            }
            Some(Order::Drain) if deadline.is_none() && !drain.is_zero() => {
                tracing::info!(seconds = drain.as_secs(), "draining: no game is founded any more");
                hub.drain(drain);
                sitting.ask_to_leave();
                deadline = Some(Instant::now() + drain);
                is_signalled = is_signal;
            }
            Some(Order::Drain) if deadline.is_some() && !(is_signal && is_signalled) => {
                is_signalled |= is_signal;
            }
            Some(Order::Drain | Order::Stop) | None => return,
        }
    }
}

/// Waits for the end of a task; for ever without one.
async fn ended_task(task: Option<&mut JoinHandle<()>>) {
    match task {
        Some(task) => drop(task.await),
        None => std::future::pending().await,
    }
}

/// Listens at an address; `flag` names the setting that has the address.
async fn listen_at(address: SocketAddr, flag: &'static str) -> Result<(TcpListener, SocketAddr), RelayError> {
    let failed = |source| RelayError::Listen { address, flag, source };
    let listener = match listener(address) {
        // The machine has no IPv6.
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && is_without_v6(&error) => {
            listener((Ipv4Addr::UNSPECIFIED, address.port()).into())
        }
        listener => listener,
    }
    .map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Whether the system knows no IPv6 (`EAFNOSUPPORT`, `EADDRNOTAVAIL`).
fn is_without_v6(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::AddrNotAvailable || cfg!(unix) && error.raw_os_error() == Some(97)
}

fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // The messages in the relay's queues wait behind the system's buffer, so that buffer must not be large.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Files that a relay opens beside its connections: the database, the page, listeners, the log.
const OTHER_FILES: usize = 64;

/// Warns if the system will refuse connections that the relay would let in.
fn warn_of_few_files(connections: usize) {
    if let Some(files) = data::open_files_max().filter(|files| *files < connections + OTHER_FILES) {
        tracing::warn!(
            files,
            connections,
            "this process may have fewer files open than it takes connections: raise the limit of open files (LimitNOFILE \
             of systemd, ulimit -n), or lower `connections`"
        );
    }
}

/// Reads the data directory, makes a directory of games from it, and starts the disk's thread.
async fn open_hub(
    (data, own_code): (PathBuf, Option<GameCode>),
    (reach, gate): (Option<Arc<Reach>>, Option<Gate>),
    limits: Arc<LiveLimits>,
    counts: Arc<Metrics>,
) -> Result<(Arc<Hub>, Disk, OriginKey, Arc<Bans>), RelayError> {
    let opened = tokio::task::spawn_blocking(move || {
        data::prepare_directory(&data)?;
        // The store is opened first, so that no other relay that starts here reads or makes a key meanwhile.
        let store = Store::open(&data)?;
        let config = DirectoryConfig { secret: data::signing_key(&data)?, entropy: data::random()? };
        let records = store.records()?;
        Ok((config, store, records, Arc::new(Bans::read(&data)?)))
    });
    let (config, store, records, bans) = opened.await.map_err(|error| RelayError::System {
        what: "read its data",
        source: std::io::Error::other(error),
    })??;
    tracing::info!(terms = records.len(), "read the terms granted before");
    let origins = OriginKey::of(&config.secret);
    let mut directory = Directory::new(&config);
    directory.set_own_code(own_code);
    directory.restore(Time::ZERO, records);
    let (requests, requested) = mpsc::channel();
    let hub = Arc::new(Hub::new(directory, requests, (reach, gate, Arc::clone(&bans)), limits, counts));
    let (failed, failure) = oneshot::channel();
    let weak = Arc::downgrade(&hub);
    let serve = move || {
        let begun = || weak.upgrade().into_iter().for_each(|hub| hub.writing());
        let persisted = |terms| weak.upgrade().into_iter().for_each(|hub| hub.persisted(&terms));
        if let Err(error) = store.serve(&requested, begun, persisted) {
            drop(failed.send(error));
        }
    };
    let thread = std::thread::Builder::new()
        .name("samovar-disk".to_owned())
        .spawn(serve)
        .map_err(|source| RelayError::System { what: "start the disk's thread", source })?;
    Ok((hub, Disk { failure, thread }, origins, bans))
}

/// Waits until the disk's thread has ended. A panic of it was reported before.
async fn end_of(thread: std::thread::JoinHandle<()>, within: Duration) -> Result<(), RelayError> {
    let ended = timeout(within, tokio::task::spawn_blocking(|| thread.join())).await;
    ended.map(drop).map_err(|_| RelayError::System {
        what: "write its last terms before it ended: check the disk of --data",
        source: std::io::Error::other(format!("it has not answered for {} s", within.as_secs())),
    })
}

/// The error of a part that every connection needs and that has panicked. A relay may die at any time; it must not
/// live on without that part.
fn broken(what: &'static str) -> RelayError {
    RelayError::System { what, source: std::io::Error::other("it panicked; this is a bug") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_wait_for_a_disk_that_does_not_answer_ends() {
        let (answer, answered) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || answered.iter().for_each(drop));
        let error = end_of(thread, Duration::from_millis(10)).await.expect_err("it has not ended");
        assert!(error.to_string().contains("the disk of --data"), "{error}");
        drop(answer);
        assert!(end_of(std::thread::spawn(|| ()), WRITE_WITHIN).await.is_ok());
    }
}
