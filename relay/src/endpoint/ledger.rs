//! Limits the answers to unknown senders that ask for their address: the relay never sends an address more bytes than
//! came from it. So an attacker that forges its address cannot use the relay to amplify an attack.
//!
//! A plain binding request has 20 bytes, and its answer has 32. So the relay does not answer a first request of that
//! size. Browsers repeat the request after a quarter of a second, and the bytes of both requests together cover the
//! answer.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::SocketAddr;

/// The number of addresses that are remembered.
const PLACES: usize = 4_096;
/// The most credit that an address may save up, in bytes: enough for the answers of a second, not of a day.
const CREDIT_MAX: u32 = 1_000;

/// The credit of addresses, in bytes: what came from them, less what they were sent. If two addresses have the same
/// place in the table, the later one replaces the earlier one, which then only has to ask again.
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
    /// Credits an address with `came` bytes. Returns whether its credit covers an answer of `goes` bytes, and takes
    /// these from the credit then.
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
