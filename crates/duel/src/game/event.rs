//! What happened in the duel, for the eye and the ear. Nothing depends on it: whoever misses an event misses a sound.

use std::collections::VecDeque;

use samovar_session::Departure;

use crate::plane::{Vec2, Vec3};
use crate::player::{PlayerKey, PlayerName};

/// Events that may wait; the oldest are dropped beyond it.
const WAITING_MAX: usize = 256;

/// Something to show or to let hear.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DuelEvent {
    /// A member is here that was not here a moment ago.
    PlayerCame {
        /// Who.
        player: PlayerKey,
        /// The name to show.
        name: PlayerName,
        /// Whether it came back to its seat.
        is_back: bool,
    },
    /// A member is gone; its seat waits for it.
    PlayerWent {
        /// Who.
        player: PlayerKey,
        /// The name to show.
        name: PlayerName,
        /// How.
        departure: Departure,
    },
    /// A cube left a spout.
    Fired {
        /// Whose.
        by: PlayerKey,
        /// Where.
        position: Vec3,
    },
    /// A cube broke on something, here on this screen. Whether it scored is another event.
    Shattered {
        /// Where.
        position: Vec3,
    },
    /// A hit that counts.
    HitScored {
        /// Who fired.
        by: PlayerKey,
        /// Who was hit.
        struck: PlayerKey,
        /// The session time of the hit, in microseconds.
        at: u64,
        /// Where the struck teapot is shown.
        position: Vec2,
    },
    /// Somebody has the sugar bowl.
    BowlTaken {
        /// Who.
        by: PlayerKey,
        /// Which bowl; each later one has a higher number.
        bowl: u32,
        /// The session time of the touch, in microseconds.
        at: u64,
        /// Where the teapot is shown.
        position: Vec2,
    },
    /// A match begins; scores have begun anew.
    MatchBegan {
        /// Which.
        number: u32,
        /// Its first moment, in microseconds of session time; the same for all.
        at: u64,
    },
    /// A match is over.
    MatchEnded {
        /// Which.
        number: u32,
        /// Its last moment, in microseconds of session time; the same for all.
        at: u64,
        /// Who won; nobody when nobody has a point.
        winner: Option<PlayerKey>,
    },
    /// A teapot is back on the table after a hit.
    Respawned {
        /// Whose.
        player: PlayerKey,
        /// Where.
        position: Vec2,
    },
}

/// The events that wait.
#[derive(Debug, Default)]
pub(super) struct Feed(VecDeque<DuelEvent>);

impl Feed {
    pub(super) fn push(&mut self, event: DuelEvent) {
        if self.0.len() == WAITING_MAX {
            self.0.pop_front();
        }
        self.0.push_back(event);
    }

    pub(super) fn pop(&mut self) -> Option<DuelEvent> {
        self.0.pop_front()
    }
}
