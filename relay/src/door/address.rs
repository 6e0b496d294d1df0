//! The connections and the budgets of each address, and of each network of addresses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use samovar_directory::Origin;
use samovar_wire::digest;

use crate::limits::{Bucket, Limits, Network};
use crate::metrics::Turned;
use crate::network::masked;

/// A sweep is due when the table has twice the networks that the last sweep left, and this many more.
const SWEEP_AFTER: usize = 64;

/// An address may have at most the relay's free places divided by this. The same holds for the connections that the
/// relay may still open in a second (the dynamic threshold of Choudhury and Hahne, 1998). So an attacker with any
/// number of addresses leaves some for others.
const LEFT: u64 = 16;
/// The least number of places that one address may have.
const PLACES_MIN: u64 = 4;
/// The least number of connections that one address may open in a second: as many as a browser opens at once to load
/// a page.
const OPENS_MIN: u64 = 8;

/// The networks with a connection now, or a moment ago. An address keeps to the limits of each network that contains
/// it. In IPv6 a network of 64 bits counts as one address, because one customer has at least that. A network of 56
/// bits may have four times as much, and one of 48 bits sixteen times. In IPv4 a network of 24 bits may have four
/// times as much as one address.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    table: Mutex<Table>,
    /// The connections that all addresses together have opened.
    opens: Bucket,
    origins: OriginKey,
}

/// The key that makes the [`Origin`] of an address. An address has the same origin after a restart. Without the key,
/// nobody can find the address from the origin.
#[derive(Clone, Default)]
pub(crate) struct OriginKey([u8; 32]);

#[derive(Debug, Default)]
struct Table {
    networks: HashMap<Key, Arc<Network>>,
    sweep_at: usize,
}

/// The first bits of an address, and their number.
type Key = (IpAddr, u8);

/// One connection's place at its address; free again when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct AddressPlace(Arc<Taken>);

#[derive(Debug)]
struct Taken {
    networks: Vec<Arc<Network>>,
    origin: Origin,
}

impl OriginKey {
    /// The key of the relay with this signing key.
    pub(crate) fn of(secret: &[u8; 32]) -> Self {
        Self(digest(&[b"samovar origins 1", secret]))
    }

    fn origin(&self, address: IpAddr) -> Origin {
        let address = match origin(address) {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let [a, b, c, d, e, f, g, h, ..] = digest(&[&self.0, &address.octets()]);
        Origin(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl core::fmt::Debug for OriginKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("OriginKey(secret)")
    }
}

impl Addresses {
    pub(super) fn new(origins: OriginKey) -> Self {
        Self { origins, ..Self::default() }
    }

    /// Takes a place; `left` is the number of the relay's free places.
    ///
    /// # Errors
    /// The address, or a network that it is in, has too many connections, or opens them too fast.
    pub(super) fn place(
        &self,
        address: IpAddr,
        limits: &Limits,
        left: usize,
        now: u64,
    ) -> Result<AddressPlace, Turned> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.sweep(now);
        let networks = table.networks(address);
        // This runs under the lock, so that no other connection takes the last place meanwhile.
        let places = (limits.address_connections as u64).min((left as u64 / LEFT).max(PLACES_MIN));
        if !networks.iter().all(|network| network.has_place(places)) {
            return Err(Turned::AddressConnections);
        }
        let left = limits.opens.saturating_sub(self.opens.missing(now, limits.opens));
        let of_left = (limits.opens > 0).then_some((left / LEFT).max(OPENS_MIN));
        let own = (limits.address_opens > 0).then_some(limits.address_opens);
        let rate = own.into_iter().chain(of_left).min().unwrap_or(0);
        if rate > 0 && networks.iter().any(|network| network.opens.wait(now) > 0) {
            return Err(Turned::AddressOpens);
        }
        self.opens.take(now, 1, limits.opens);
        for network in &networks {
            network.opens.take(now, 1, rate.saturating_mul(network.width));
            network.connections.fetch_add(1, Ordering::Relaxed);
        }
        let origin = self.origins.origin(address);
        Ok(AddressPlace(Arc::new(Taken { networks, origin })))
    }

    /// The networks of an address. Its answers count against their budgets.
    pub(super) fn networks(&self, address: IpAddr, now: u64) -> Vec<Arc<Network>> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.sweep(now);
        table.networks(address)
    }
}

impl AddressPlace {
    /// The networks of the address, the narrowest first.
    pub(crate) fn networks(&self) -> &[Arc<Network>] {
        &self.0.networks
    }

    /// The directory's key for the address.
    pub(crate) fn origin(&self) -> Origin {
        self.0.origin
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for network in &self.networks {
            network.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Table {
    fn networks(&mut self, address: IpAddr) -> Vec<Arc<Network>> {
        let entry = |(key, width)| {
            Arc::clone(self.networks.entry(key).or_insert_with(|| Arc::new(Network::new(width))))
        };
        keys(address).map(entry).collect()
    }

    /// Forgets networks without any state. The table is swept only when it has about doubled since the last sweep. So
    /// sweeps cost little for each new address, and the table is at most twice the needed size.
    fn sweep(&mut self, now: u64) {
        if self.networks.len() < self.sweep_at {
            return;
        }
        self.networks.retain(|_, network| {
            let is_idle = Arc::strong_count(network) == 1;
            !(is_idle && network.opens.is_full(now) && network.purse.is_full(now))
        });
        self.sweep_at = 2 * self.networks.len() + SWEEP_AFTER;
    }
}

/// The networks of an address, the narrowest first. Each comes with a factor: the network may have this many times as
/// much as one address.
fn keys(address: IpAddr) -> impl Iterator<Item = (Key, u64)> {
    let nested: &[(u8, u64)] = match address {
        IpAddr::V4(_) => &[(32, 1), (24, 4)],
        IpAddr::V6(_) => &[(64, 1), (56, 4), (48, 16)],
    };
    nested.iter().map(move |&(prefix, width)| ((masked(address, prefix), prefix), width))
}

/// The part of an address that counts as one address in a game. In IPv6 it is a network of 48 bits, the most that one
/// customer has.
fn origin(address: IpAddr) -> IpAddr {
    masked(address, if address.is_ipv4() { 32 } else { 48 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn idle_networks_are_forgotten() {
        let settings: Settings = toml::from_str("data = \"d\"").expect("settings");
        let limits = settings.resolve().expect("complete").0.limits;
        let addresses = Addresses::default();
        let all = |from: u32, now| {
            for n in from..from + 10_000 {
                // Each address is in a network of its own.
                drop(addresses.place(IpAddr::V4((n << 8).into()), &limits, 1_000, now).expect("room"));
            }
            addresses.table.lock().expect("no panic").networks.len()
        };
        assert_eq!(all(0, 1), 20_000, "their buckets are not full yet");
        assert!(all(10_000, 1_000_000_000) <= 50_000);
        assert!(all(20_000, 9_000_000_000) <= 50_000, "but then they are");
        let debtor = addresses.place(IpAddr::V4(1.into()), &limits, 1_000, 9_000_000_000).expect("room");
        let table = addresses.table.lock().expect("no panic");
        assert!(table.networks.len() < 50_000);
        drop(table);
        drop(debtor);
    }

    fn with(text: &str) -> (Addresses, Limits) {
        let settings: Settings = toml::from_str(&format!("data = \"d\"\n{text}")).expect("settings");
        (Addresses::default(), settings.resolve().expect("complete").0.limits)
    }

    /// The number of places that the owner of all these addresses gets.
    fn places(text: &str, left: usize, address: impl Fn(u128) -> IpAddr) -> usize {
        let (addresses, limits) = with(text);
        let taken = (0..2_000).map_while(|n| addresses.place(address(n), &limits, left, 1).ok());
        taken.collect::<Vec<_>>().len()
    }

    #[test]
    fn wider_networks_have_limits_as_well() {
        let text = "address-connections = 10\nopens = 0";
        let v6 = |shift: u32| move |n: u128| IpAddr::V6(((0x2001_0db8_u128 << 96) | (n << shift)).into());
        let v4 = |shift: u32| move |n: u128| IpAddr::V4((0x0a00_0000 | ((n as u32) << shift)).into());
        assert_eq!(places(text, 10_000, v6(0)), 10, "of a /64");
        assert_eq!(places(text, 10_000, |n| v6(64)(n % 256)), 40, "of a /56");
        assert_eq!(places(text, 10_000, |n| v6(72)(n % 256)), 160, "of a /48");
        assert_eq!(places(text, 10_000, v6(80)), 2_000, "of many");
        assert_eq!(places(text, 10_000, |n| v4(0)(n % 256)), 40, "of a /24");
        assert_eq!(places(text, 10_000, v4(8)), 2_000, "of many");
        let text = "opens = 0\naddress-opens = 50";
        assert_eq!(places(text, 10_000, v6(0)), 50);
        assert_eq!(places(text, 10_000, |n| v4(0)(n % 256)), 200);
    }

    #[test]
    fn an_address_gets_fewer_places_when_fewer_are_free() {
        let one = |_: u128| IpAddr::V4(1.into());
        assert_eq!(places("opens = 0", 16_384, one), 200, "as many as it may open in a second");
        assert_eq!(places("opens = 0", 1_600, one), 100);
        assert_eq!(places("opens = 0", 1, one), 4);
        // When 64 addresses take all they can, places are left for others.
        let (addresses, limits) = with("address-opens = 0\nopens = 0");
        let mut taken = Vec::new();
        for n in 0..64 * 256 {
            let address = IpAddr::V4(((n % 64) << 8).into());
            taken.extend(addresses.place(address, &limits, 16_384 - taken.len(), 1));
        }
        assert!((12_000..14_000).contains(&taken.len()), "{}", taken.len());
        let other = addresses.place(IpAddr::V4(0x0b00_0000.into()), &limits, 16_384 - taken.len(), 1);
        assert!(other.is_ok());
    }

    #[test]
    fn busy_addresses_leave_new_connections_for_others() {
        let (addresses, limits) = with("");
        let mut opened = 0;
        // Each of 64 addresses opens as many as it can, for ten seconds.
        for millis in 0..10_000 {
            for n in 0..64 {
                let place = addresses.place(IpAddr::V4((n << 8).into()), &limits, 16_384, millis * 1_000_000);
                opened += u64::from(place.is_ok());
            }
        }
        assert!((15_000..30_000).contains(&opened), "{opened}");
        let other = || addresses.place(IpAddr::V4(0x0b00_0000.into()), &limits, 16_384, 10_000_000_000);
        assert!((0..OPENS_MIN).all(|_| other().is_ok()));
    }
}
