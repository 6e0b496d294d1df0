//! What the directory keeps of a live game.

use std::collections::{BTreeMap, VecDeque};

use samovar_wire::relay::Listing;
use samovar_wire::{Entropy, GameCode, PeerId, SessionId, Term, Time, Warrant};

use super::{ConnId, TermRecord};
use crate::limits::{CLAIM_COUNTS_FOR, PEERS_REMEMBERED};

/// A game with at least one connection.
#[derive(Debug)]
pub(super) struct Game {
    pub(super) code: GameCode,
    pub(super) params: u64,
    pub(super) serial: u64,
    /// The highest that is on disk; `None` until the first is.
    pub(super) warrant: Option<Warrant>,
    /// A term and its host, on their way to disk. Nobody may hear of it.
    pub(super) pending: Option<(Term, PeerId)>,
    pub(super) members: BTreeMap<PeerId, ConnId>,
    /// They become members as soon as there is a warrant to send them.
    pub(super) entrants: BTreeMap<PeerId, ConnId>,
    pub(super) listing: Option<Listing>,
    /// The game was listed again without its host, which may still be on its way.
    pub(super) awaits_host: bool,
    pub(super) claims: Claims,
    recent: VecDeque<PeerId>,
}

impl Game {
    /// A game whose first term is on its way to disk.
    pub(super) fn new(record: &TermRecord) -> Self {
        Self {
            code: record.code.clone(),
            params: record.params,
            serial: record.serial,
            warrant: None,
            pending: Some((record.term, record.host)),
            members: BTreeMap::new(),
            entrants: BTreeMap::new(),
            listing: None,
            awaits_host: false,
            claims: Claims::default(),
            recent: VecDeque::from([record.host]),
        }
    }

    /// What must not be forgotten of it: the highest term, on disk or on its way.
    pub(super) fn record(&self, session: SessionId) -> Option<TermRecord> {
        let (term, host) =
            self.pending.or_else(|| self.warrant.map(|warrant| (warrant.term, warrant.host)))?;
        let Self { code, params, serial, .. } = self;
        Some(TermRecord { session, code: code.clone(), params: *params, term, host, serial: *serial })
    }

    pub(super) fn connections(&self) -> usize {
        self.members.len() + self.entrants.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections() == 0
    }

    pub(super) fn host(&self) -> Option<PeerId> {
        self.warrant.map(|warrant| warrant.host)
    }

    /// The host's connection.
    pub(super) fn host_conn(&self) -> Option<ConnId> {
        self.members.get(&self.host()?).copied()
    }

    /// An id that nobody in the game has or had lately. Zero is nobody's: it stands for the session (DESIGN §1).
    pub(super) fn draw_peer(&mut self, entropy: &mut Entropy) -> PeerId {
        loop {
            let peer = PeerId((entropy.number() >> 32) as u32);
            let known = self.members.contains_key(&peer)
                || self.entrants.contains_key(&peer)
                || self.recent.contains(&peer)
                || self.host() == Some(peer);
            if peer.0 != 0 && !known {
                self.remember(peer);
                return peer;
            }
        }
    }

    /// Keeps a peer's id from being drawn for another.
    pub(super) fn remember(&mut self, peer: PeerId) {
        if self.recent.contains(&peer) {
            return;
        }
        if self.recent.len() == PEERS_REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(peer);
    }

    /// Whether more than half of the members that the relay reaches, the host among them, miss it.
    pub(super) fn is_host_missed(&self, now: Time) -> bool {
        self.claims.count(now) * 2 > self.members.len()
    }
}

/// Who misses the host, and what is being done about it.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// Claimants without an answer, first come first, each with the term it claimed.
    waiting: Vec<(PeerId, Term)>,
    /// When each member last claimed the next term.
    missed: BTreeMap<PeerId, Time>,
    /// The number that the host must answer with.
    pub(super) probe: Option<u64>,
    /// When the host last answered one.
    pub(super) alive_at: Option<Time>,
}

impl Claims {
    /// Notes a claim; each claimant waits once.
    pub(super) fn add(&mut self, now: Time, peer: PeerId, term: Term) {
        self.missed.insert(peer, now);
        if !self.waiting.iter().any(|&(waiting, _)| waiting == peer) {
            self.waiting.push((peer, term));
        }
    }

    pub(super) fn first(&self) -> Option<PeerId> {
        self.waiting.first().map(|&(peer, _)| peer)
    }

    pub(super) fn take_waiting(&mut self) -> Vec<(PeerId, Term)> {
        std::mem::take(&mut self.waiting)
    }

    /// A member is not connected any more: what it missed counts no longer.
    pub(super) fn remove(&mut self, peer: PeerId) {
        self.missed.remove(&peer);
        self.waiting.retain(|&(waiting, _)| waiting != peer);
    }

    /// A new term: nobody misses its host yet.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn count(&self, now: Time) -> usize {
        self.missed.values().filter(|&&at| now.since(at) <= CLAIM_COUNTS_FOR).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_thousand_peers_of_a_game_have_a_thousand_ids_and_few_are_remembered() {
        let code = GameCode::parse("TEA").unwrap();
        let record =
            TermRecord { session: SessionId(1), code, params: 0, term: Term(1), host: PeerId(7), serial: 1 };
        let mut game = Game::new(&record);
        let mut entropy = Entropy::new([1; 32]);
        let drawn: std::collections::BTreeSet<_> = (0..1_000).map(|_| game.draw_peer(&mut entropy)).collect();
        assert_eq!(drawn.len(), 1_000);
        assert!(!drawn.contains(&PeerId(0)) && !drawn.contains(&PeerId(7)));
        assert_eq!(game.recent.len(), PEERS_REMEMBERED);
    }
}
