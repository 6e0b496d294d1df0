//! The clearance of connections: the listener, and the limits on a connection before its first message.
//!
//! Each connection takes one of the relay's places, and one of its address's places. If either has no free place, the
//! relay refuses the connection. It tells the reason to a few refused connections at a time, and closes all others
//! silently, so that a flood costs no more. One file descriptor is kept in reserve. When the process has no other,
//! the relay uses it to refuse new connections one after the other. Before a connection is a WebSocket, it is cut if
//! it neither sends its request nor takes the answer within the handshake's time. Pings detect a dead WebSocket
//! instead.

mod address;
mod connection;
mod stream;
mod turned_away;

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::bans::{Ban, Bans};
use crate::limits::LiveLimits;
use crate::metrics::Turned;
use crate::refusals::{Refusals, ShownOrigin, words};
use crate::tls::Acceptor;
use address::Addresses;
pub(crate) use address::{AddressPlace, OriginKey};
use connection::Connection;
use stream::Guarded;

/// Stands for the address of every caller whose own address is unreadable in the proxy's header. These callers
/// together have the limits of one address.
const UNREADABLE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The most refused connections that are told the reason at a time.
const TOLD_MAX: usize = 64;
/// The longest time to tell a refused connection the reason.
const TOLD_WITHIN: Duration = Duration::from_millis(500);
/// The longest time that an answer waits until the budgets of its receiver's networks cover it.
const PAID_WITHIN: Duration = Duration::from_secs(5);
/// The pause of a listener after an error of the system. Also the longest time for an answer by the descriptor in
/// reserve.
const REST: Duration = Duration::from_millis(100);

/// The decisions about connections, at the listener and at the WebSocket.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    limits: Arc<LiveLimits>,
    pub(crate) refusals: Arc<Refusals>,
    addresses: Arc<Addresses>,
    bans: Arc<Bans>,
    open: Arc<AtomicUsize>,
    start: Instant,
}

/// The listener.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    keeper: Arc<Doorkeeper>,
    /// A descriptor in reserve for when there is no other.
    spare: Option<File>,
    told: Arc<Semaphore>,
    /// Takes the connections' TLS, if they have it.
    tls: Option<Acceptor>,
}

/// The knowledge about a connection before its first message.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Arc<Visit>);

/// One connection.
#[derive(Debug)]
struct Visit {
    address: IpAddr,
    /// The connection's place at its address; `None` if the address is a proxy's, because the limits apply to the
    /// proxy's clients.
    place: Option<AddressPlace>,
    /// Whether the connection comes from this machine.
    is_local: bool,
    /// Whether the connection is a WebSocket, or about to be one.
    is_upgraded: AtomicBool,
    open: Arc<AtomicUsize>,
}

impl Doorkeeper {
    pub(crate) fn new(
        limits: Arc<LiveLimits>,
        refusals: Arc<Refusals>,
        origins: OriginKey,
        bans: Arc<Bans>,
    ) -> Self {
        Self {
            limits,
            refusals,
            addresses: Arc::new(Addresses::new(origins)),
            bans,
            open: Arc::default(),
            start: Instant::now(),
        }
    }

    /// The number of open connections of any kind.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Admits a connection from this address.
    fn admit(&self, address: IpAddr, is_local: bool) -> Result<Caller, Turned> {
        let address = address.to_canonical();
        let limits = self.limits.all();
        if self.open() >= limits.connections {
            return Err(Turned::Connections);
        }
        let is_proxy = limits.trusts(address);
        let place = if is_proxy { None } else { Some(self.place_of(address)?) };
        self.open.fetch_add(1, Ordering::Relaxed);
        let open = Arc::clone(&self.open);
        Ok(Caller(Arc::new(Visit { address, place, is_local, is_upgraded: AtomicBool::new(false), open })))
    }

    /// The address by which a caller is limited, and the caller's place there. For a connection from a trusted proxy
    /// this is the client's address in the proxy's header, and otherwise the connection's own. A trusted proxy
    /// without such a header has no place.
    ///
    /// # Errors
    /// The address has too many connections, or opens them too fast.
    pub(crate) fn place<'a>(
        &self,
        caller: &Caller,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Result<(IpAddr, Option<AddressPlace>), Turned> {
        let visit = &caller.0;
        if visit.place.is_some() {
            return Ok((visit.address, visit.place.clone()));
        }
        let limits = self.limits.all();
        let Some(address) = client(forwarded_for, |address| limits.trusts(address)) else {
            return Ok((visit.address, None));
        };
        Ok((address, Some(self.place_of(address)?)))
    }

    /// Waits until the budgets of a caller's networks cover an answer of `bytes` bytes, and takes these bytes from
    /// them.
    ///
    /// # Errors
    /// The budgets do not cover the answer soon enough.
    pub(crate) async fn pay<'a>(
        &self,
        caller: &Caller,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
        bytes: u64,
    ) -> Result<(), Turned> {
        let visit = &caller.0;
        let networks = match &visit.place {
            Some(place) => place.networks().to_vec(),
            None => {
                let limits = self.limits.all();
                let address = client(forwarded_for, |address| limits.trusts(address));
                address.map(|address| self.addresses.networks(address, self.nanos())).unwrap_or_default()
            }
        };
        let deadline = Instant::now() + PAID_WITHIN;
        loop {
            let wait = self.limits.pay_answer(&networks, self.nanos(), bytes);
            if wait.is_zero() {
                return Ok(());
            }
            if Instant::now() + wait > deadline {
                return Err(Turned::AddressRate);
            }
            sleep(wait).await;
        }
    }

    /// Whether a caller is a trusted proxy.
    pub(crate) fn is_proxy(&self, caller: &Caller) -> bool {
        self.limits.all().trusts(caller.0.address)
    }

    /// The ban of a caller's address, if there is one.
    pub(crate) fn banned<'a>(
        &self,
        caller: &Caller,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Option<Ban> {
        let visit = &caller.0;
        if visit.place.is_some() {
            return self.bans.of(visit.address);
        }
        let limits = self.limits.all();
        self.bans.of(client(forwarded_for, |address| limits.trusts(address))?)
    }

    /// Whether a caller is on this machine. A proxy on this machine is not local while it speaks for a client
    /// elsewhere.
    pub(crate) fn is_local<'a>(
        &self,
        caller: &Caller,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> bool {
        let limits = self.limits.all();
        let client = client(forwarded_for, |address| limits.trusts(address));
        caller.0.is_local && client.is_none_or(|address| address.is_loopback())
    }

    /// Admits a caller's report. A report counts as an opened connection, so an address may report as often as it may
    /// connect.
    ///
    /// # Errors
    /// The caller reports too often.
    pub(crate) fn hear<'a>(
        &self,
        caller: &Caller,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Result<(), Turned> {
        let (address, _) = self.place(caller, forwarded_for)?;
        // A direct caller was counted when it connected, so its report is counted here. A proxy's client was counted by
        // `place` above.
        if caller.0.place.is_some() {
            self.place_of(address)?;
        }
        Ok(())
    }

    /// Notes that the caller is a WebSocket from now on.
    pub(crate) fn upgrade(caller: &Caller) {
        caller.0.is_upgraded.store(true, Ordering::Relaxed);
    }

    fn place_of(&self, address: IpAddr) -> Result<AddressPlace, Turned> {
        let limits = self.limits.all();
        let left = limits.connections.saturating_sub(self.open());
        self.addresses.place(address, &limits, left, self.nanos())
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Door {
    pub(crate) fn new(listener: TcpListener, keeper: Arc<Doorkeeper>, tls: Option<Acceptor>) -> Self {
        Self { listener, keeper, spare: spare(), told: Arc::new(Semaphore::new(TOLD_MAX)), tls }
    }

    /// Tells a connection the reason of its refusal, unless too many are being told. A connection with TLS is closed
    /// without a word: its handshake would cost more than the flood that it may be a part of.
    fn turn_away(&self, stream: TcpStream, reason: Turned) {
        self.keeper.refusals.note(reason);
        if self.tls.is_some() {
            return;
        }
        if let Ok(turn) = Arc::clone(&self.told).try_acquire_owned() {
            tokio::spawn(async move {
                turned_away::answer(stream, words(reason, ShownOrigin(b"")), false, TOLD_WITHIN).await;
                drop(turn);
            });
        }
    }

    /// There are no descriptors left: answers the next connection with the one in reserve.
    async fn answer_by_spare(&mut self) {
        self.keeper.refusals.note(Turned::Descriptors);
        let had_one = self.spare.take().is_some();
        if had_one
            && let Ok(Ok((stream, _))) = timeout(REST, self.listener.accept()).await
            && self.tls.is_none()
        {
            turned_away::answer(stream, words(Turned::Descriptors, ShownOrigin(b"")), true, REST).await;
        }
        self.spare = spare();
        if self.spare.is_none() {
            // Another task has taken the free descriptor. Waits, because there may be another one soon.
            sleep(REST).await;
        }
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = Caller;

    async fn accept(&mut self) -> (Connection, Caller) {
        loop {
            let (stream, address) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if is_exhausted(&error) => {
                    self.answer_by_spare().await;
                    continue;
                }
                // That connection ended before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    tracing::warn!(%error, "no connection was accepted");
                    sleep(REST).await;
                    continue;
                }
            };
            let (address, own) = (address.ip(), stream.local_addr().map(|own| own.ip()));
            let is_local = address.to_canonical().is_loopback() || own.is_ok_and(|own| own == address);
            match self.keeper.admit(address, is_local) {
                Ok(caller) => {
                    // Sends each packet at once, instead of gathering several (Nagle's algorithm): a packet that is
                    // late is worthless.
                    drop(stream.set_nodelay(true));
                    let patience = self.keeper.limits.all().handshake;
                    let refusals = Arc::clone(&self.keeper.refusals);
                    // Yields, so that a crowd of new connections does not hold up the open ones.
                    tokio::task::yield_now().await;
                    let guarded = Guarded::new(stream, caller.clone(), patience, refusals);
                    return (Connection::new(guarded, self.tls.as_ref()), caller);
                }
                Err(reason) => self.turn_away(stream, reason),
            }
        }
    }

    fn local_addr(&self) -> io::Result<Caller> {
        let address = self.listener.local_addr()?.ip();
        let (place, open, is_upgraded) = (None, Arc::new(AtomicUsize::new(1)), AtomicBool::new(false));
        Ok(Caller(Arc::new(Visit { address, place, is_local: true, is_upgraded, open })))
    }
}

impl Connected<IncomingStream<'_, Door>> for Caller {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A descriptor in reserve.
fn spare() -> Option<File> {
    File::open(if cfg!(windows) { "NUL" } else { "/dev/null" }).ok()
}

/// Whether the process, or the system, has no descriptors left (`EMFILE`, `ENFILE`).
fn is_exhausted(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(24 | 23))
}

/// The client behind proxies, by their lines of `X-Forwarded-For`. Each proxy appends the address that spoke to it. The
/// client is the last address that is not trusted, because those before it may be made up; if all are trusted, the
/// first.
fn client<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusts: impl Fn(IpAddr) -> bool,
) -> Option<IpAddr> {
    let mut client = None;
    for entry in lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b',')) {
        let Some(address) = address_of(entry) else { return Some(UNREADABLE) };
        client = Some(address);
        if !trusts(address) {
            break;
        }
    }
    client
}

/// The address of one entry in a line of `X-Forwarded-For`. Some proxies append a port, and put brackets around the
/// address.
fn address_of(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse().map(|at: SocketAddr| at.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::settings::Settings;

    fn keeper(text: &str) -> Doorkeeper {
        let settings: Settings = toml::from_str(&format!("data = \"d\"\n{text}")).expect("settings");
        let limits = LiveLimits::new(settings.resolve().expect("complete").0.limits);
        Doorkeeper::new(
            Arc::new(limits),
            Arc::new(Refusals::new(Arc::new(Metrics::new()))),
            OriginKey::default(),
            Arc::new(Bans::none()),
        )
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn places_are_bounded_in_total_and_per_address() {
        let keeper = keeper("connections = 5\naddress-connections = 2");
        let kept: Vec<_> =
            (0..2).map(|_| keeper.admit(ip("192.0.2.1"), false).expect("there is room")).collect();
        assert_eq!(keeper.admit(ip("192.0.2.1"), false).err(), Some(Turned::AddressConnections));
        let other = keeper.admit(ip("192.0.2.2"), false).expect("another address");
        let network = [ip("2001:db8::1"), ip("2001:db8::2")].map(|ip| keeper.admit(ip, false).expect("room"));
        assert_eq!(keeper.admit(ip("192.0.2.3"), false).err(), Some(Turned::Connections));
        drop((other, network));
        assert!(keeper.admit(ip("2001:db8::3"), false).is_ok(), "whoever leaves makes room");
        drop(kept);
        assert_eq!(keeper.open(), 0);
        assert!(keeper.admit(ip("192.0.2.1"), false).is_ok());
    }

    #[test]
    fn a_proxys_clients_are_limited_and_the_proxy_is_not() {
        let keeper = keeper("address-connections = 1\ntrusted-proxy = [\"10.0.0.0/8\"]");
        let proxy = || keeper.admit(ip("::ffff:10.0.0.1"), false).expect("a proxy has no limit");
        let place = |caller: &Caller, line: &'static str| keeper.place(caller, [line.as_bytes()].into_iter());
        let first = proxy();
        let (address, taken) = place(&first, "evil, 192.0.2.9").expect("room");
        assert_eq!(address, ip("192.0.2.9"));
        let second = proxy();
        assert_eq!(place(&second, "192.0.2.9").err(), Some(Turned::AddressConnections));
        assert_eq!(place(&second, "192.0.2.9, 10.1.2.3").err(), Some(Turned::AddressConnections));
        assert!(place(&second, "192.0.2.8").is_ok());
        drop(taken);
        assert!(place(&second, "192.0.2.9").is_ok());
        assert!(matches!(keeper.place(&second, [].into_iter()), Ok((_, None))), "it speaks for itself");
        let _nobody = place(&second, "unknown").expect("room");
        let another = place(&second, "192.0.2.8, _hidden");
        assert_eq!(another.err(), Some(Turned::AddressConnections), "all who cannot be read are one address");
        let stranger = keeper.admit(ip("192.0.2.7"), false).expect("room");
        let own = place(&stranger, "192.0.2.1").expect("its own");
        assert_eq!(own.0, ip("192.0.2.7"), "whoever is no proxy speaks for itself");
    }

    #[test]
    fn a_caller_may_report_as_often_as_it_may_connect() {
        let keeper = keeper("address-opens = 10\ntrusted-proxy = [\"10.0.0.1\"]");
        let stranger = keeper.admit(ip("192.0.2.1"), false).expect("room");
        let heard = (0..100).filter(|_| keeper.hear(&stranger, [].into_iter()).is_ok()).count();
        assert!((9..=12).contains(&heard), "{heard}");
        let proxy = keeper.admit(ip("10.0.0.1"), false).expect("room");
        let heard = (0..100).filter(|_| keeper.hear(&proxy, [&b"192.0.2.9"[..]].into_iter()).is_ok()).count();
        assert!((9..=12).contains(&heard), "{heard}");
        assert!(keeper.hear(&proxy, [&b"192.0.2.8"[..]].into_iter()).is_ok(), "others are heard still");
    }

    #[test]
    fn the_client_is_the_last_untrusted_address() {
        let trusts = |address| ["10.0.0.1", "10.0.0.2", "2001:db8::1"].map(ip).contains(&address);
        let table: [(&[&str], Option<&str>); 9] = [
            (&[], None),
            (&["192.0.2.9"], Some("192.0.2.9")),
            (&["192.0.2.9, 10.0.0.2"], Some("192.0.2.9")),
            (&["198.51.100.1, 192.0.2.9, 10.0.0.2, 2001:db8::1"], Some("192.0.2.9")),
            (&["198.51.100.1", "192.0.2.9,10.0.0.2"], Some("192.0.2.9")),
            (&["192.0.2.9", "10.0.0.2"], Some("192.0.2.9")),
            (&["10.0.0.2, 10.0.0.1"], Some("10.0.0.2")),
            (&["192.0.2.9, unknown, 10.0.0.1"], Some("0.0.0.0")),
            (&["10.0.0.1, ::ffff:10.0.0.2, [2001:db8::1]:443"], Some("10.0.0.1")),
        ];
        for (lines, address) in table {
            let found = client(lines.iter().map(|line| line.as_bytes()), trusts);
            assert_eq!(found, address.map(ip), "{lines:?}");
        }
    }

    #[test]
    fn an_address_is_read_however_a_proxy_writes_it() {
        let table: [(&[u8], Option<&str>); 11] = [
            (b"192.0.2.9", Some("192.0.2.9")),
            (b"192.0.2.9:4711", Some("192.0.2.9")),
            (b"2001:db8::1", Some("2001:db8::1")),
            (b"[2001:db8::1]", Some("2001:db8::1")),
            (b"[2001:db8::1]:443", Some("2001:db8::1")),
            (b"::ffff:192.0.2.9", Some("192.0.2.9")),
            (b" 192.0.2.9 ", Some("192.0.2.9")),
            (b"caf\xe9", None),
            (b"192.0.2.9:port", None),
            (b"unknown", None),
            (b"", None),
        ];
        for (entry, address) in table {
            assert_eq!(address_of(entry), address.map(ip), "{}", entry.escape_ascii());
        }
    }

    #[test]
    fn connections_per_address_are_rate_limited() {
        let keeper = keeper("address-opens = 10");
        let came = (0..100).filter(|_| keeper.admit(ip("192.0.2.1"), false).is_ok()).count();
        assert!((10..=12).contains(&came), "{came}");
        assert_eq!(keeper.admit(ip("192.0.2.1"), false).err(), Some(Turned::AddressOpens));
    }
}
