//! The tables: their rims, the obstacles on them, and where teapots appear.
//!
//! Everything on a table is an upright cylinder, so that driving needs circles only and a cube's flight can be
//! tested exactly ([`hits`](crate::hits)). At first the gaps are wider than a teapot: nothing can wedge between two
//! obstacles. Teapots push cups and bowls away ([`push`](crate::push)).

use std::f32::consts::TAU;

use crate::plane::{Vec2, add, direction, distance, dot, length, scale, sub, unit_or, wrap_angle};

/// Number of spawn points; [`Arena::spawn`] takes any index modulo this number.
pub const SPAWN_POINTS: usize = 12;

/// The distance of the spawn points from the rim.
const SPAWN_ROOM: f32 = 3.5;

/// The radius of the largest table's rim.
pub const RADIUS_MAX: f32 = 40.0;

/// The kind of an obstacle, which decides its looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObstacleKind {
    /// The bowl in the centre.
    SugarBowl,
    /// A tea cup on its saucer.
    Cup,
    /// A plate of biscuits, too low to stop a cube in flight.
    BiscuitPlate,
}

impl ObstacleKind {
    /// The part of its speed that a teapot gives to an obstacle that it pushes; 0 for one that stays where it is.
    pub const fn yields(self) -> f32 {
        match self {
            Self::Cup => 0.8,
            Self::SugarBowl => 0.45,
            Self::BiscuitPlate => 0.0,
        }
    }
}

/// An upright cylinder that stands on the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstacle {
    /// The kind to draw.
    pub kind: ObstacleKind,
    /// The axis, in table units.
    pub centre: Vec2,
    /// How far it is turned round its axis, in radians.
    pub heading: f32,
    /// The radius, in table units.
    pub radius: f32,
    /// The height above the table, in table units.
    pub height: f32,
}

/// A spawn point: a place on the table where a teapot appears, facing the centre, clear of every obstacle as it was
/// laid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spawn {
    /// Where the teapot stands.
    pub position: Vec2,
    /// Where its spout points, in radians.
    pub heading: f32,
}

/// A round table with a rim around it and obstacles on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arena<'a> {
    /// The radius of the rim's inner side.
    pub radius: f32,
    /// The height of the rim: cubes above it leave the table.
    pub rim_height: f32,
    /// The obstacles on the table. Other values name an obstacle by its index in this list.
    pub obstacles: &'a [Obstacle],
}

/// The tables on which a duel can be played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// The round tea table, all of which is in sight.
    #[default]
    Tea,
    /// A table with more than six times the room. Each peer is kept up to date about the part around its own teapot.
    Banquet,
}

impl Table {
    /// The words by which addresses and forms choose a table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tea => "tea",
            Self::Banquet => "banquet",
        }
    }

    /// The table of this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Tea, Self::Banquet].into_iter().find(|table| table.word() == word)
    }

    /// How far a peer sees from its teapot, in table units: beyond it, the others' owners send it no updates. `None`
    /// on a table all of which is in sight.
    pub const fn sight(self) -> Option<f32> {
        match self {
            Self::Tea => None,
            Self::Banquet => Some(22.0),
        }
    }

    /// The table as it is laid, before anything on it was pushed.
    pub const fn laid(self) -> Arena<'static> {
        match self {
            Self::Tea => TEA_TABLE,
            Self::Banquet => BANQUET_TABLE,
        }
    }
}

/// The table on which a duel is played unless its founder chooses another.
pub const TEA_TABLE: Arena<'static> = Arena { radius: 16.0, rim_height: 0.5, obstacles: &OBSTACLES };

/// The large table.
pub const BANQUET_TABLE: Arena<'static> =
    Arena { radius: RADIUS_MAX, rim_height: 0.5, obstacles: &BANQUET_OBSTACLES };

const OBSTACLES: [Obstacle; 6] = [
    bowl(0.0, 0.0),
    cup(ON_DIAGONAL, ON_DIAGONAL),
    cup(-ON_DIAGONAL, ON_DIAGONAL),
    cup(-ON_DIAGONAL, -ON_DIAGONAL),
    cup(ON_DIAGONAL, -ON_DIAGONAL),
    plate(0.0, -11.5),
];

/// A coordinate of the tea table's cups: 8 units from the centre.
const ON_DIAGONAL: f32 = 8.0 * std::f32::consts::FRAC_1_SQRT_2;

const BANQUET_OBSTACLES: [Obstacle; 19] = [
    bowl(0.0, 0.0),
    bowl(22.0, 0.0),
    bowl(-11.0, 19.0),
    bowl(-11.0, -19.0),
    cup(8.0, 6.0),
    cup(-8.0, 6.0),
    cup(-8.0, -6.0),
    cup(8.0, -6.0),
    cup(17.0, 14.0),
    cup(0.0, 23.0),
    cup(-17.0, 14.0),
    cup(-17.0, -14.0),
    cup(0.0, -23.0),
    cup(17.0, -14.0),
    cup(30.0, 8.0),
    cup(-30.0, -8.0),
    plate(10.0, 29.0),
    plate(-28.0, 8.0),
    plate(14.0, -28.0),
];

const fn cup(x: f32, y: f32) -> Obstacle {
    standing(ObstacleKind::Cup, [x, y], 1.1, 1.1)
}

const fn bowl(x: f32, y: f32) -> Obstacle {
    standing(ObstacleKind::SugarBowl, [x, y], 1.6, 1.8)
}

const fn plate(x: f32, y: f32) -> Obstacle {
    standing(ObstacleKind::BiscuitPlate, [x, y], 1.8, 0.3)
}

/// An obstacle, turned so that no two cups beside each other look alike.
const fn standing(kind: ObstacleKind, centre: Vec2, radius: f32, height: f32) -> Obstacle {
    let turned = (centre[0] * 1.7 + centre[1] * 2.3) % std::f32::consts::PI;
    Obstacle { kind, centre, heading: turned, radius, height }
}

impl Arena<'_> {
    /// The nearest place to `position` where a body of `radius` touches neither rim nor obstacle.
    ///
    /// A body that is driven into something and then moved here slides along it, because only the part of its
    /// motion that points into the surface is undone.
    pub fn push_out(&self, position: Vec2, radius: f32) -> Vec2 {
        let place = self.push_from_all(position, radius, |_| true);
        self.push_inside(place, radius)
    }

    /// The nearest place to `position` where a body of `radius` touches none of the obstacles that `counts` holds for.
    pub(crate) fn push_from_all(
        &self,
        position: Vec2,
        radius: f32,
        counts: impl Fn(&Obstacle) -> bool,
    ) -> Vec2 {
        let obstacles = self.obstacles.iter().filter(|obstacle| counts(obstacle));
        obstacles
            .fold(position, |place, obstacle| push_from(place, obstacle.centre, obstacle.radius + radius))
    }

    /// The nearest place to `position` where a body of `radius` is within the rim, ignoring obstacles.
    pub fn push_inside(&self, position: Vec2, radius: f32) -> Vec2 {
        crate::plane::clamp_length(position, (self.radius - radius).max(0.0))
    }

    /// Whether a body of `radius` at `position` is within the rim and clear of every obstacle.
    pub fn is_free(&self, position: Vec2, radius: f32) -> bool {
        length(position) <= self.radius - radius
            && self.obstacles.iter().all(|each| distance(position, each.centre) >= each.radius + radius)
    }

    /// Whether a body of `radius` at `position` is within the rim and clear of the obstacles that nothing can push.
    pub fn is_passable(&self, position: Vec2, radius: f32) -> bool {
        let fixed = self.obstacles.iter().filter(|each| each.kind.yields() == 0.0);
        length(position) <= self.radius - radius
            && fixed.into_iter().all(|each| distance(position, each.centre) >= each.radius + radius)
    }

    /// Whether no obstacle of at least `height` stands within `margin` of the straight line between two points.
    pub fn is_line_clear(&self, from: Vec2, to: Vec2, margin: f32, height: f32) -> bool {
        self.obstacles.iter().filter(|each| each.height >= height).all(|each| {
            distance(closest_on_segment(from, to, each.centre), each.centre) >= each.radius + margin
        })
    }

    /// The spawn point with this index, the same at every peer. Indices beyond the last wrap round.
    pub fn spawn(&self, index: usize) -> Spawn {
        // An offset of half a step keeps the spawn points clear of the plate, which stands on an axis.
        let angle = ((index % SPAWN_POINTS) as f32 + 0.5) * TAU / SPAWN_POINTS as f32;
        Spawn {
            position: scale(direction(angle), self.radius - SPAWN_ROOM),
            heading: wrap_angle(angle + std::f32::consts::PI),
        }
    }

    /// The spawn point whose nearest living enemy is farthest away.
    ///
    /// Among equal distances it is the first at or after `preferred`. Players who appear at the same time do not see
    /// each other yet. They prefer different indices (their seat or robot numbers), so they appear at different
    /// places.
    pub fn farthest_spawn(&self, preferred: usize, enemies: &[Vec2]) -> Spawn {
        let mut best = self.spawn(preferred % SPAWN_POINTS);
        let mut best_distance = nearest_distance(best.position, enemies);
        for step in 1..SPAWN_POINTS {
            let candidate = self.spawn(preferred % SPAWN_POINTS + step);
            let distance = nearest_distance(candidate.position, enemies);
            // A margin keeps rounding from deciding between places that are equally far.
            if distance > best_distance + 1e-3 {
                best = candidate;
                best_distance = distance;
            }
        }
        best
    }
}

/// The distance to the nearest of `others`; infinite when there is none.
fn nearest_distance(from: Vec2, others: &[Vec2]) -> f32 {
    others.iter().map(|&other| distance(from, other)).fold(f32::INFINITY, f32::min)
}

/// The nearest point to `position` that is at least `clearance` from `centre`.
pub(crate) fn push_from(position: Vec2, centre: Vec2, clearance: f32) -> Vec2 {
    let away = sub(position, centre);
    if length(away) >= clearance {
        return position;
    }
    // A body exactly on the axis has no nearest way out; any direction is as good.
    add(centre, scale(unit_or(away, [1.0, 0.0]), clearance))
}

/// The point of the segment that is nearest to `point`.
fn closest_on_segment(from: Vec2, to: Vec2, point: Vec2) -> Vec2 {
    let along = sub(to, from);
    let squared = dot(along, along);
    let share = if squared > 0.0 { (dot(sub(point, from), along) / squared).clamp(0.0, 1.0) } else { 0.0 };
    add(from, scale(along, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const BODY: f32 = crate::teapot::BODY_RADIUS;

    fn anywhere(rng: &mut Rng) -> Vec2 {
        [rng.between(-20.0, 20.0), rng.between(-20.0, 20.0)]
    }

    #[test]
    fn pushed_out_bodies_are_free_and_free_bodies_stay() {
        let mut rng = Rng::new(1);
        for _ in 0..20_000 {
            let place = anywhere(&mut rng);
            let pushed = TEA_TABLE.push_out(place, BODY);
            assert!(TEA_TABLE.is_free(pushed, BODY - 1e-3), "{place:?} was pushed to {pushed:?}");
            if TEA_TABLE.is_free(place, BODY) {
                assert!(distance(place, pushed) < 1e-5);
            }
        }
        assert!(TEA_TABLE.is_free(TEA_TABLE.push_out([0.0, 0.0], BODY), BODY - 1e-3));
    }

    #[test]
    fn a_teapot_fits_between_any_two_obstacles_and_the_rim() {
        for arena in [TEA_TABLE, BANQUET_TABLE] {
            for (index, one) in arena.obstacles.iter().enumerate() {
                let to_rim = arena.radius - length(one.centre) - one.radius;
                assert!(to_rim > 2.0 * BODY + 0.5, "obstacle {index} is {to_rim} from the rim");
                for other in &arena.obstacles[index + 1..] {
                    let gap = distance(one.centre, other.centre) - one.radius - other.radius;
                    assert!(gap > 2.0 * BODY + 0.5, "{one:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn motion_into_a_surface_becomes_motion_along_it() {
        // Driving at 45° into the rim at its easternmost point keeps the northward half of the motion.
        let mut place = [TEA_TABLE.radius - BODY, 0.0];
        for _ in 0..60 {
            place = TEA_TABLE.push_out(add(place, [0.02, 0.02]), BODY);
        }
        assert!(place[1] > 1.0, "{place:?}");
        assert!((length(place) - (TEA_TABLE.radius - BODY)).abs() < 1e-3);
    }

    #[test]
    fn spawn_points_are_free_and_apart_and_face_the_centre() {
        for (arena, index) in [TEA_TABLE, BANQUET_TABLE]
            .into_iter()
            .flat_map(|arena| (0..SPAWN_POINTS).map(move |index| (arena, index)))
        {
            let spawn = arena.spawn(index);
            assert!(arena.is_free(spawn.position, BODY + 0.3));
            assert_eq!(spawn, arena.spawn(index + SPAWN_POINTS));
            let ahead = add(spawn.position, scale(direction(spawn.heading), arena.radius - SPAWN_ROOM));
            assert!(length(ahead) < 1e-3, "spawn {index} looks at {ahead:?}");
            let next = arena.spawn(index + 1);
            assert!(distance(spawn.position, next.position) > 4.0 * BODY);
        }
    }

    #[test]
    fn the_farthest_spawn_is_farther_than_any_other() {
        let mut rng = Rng::new(2);
        for _ in 0..500 {
            let count = 1 + rng.below(5) as usize;
            let enemies: Vec<Vec2> = (0..count).map(|_| anywhere(&mut rng)).collect();
            let chosen = nearest_distance(TEA_TABLE.farthest_spawn(3, &enemies).position, &enemies);
            for index in 0..SPAWN_POINTS {
                assert!(nearest_distance(TEA_TABLE.spawn(index).position, &enemies) <= chosen + 2e-3);
            }
        }
    }

    #[test]
    fn without_enemies_everyone_appears_at_the_preferred_place() {
        for preferred in [0, 5, 11, 12, usize::MAX] {
            assert_eq!(TEA_TABLE.farthest_spawn(preferred, &[]), TEA_TABLE.spawn(preferred % SPAWN_POINTS));
        }
    }

    #[test]
    fn the_bowl_blocks_a_line_and_the_plate_does_not() {
        assert!(!TEA_TABLE.is_line_clear([-10.0, 0.5], [10.0, 0.5], 0.1, 1.0));
        assert!(TEA_TABLE.is_line_clear([-10.0, -11.5], [10.0, -11.5], 0.1, 1.0));
        assert!(!TEA_TABLE.is_line_clear([-10.0, -11.5], [10.0, -11.5], 0.1, 0.1));
        assert!(TEA_TABLE.is_line_clear([-10.0, 0.5], [-3.0, 0.5], 0.1, 1.0));
    }
}
