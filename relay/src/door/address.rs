//! What each address has open and has spent.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{Bucket, Limits, Purse};
use crate::metrics::Turned;

/// Addresses between two looks for those that can be forgotten, beside as many as were left at the last.
const SWEEP_AFTER: usize = 64;

/// The addresses that have a connection, or had one a moment ago. Of IPv6 a network of 64 bits counts as one address,
/// because that is what one customer has at least.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    addresses: HashMap<IpAddr, Arc<Address>>,
    sweep_at: usize,
}

#[derive(Debug, Default)]
struct Address {
    connections: AtomicUsize,
    opens: Bucket,
    purse: Purse,
}

/// One connection's place at its address; free again when the last clone is gone.
#[derive(Clone, Debug)]
pub(crate) struct AddressPlace(Arc<Taken>);

#[derive(Debug)]
struct Taken(Arc<Address>);

impl Addresses {
    /// Takes a place.
    ///
    /// # Errors
    /// When the address has too many connections, or opens them too fast.
    pub(super) fn place(&self, address: IpAddr, limits: &Limits, now: u64) -> Result<AddressPlace, Turned> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.sweep(now);
        let address = Arc::clone(table.addresses.entry(network(address)).or_default());
        // Under the lock, so that nobody else takes the last place meanwhile.
        if address.connections.load(Ordering::Relaxed) >= limits.address_connections {
            return Err(Turned::AddressConnections);
        }
        if limits.address_opens > 0 && address.opens.wait(now) > 0 {
            return Err(Turned::AddressOpens);
        }
        address.opens.take(now, 1, limits.address_opens);
        address.connections.fetch_add(1, Ordering::Relaxed);
        Ok(AddressPlace(Arc::new(Taken(address))))
    }
}

impl AddressPlace {
    /// What the address has spent.
    pub(crate) fn purse(&self) -> &Purse {
        &self.0.0.purse
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Table {
    /// Forgets addresses of which there is nothing to know. Whoever comes pays for that once in as many comings as there
    /// are addresses, so the table is never more than twice what it must be.
    fn sweep(&mut self, now: u64) {
        if self.addresses.len() < self.sweep_at {
            return;
        }
        self.addresses.retain(|_, address| {
            let is_idle = address.connections.load(Ordering::Relaxed) == 0;
            !(is_idle && address.opens.is_full(now) && address.purse.is_full(now))
        });
        self.sweep_at = 2 * self.addresses.len() + SWEEP_AFTER;
    }
}

/// What counts as one address.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn a_crowd_that_left_is_forgotten_and_who_is_in_debt_is_not() {
        let settings: Settings = toml::from_str("data = \"d\"").expect("settings");
        let limits = settings.resolve().expect("complete").0.limits;
        let addresses = Addresses::default();
        let all = |from: u32, now| {
            for n in from..from + 10_000 {
                drop(addresses.place(IpAddr::V4(n.into()), &limits, now).expect("room"));
            }
            addresses.table.lock().expect("no panic").addresses.len()
        };
        assert_eq!(all(0, 1), 10_000, "their buckets are not full yet");
        assert!(all(10_000, 1_000_000_000) <= 25_000);
        assert!(all(20_000, 9_000_000_000) <= 25_000, "but then they are");
        let debtor = addresses.place(IpAddr::V4(1.into()), &limits, 9_000_000_000).expect("room");
        let table = addresses.table.lock().expect("no panic");
        assert!(table.addresses.len() < 25_000);
        drop(table);
        drop(debtor);
    }
}
