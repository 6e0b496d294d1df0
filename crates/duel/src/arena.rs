//! The tea table: its rim, the obstacles on it, and where teapots appear.
//!
//! Everything on the table is an upright cylinder, so that driving needs circles only and a cube's flight can be
//! tested exactly ([`hits`](crate::hits)). The gaps are wider than a teapot: nothing can wedge between two obstacles.

use std::f32::consts::TAU;

use crate::plane::{Vec2, add, direction, distance, dot, length, scale, sub, unit_or, wrap_angle};

/// Number of spawn points; [`Arena::spawn`] takes any index modulo this number.
pub const SPAWN_POINTS: usize = 12;

/// The distance of the spawn points from the centre.
const SPAWN_RADIUS: f32 = 12.5;

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

/// An upright cylinder that stands on the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstacle {
    /// The kind to draw.
    pub kind: ObstacleKind,
    /// The axis, in table units.
    pub centre: Vec2,
    /// The radius, in table units.
    pub radius: f32,
    /// The height above the table, in table units.
    pub height: f32,
}

/// A spawn point: a place on the table where a teapot appears, facing the centre, clear of every obstacle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spawn {
    /// Where the teapot stands.
    pub position: Vec2,
    /// Where its spout points, in radians.
    pub heading: f32,
}

/// A round table with a rim around it and obstacles on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arena {
    /// The radius of the rim's inner side.
    pub radius: f32,
    /// The height of the rim: cubes above it leave the table.
    pub rim_height: f32,
    /// The obstacles on the table. Other values name an obstacle by its index in this list.
    pub obstacles: &'static [Obstacle],
}

/// The table every duel is played on.
pub const TEA_TABLE: Arena = Arena { radius: 16.0, rim_height: 0.5, obstacles: &OBSTACLES };

const OBSTACLES: [Obstacle; 6] = [
    Obstacle { kind: ObstacleKind::SugarBowl, centre: [0.0, 0.0], radius: 1.6, height: 1.8 },
    cup(1.0, 1.0),
    cup(-1.0, 1.0),
    cup(-1.0, -1.0),
    cup(1.0, -1.0),
    Obstacle { kind: ObstacleKind::BiscuitPlate, centre: [0.0, -11.5], radius: 1.8, height: 0.3 },
];

/// A cup on the diagonal whose signs are given, 8 units from the centre.
const fn cup(x: f32, y: f32) -> Obstacle {
    const ON_DIAGONAL: f32 = 8.0 * std::f32::consts::FRAC_1_SQRT_2;
    Obstacle { kind: ObstacleKind::Cup, centre: [x * ON_DIAGONAL, y * ON_DIAGONAL], radius: 1.1, height: 1.1 }
}

impl Arena {
    /// The nearest place to `position` where a body of `radius` touches neither rim nor obstacle.
    ///
    /// A body that is driven into something and then moved here slides along it, because only the part of its
    /// motion that points into the surface is undone.
    pub fn push_out(&self, position: Vec2, radius: f32) -> Vec2 {
        let mut place = position;
        for obstacle in self.obstacles {
            place = push_from(place, obstacle.centre, obstacle.radius + radius);
        }
        self.push_inside(place, radius)
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
            position: scale(direction(angle), SPAWN_RADIUS),
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
        for (index, one) in TEA_TABLE.obstacles.iter().enumerate() {
            let to_rim = TEA_TABLE.radius - length(one.centre) - one.radius;
            assert!(to_rim > 2.0 * BODY + 0.5, "obstacle {index} is {to_rim} from the rim");
            for other in &TEA_TABLE.obstacles[index + 1..] {
                assert!(distance(one.centre, other.centre) - one.radius - other.radius > 2.0 * BODY + 0.5);
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
        for index in 0..SPAWN_POINTS {
            let spawn = TEA_TABLE.spawn(index);
            assert!(TEA_TABLE.is_free(spawn.position, BODY + 0.3));
            assert_eq!(spawn, TEA_TABLE.spawn(index + SPAWN_POINTS));
            let ahead = add(spawn.position, scale(direction(spawn.heading), SPAWN_RADIUS));
            assert!(length(ahead) < 1e-3, "spawn {index} looks at {ahead:?}");
            let next = TEA_TABLE.spawn(index + 1);
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
