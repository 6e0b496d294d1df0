//! The live games, and which of them have changed.

use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, BTreeSet};

use samovar_wire::SessionId;

use super::game::Game;

/// The live games. Whatever may change a game marks its session, so no change can go by a driver that keeps a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Games {
    all: BTreeMap<SessionId, Game>,
    /// The sessions that the driver has not looked at since their last change. This decides nothing, so directories that
    /// differ only in it are the same.
    changed: BTreeSet<SessionId>,
    /// Whether the driver wants to know.
    marks: bool,
}

impl Games {
    pub(super) const fn set_marks(&mut self, marks: bool) {
        self.marks = marks;
    }

    pub(super) fn get(&self, session: &SessionId) -> Option<&Game> {
        self.all.get(session)
    }

    pub(super) fn get_mut(&mut self, session: &SessionId) -> Option<&mut Game> {
        let game = self.all.get_mut(session)?;
        if self.marks {
            self.changed.insert(*session);
        }
        Some(game)
    }

    pub(super) fn insert(&mut self, session: SessionId, game: Game) {
        if self.marks {
            self.changed.insert(session);
        }
        self.all.insert(session, game);
    }

    pub(super) fn remove(&mut self, session: &SessionId) -> Option<Game> {
        let game = self.all.remove(session)?;
        if self.marks {
            self.changed.insert(*session);
        }
        Some(game)
    }

    pub(super) fn contains_key(&self, session: &SessionId) -> bool {
        self.all.contains_key(session)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SessionId, &Game)> {
        self.all.iter()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Game> {
        self.all.values()
    }

    /// Takes a session that has changed, or ended.
    pub(super) fn take_changed(&mut self) -> Option<SessionId> {
        self.changed.pop_first()
    }
}

impl PartialEq for Games {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Eq for Games {}

impl Hash for Games {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.all.hash(state);
    }
}
