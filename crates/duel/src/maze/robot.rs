//! Robots of the maze: the behaviour of a teapot without a player, as a function of the state alone.
//!
//! All peers compute this behaviour inside the step, so a robot costs no byte of network and is in the same place
//! everywhere. A robot has an errand, fetching or guarding, and changes it now and then. On its way it avoids steam
//! and, on foreign ground, defenders.

use std::collections::VecDeque;

use super::plan::Plan;
use super::way::{BORDER, HEIGHT, Hand, Place, WIDTH, Way};
use super::{Maze, Role, Side};
use crate::rng::Rng;

/// The distance, in tiles, up to which a robot keeps away from a defender.
const FEAR: u8 = 3;

/// The shortest errand, and the most that chance adds to it, in frames.
const ERRAND: (u16, u16) = (120, 240);

/// A robot's errand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    /// The robot's post as a guard; `None` while it fetches the other side's bowl.
    pub(super) post: Option<Place>,
    /// Remaining frames of the errand.
    pub(super) left: u16,
}

impl Errand {
    pub(super) const NONE: Self = Self { post: None, left: 0 };

    /// The most frames that can remain.
    pub(super) const LEFT_MAX: u16 = ERRAND.0 + ERRAND.1;

    /// Counts one frame of the errand. When the errand ends, the robot draws another.
    pub(super) fn pass(&mut self, side: Side, plan: &Plan, rng: &mut Rng) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            let guards = rng.below(5) < 2;
            self.post = guards.then(|| post(side, plan, rng));
            self.left = ERRAND.0 + rng.below(u32::from(ERRAND.1)) as u16;
        }
    }
}

/// A random crossing of corridors on a side's own ground.
fn post(side: Side, plan: &Plan, rng: &mut Rng) -> Place {
    let column = 2 * rng.below(u32::from(BORDER / 2)) as u8 + 1;
    let place = Place { x: column, y: 2 * rng.below(u32::from(HEIGHT / 2)) as u8 + 1 };
    debug_assert!(plan.is_open(place), "corridors cross there");
    if side == Side::Red { place } else { place.opposite() }
}

/// A program that plays a member's teapot as a robot would. It sees no more than a player, and has an errand of its own.
#[derive(Clone, Debug)]
pub struct Autopilot {
    errand: Errand,
    rng: Rng,
}

impl Autopilot {
    /// An autopilot whose choices depend on this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { errand: Errand::NONE, rng: Rng::new(seed) }
    }

    /// The input for the next frame of a player in this role.
    #[must_use]
    pub fn drive(&mut self, maze: &Maze, role: Role) -> Hand {
        self.errand.pass(role.side(), &maze.plan, &mut self.rng);
        towards(maze, role, goal(maze, role, self.errand.post), maze.teapot(role).mover.here())
    }
}

/// The input of a robot in this role, in the middle of the tile `from`.
pub(super) fn hand(maze: &Maze, role: Role, from: Place) -> Hand {
    towards(maze, role, goal(maze, role, maze.teapot(role).errand.post), from)
}

/// The input that leads a teapot from one tile to another.
fn towards(maze: &Maze, role: Role, goal: Place, from: Place) -> Hand {
    let is_steam = |place: Place| maze.steam.iter().any(|puff| puff.holds(place));
    let is_feared = |place: Place| is_feared(maze, role, place);
    let way = route(&maze.plan, from, goal, |place| is_steam(place) || is_feared(place))
        .or_else(|| route(&maze.plan, from, goal, is_steam))
        .or_else(|| route(&maze.plan, from, goal, |_| false));
    way.map_or(Hand::default(), |way| Hand::default().with(way))
}

/// The place that a robot wants to reach. `guards_at` is its post as a guard.
fn goal(maze: &Maze, role: Role, guards_at: Option<Place>) -> Place {
    let side = role.side();
    let carrier = maze.carrier(side.other());
    if carrier == Some(role) {
        return maze.plan.base(side);
    }
    let intruder = nearest_intruder(maze, role);
    match (intruder, guards_at) {
        // All teapots of a side chase the carrier of their bowl.
        (Some((intruder, place)), _) if maze.carrier(side) == Some(intruder) => place,
        (Some((_, place)), Some(_)) => place,
        (None, Some(post)) => post,
        // While its partner brings the bowl home, a robot without a post chases an intruder or waits at its own
        // stand.
        (_, None) if carrier.is_some() => intruder.map_or(maze.plan.base(side), |(_, place)| place),
        (_, None) => maze.plan.base(side.other()),
    }
}

/// The nearest teapot of the other side that is on this side's ground.
fn nearest_intruder(maze: &Maze, role: Role) -> Option<(Role, Place)> {
    let here = maze.teapot(role).mover.here();
    let others = Role::ALL.into_iter().filter(|other| other.side() != role.side());
    let intruders = others
        .map(|other| (other, maze.teapot(other)))
        .filter(|(_, teapot)| teapot.out == 0 && Side::of(teapot.mover.here()) == Some(role.side()));
    let places = intruders.map(|(other, teapot)| (other, teapot.mover.here()));
    places.min_by_key(|(_, place)| place.distance(here))
}

/// Whether this place is on the other side's ground and near one of its defenders.
fn is_feared(maze: &Maze, role: Role, place: Place) -> bool {
    let foreign = role.side().other();
    Side::of(place) == Some(foreign)
        && Role::ALL.into_iter().filter(|other| other.side() == foreign).any(|other| {
            let teapot = maze.teapot(other);
            teapot.out == 0 && teapot.mover.here().distance(place) <= FEAR
        })
}

/// The first step of a shortest path that avoids blocked tiles; `None` if there is no such path, or `from` is the
/// goal.
fn route(plan: &Plan, from: Place, to: Place, is_blocked: impl Fn(Place) -> bool) -> Option<Way> {
    // Search backwards from the goal. The tile from which the search reaches `from` is the next one to go to.
    let mut seen = [false; WIDTH as usize * HEIGHT as usize];
    let mut queue = VecDeque::from([to]);
    seen[to.index()] = true;
    while let Some(here) = queue.pop_front() {
        for way in Way::ALL {
            let Some(next) = plan.next(here, way) else { continue };
            if next == from && !is_blocked(here) {
                return Some(way.back()).filter(|_| from != to);
            }
            if !seen[next.index()] && !is_blocked(here) && !is_blocked(next) {
                seen[next.index()] = true;
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_route_leads_to_its_goal_step_by_step() {
        for seed in 0..40 {
            let plan = Plan::new(seed);
            let (mut here, to) = (plan.start(Role::R1), plan.base(Side::Blue));
            let mut steps = 0;
            while let Some(way) = route(&plan, here, to, |_| false) {
                here = plan.next(here, way).expect("a route leads through what is open");
                steps += 1;
                assert!(steps < 200, "seed {seed}");
            }
            assert_eq!(here, to);
        }
    }

    #[test]
    fn a_blocked_goal_has_no_route() {
        let plan = Plan::new(1);
        let to = plan.base(Side::Blue);
        assert_eq!(route(&plan, plan.start(Role::R1), to, |place| place == to), None);
    }

    #[test]
    fn guards_have_posts_on_their_own_ground() {
        let (plan, mut rng) = (Plan::new(3), Rng::new(4));
        for side in Side::BOTH {
            assert!((0..50).all(|_| Side::of(post(side, &plan, &mut rng)) == Some(side)));
        }
    }

    #[test]
    fn autopilot_plays_as_well_as_a_robot() {
        use crate::maze::MazeEvent;
        let (mut maze, mut autopilot) = (Maze::new(5), Autopilot::new(9));
        let seat = samovar_wire::SeatId(1);
        let mut hand = Hand::default();
        let mut scored = 0;
        for _ in 0..30 * 600 {
            for event in maze.step(&[(seat, hand)]) {
                let (MazeEvent::Captured { by } | MazeEvent::SentHome { by, .. }) = event else { continue };
                scored += u32::from(maze.role_of(seat) == Some(by));
            }
            hand = maze.role_of(seat).map_or(hand, |role| autopilot.drive(&maze, role));
        }
        assert!(scored > 5, "{scored} bowls and catches in ten minutes");
    }
}
