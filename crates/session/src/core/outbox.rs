//! What waits for the driver and for the game.

use std::collections::VecDeque;

use samovar_wire::limits::SEATS_MAX;
use samovar_wire::{PeerId, Term};

use super::events::Events;
use crate::Migration;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) events: Events,
    /// The term that this peer claims, and for whom.
    pub(crate) claim: Option<(Term, PeerId)>,
    /// The relay shall ask the host whether it lives.
    pub(crate) doubt: bool,
    /// Peers that this host has barred, of which the relay is to be told.
    pub(crate) bars: VecDeque<PeerId>,
    /// A change of host of which the game is told when the new one's session object is here.
    pub(crate) migration: Option<Migration>,
}

impl Outbox {
    /// Of those whom no driver asks for, the oldest are given up.
    pub(crate) fn bar(&mut self, peer: PeerId) {
        if self.bars.len() == SEATS_MAX {
            self.bars.pop_front();
        }
        self.bars.push_back(peer);
    }
}
