//! Cuts between places. A cut has a direction. Cuts of the same path are counted, so that each ends by itself.

use samovar_wire::SortedMap;

/// One end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The place of a player. Players are numbered as they join.
    Player(usize),
    /// The place of the relay.
    Relay,
}

impl core::fmt::Display for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Player(player) => write!(f, "P{player}"),
            Self::Relay => f.write_str("relay"),
        }
    }
}

/// Some of the places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// The players: bit n stands for player n.
    pub players: u64,
    /// Whether the relay is among them.
    pub relay: bool,
}

impl Side {
    /// The other side: all of the first `players` players, and the relay, that are not on this side.
    #[must_use]
    pub const fn rest(self, players: usize) -> Self {
        let all = if players >= 64 { u64::MAX } else { (1 << players) - 1 };
        Self { players: all & !self.players, relay: !self.relay }
    }

    /// Whether a place is on this side.
    #[must_use]
    pub const fn has(self, place: Place) -> bool {
        match place {
            Place::Player(player) => self.players >> player & 1 == 1,
            Place::Relay => self.relay,
        }
    }

    /// The places on this side.
    pub fn places(self) -> impl Iterator<Item = Place> {
        let players = (0..64).map(Place::Player).filter(move |&place| self.has(place));
        players.chain(self.relay.then_some(Place::Relay))
    }
}

/// All cuts that are in force.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    counts: SortedMap<(Place, Place), u32>,
}

impl Cuts {
    /// Cuts the paths from all places of `from` to all places of `to`.
    pub(crate) fn cut(&mut self, from: Side, to: Side) {
        for (a, b) in pairs(from, to) {
            *self.counts.entry((a, b)).or_default() += 1;
        }
    }

    /// Ends one cut that [`Cuts::cut`] began with the same sides.
    pub(crate) fn mend(&mut self, from: Side, to: Side) {
        for (a, b) in pairs(from, to) {
            if let Some(count) = self.counts.get_mut(&(a, b)) {
                *count = count.saturating_sub(1);
            }
        }
        self.counts.retain(|_, count| *count > 0);
    }

    pub(crate) fn clear(&mut self) {
        self.counts.clear();
    }

    /// Whether a packet from `from` gets to `to`.
    pub(crate) fn lets(&self, from: Place, to: Place) -> bool {
        self.counts.keys().len() == 0 || !self.counts.contains_key(&(from, to))
    }

    /// Whether packets get through between two places in both directions.
    pub(crate) fn lets_both(&self, a: Place, b: Place) -> bool {
        self.lets(a, b) && self.lets(b, a)
    }

    /// Whether anything is cut.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.keys().len() == 0
    }
}

fn pairs(from: Side, to: Side) -> Vec<(Place, Place)> {
    from.places().flat_map(|a| to.places().filter(move |&b| b != a).map(move |b| (a, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn cuts_have_a_direction_and_end_one_by_one() {
        let mut cuts = Cuts::default();
        let (a, b) = (Side { players: 0b11, relay: false }, Side { players: 0b100, relay: true });
        let (first, third) = (Place::Player(0), Place::Player(2));
        cuts.cut(a, b);
        assert!(!cuts.lets(first, third) && !cuts.lets(first, Place::Relay));
        assert!(cuts.lets(third, first) && cuts.lets(Place::Relay, first));
        assert!(cuts.lets(first, Place::Player(1)));
        cuts.cut(a, b);
        cuts.mend(a, b);
        assert!(!cuts.lets(first, third));
        cuts.mend(a, b);
        assert!(cuts.lets(first, third) && cuts.is_empty());
    }

    #[test]
    fn rest_is_every_place_that_is_not_on_the_side() {
        let side = Side { players: 0b101, relay: true };
        assert_eq!(side.rest(4), Side { players: 0b1010, relay: false });
    }
}
