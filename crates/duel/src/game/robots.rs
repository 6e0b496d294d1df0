//! Robots: the host makes their teapots, and spreads them over the members; each member drives those that it has.
//!
//! The scoreboard names the teapot of each robot ([`Named`](crate::named::Named)). When a member goes, its robots pass
//! to the host, which spreads them anew. A robot has no memory beyond its teapot and its row, so it plays on under any
//! driver.

use samovar_session::{Object, Session};
use samovar_wire::{ObjectId, SortedMap};

use super::kinds::TEAPOT;
use super::pilot::{Pilot, Stretch};
use super::props::Ground;
use super::{Duel, Tick, positions};
use crate::arena::SPAWN_POINTS;
use crate::cube::Launch;
use crate::player::{Glaze, PlayerKey};
use crate::push::Pusher;
use crate::robot::{Robot, Sight, robot_name};
use crate::state::Identity;
use crate::teapot::Controls;

/// The most robots of a duel.
pub const ROBOTS_MAX: u8 = 8;

/// Robots look and steer at least once in this time, in microseconds, however rarely their driver's page steps.
const ROBOT_STRETCH: u64 = 25_000;

/// The longest time that robots catch up on in one step, in microseconds: a hidden page steps once a second.
const ROBOT_ADVANCE_MAX: u64 = 1_200_000;

/// The robots that this peer drives.
#[derive(Debug, Default)]
pub(super) struct Robots(SortedMap<u8, Driver>);

#[derive(Debug)]
struct Driver {
    pilot: Pilot,
    mind: Robot,
}

impl Robots {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn drives(&self, id: ObjectId) -> bool {
        self.0.values().any(|driver| driver.pilot.object == id)
    }

    pub(super) fn pushers(&self) -> impl Iterator<Item = Pusher> {
        self.0.values().filter_map(|driver| driver.pilot.pusher())
    }
}

pub(super) fn robot_identity(number: u8) -> Identity {
    // Robots get colours from the end of the table; people get theirs from its beginning.
    let glaze = Glaze::new(SPAWN_POINTS - 1 - usize::from(number) % SPAWN_POINTS);
    Identity { driver: PlayerKey::Robot(number), glaze, name: robot_name(number) }
}

impl Duel {
    /// At the host: gives every robot on the scoreboard a teapot, and removes the teapots of all others.
    pub(super) fn keep_robots(&mut self, tick: Tick, session: &mut Session, is_settled: bool) {
        let me = session.me();
        let rows: Vec<u8> = self.board.rows.rows().filter_map(|row| robot_number(row.player)).collect();
        let names = &mut self.board.rows.robots;
        // Until a new host is settled, a member may still report a teapot that this host has not seen.
        // A driver may have spoilt a teapot so that nobody can read it; such a teapot loses its name.
        let is_sound = |number, id| {
            let track = self.teapots.track(id);
            track.is_some_and(|track| track.is_sound(PlayerKey::Robot(number), tick.time))
        };
        let is_new = |id| session.object(id).is_some_and(|object| object.owner() == me);
        names.retain(|number, id| {
            rows.contains(&number) && (!is_settled || is_new(id) || is_sound(number, id))
        });
        let is_robots = |object: &&Object| {
            let track = self.teapots.track(object.id());
            let claims = track.is_some_and(|track| robot_number(track.identity.driver).is_some());
            object.traits().kind == TEAPOT && (object.traits().balanced || claims)
        };
        let nameless = session.objects().filter(is_robots).map(Object::id);
        let nameless: Vec<_> = nameless.filter(|&id| self.board.rows.robots.number(id).is_none()).collect();
        for id in nameless {
            let owner = session.object(id).map(Object::owner);
            if owner == Some(me) {
                // This cannot fail: the object is this peer's.
                let _ = session.edit(tick.now).destroy(id);
            } else if owner.is_some_and(|owner| session.view().has(owner)) && session.granted_to(id).is_none()
            {
                let _ = session.edit(tick.now).grant(id, me);
            }
        }
        for number in rows {
            if !is_settled || self.board.rows.robots.get(number).is_some() {
                continue;
            }
            let (ground, player) = (self.props.ground(), PlayerKey::Robot(number));
            let others = positions(&self.picture, player);
            let around = (&ground.arena(), &*others);
            if let Some(pilot) = Pilot::create(tick.now, session, robot_identity(number), around)
                && !self.board.rows.robots.set(number, pilot.object)
            {
                let _ = session.edit(tick.now).destroy(pilot.object);
            }
        }
    }

    /// Takes up the robots that this peer has, and drives them: they move, touch bowls and fire cubes.
    pub(super) fn drive_robots(&mut self, tick: Tick, session: &mut Session) {
        let mut robots = std::mem::take(&mut self.robots);
        let names = &self.board.rows.robots;
        let is_mine = |id| session.object(id).is_some_and(|object| object.owner() == session.me());
        robots.0.retain(|&number, driver| {
            names.get(number) == Some(driver.pilot.object) && is_mine(driver.pilot.object)
        });
        for (number, id) in names.iter().filter(|&(_, id)| is_mine(id)) {
            if !robots.0.contains_key(&number)
                && let Some(track) = self.teapots.track(id)
            {
                let pilot = Pilot::take_up(id, PlayerKey::Robot(number), &track.shown, track.is_out);
                robots.0.insert(number, Driver { pilot, mind: mind(self.config.seed, session, number) });
            }
        }
        let ground = self.props.ground();
        for driver in robots.0.values_mut() {
            let launches = self.drive_robot(tick, driver, &ground);
            driver.pilot.publish(tick.now, session, self.phase(driver.pilot.player, tick.time));
            self.show(&driver.pilot, tick.time);
            if !driver.pilot.is_out {
                self.touch_bowl(tick, session, driver.pilot.player, driver.pilot.motion().position);
            }
            for launch in launches {
                self.fire(tick, session, launch);
            }
        }
        self.robots = robots;
    }

    fn drive_robot(&self, tick: Tick, driver: &mut Driver, ground: &Ground) -> Vec<Launch> {
        let Driver { pilot, mind } = driver;
        let (player, arena) = (pilot.player, &ground.arena());
        let (others, rivals) = (positions(&self.picture, player), self.rivals(player));
        let mut launches = Vec::new();
        let mut left = tick.elapsed.min(ROBOT_ADVANCE_MAX);
        loop {
            let elapsed = left.min(ROBOT_STRETCH);
            left -= elapsed;
            let time = tick.time.saturating_sub(left);
            let phase = self.phase(player, time);
            let controls = if phase.is_on_table() && !pilot.is_out {
                let (own, treat) = (pilot.motion(), self.bowl(time));
                mind.drive(&Sight { now: time, own, rivals: &rivals, treat, arena })
            } else {
                Controls::default()
            };
            launches.extend(pilot.drive(Stretch { elapsed, time, phase, others: &others, arena }, controls));
            if left == 0 {
                return launches;
            }
        }
    }
}

fn robot_number(player: PlayerKey) -> Option<u8> {
    match player {
        PlayerKey::Robot(number) => Some(number),
        PlayerKey::Seat(_) => None,
    }
}

/// Makes the mind of a robot, with a different seed for each robot and each term.
fn mind(seed: u64, session: &Session, number: u8) -> Robot {
    let whims = session.term().0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(number);
    Robot::new(seed.wrapping_add(whims))
}
