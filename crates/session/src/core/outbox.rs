//! What waits for the driver and for the game.

use std::collections::VecDeque;

use samovar_wire::{PeerId, Term};

use crate::{Event, Migration};

/// Events that may wait for the game; the oldest are dropped beyond it. A game that polls loses none.
const EVENTS_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    events: VecDeque<Event>,
    /// The term that this peer claims, and for whom.
    pub(crate) claim: Option<(Term, PeerId)>,
    /// The relay shall ask the host whether it lives.
    pub(crate) doubt: bool,
    /// A change of host of which the game is told when the new one's session object is here.
    pub(crate) migration: Option<Migration>,
}

impl Outbox {
    pub(super) fn push(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
