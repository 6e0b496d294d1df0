//! The walls of a round, made from a seed.
//!
//! The red half is a random tree of corridors in which dead ends are opened, so that there is always a second way
//! round. The blue half is the same, turned by half a circle, so both sides are equally hard.
//! Corridors run through odd columns and rows and the openings between them.

use super::way::{BORDER, HEIGHT, Place, WIDTH, Way};
use super::{Role, Side};
use crate::rng::Rng;

/// The numbers of columns and rows of corridor crossings in one half.
const COLUMNS: u8 = BORDER / 2;
const ROWS: u8 = HEIGHT / 2;

/// Number of walls that are opened besides those at dead ends.
const SHORTCUTS: u32 = 4;

/// The walls of a round, the starts of its teapots and the stands of its bowls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    seed: u64,
    /// For each row, one bit a column, set where the tile is open.
    open: [u32; HEIGHT as usize],
    /// The stand of the red bowl.
    base: Place,
}

impl Plan {
    /// The plan of this seed, the same on every machine.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut plan = Self { seed, open: [0; HEIGHT as usize], base: Place { x: 1, y: 1 } };
        plan.dig(&mut rng);
        plan.open_dead_ends(&mut rng);
        plan.open_gates(&mut rng);
        for y in 0..HEIGHT {
            for x in 0..BORDER {
                let place = Place { x, y };
                if plan.is_open(place) {
                    plan.set_open(place.opposite());
                }
            }
        }
        // The stand is not in a corner, since teapots start there.
        plan.base.y = 2 * (1 + rng.below(u32::from(ROWS) - 2) as u8) + 1;
        plan
    }

    /// The seed from which the plan was made.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether a tile is open; everything outside is wall.
    #[must_use]
    pub fn is_open(&self, place: Place) -> bool {
        self.open.get(usize::from(place.y)).is_some_and(|row| place.x < WIDTH && row >> place.x & 1 == 1)
    }

    /// The next tile in this direction; `None` if it is a wall.
    #[must_use]
    pub fn next(&self, place: Place, way: Way) -> Option<Place> {
        place.next(way).filter(|&next| self.is_open(next))
    }

    /// The stand of this side's bowl. This side's teapots bring the other side's bowl there.
    #[must_use]
    pub const fn base(&self, side: Side) -> Place {
        match side {
            Side::Red => self.base,
            Side::Blue => self.base.opposite(),
        }
    }

    /// The start of this teapot, a corner of its half. The teapot returns there when it is sent home.
    #[must_use]
    pub const fn start(&self, role: Role) -> Place {
        let (top, bottom) = (Place { x: 1, y: 1 }, Place { x: 1, y: HEIGHT - 2 });
        match role {
            Role::R1 => top,
            Role::R2 => bottom,
            Role::B1 => top.opposite(),
            Role::B2 => bottom.opposite(),
        }
    }

    /// Whether steam keeps away from this place: a stand or a start, so that no teapot is shut in or out.
    pub(super) fn is_kept_clear(&self, place: Place) -> bool {
        Side::BOTH.into_iter().any(|side| self.base(side) == place)
            || Role::ALL.into_iter().any(|role| self.start(role) == place)
    }

    /// A random crossing of corridors in the middle of the grid, where steam begins.
    pub(super) fn somewhere(rng: &mut Rng) -> Place {
        let middle = COLUMNS - 2;
        let x = 2 * (middle + rng.below(4) as u8) + 1;
        let y = 2 * rng.below(u32::from(ROWS)) as u8 + 1;
        Place { x, y }
    }

    fn set_open(&mut self, place: Place) {
        if let Some(row) = self.open.get_mut(usize::from(place.y)) {
            *row |= 1 << place.x;
        }
    }

    /// Digs corridors between the crossings of the red half, until exactly one way leads to each.
    fn dig(&mut self, rng: &mut Rng) {
        let mut trail = vec![Place { x: 1, y: 1 }];
        self.set_open(Place { x: 1, y: 1 });
        while let Some(&here) = trail.last() {
            let fresh: Vec<_> =
                crossings_beside(here).into_iter().filter(|&(_, beyond)| !self.is_open(beyond)).collect();
            match fresh.get(rng.below(fresh.len() as u32) as usize) {
                Some(&(wall, beyond)) => {
                    self.set_open(wall);
                    self.set_open(beyond);
                    trail.push(beyond);
                }
                None => drop(trail.pop()),
            }
        }
    }

    fn open_dead_ends(&mut self, rng: &mut Rng) {
        for here in crossings() {
            let ways = Way::ALL.into_iter().filter(|&way| self.next(here, way).is_some()).count();
            if ways == 1 {
                self.open_beside(here, rng);
            }
        }
        for _ in 0..SHORTCUTS {
            let x = 2 * rng.below(u32::from(COLUMNS)) as u8 + 1;
            let y = 2 * rng.below(u32::from(ROWS)) as u8 + 1;
            self.open_beside(Place { x, y }, rng);
        }
    }

    fn open_beside(&mut self, here: Place, rng: &mut Rng) {
        let walls: Vec<_> =
            crossings_beside(here).into_iter().filter(|&(wall, _)| !self.is_open(wall)).collect();
        if let Some(&(wall, _)) = walls.get(rng.below(walls.len() as u32) as usize) {
            self.set_open(wall);
        }
    }

    /// Opens two pairs of opposite gates, and in half of all plans a single one in the middle row.
    fn open_gates(&mut self, rng: &mut Rng) {
        let spared = rng.below(3) as u8;
        let rows = (0..ROWS / 2).filter(|&row| row != spared);
        let middle = (rng.below(2) == 0).then_some(ROWS / 2);
        for row in rows.chain(middle) {
            let gate = Place { x: BORDER, y: 2 * row + 1 };
            self.set_open(gate);
            self.set_open(gate.opposite());
        }
    }
}

/// The crossings of corridors in the red half.
fn crossings() -> impl Iterator<Item = Place> {
    (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| Place { x: 2 * column + 1, y: 2 * row + 1 }))
}

/// The crossings of the red half next to this one, each with the tile between the two.
fn crossings_beside(here: Place) -> Vec<(Place, Place)> {
    let beside = |way: Way| {
        let wall = here.next(way)?;
        let beyond = wall.next(way)?;
        (beyond.x < BORDER).then_some((wall, beyond))
    };
    Way::ALL.into_iter().filter_map(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn reachable(plan: &Plan, from: Place) -> usize {
        let (mut seen, mut at) = (vec![from], 0);
        while let Some(&here) = seen.get(at) {
            at += 1;
            for next in Way::ALL.into_iter().filter_map(|way| plan.next(here, way)) {
                if !seen.contains(&next) {
                    seen.push(next);
                }
            }
        }
        seen.len()
    }

    fn places() -> impl Iterator<Item = Place> {
        (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| Place { x, y }))
    }

    #[test]
    fn every_corridor_is_reached_from_every_other() {
        for seed in 0..200 {
            let plan = Plan::new(seed);
            let open = places().filter(|&place| plan.is_open(place)).count();
            assert_eq!(reachable(&plan, plan.start(Role::R1)), open, "seed {seed}");
        }
    }

    #[test]
    fn both_halves_have_the_same_corridors() {
        for seed in 0..200 {
            let plan = Plan::new(seed);
            assert!(places().all(|place| plan.is_open(place) == plan.is_open(place.opposite())));
        }
    }

    #[test]
    fn plans_have_no_dead_ends_and_a_closed_outer_wall() {
        for seed in 0..200 {
            let plan = Plan::new(seed);
            for place in places().filter(|&place| plan.is_open(place)) {
                let ways = Way::ALL.into_iter().filter(|&way| plan.next(place, way).is_some()).count();
                assert!(ways >= 2, "seed {seed}: {place:?}");
                assert!(place.x > 0 && place.y > 0 && place.x < WIDTH - 1 && place.y < HEIGHT - 1);
            }
        }
    }

    #[test]
    fn bases_and_starts_are_open_and_apart() {
        for seed in 0..200 {
            let plan = Plan::new(seed);
            let starts = Role::ALL.map(|role| plan.start(role));
            let bases = Side::BOTH.map(|side| plan.base(side));
            let all: Vec<_> = starts.into_iter().chain(bases).collect();
            assert!(all.iter().all(|&place| plan.is_open(place)));
            assert!(all.iter().enumerate().all(|(at, place)| !all[..at].contains(place)), "seed {seed}");
        }
    }
}
