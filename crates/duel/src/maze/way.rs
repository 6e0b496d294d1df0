//! Places and directions in the grid.

use super::Role;
use crate::teapot::Controls;

/// Tiles from left to right: the red half, a column of gates, the blue half.
pub const WIDTH: u8 = 25;

/// Tiles from top to bottom.
pub const HEIGHT: u8 = 15;

/// The column between the halves.
pub const BORDER: u8 = WIDTH / 2;

/// Number of parts of a tile; movement is counted in these parts.
pub const TILE: u8 = 60;

/// A tile of the grid: column from the left, row from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Column, below [`WIDTH`].
    pub x: u8,
    /// Row, below [`HEIGHT`].
    pub y: u8,
}

impl Place {
    /// The same place for the other side. The grid looks the same when it is turned by half a circle.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self { x: WIDTH - 1 - self.x, y: HEIGHT - 1 - self.y }
    }

    /// The next tile in this direction; `None` at the edge of the grid.
    #[must_use]
    pub fn next(self, way: Way) -> Option<Self> {
        let (dx, dy) = way.delta();
        let (x, y) = (self.x.checked_add_signed(dx)?, self.y.checked_add_signed(dy)?);
        (x < WIDTH && y < HEIGHT).then_some(Self { x, y })
    }

    /// The number of the tile, counted row by row.
    pub(super) fn index(self) -> usize {
        usize::from(self.y) * usize::from(WIDTH) + usize::from(self.x)
    }

    /// The number of steps to another place, if there were no walls.
    pub(super) fn distance(self, other: Self) -> u8 {
        self.x.abs_diff(other.x) + self.y.abs_diff(other.y)
    }
}

/// One of four directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards row 0.
    Up,
    /// Towards column 0.
    Left,
    /// Away from row 0.
    Down,
    /// Away from column 0.
    Right,
}

impl Way {
    /// All directions, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Up, Self::Left, Self::Down, Self::Right];

    /// The number of the direction, 0 to 3.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The opposite direction.
    #[must_use]
    pub const fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Left => Self::Right,
            Self::Down => Self::Up,
            Self::Right => Self::Left,
        }
    }

    /// The change of column and row in one step.
    #[must_use]
    pub const fn delta(self) -> (i8, i8) {
        match self {
            Self::Up => (0, -1),
            Self::Left => (-1, 0),
            Self::Down => (0, 1),
            Self::Right => (1, 0),
        }
    }
}

/// The place of the wish for a teapot in a [`Hand`]: above the directions.
const WISH: u8 = 4;

/// A stick that is pushed further than this, from 0 to 1, asks for a direction.
const MEANT: f32 = 0.35;

/// The directions in which a player wants to go, by its keys or its thumb, and the teapot that it would rather play: the
/// input of one frame.
///
/// Each direction has one bit. Up and down together, or left and right together, cancel each other. If two directions
/// remain, the one that turns to a side comes first, so that a player can ask for a turn before the corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hand(u8);

impl Hand {
    /// Reads one byte of input; unknown bits are dropped.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte & 0x7f)
    }

    /// The same input with the wish to play this teapot.
    #[must_use]
    pub const fn wishing(self, role: Role) -> Self {
        Self(self.0 & 0x0f | (role as u8 + 1) << WISH)
    }

    /// The teapot that the player would rather play, if any.
    #[must_use]
    pub fn wish(self) -> Option<Role> {
        let number = usize::from(self.0 >> WISH);
        Role::ALL.get(number.checked_sub(1)?).copied()
    }

    /// The directions that driving controls ask for: ahead is up, and left is left.
    #[must_use]
    pub fn of(controls: Controls) -> Self {
        let Controls { throttle, turn, .. } = controls;
        let ways = [(Way::Up, throttle), (Way::Down, -throttle), (Way::Left, turn), (Way::Right, -turn)];
        let meant = ways.into_iter().filter(|(_, pushed)| *pushed > MEANT);
        meant.fold(Self::default(), |hand, (way, _)| hand.with(way))
    }

    /// The wanted directions as one byte of input.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The same input with this direction added.
    #[must_use]
    pub const fn with(self, way: Way) -> Self {
        Self(self.0 | 1 << way.number())
    }

    /// Whether this direction is wanted, and the opposite one is not.
    #[must_use]
    pub const fn wants(self, way: Way) -> bool {
        self.0 & 1 << way.number() != 0 && self.0 & 1 << way.back().number() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn wish_for_a_teapot_leaves_the_directions_as_they_are() {
        let hand = Hand::default().with(Way::Left);
        for role in Role::ALL {
            let wishing = Hand::from_byte(hand.wishing(role).byte());
            assert_eq!((wishing.wish(), wishing.wants(Way::Left)), (Some(role), true));
        }
        assert_eq!(hand.wish(), None);
        assert_eq!(Hand::from_byte(0x7f).wish(), None, "there are four teapots");
    }

    #[test]
    fn stick_pushed_far_enough_gives_one_or_two_directions() {
        let pushed = |throttle, turn| Hand::of(Controls { throttle, turn, fire: true });
        let way = |way| Hand::default().with(way);
        assert_eq!(pushed(0.2, -0.3), Hand::default());
        assert_eq!(pushed(1.0, 0.0), way(Way::Up));
        assert_eq!(pushed(-0.5, 0.1), way(Way::Down));
        assert_eq!(pushed(0.0, 1.0), way(Way::Left));
        assert_eq!(pushed(0.7, -0.7), way(Way::Up).with(Way::Right));
    }
}
