//! The bytes that strangers sent with requests for their address, so that they are never sent more.
//!
//! A plain binding request has 20 bytes and its answer 32. So a first request is answered only if it is larger;
//! browsers repeat it after a quarter of a second, and both together pay for the answer.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::SocketAddr;

/// Remembered addresses.
const PLACES: usize = 4_096;
/// The most that an address may save up: the answers of a second, not of a day.
const CREDIT_MAX: u32 = 1_000;

/// Credit of addresses, in bytes. Two addresses with the same place take it from each other; they then only have to ask
/// again.
#[derive(Debug)]
pub(super) struct Ledger {
    places: Vec<Option<(SocketAddr, u32)>>,
    keys: RandomState,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { places: vec![None; PLACES], keys: RandomState::new() }
    }
}

impl Ledger {
    /// Credits `came` bytes from an address. Whether they cover an answer of `goes` bytes; if so, it is paid.
    pub(super) fn pays(&mut self, from: SocketAddr, came: usize, goes: usize) -> bool {
        let place = (self.keys.hash_one(from) % PLACES as u64) as usize;
        let place = &mut self.places[place];
        let before = place.filter(|(address, _)| *address == from).map_or(0, |(_, credit)| credit);
        let credit = before.saturating_add(u32::try_from(came).unwrap_or(u32::MAX)).min(CREDIT_MAX);
        let left = u32::try_from(goes).ok().and_then(|goes| credit.checked_sub(goes));
        *place = Some((from, left.unwrap_or(credit)));
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_sent_more_than_came_from_it() {
        let mut ledger = Ledger::default();
        let from = "192.0.2.1:5000".parse().expect("an address");
        let answered = (0..16).filter(|_| ledger.pays(from, 20, 32)).count();
        assert_eq!(answered, 10, "320 bytes came, 320 went");
        assert!(!ledger.pays(from, 20, 32) && ledger.pays(from, 20, 32));
        assert!(ledger.pays("192.0.2.2:5000".parse().expect("an address"), 40, 32));
    }
}
