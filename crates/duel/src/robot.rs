//! Robots that drive teapots.
//!
//! A robot sees the same as a player, moves the same controls, and is meant to be beaten. It roams around its quarry,
//! sometimes stops to aim, errs a little, and does not expect its quarry to swerve. The more points it is ahead of a
//! person, the less often and the less exactly it aims at that person. A robot's motion is a sum of urges, as in C.
//! Reynolds, "Steering behaviors for autonomous characters" (GDC 1999): keep a distance and circle, stay apart from
//! other teapots, stay away from the rim and from obstacles. Random numbers are drawn only when a robot changes its
//! mind, never per frame, so robots behave alike at every frame rate.

mod steering;

use self::steering::{keep_apart, keep_clear, lead, turn_towards};
use crate::arena::Arena;
use crate::cube::COOLDOWN;
use crate::motion::Motion;
use crate::plane::{
    Vec2, add, clamp_length, direction, distance, heading_of, length, perpendicular, scale, sub, unit_or,
    wrap_angle,
};
use crate::player::{PlayerKey, PlayerName};
use crate::rng::Rng;
use crate::teapot::{BODY_RADIUS, Controls};

/// The greatest distance at which a robot fires, in table units.
const RANGE: f32 = 12.0;

/// The largest error of a robot's aim, in radians; small errors are more likely.
const LARGEST_ERROR: f32 = 0.5;

/// A robot expects its quarry to keep a random share of its velocity, between these two. So moving players are harder
/// to hit.
const FORESIGHT: (f32, f32) = (0.1, 1.0);

/// For each point that a robot is ahead of its quarry, it roams longer between two attempts and errs more, by this
/// share.
const MERCY: f32 = 0.4;

/// More points ahead than this make a robot no easier.
const MERCY_MOST: u16 = 6;

/// A robot fires when its heading is this near to the wanted one, in radians.
const STEADY: f32 = 0.05;

/// For how long a robot that has just come roams before its first attempt, at least and at most, in seconds. A player
/// who opens a table has time to look around.
const SETTLES_IN: (f32, f32) = (3.0, 5.0);

/// How long a robot pushes against something before it backs off, in microseconds.
const PATIENCE: u64 = 500_000;

/// The strength of the urge towards the sugar bowl; the urge of any other errand is at most about 1.
const EAGERNESS: f32 = 1.3;

/// No intention lasts longer than this, in microseconds. If one seems to, the clock was set back, and the intention
/// ends.
const LONGEST_INTENTION: u64 = 10_000_000;

/// The names of the robots, each a tea.
const NAMES: [&str; 16] = [
    "Assam",
    "Ceylon",
    "Darjeeling",
    "Earl Grey",
    "Genmaicha",
    "Gunpowder",
    "Jasmine",
    "Keemun",
    "Lapsang",
    "Matcha",
    "Nilgiri",
    "Oolong",
    "Pu-erh",
    "Rooibos",
    "Sencha",
    "Yunnan",
];

/// The name of a robot.
pub fn robot_name(robot: u8) -> PlayerName {
    // Steps of 5 share no factor with the number of names, so they visit all names.
    PlayerName::new(NAMES[(usize::from(robot) * 5 + 3) % NAMES.len()])
}

/// Another teapot on the table, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rival {
    /// The player that drives the teapot.
    pub player: PlayerKey,
    /// The rival's present motion.
    pub motion: Motion,
    /// Whether a hit on the rival would count.
    pub is_vulnerable: bool,
    /// How many points the robot is ahead of the rival, if a person drives it; otherwise 0.
    pub behind: u16,
}

/// All inputs of a robot's decisions.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The session time, in microseconds.
    pub now: u64,
    /// The motion of the robot's own teapot.
    pub own: Motion,
    /// The other teapots on the table.
    pub rivals: &'a [Rival],
    /// A sugar bowl to drive over, if there is one.
    pub treat: Option<Vec2>,
    /// The table.
    pub arena: &'a Arena<'a>,
}

/// The mind of one robot. A new driver makes a new mind from another seed, which begins by roaming.
#[derive(Clone, Debug)]
pub struct Robot {
    rng: Rng,
    quarry: Option<PlayerKey>,
    quarry_until: u64,
    mood: Mood,
    mood_until: u64,
    /// The robot's direction of circling: 1 keeps the quarry to its left, −1 to its right.
    side: f32,
    /// The distance that the robot likes to keep from its quarry.
    berth: f32,
    /// The robot's destination while it has no quarry.
    goal: Vec2,
    /// The session time of the robot's last decision.
    seen_at: u64,
    /// The session time at which the robot last moved, or had no reason to move.
    moved_at: u64,
    /// The session time from which the robot may fire again.
    ready_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Roam,
    Aim { error: f32, foresight: f32 },
    BackOff { turn: f32 },
}

impl Rival {
    /// How easy the robot goes on this rival: 1 if the robot is not ahead, and more the further it is ahead.
    fn mercy(&self) -> f32 {
        1.0 + MERCY * f32::from(self.behind.min(MERCY_MOST))
    }
}

impl Robot {
    /// A robot with randomness from `seed`. Robots of one duel need different seeds.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let side = rng.sign();
        let berth = rng.between(5.0, 8.0);
        Self {
            rng,
            quarry: None,
            quarry_until: 0,
            mood: Mood::Roam,
            mood_until: 0,
            side,
            berth,
            goal: [0.0, 4.0],
            seen_at: 0,
            moved_at: 0,
            ready_at: 0,
        }
    }

    /// The robot's controls now. They depend only on its present and former inputs.
    pub fn drive(&mut self, sight: &Sight<'_>) -> Controls {
        let quarry = self.choose_quarry(sight);
        self.choose_mood(sight, quarry.as_ref());
        match (self.mood, quarry) {
            (Mood::BackOff { turn }, _) => Controls { throttle: -1.0, turn, fire: false },
            (Mood::Aim { error, foresight }, Some(quarry)) => self.aim(sight, &quarry, error, foresight),
            _ => self.roam(sight, quarry.as_ref()),
        }
    }

    /// Chooses the rival to attack. The robot keeps one for some seconds, then prefers a near one, but not always the
    /// nearest.
    fn choose_quarry(&mut self, sight: &Sight<'_>) -> Option<Rival> {
        let present =
            sight.rivals.iter().find(|rival| Some(rival.player) == self.quarry && rival.is_vulnerable);
        if let Some(present) = present
            && !is_over(self.quarry_until, sight.now)
        {
            return Some(*present);
        }
        let mut best: Option<(f32, Rival)> = None;
        for rival in sight.rivals.iter().filter(|rival| rival.is_vulnerable) {
            let cost = distance(sight.own.position, rival.motion.position) + self.rng.between(0.0, 8.0);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, *rival));
            }
        }
        let chosen = best.map(|(_, rival)| rival)?;
        self.quarry = Some(chosen.player);
        self.quarry_until = sight.now.saturating_add(self.whim(2.0, 5.0));
        Some(chosen)
    }

    fn choose_mood(&mut self, sight: &Sight<'_>, quarry: Option<&Rival>) {
        let mercy = quarry.map_or(1.0, Rival::mercy);
        let is_new = self.seen_at == 0;
        let is_stuck = self.is_stuck(sight);
        if is_new {
            self.set_mood(Mood::Roam, sight.now, SETTLES_IN);
        } else if is_stuck {
            let turn = self.rng.sign();
            self.set_mood(Mood::BackOff { turn }, sight.now, (0.4, 0.8));
        } else if is_over(self.mood_until, sight.now) {
            let in_range = quarry
                .is_some_and(|quarry| distance(sight.own.position, quarry.motion.position) < RANGE + 1.0);
            if self.mood == Mood::Roam && in_range {
                let mood = self.take_aim(mercy);
                self.set_mood(mood, sight.now, (0.8, 1.8));
            } else {
                self.change_course(sight.arena);
                self.set_mood(Mood::Roam, sight.now, (0.8 * mercy, 2.4 * mercy));
            }
        }
    }

    /// Makes a new attempt to hit, with new errors.
    fn take_aim(&mut self, mercy: f32) -> Mood {
        let error = self.rng.between(-0.5, 0.5) + self.rng.between(-0.5, 0.5);
        Mood::Aim {
            error: error * LARGEST_ERROR * mercy,
            foresight: self.rng.between(FORESIGHT.0, FORESIGHT.1),
        }
    }

    /// Changes the robot's direction, distance and destination, so that it is hard to predict.
    fn change_course(&mut self, arena: &Arena<'_>) {
        if self.rng.below(3) == 0 {
            self.side = -self.side;
        }
        self.berth = self.rng.between(4.5, 8.5);
        let place = direction(self.rng.between(-3.2, 3.2));
        self.goal =
            arena.push_out(scale(place, self.rng.between(3.0, arena.radius - 4.0)), 2.0 * BODY_RADIUS);
    }

    fn set_mood(&mut self, mood: Mood, now: u64, (shortest, longest): (f32, f32)) {
        self.mood = mood;
        self.mood_until = now.saturating_add(self.whim(shortest, longest));
    }

    /// A random time between two numbers of seconds, in microseconds.
    fn whim(&mut self, shortest: f32, longest: f32) -> u64 {
        (self.rng.between(shortest, longest) * 1e6) as u64
    }

    fn is_stuck(&mut self, sight: &Sight<'_>) -> bool {
        // A robot that has not looked for some time was off the table, or has just appeared, so it was not stuck.
        let was_away = sight.now.abs_diff(self.seen_at) > PATIENCE;
        self.seen_at = sight.now;
        let is_moving = self.mood != Mood::Roam || length(sight.own.velocity) > 0.8;
        if is_moving || was_away || self.moved_at > sight.now {
            self.moved_at = sight.now;
        }
        sight.now - self.moved_at > PATIENCE
    }

    /// Points the spout at the quarry's expected place, and fires once the aim is steady. The robot keeps moving
    /// slowly, so that it is no easy target.
    fn aim(&mut self, sight: &Sight<'_>, quarry: &Rival, error: f32, foresight: f32) -> Controls {
        let own = &sight.own;
        let meeting = lead(own, &quarry.motion, foresight);
        let off = wrap_angle(heading_of(meeting) + error - own.heading);
        let is_clear = sight.arena.is_line_clear(own.position, add(own.position, meeting), 0.3, 0.8);
        let is_ready = is_over(self.ready_at, sight.now);
        let fire = is_ready && is_clear && off.abs() < STEADY && length(meeting) < RANGE;
        if fire {
            self.ready_at = sight.now.saturating_add(COOLDOWN + 30_000);
            self.mood = self.take_aim(quarry.mercy());
        }
        let ahead = add(own.position, scale(direction(own.heading), 1.5 * BODY_RADIUS));
        let is_near = distance(own.position, quarry.motion.position) < 0.8 * self.berth;
        let throttle = if is_near || !sight.arena.is_passable(ahead, BODY_RADIUS) { -0.3 } else { 0.5 };
        Controls { throttle, turn: turn_towards(off, own.spin), fire }
    }

    /// Drives along the sum of the robot's urges.
    fn roam(&self, sight: &Sight<'_>, quarry: Option<&Rival>) -> Controls {
        let own = &sight.own;
        let errand = match (sight.treat, quarry) {
            (Some(treat), _) => scale(unit_or(sub(treat, own.position), [1.0, 0.0]), EAGERNESS),
            (None, Some(quarry)) => self.circle(sub(quarry.motion.position, own.position)),
            (None, None) => clamp_length(sub(self.goal, own.position), 1.0),
        };
        let social = add(errand, keep_apart(own, sight.rivals));
        let urge = add(social, keep_clear(own, social, sight.arena));
        let off = wrap_angle(heading_of(urge) - own.heading);
        // When the robot has to turn round, it turns on the spot rather than in a wide curve.
        let eagerness = length(urge).min(1.0);
        let throttle = if off.abs() < 0.7 { eagerness } else { 0.4 * (1.8 - off.abs()).clamp(0.0, 1.0) };
        Controls { throttle, turn: turn_towards(off, own.spin), fire: false }
    }

    /// The urge to circle a quarry at the preferred distance. `away` is the vector from the robot to the quarry.
    fn circle(&self, away: Vec2) -> Vec2 {
        let towards = unit_or(away, [1.0, 0.0]);
        let closer = ((length(away) - self.berth) / 3.0).clamp(-1.0, 1.0);
        add(scale(towards, closer), scale(perpendicular(towards), -0.8 * self.side))
    }
}

/// Whether an intention that lasts until `until` is over.
fn is_over(until: u64, now: u64) -> bool {
    now >= until || until - now > LONGEST_INTENTION
}

#[cfg(test)]
mod tests;
