//! The outbox: news that waits for the driver or for the game.

use std::collections::VecDeque;

use samovar_wire::limits::SEATS_MAX;
use samovar_wire::{PeerId, Term};

use super::events::Events;
use crate::Migration;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) events: Events,
    /// The term that this peer claims, and the candidate for it.
    pub(crate) claim: Option<(Term, PeerId)>,
    /// Whether the driver is to have the relay probe the host.
    pub(crate) doubt: bool,
    /// Peers that this host has barred, and that the driver is to report to the relay.
    pub(crate) bars: VecDeque<PeerId>,
    /// A change of host. The game is told of it when the new host's session object has arrived.
    pub(crate) migration: Option<Migration>,
}

impl Outbox {
    /// Notes a barred peer. If no driver polls, the oldest ones are dropped.
    pub(crate) fn bar(&mut self, peer: PeerId) {
        if self.bars.len() == SEATS_MAX {
            self.bars.pop_front();
        }
        self.bars.push_back(peer);
    }
}
