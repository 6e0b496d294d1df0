//! A mover in the corridors, from the middle of one tile to the middle of the next.

use super::way::{Hand, Place, TILE, Way};

/// A mover: its tile, its direction, and how far it has gone to the next tile. Invariant: while it is between two
/// tiles, the next tile in its direction is within the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mover {
    pub(super) place: Place,
    pub(super) way: Way,
    pub(super) gone: u8,
}

impl Mover {
    pub(super) const fn at(place: Place, way: Way) -> Self {
        Self { place, way, gone: 0 }
    }

    /// The direction in which the mover looks.
    #[must_use]
    pub const fn way(&self) -> Way {
        self.way
    }

    /// Column and row, counted in [`TILE`]ths of a tile.
    #[must_use]
    pub fn position(&self) -> (i32, i32) {
        let ((dx, dy), tile) = (self.way.delta(), i32::from(TILE));
        let along = |from: u8, delta: i8| i32::from(from) * tile + i32::from(delta) * i32::from(self.gone);
        (along(self.place.x, dx), along(self.place.y, dy))
    }

    /// The tile that the mover is on its way to; `None` in the middle of a tile.
    pub(super) fn ahead(&self) -> Option<Place> {
        (self.gone > 0).then(|| self.place.next(self.way)).flatten()
    }

    /// The tile whose middle is nearest to the mover.
    #[must_use]
    pub fn here(&self) -> Place {
        self.ahead().filter(|_| self.gone > TILE / 2).unwrap_or(self.place)
    }

    /// Whether the mover is on this tile. Between two tiles it is on both.
    pub(super) fn holds(&self, place: Place) -> bool {
        self.place == place || self.ahead() == Some(place)
    }

    /// The tile in whose middle the mover is, or will be after one step at this speed.
    pub(super) fn next_middle(&self, speed: u8) -> Option<Place> {
        if self.gone == 0 { Some(self.place) } else { self.ahead().filter(|_| self.gone + speed >= TILE) }
    }

    /// Moves the mover by `speed`. When it is in the middle of a tile or reaches one, `choose` gives its next
    /// direction; with `None` it stops there.
    pub(super) fn go_on(&mut self, speed: u8, choose: impl FnOnce(&Self) -> Option<Way>) {
        let mut gone = speed;
        if let Some(ahead) = self.ahead() {
            gone += self.gone;
            if gone < TILE {
                self.gone = gone;
                return;
            }
            gone -= TILE;
            (self.place, self.gone) = (ahead, 0);
        }
        if let Some(way) = choose(self) {
            (self.way, self.gone) = (way, gone);
        }
    }

    /// Turns round between two tiles, if `hand` asks for the opposite direction.
    pub(super) fn turn_back(&mut self, hand: Hand) {
        if let Some(ahead) = self.ahead().filter(|_| hand.wants(self.way.back())) {
            *self = Self { place: ahead, way: self.way.back(), gone: TILE - self.gone };
        }
    }

    /// The directions that `hand` wants: first the turns to a side, then straight on, then back.
    pub(super) fn wishes(&self, hand: Hand) -> impl Iterator<Item = Way> {
        let is_along = |way: Way| way == self.way || way == self.way.back();
        let turns = Way::ALL.into_iter().filter(move |&way| !is_along(way));
        turns.chain([self.way, self.way.back()]).filter(move |&way| hand.wants(way))
    }
}

/// Whether two movers are so near that they touch. Movers in different corridors are farther apart than that.
pub(super) fn touch(a: &Mover, b: &Mover) -> bool {
    let ((ax, ay), (bx, by)) = (a.position(), b.position());
    (ax - bx).abs() + (ay - by).abs() < i32::from(TILE) * 3 / 5
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const HERE: Place = Place { x: 3, y: 3 };

    #[test]
    fn speed_is_kept_across_the_middle_of_a_tile() {
        let mut mover = Mover::at(HERE, Way::Right);
        for _ in 0..30 {
            mover.go_on(8, |_| Some(Way::Right));
        }
        assert_eq!(mover.position(), (3 * 60 + 240, 180));
    }

    #[test]
    fn a_blocked_mover_stops_in_the_middle_of_a_tile() {
        let mut mover = Mover { place: HERE, way: Way::Down, gone: 55 };
        mover.go_on(9, |_| None);
        assert_eq!(mover, Mover::at(Place { x: 3, y: 4 }, Way::Down));
    }

    #[test]
    fn turning_back_keeps_the_position() {
        let mut mover = Mover { place: HERE, way: Way::Left, gone: 20 };
        let before = mover.position();
        mover.turn_back(Hand::default().with(Way::Right));
        assert_eq!((mover.position(), mover.way()), (before, Way::Right));
    }

    #[test]
    fn a_wanted_turn_comes_before_going_straight_on() {
        let mover = Mover::at(HERE, Way::Right);
        let hand = Hand::default().with(Way::Right).with(Way::Up);
        assert_eq!(mover.wishes(hand).collect::<Vec<_>>(), [Way::Up, Way::Right]);
        assert_eq!(mover.wishes(hand.with(Way::Left)).collect::<Vec<_>>(), [Way::Up]);
    }
}
