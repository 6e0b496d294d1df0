//! What waits for the driver and for the game.

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
    /// A change of host of which the game is told when the new one's session object is here.
    pub(crate) migration: Option<Migration>,
}
