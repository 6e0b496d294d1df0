//! Hits: computes what a sugar cube struck between two moments. Every peer does this for every cube at every step, for
//! the picture. What the shooter finds, it claims ([`claim`](crate::claim)).
//!
//! The test is exact and needs no small steps. Along the table a cube and its target move in straight lines, so
//! entering and leaving a cylinder are the roots of a quadratic (the swept circle test, C. Ericson, "Real-Time
//! Collision Detection", 2005, section 5.5.5, for moving spheres). The height is another quadratic. However long the
//! time between two calls, a cube never passes through a body unnoticed.

use crate::arena::Arena;
use crate::cube::{CUBE_RADIUS, Landing, Launch};
use crate::plane::{Vec2, Vec3, dot, scale, seconds_between, sub};
use crate::player::PlayerKey;
use crate::teapot::{BODY_HEIGHT, BODY_RADIUS};

/// How long after the launch a cube cannot strike its own shooter, in seconds.
pub const SHOOTER_SPARED_FOR: f32 = 0.3;

/// A teapot that stands on the table. Teapots that are off the table after a hit are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The player that drives the teapot.
    pub player: PlayerKey,
    /// The teapot's centre at the end of the time under test.
    pub position: Vec2,
    /// The teapot's velocity during that time, in units per second.
    pub velocity: Vec2,
}

/// The thing that a cube struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// The teapot of this player. Whether it counts is the scoreboard's decision.
    Teapot(PlayerKey),
    /// The obstacle with this index in the arena.
    Obstacle(usize),
    /// The flight ended without striking an obstacle or a teapot.
    Landed(Landing),
}

/// The end of a cube's flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// The session time, in microseconds.
    pub at: u64,
    /// Where the cube's centre was then.
    pub point: Vec3,
    /// The thing that the cube struck.
    pub struck: Struck,
}

/// A part of a cube's flight: from one session time to another, in microseconds.
///
/// Sweeps over consecutive parts, the first from the launch, examine the whole flight.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// The cube.
    pub launch: &'a Launch,
    /// The beginning of the time under test.
    pub from: u64,
    /// The end of the time under test.
    pub to: u64,
}

impl Sweep<'_> {
    /// The first thing that the cube strikes in this time, or `None` while it flies on.
    ///
    /// A flight that ended before this time is reported as landed. At equal times teapots come before obstacles, and
    /// earlier entries before later ones.
    pub fn first_impact(&self, arena: &Arena<'_>, targets: &[Target]) -> Option<Impact> {
        let end = seconds_between(self.launch.launched_at, self.to);
        if end < 0.0 {
            return None;
        }
        let (landed, landing) = self.launch.landing_after(arena);
        let mut first = (landed <= end).then_some((landed, Struck::Landed(landing)));
        let begin = seconds_between(self.launch.launched_at, self.from).max(0.0);
        let last = end.min(landed);

        let teapots = targets.iter().map(|target| {
            let spared = if target.player == self.launch.shooter { SHOOTER_SPARED_FOR } else { 0.0 };
            let cylinder = Cylinder {
                // Where the target was at the launch, going by its velocity.
                centre: sub(target.position, scale(target.velocity, end)),
                velocity: target.velocity,
                radius: BODY_RADIUS,
                height: BODY_HEIGHT,
            };
            (cylinder.first_touch(self.launch, begin.max(spared), last), Struck::Teapot(target.player))
        });
        let obstacles = arena.obstacles.iter().enumerate().map(|(index, obstacle)| {
            let cylinder = Cylinder {
                centre: obstacle.centre,
                velocity: [0.0, 0.0],
                radius: obstacle.radius,
                height: obstacle.height,
            };
            (cylinder.first_touch(self.launch, begin, last), Struck::Obstacle(index))
        });
        let mut is_landing = true;
        for (touch, struck) in teapots.chain(obstacles) {
            let Some(touch) = touch else { continue };
            let is_earlier = first.is_none_or(|(time, _)| touch < time || (touch == time && is_landing));
            if is_earlier {
                first = Some((touch, struck));
                is_landing = false;
            }
        }
        first.map(|(after, struck)| Impact {
            at: self.launch.time_after(after),
            point: self.launch.position_after(after),
            struck,
        })
    }
}

/// An upright cylinder on the table that moves evenly; times are seconds after a launch.
struct Cylinder {
    centre: Vec2,
    velocity: Vec2,
    radius: f32,
    height: f32,
}

impl Cylinder {
    /// The first time from `begin` to `end` at which the cube touches the cylinder.
    fn first_touch(&self, launch: &Launch, begin: f32, end: f32) -> Option<f32> {
        let (enters, leaves) = self.time_within(launch)?;
        let first = enters.max(begin);
        let last = leaves.min(end);
        if first > last {
            return None;
        }
        // Inside the circle, a cube that is too high touches only when it has come down to the cylinder's height.
        match launch.time_above(self.height + CUBE_RADIUS) {
            Some((up, down)) if up < first && first < down => (down <= last).then_some(down),
            _ => Some(first),
        }
    }

    /// The times between which the cube is within the circle of the cylinder, at any height.
    fn time_within(&self, launch: &Launch) -> Option<(f32, f32)> {
        let place = sub(launch.place(), self.centre);
        let velocity = sub(launch.drift(), self.velocity);
        let clearance = self.radius + CUBE_RADIUS;
        let outside = dot(place, place) - clearance * clearance;
        let squared = dot(velocity, velocity);
        if squared < 1e-6 {
            return (outside <= 0.0).then_some((f32::NEG_INFINITY, f32::INFINITY));
        }
        let along = dot(place, velocity);
        let discriminant = along * along - squared * outside;
        if discriminant < 0.0 {
            return None;
        }
        let half = discriminant.sqrt();
        Some(((-along - half) / squared, (-along + half) / squared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::cube::LIFETIME;
    use crate::motion::Motion;
    use crate::plane::{add, direction, distance, heading_of};
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const NOW: u64 = 5_000_000;
    const SHOOTER: PlayerKey = PlayerKey::Seat(1);
    const BARE: Arena<'_> = Arena { obstacles: &[], ..TEA_TABLE };

    fn shot(position: Vec2, heading: f32) -> Launch {
        Launch::from_spout(SHOOTER, &Motion { position, heading, ..Motion::default() }, NOW)
    }

    fn target(player: u16, position: Vec2) -> Target {
        Target { player: PlayerKey::Seat(player), position, velocity: [0.0, 0.0] }
    }

    fn random_targets(rng: &mut Rng) -> Vec<Target> {
        let count = 1 + rng.below(4) as u16;
        (0..count)
            .map(|each| Target {
                player: PlayerKey::Seat(each + 2),
                position: [rng.between(-14.0, 14.0), rng.between(-14.0, 14.0)],
                velocity: [rng.between(-7.0, 7.0), rng.between(-7.0, 7.0)],
            })
            .collect()
    }

    /// The first of many small steps at which the cube touches a body enlarged by `grow`: the time in seconds, and
    /// the body.
    fn brute_force(launch: &Launch, targets: &[Target], end: f32, grow: f32) -> Option<(f32, Struck)> {
        let inside = |centre: Vec2, radius: f32, height: f32, cube: Vec3| {
            distance(centre, [cube[0], cube[1]]) <= radius + CUBE_RADIUS + grow
                && cube[2] <= height + CUBE_RADIUS + grow
        };
        let landed = launch.landing_after(&TEA_TABLE).0;
        (0..=2_000).map(|step| step as f32 / 2_000.0 * end.min(landed)).find_map(|after| {
            let cube = launch.position_after(after);
            let teapot = targets.iter().find(|each| {
                let centre = add(each.position, scale(each.velocity, after - end));
                inside(centre, BODY_RADIUS, BODY_HEIGHT, cube)
            });
            let obstacle = TEA_TABLE
                .obstacles
                .iter()
                .position(|each| inside(each.centre, each.radius, each.height, cube));
            teapot
                .map(|each| (after, Struck::Teapot(each.player)))
                .or(obstacle.map(|index| (after, Struck::Obstacle(index))))
        })
    }

    #[test]
    fn an_exact_sweep_agrees_with_many_small_steps() {
        let mut rng = Rng::new(41);
        let (mut teapots, mut obstacles) = (0, 0);
        for _ in 0..1_200 {
            let place = TEA_TABLE.push_out([rng.between(-14.0, 14.0), rng.between(-14.0, 14.0)], BODY_RADIUS);
            let targets = random_targets(&mut rng);
            // Half of the shots are aimed at the first target, within 0.3 radians.
            let aim = heading_of(sub(targets[0].position, place)) + rng.between(-0.3, 0.3);
            let launch = shot(place, if rng.below(2) == 0 { aim } else { rng.between(-3.1, 3.1) });
            let end = rng.between(0.05, 1.2);
            let to = launch.time_after(end);
            let sweep = Sweep { launch: &launch, from: NOW, to };
            let exact = sweep.first_impact(&TEA_TABLE, &targets);
            // Grazing contacts may differ, so the steps look for slightly fatter and slightly thinner bodies.
            let fat = brute_force(&launch, &targets, end, 0.01);
            let thin = brute_force(&launch, &targets, end, -0.01);
            match exact.map(|impact| (seconds_between(NOW, impact.at), impact.struck)) {
                Some((after, Struck::Landed(_))) => {
                    assert!(thin.is_none(), "{thin:?} was missed before landing after {after}");
                }
                Some((after, struck)) => {
                    let (earliest, _) = fat.expect("a fatter body is struck as well");
                    assert!(earliest <= after + 1e-3, "{struck:?} after {after}, at the earliest {earliest}");
                    if let Some((latest, _)) = thin {
                        assert!(after <= latest + 1e-3);
                    }
                    match struck {
                        Struck::Teapot(_) => teapots += 1,
                        _ => obstacles += 1,
                    }
                }
                None => assert!(thin.is_none(), "{thin:?} was missed"),
            }
        }
        assert!(teapots > 80 && obstacles > 80, "{teapots} and {obstacles} are too few to prove anything");
    }

    #[test]
    fn one_long_sweep_agrees_with_many_short_ones() {
        let mut rng = Rng::new(42);
        for _ in 0..500 {
            let launch = shot([rng.between(-6.0, 6.0), 12.0], rng.between(-3.1, 3.1));
            let targets = random_targets(&mut rng);
            let to = NOW + LIFETIME;
            let long = Sweep { launch: &launch, from: NOW, to }.first_impact(&TEA_TABLE, &targets).unwrap();
            let mut from = NOW;
            let short = loop {
                let next = (from + 1 + u64::from(rng.below(60_000))).min(to);
                // The targets as they are at the end of this part.
                let moved: Vec<Target> = targets
                    .iter()
                    .map(|each| Target {
                        position: sub(each.position, scale(each.velocity, seconds_between(next, to))),
                        ..*each
                    })
                    .collect();
                if let Some(impact) =
                    (Sweep { launch: &launch, from, to: next }).first_impact(&TEA_TABLE, &moved)
                {
                    break impact;
                }
                assert!(next < to, "the short sweeps missed {long:?}");
                from = next;
            };
            assert_eq!(short.struck, long.struck);
            assert!(short.at.abs_diff(long.at) < 500, "{short:?} but {long:?}");
        }
    }

    #[test]
    fn a_late_sweep_still_finds_the_struck_teapot() {
        let launch = shot([-10.0, 3.0], 0.0);
        for late in [1_000_000, 10_000_000, 1_000_000_000_000, u64::MAX - NOW] {
            let sweep = Sweep { launch: &launch, from: NOW, to: NOW + late };
            let impact = sweep.first_impact(&TEA_TABLE, &[target(2, [-2.0, 3.5])]).unwrap();
            assert_eq!(impact.struck, Struck::Teapot(PlayerKey::Seat(2)));
            assert!(impact.point[0] > -3.2 && impact.point[0] < -2.5, "{impact:?}");
        }
    }

    #[test]
    fn the_nearer_of_two_targets_is_struck_in_any_order() {
        let launch = shot([-10.0, 3.0], 0.0);
        let (near, far) = (target(2, [-5.0, 3.0]), target(3, [-1.0, 3.0]));
        let sweep = Sweep { launch: &launch, from: NOW, to: NOW + LIFETIME };
        for targets in [[near, far], [far, near]] {
            let impact = sweep.first_impact(&BARE, &targets).unwrap();
            assert_eq!(impact.struck, Struck::Teapot(PlayerKey::Seat(2)));
        }
    }

    #[test]
    fn a_cube_spares_its_shooter_only_just_after_the_launch() {
        let launch = shot([0.0, 5.0], 0.0);
        let in_the_spout = [1.5, 5.0];
        let own = Target { player: SHOOTER, ..target(0, in_the_spout) };
        let sweep = |from: u64, to: u64| Sweep { launch: &launch, from: NOW + from, to: NOW + to };
        assert_eq!(sweep(0, 250_000).first_impact(&BARE, &[own]), None);
        // Another player at the same place is struck in the spout.
        let impact = sweep(0, 250_000).first_impact(&BARE, &[target(2, in_the_spout)]).unwrap();
        assert_eq!(impact.at, NOW);
        // A shooter that overtook its own cube is not spared for ever.
        let ahead = Target { player: SHOOTER, ..target(0, [9.0, 5.0]) };
        let impact = sweep(0, 600_000).first_impact(&BARE, &[ahead]).unwrap();
        assert_eq!(impact.struck, Struck::Teapot(SHOOTER));
    }

    #[test]
    fn cubes_pass_over_low_obstacles_and_break_on_high_ones() {
        // A cube flies over the plate, but breaks on a cup.
        let over_plate = shot([-6.0, -11.5], 0.0);
        let sweep = Sweep { launch: &over_plate, from: NOW, to: NOW + 600_000 };
        assert_eq!(sweep.first_impact(&TEA_TABLE, &[]), None);
        let centre = TEA_TABLE.obstacles[1].centre;
        let at_cup = shot(sub(centre, scale(direction(0.4), 5.0)), 0.4);
        let sweep = Sweep { launch: &at_cup, from: NOW, to: NOW + LIFETIME };
        assert_eq!(sweep.first_impact(&TEA_TABLE, &[]).unwrap().struck, Struck::Obstacle(1));
        // A cube on its way down still lands on the plate.
        let falling =
            Launch { position: [-2.0, -11.5, 1.0], velocity: [4.0, 0.0, 0.0], ..shot([0.0, 0.0], 0.0) };
        let sweep = Sweep { launch: &falling, from: NOW, to: NOW + LIFETIME };
        assert_eq!(sweep.first_impact(&TEA_TABLE, &[]).unwrap().struck, Struck::Obstacle(5));
    }

    #[test]
    fn a_cube_that_hits_nothing_lands_even_in_a_late_sweep() {
        let launch = shot([0.0, 4.0], 0.0);
        let (end, landing) = launch.landing(&TEA_TABLE);
        for (from, to) in [(NOW, end + 10), (end + 100_000, end + 200_000), (u64::MAX - 1, u64::MAX)] {
            let impact = Sweep { launch: &launch, from, to }.first_impact(&BARE, &[]).unwrap();
            assert_eq!((impact.at, impact.struck), (end, Struck::Landed(landing)));
        }
        assert_eq!(Sweep { launch: &launch, from: 0, to: NOW - 1 }.first_impact(&BARE, &[]), None);
        assert_eq!(Sweep { launch: &launch, from: NOW, to: end - 10 }.first_impact(&BARE, &[]), None);
    }
}
