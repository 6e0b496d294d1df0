//! Who gets in: the listener, with what a connection may cost before it has said anything.
//!
//! Each connection takes a place in the relay, and one of its address; who finds none is closed without a word, which is
//! all that a flood costs. A connection that neither asks nor takes what it asked for within the handshake's time is cut,
//! until it is a WebSocket, which is watched by its own pings.

mod address;
mod stream;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::TcpListener;

use crate::limits::LiveLimits;
use crate::metrics::{Metrics, Turned};
pub(crate) use address::AddressPlace;
use address::Addresses;
use stream::Guarded;

/// The address of all whose own cannot be read in what a proxy says: together they have the limits of one.
const UNREADABLE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What decides about connections, at the listener and at the WebSocket.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    limits: Arc<LiveLimits>,
    metrics: Arc<Metrics>,
    addresses: Arc<Addresses>,
    open: Arc<AtomicUsize>,
    start: Instant,
}

/// The listener.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    keeper: Arc<Doorkeeper>,
}

/// What is known of a connection before it has said anything.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Arc<Visit>);

/// One connection.
#[derive(Debug)]
struct Visit {
    address: IpAddr,
    /// `None` when the address is a proxy's: the limits are those of whom it speaks for.
    place: Option<AddressPlace>,
    /// It is a WebSocket, or about to be.
    is_upgraded: AtomicBool,
    open: Arc<AtomicUsize>,
}

impl Doorkeeper {
    pub(crate) fn new(limits: Arc<LiveLimits>, metrics: Arc<Metrics>) -> Self {
        Self { limits, metrics, addresses: Arc::default(), open: Arc::default(), start: Instant::now() }
    }

    /// Connections that are open, of any kind.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// A connection came from this address.
    fn admit(&self, address: IpAddr) -> Result<Caller, Turned> {
        let address = address.to_canonical();
        let limits = self.limits.all();
        if self.open() >= limits.connections {
            return Err(Turned::Connections);
        }
        let is_proxy = limits.trusted_proxies.contains(&address);
        let place = if is_proxy { None } else { Some(self.place_of(address)?) };
        self.open.fetch_add(1, Ordering::Relaxed);
        let open = Arc::clone(&self.open);
        Ok(Caller(Arc::new(Visit { address, place, is_upgraded: AtomicBool::new(false), open })))
    }

    /// The address that a caller has in the end, and its place there: what a proxy that is believed says last of whom it
    /// speaks for, and its own otherwise. A proxy that speaks for itself has no place.
    ///
    /// # Errors
    /// When that address has too many connections.
    pub(crate) fn place(
        &self,
        caller: &Caller,
        forwarded_for: Option<&[u8]>,
    ) -> Result<(IpAddr, Option<AddressPlace>), Turned> {
        let visit = &caller.0;
        if visit.place.is_some() {
            return Ok((visit.address, visit.place.clone()));
        }
        let Some(list) = forwarded_for else { return Ok((visit.address, None)) };
        let address = last_of(list).unwrap_or(UNREADABLE);
        Ok((address, Some(self.place_of(address)?)))
    }

    /// A caller tells something without opening a connection for it: its address may do so as often as it may open one.
    ///
    /// # Errors
    /// When that is too often.
    pub(crate) fn hear(&self, caller: &Caller, forwarded_for: Option<&[u8]>) -> Result<(), Turned> {
        let (address, _) = self.place(caller, forwarded_for)?;
        // Whom a proxy speaks for has paid for the place just now.
        if caller.0.place.is_some() {
            self.place_of(address)?;
        }
        Ok(())
    }

    /// The caller is a WebSocket from now on.
    pub(crate) fn upgrade(caller: &Caller) {
        caller.0.is_upgraded.store(true, Ordering::Relaxed);
    }

    fn place_of(&self, address: IpAddr) -> Result<AddressPlace, Turned> {
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.addresses.place(address, &self.limits.all(), now)
    }
}

impl Door {
    pub(crate) const fn new(listener: TcpListener, keeper: Arc<Doorkeeper>) -> Self {
        Self { listener, keeper }
    }
}

impl Listener for Door {
    type Io = Guarded;
    type Addr = Caller;

    async fn accept(&mut self) -> (Guarded, Caller) {
        loop {
            // By axum's, which waits a second when the process has no more files.
            let (stream, address) = Listener::accept(&mut self.listener).await;
            match self.keeper.admit(address.ip()) {
                Ok(caller) => {
                    // Packets are small and late ones worthless: they must not wait for each other.
                    drop(stream.set_nodelay(true));
                    let patience = self.keeper.limits.all().handshake;
                    let metrics = Arc::clone(&self.keeper.metrics);
                    return (Guarded::new(stream, caller.clone(), patience, metrics), caller);
                }
                Err(reason) => {
                    self.keeper.metrics.turned(reason);
                    tracing::debug!(?reason, "a connection was turned away");
                }
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Caller> {
        let address = self.listener.local_addr()?.ip();
        let (place, open) = (None, Arc::new(AtomicUsize::new(1)));
        Ok(Caller(Arc::new(Visit { address, place, is_upgraded: AtomicBool::new(false), open })))
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

/// The last address of a list in `X-Forwarded-For`. Some proxies write a port behind it, and brackets around it.
fn last_of(list: &[u8]) -> Option<IpAddr> {
    let last = list.rsplit(|byte| *byte == b',').next()?;
    let text = std::str::from_utf8(last).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse().map(|at: SocketAddr| at.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn keeper(text: &str) -> Doorkeeper {
        let settings: Settings = toml::from_str(&format!("data = \"d\"\n{text}")).expect("settings");
        let limits = LiveLimits::new(settings.resolve().expect("complete").0.limits);
        Doorkeeper::new(Arc::new(limits), Arc::new(Metrics::new()))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn places_are_bounded_in_all_and_by_address_and_free_again_when_a_connection_ends() {
        let keeper = keeper("connections = 5\naddress-connections = 2");
        let kept: Vec<_> = (0..2).map(|_| keeper.admit(ip("192.0.2.1")).expect("there is room")).collect();
        assert_eq!(keeper.admit(ip("192.0.2.1")).err(), Some(Turned::AddressConnections));
        let other = keeper.admit(ip("192.0.2.2")).expect("another address");
        let network = [ip("2001:db8::1"), ip("2001:db8::2")].map(|ip| keeper.admit(ip).expect("room"));
        assert_eq!(keeper.admit(ip("192.0.2.3")).err(), Some(Turned::Connections));
        drop((other, network));
        assert!(keeper.admit(ip("2001:db8::3")).is_ok(), "whoever leaves makes room");
        drop(kept);
        assert_eq!(keeper.open(), 0);
        assert!(keeper.admit(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn whom_a_proxy_speaks_for_is_limited_and_the_proxy_is_not() {
        let keeper = keeper("address-connections = 1\ntrusted-proxy = [\"10.0.0.1\"]");
        let proxy = || keeper.admit(ip("::ffff:10.0.0.1")).expect("a proxy has no limit");
        let first = proxy();
        let (address, place) = keeper.place(&first, Some(b"evil, 192.0.2.9")).expect("room");
        assert_eq!(address, ip("192.0.2.9"));
        let second = proxy();
        assert_eq!(keeper.place(&second, Some(b"192.0.2.9")).err(), Some(Turned::AddressConnections));
        assert!(keeper.place(&second, Some(b"192.0.2.8")).is_ok());
        drop(place);
        assert!(keeper.place(&second, Some(b"192.0.2.9")).is_ok());
        assert!(matches!(keeper.place(&second, None), Ok((_, None))), "it speaks for itself");
        let _nobody = keeper.place(&second, Some(b"unknown")).expect("room");
        let another = keeper.place(&second, Some(b"192.0.2.8, _hidden"));
        assert_eq!(another.err(), Some(Turned::AddressConnections), "all who cannot be read are one address");
        let stranger = keeper.admit(ip("192.0.2.7")).expect("room");
        let place = keeper.place(&stranger, Some(b"192.0.2.1")).expect("its own");
        assert_eq!(place.0, ip("192.0.2.7"), "whoever is no proxy speaks for itself");
    }

    #[test]
    fn a_caller_is_heard_as_often_as_its_address_may_open_connections() {
        let keeper = keeper("address-opens = 10\ntrusted-proxy = [\"10.0.0.1\"]");
        let stranger = keeper.admit(ip("192.0.2.1")).expect("room");
        let heard = (0..100).filter(|_| keeper.hear(&stranger, None).is_ok()).count();
        assert!((9..=12).contains(&heard), "{heard}");
        let proxy = keeper.admit(ip("10.0.0.1")).expect("room");
        let heard = (0..100).filter(|_| keeper.hear(&proxy, Some(b"192.0.2.9")).is_ok()).count();
        assert!((9..=12).contains(&heard), "{heard}");
        assert!(keeper.hear(&proxy, Some(b"192.0.2.8")).is_ok(), "others are heard still");
    }

    #[test]
    fn the_last_address_is_read_however_a_proxy_writes_it() {
        let table: [(&[u8], Option<&str>); 13] = [
            (b"192.0.2.9", Some("192.0.2.9")),
            (b"192.0.2.9:4711", Some("192.0.2.9")),
            (b"2001:db8::1", Some("2001:db8::1")),
            (b"[2001:db8::1]", Some("2001:db8::1")),
            (b"[2001:db8::1]:443", Some("2001:db8::1")),
            (b"::ffff:192.0.2.9", Some("192.0.2.9")),
            (b"192.0.2.1,192.0.2.9 ", Some("192.0.2.9")),
            (b"caf\xe9, 192.0.2.9", Some("192.0.2.9")),
            (b"192.0.2.9, caf\xe9", None),
            (b"192.0.2.9,", None),
            (b"192.0.2.9:port", None),
            (b"unknown", None),
            (b"", None),
        ];
        for (list, address) in table {
            assert_eq!(last_of(list), address.map(ip), "{}", list.escape_ascii());
        }
    }

    #[test]
    fn connections_of_one_address_come_at_a_bounded_rate() {
        let keeper = keeper("address-opens = 10");
        let came = (0..100).filter(|_| keeper.admit(ip("192.0.2.1")).is_ok()).count();
        assert!((10..=12).contains(&came), "{came}");
        assert_eq!(keeper.admit(ip("192.0.2.1")).err(), Some(Turned::AddressOpens));
    }
}
