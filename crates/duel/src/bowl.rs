//! The sugar bowl on the table: the first player to drive over it gets two points.
//!
//! The time of the touch decides who is first, not the arrival of a message: every peer sees the touches in the same
//! order ([`Word::Touched`](crate::word::Word::Touched), by time stamp). The host gives the points for the first
//! touch and replaces the bowl by one with a higher number. So the number on the scoreboard tells whether a bowl's
//! points were given.

use crate::arena::Table;
use crate::codec::{DecodeError, Reader};
use crate::plane::{Vec2, direction, distance, scale};
use crate::player::PlayerKey;
use crate::teapot::BODY_RADIUS;

/// The points for a bowl.
pub const POINTS_PER_BOWL: u16 = 2;

/// The radius of the bowl.
pub const BOWL_RADIUS: f32 = 0.5;

/// The bowl's height.
pub const BOWL_HEIGHT: f32 = 0.6;

/// Number of places where a bowl can stand, between the cups and the rim.
const PLACES: u8 = 12;

/// The distances of those places from the centre: the first for places with an even number, the second for the
/// others.
const fn distances(table: Table) -> [f32; 2] {
    match table {
        Table::Tea => [5.0, 11.0],
        Table::Banquet => [13.0, 27.0],
    }
}

/// The bowl that stands on the table, or the next one to appear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bowl {
    /// The bowl's number. Each later bowl has a higher one, and 0 means that there was none yet.
    pub number: u32,
    /// The number of the bowl's place.
    pub place: u8,
    /// When the bowl appears, in microseconds of session time.
    pub appears_at: u64,
    /// The player that took the previous bowl, and when, in microseconds of session time; `None` if none was taken.
    pub taken: Option<(PlayerKey, u64)>,
}

/// The taking of a bowl by a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grab {
    /// The bowl's number.
    pub bowl: u32,
    /// The player.
    pub player: PlayerKey,
    /// The session time, in microseconds.
    pub at: u64,
}

impl Bowl {
    /// The position where the bowl stands on this table.
    pub fn position(&self, table: Table) -> Vec2 {
        place(table, self.place)
    }

    /// Whether the bowl stands on the table at `time`, in microseconds of session time.
    pub fn is_there(&self, time: u64) -> bool {
        self.number > 0 && time >= self.appears_at
    }

    /// Whether a teapot at this position touches the bowl.
    pub fn is_touched_from(&self, table: Table, teapot: Vec2) -> bool {
        distance(self.position(table), teapot) <= BODY_RADIUS + BOWL_RADIUS
    }

    /// The taking of the previous bowl, if a player took it.
    pub fn last_grab(&self) -> Option<Grab> {
        let bowl = self.number.checked_sub(1)?;
        self.taken.map(|(player, at)| Grab { bowl, player, at })
    }

    /// The next bowl, as far from all teapots as possible, so that a player gains nothing by waiting in one place.
    pub fn next(&self, grab: Option<Grab>, appears_at: u64, (table, teapots): (Table, &[Vec2])) -> Self {
        let room = |number: u8| {
            let nearest = teapots.iter().map(|&teapot| distance(place(table, number), teapot));
            nearest.fold(f32::INFINITY, f32::min)
        };
        let others = (1..PLACES).map(|step| (self.place + 5 * step) % PLACES);
        let best = others.reduce(|best, other| if room(other) > room(best) { other } else { best });
        Self {
            number: self.number.saturating_add(1),
            place: best.unwrap_or(0),
            appears_at,
            taken: grab.map(|grab| (grab.player, grab.at)),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        out.extend(self.number.to_le_bytes());
        out.push(self.place);
        out.extend(self.appears_at.to_le_bytes());
        if let Some((player, at)) = self.taken {
            player.write(&mut out);
            out.extend(at.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let (number, place, appears_at) = (reader.u32()?, reader.u8()?, reader.u64()?);
        if place >= PLACES {
            return Err(DecodeError::OutOfRange);
        }
        let taken =
            if reader.is_empty() { None } else { Some((PlayerKey::read(&mut reader)?, reader.u64()?)) };
        reader.finish()?;
        Ok(Self { number, place, appears_at, taken })
    }
}

fn place(table: Table, number: u8) -> Vec2 {
    let angle = (f32::from(number) + 0.5) * std::f32::consts::TAU / f32::from(PLACES);
    let out = distances(table)[usize::from(number % 2)];
    table.laid().push_out(scale(direction(angle), out), BODY_RADIUS + BOWL_RADIUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn teapots_can_drive_over_every_place_of_a_bowl() {
        for table in [Table::Tea, Table::Banquet] {
            for number in 0..PLACES {
                let at = place(table, number);
                assert!(table.laid().is_free(at, BODY_RADIUS), "{number}: {at:?}");
                let others = (0..PLACES).filter(|&other| other != number);
                assert!(others.into_iter().all(|other| distance(at, place(table, other)) > 2.0));
            }
        }
    }

    #[test]
    fn the_next_bowl_stands_elsewhere_and_far_from_teapots() {
        let mut bowl = Bowl::default();
        for number in 1..40 {
            let teapot = bowl.position(Table::Tea);
            let next = bowl.next(None, 9, (Table::Tea, &[teapot]));
            assert_eq!((next.number, next.appears_at), (number, 9));
            assert_ne!(next.place, bowl.place);
            assert!(distance(next.position(Table::Tea), teapot) > 12.0);
            bowl = next;
        }
    }

    #[test]
    fn an_encoded_bowl_decodes_to_itself() {
        for taken in [None, Some((PlayerKey::Seat(3), 77))] {
            let bowl = Bowl { number: 4, place: 11, appears_at: 8, taken };
            assert_eq!(Bowl::decode(&bowl.encode()), Ok(bowl));
        }
        let nowhere = Bowl { place: PLACES, ..Bowl::default() };
        assert_eq!(Bowl::decode(&nowhere.encode()), Err(DecodeError::OutOfRange));
        let grab = Bowl { number: 4, place: 0, appears_at: 8, taken: Some((PlayerKey::Robot(1), 5)) };
        assert_eq!(grab.last_grab(), Some(Grab { bowl: 3, player: PlayerKey::Robot(1), at: 5 }));
    }
}
