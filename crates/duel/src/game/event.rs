//! Events of the duel, to show or to play sounds for. No behaviour depends on them: a missed event is a missed sound.

use std::collections::VecDeque;

use samovar_session::Departure;

use crate::plane::{Vec2, Vec3};
use crate::player::{PlayerKey, PlayerName};

/// The most events that may wait; beyond this the oldest are dropped.
const WAITING_MAX: usize = 256;

/// Something to show or to play a sound for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DuelEvent {
    /// A member has come.
    PlayerCame {
        /// The player.
        player: PlayerKey,
        /// The name to show.
        name: PlayerName,
        /// Whether the member came back to its seat.
        is_back: bool,
    },
    /// A member is gone: it is away, has left for good, or was put out by the host.
    PlayerWent {
        /// The player.
        player: PlayerKey,
        /// The name to show.
        name: PlayerName,
        /// Which of these it is.
        departure: Departure,
    },
    /// A cube left a spout.
    Fired {
        /// The shooter.
        by: PlayerKey,
        /// The place.
        position: Vec3,
    },
    /// A cube broke on something on this peer's screen. [`HitScored`](DuelEvent::HitScored) tells of hits that count.
    Shattered {
        /// The place.
        position: Vec3,
    },
    /// A hit that counts.
    HitScored {
        /// The player that fired.
        by: PlayerKey,
        /// The player that was hit.
        struck: PlayerKey,
        /// The session time of the hit, in microseconds.
        at: u64,
        /// Where the struck teapot is shown.
        position: Vec2,
    },
    /// A player has taken the sugar bowl.
    BowlTaken {
        /// The player.
        by: PlayerKey,
        /// The bowl's number; each later one has a higher number.
        bowl: u32,
        /// The session time of the touch, in microseconds.
        at: u64,
        /// Where the teapot is shown.
        position: Vec2,
    },
    /// A match begins; all scores begin anew.
    MatchBegan {
        /// The number of the match.
        number: u32,
        /// The first moment of the match, in microseconds of session time; the same for all.
        at: u64,
    },
    /// A match is over.
    MatchEnded {
        /// The number of the match.
        number: u32,
        /// The last moment of the match, in microseconds of session time; the same for all.
        at: u64,
        /// The winner; `None` when no player has a point.
        winner: Option<PlayerKey>,
    },
    /// A teapot is back on the table after a hit.
    Respawned {
        /// The player.
        player: PlayerKey,
        /// The place.
        position: Vec2,
    },
}

/// The events that `Duel::poll_event` has not returned yet.
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
