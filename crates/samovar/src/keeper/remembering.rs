//! The data that take the seat back, as they change during a run.

use samovar_peer::Peer;
use samovar_session::Session;
use samovar_wire::{Ticket, Time};

use super::Keeper;
use crate::game::Game;
use crate::memory::Memory;

impl<G: Game> Keeper<G> {
    /// The memory, if it changed since the last call; with the code. Before the host has given a ticket there is none.
    pub(crate) fn take_memory(&mut self) -> Option<(&Memory, &str)> {
        if self.memory.ticket.is_none() && !self.has_left {
            return None;
        }
        core::mem::replace(&mut self.is_new, false).then_some((&self.memory, &*self.code))
    }

    pub(super) fn note_ticket(&mut self, ticket: Ticket) {
        if !self.has_left {
            (self.memory.ticket, self.is_new) = (Some(ticket), true);
        }
    }

    /// Keeps the data of a raw game.
    pub(super) fn keep_raw(&mut self) {
        if let Some(kept) = self.game.as_ref().filter(|_| G::IS_RAW).and_then(Game::kept) {
            self.inner.kept = Some(kept.clone());
            self.memory.keep_raw(kept);
        }
    }

    /// Updates the memory that takes the seat back.
    pub(crate) fn remember(&mut self, now: Time, peer: &Peer) {
        let is_member = |session: &&Session| session.is_member() && !self.has_left;
        let Some(session) = peer.session().filter(is_member) else { return };
        let before = self.memory.clone();
        self.memory.pass = peer.pass().or(self.memory.pass);
        self.memory.kept = session.kept(now).or_else(|| self.memory.kept.take());
        if G::IS_RAW {
            self.keep_raw();
        } else if self.inner.knows_state() {
            self.memory.keep_state(&self.inner.hosted);
            self.memory.keep_own(&self.inner.written);
        }
        self.is_new |= before != self.memory;
    }

    /// Forgets all that would bring a player back who has left. A game that all have left is over, so only the ticket
    /// may be kept.
    pub(super) fn forget_seat(&mut self) {
        let ticket = self.memory.ticket.filter(|_| self.comes_back);
        (self.memory, self.is_new) = (Memory { ticket, ..Memory::default() }, true);
    }
}
