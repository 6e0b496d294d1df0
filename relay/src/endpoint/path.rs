//! The source addresses of a connection's datagrams, and the limits on sending there.
//!
//! A source address can be forged, and a peer may ask for a connection with a forged one. So the relay checks each
//! address: the machine there must answer a request whose transaction only that machine can know. Until then only
//! this check and answers to STUN leave for the address, and never more bytes than came from there. DTLS datagrams
//! wait meanwhile.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use super::stun::{self, Transaction};
use super::wire::Datagram;

/// The most addresses of one connection. A browser with several networks tries from each.
const PATHS_MAX: usize = 8;
/// The most datagrams that wait for a proof: a flight of DTLS is one or two.
const HELD_MAX: usize = 8;
/// The time between two checks without an answer.
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// The addresses of one connection.
#[derive(Debug, Default)]
pub(super) struct Paths {
    all: Vec<Path>,
    held: VecDeque<(SocketAddr, Vec<u8>)>,
}

#[derive(Debug)]
struct Path {
    address: SocketAddr,
    /// The relay's own address that the datagrams come to: answers must leave from it. It is fixed once the path is
    /// proved, because a forged datagram can come to any of the relay's addresses.
    own: Option<IpAddr>,
    received: usize,
    sent: usize,
    used: Instant,
    proof: Proof,
}

#[derive(Debug)]
enum Proof {
    Missing,
    Asked(Transaction, Instant),
    Given,
}

impl Paths {
    /// Notes a datagram.
    pub(super) fn received(&mut self, now: Instant, datagram: Datagram<'_>) {
        let (from, own, bytes) = (datagram.from, datagram.to, datagram.bytes.len());
        if let Some(path) = self.all.iter_mut().find(|path| path.address == from) {
            path.received = path.received.saturating_add(bytes);
            path.used = now;
            if !matches!(path.proof, Proof::Given) {
                path.own = own;
            }
            return;
        }
        if self.all.len() == PATHS_MAX {
            let oldest = (0..PATHS_MAX).min_by_key(|&index| self.all[index].used);
            oldest.map(|index| self.all.swap_remove(index));
        }
        let path = Path { address: from, own, received: bytes, sent: 0, used: now, proof: Proof::Missing };
        self.all.push(path);
    }

    /// The relay's own address from which to send to this address.
    pub(super) fn own_address(&self, to: SocketAddr) -> Option<IpAddr> {
        self.all.iter().find(|path| path.address == to)?.own
    }

    /// Whether this address is proved, so that no datagram is held back.
    pub(super) fn is_proven(&self, address: SocketAddr) -> bool {
        self.all.iter().any(|path| path.address == address && matches!(path.proof, Proof::Given))
    }

    /// Whether a datagram may go to an address now. A DTLS datagram to an unproved address is kept until the proof.
    pub(super) fn admits(&mut self, to: SocketAddr, bytes: &[u8]) -> bool {
        let Some(path) = self.all.iter_mut().find(|path| path.address == to) else { return false };
        if matches!(path.proof, Proof::Given) {
            return true;
        }
        if !stun::is_stun(bytes) {
            if self.held.len() == HELD_MAX {
                self.held.pop_front();
            }
            self.held.push_back((to, bytes.to_vec()));
            return false;
        }
        path.pays(bytes.len())
    }

    /// Whether to check an address now, with a message of `bytes` bytes and this transaction.
    pub(super) fn checks(&mut self, now: Instant, at: SocketAddr, bytes: usize, by: Transaction) -> bool {
        let Some(path) = self.all.iter_mut().find(|path| path.address == at) else { return false };
        let is_due = match path.proof {
            Proof::Given => false,
            Proof::Missing => true,
            Proof::Asked(_, since) => now >= since + CHECK_EVERY,
        };
        let goes = is_due && path.pays(bytes);
        if goes {
            path.proof = Proof::Asked(by, now);
        }
        goes
    }

    /// Takes the answer to a check. Returns whether it proves the address, so that the held datagrams may go.
    pub(super) fn prove(&mut self, from: SocketAddr, transaction: Transaction) -> bool {
        let asked = |path: &Path| matches!(path.proof, Proof::Asked(by, _) if by == transaction);
        let path = self.all.iter_mut().find(|path| path.address == from && asked(path));
        path.map(|path| path.proof = Proof::Given).is_some()
    }

    /// The datagrams that were held for this address.
    pub(super) fn release(&mut self, address: SocketAddr) -> Vec<Vec<u8>> {
        let (free, held) = std::mem::take(&mut self.held).into_iter().partition(|(to, _)| *to == address);
        self.held = held;
        let free: VecDeque<(SocketAddr, Vec<u8>)> = free;
        free.into_iter().map(|(_, bytes)| bytes).collect()
    }
}

impl Path {
    fn pays(&mut self, bytes: usize) -> bool {
        let pays = self.sent + bytes <= self.received;
        if pays {
            self.sent += bytes;
        }
        pays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    /// Notes a datagram of `bytes` bytes to one of the relay's addresses.
    fn came(paths: &mut Paths, now: Instant, port: u16, bytes: usize, own: u8) {
        let to = Some([10, 0, 0, own].into());
        paths.received(now, Datagram { from: address(port), to, bytes: &vec![0; bytes] });
    }

    /// A STUN message of `bytes` bytes.
    fn stun_of(bytes: usize) -> Vec<u8> {
        let mut message = stun::answer([0; 12], address(1));
        message.resize(bytes, 0);
        message
    }

    #[test]
    fn an_unproved_address_gets_no_more_bytes_than_it_sent() {
        let (mut paths, now) = (Paths::default(), Instant::now());
        assert!(!paths.admits(address(1), &stun_of(32)), "nobody is there");
        came(&mut paths, now, 1, 100, 1);
        assert!(paths.admits(address(1), &stun_of(64)));
        assert!(!paths.checks(now, address(1), 80, [1; 12]), "100 came, 144 would have gone");
        assert!(!paths.admits(address(1), &[22; 36]), "DTLS waits, however little");
        came(&mut paths, now, 1, 100, 1);
        assert!(paths.checks(now, address(1), 80, [2; 12]));
        assert!(!paths.prove(address(2), [2; 12]) && !paths.prove(address(1), [1; 12]));
        assert!(!paths.is_proven(address(1)));
        assert!(paths.prove(address(1), [2; 12]) && paths.is_proven(address(1)));
        assert_eq!(paths.release(address(1)), [vec![22; 36]]);
        assert!(paths.admits(address(1), &[22; 1_200]));
        assert!(!paths.admits(address(2), &[22; 10]));
    }

    #[test]
    fn answers_leave_from_the_address_that_was_asked() {
        let (mut paths, now) = (Paths::default(), Instant::now());
        let own = |paths: &Paths| paths.own_address(address(1)).map(|ip| ip.to_string());
        assert_eq!(own(&paths), None);
        came(&mut paths, now, 1, 500, 1);
        came(&mut paths, now, 1, 500, 2);
        assert_eq!(own(&paths).as_deref(), Some("10.0.0.2"));
        assert!(paths.checks(now, address(1), 80, [2; 12]) && paths.prove(address(1), [2; 12]));
        came(&mut paths, now, 1, 500, 3);
        assert_eq!(
            own(&paths).as_deref(),
            Some("10.0.0.2"),
            "whoever forges its address leads nothing astray"
        );
    }

    #[test]
    fn addresses_and_their_held_datagrams_are_bounded() {
        let (mut paths, now) = (Paths::default(), Instant::now());
        for port in 0..100 {
            came(&mut paths, now + Duration::from_millis(port.into()), port, 1_000, 1);
            assert!(!paths.admits(address(port), &[22; 500]));
        }
        assert_eq!((paths.all.len(), paths.held.len()), (PATHS_MAX, HELD_MAX));
        assert_eq!(paths.release(address(99)).len(), 1);
        assert!(!paths.checks(now, address(0), 10, [0; 12]), "the oldest made room");
    }
}
