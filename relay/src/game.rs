//! A game as forwarding needs it: its budgets and its connected peers.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use samovar_wire::PeerId;

use crate::limits::Purse;

/// The shared state of one game, whose peers are reached by an `L` each. The directory decides who is connected; this
/// is its copy for all threads, which read it without a lock.
#[derive(Debug)]
pub(crate) struct Game<L> {
    pub(crate) all: Purse,
    /// The budget of all strangers together: the peers that the game's host has not named as members.
    pub(crate) strangers: Purse,
    peers: ArcSwap<Peers<L>>,
}

/// The connected peers of a game, in order.
#[derive(Debug)]
pub(crate) struct Peers<L>(Vec<(PeerId, Arc<L>)>);

impl<L> Default for Game<L> {
    fn default() -> Self {
        let peers = ArcSwap::from_pointee(Peers(Vec::new()));
        Self { all: Purse::default(), strangers: Purse::default(), peers }
    }
}

impl<L> Game<L> {
    /// Notes the connected peers, in order. A peer's `L` may hold its game, and the game holds it, so an ended game must
    /// be emptied.
    pub(crate) fn connect(&self, peers: Vec<(PeerId, Arc<L>)>) {
        self.peers.store(Arc::new(Peers(peers)));
    }

    /// The peers that are connected at this moment.
    pub(crate) fn peers(&self) -> Guard<Arc<Peers<L>>> {
        self.peers.load()
    }
}

impl<L> Peers<L> {
    /// How a peer is reached; `None` if it is not connected.
    pub(crate) fn get(&self, peer: PeerId) -> Option<&Arc<L>> {
        let index = self.0.binary_search_by_key(&peer, |(peer, _)| *peer).ok()?;
        Some(&self.0[index].1)
    }

    /// All peers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(PeerId, Arc<L>)> {
        self.0.iter()
    }
}
