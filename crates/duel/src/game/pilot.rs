//! Driving one teapot object: this player's own, or a robot's.

use samovar_session::{Object, Session, State};
use samovar_wire::{ObjectId, Time};

use super::kinds::{ROBOT_TRAITS, TEAPOT_TRAITS};
use super::robots::robot_identity;
use crate::arena::{Arena, SPAWN_POINTS, Spawn};
use crate::cube::{Cooldown, Launch};
use crate::motion::Motion;
use crate::phase::Phase;
use crate::plane::{Vec2, direction, distance, scale};
use crate::player::PlayerKey;
use crate::push::Pusher;
use crate::state::{IDENTITY, Identity, TeapotState};
use crate::teapot::{BODY_RADIUS, Controls, Surroundings, Teapot};

/// Drives a teapot object that this peer owns.
#[derive(Debug)]
pub(super) struct Pilot {
    pub(super) object: ObjectId,
    pub(super) player: PlayerKey,
    teapot: Teapot,
    cooldown: Cooldown,
    /// Whether the teapot is off the table and waits to appear again.
    pub(super) is_out: bool,
    /// Buffers for the published state and its phase, so that a frame allocates nothing.
    state: State,
    phase: Vec<u8>,
}

/// A span of time in which a pilot drives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'a> {
    /// The length of the span, in microseconds.
    pub(super) elapsed: u64,
    /// Session time at the end of the span, in microseconds.
    pub(super) time: u64,
    /// The player's phase according to the scoreboard.
    pub(super) phase: Phase,
    /// Where the other teapots in play are.
    pub(super) others: &'a [Vec2],
    /// The table as it stands now.
    pub(super) arena: &'a Arena<'a>,
}

impl Pilot {
    /// Takes over an existing teapot at the place where it is shown.
    pub(super) fn take_up(object: ObjectId, player: PlayerKey, shown: &Motion, is_out: bool) -> Self {
        Self {
            object,
            player,
            teapot: Teapot::continued(shown),
            cooldown: Cooldown::default(),
            is_out,
            state: State::default(),
            phase: Vec::new(),
        }
    }

    /// Puts a new teapot on the table, away from the others; `None` when this peer has too many objects.
    pub(super) fn create(
        now: Time,
        session: &mut Session,
        identity: Identity,
        (arena, others): (&Arena<'_>, &[Vec2]),
    ) -> Option<Self> {
        let player = identity.driver;
        let motion = Motion::at_rest(first_place(player, arena, others));
        let mut state = State::default();
        TeapotState { identity, motion, phase: Phase::Alive }.write(&mut state);
        let traits = match player {
            PlayerKey::Robot(_) => ROBOT_TRAITS,
            PlayerKey::Seat(_) => TEAPOT_TRAITS,
        };
        let object = session.edit(now).create_state(traits, &state).ok()?;
        Some(Self::take_up(object, player, &motion, false))
    }

    /// The teapot's motion; at rest while the teapot is off the table.
    pub(super) fn motion(&self) -> Motion {
        let motion = self.teapot.motion();
        if self.is_out { Motion { velocity: [0.0, 0.0], spin: 0.0, ..motion } } else { motion }
    }

    /// The teapot as it pushes things; `None` while it is off the table.
    pub(super) fn pusher(&self) -> Option<Pusher> {
        let drive = self.teapot.drive();
        let velocity = scale(direction(drive.heading), drive.speed);
        (!self.is_out).then_some(Pusher { position: drive.position, velocity })
    }

    /// Drives the teapot, and returns the cube if it fired one.
    pub(super) fn drive(&mut self, stretch: Stretch<'_>, controls: Controls) -> Option<Launch> {
        if !stretch.phase.is_on_table() {
            self.is_out = true;
            return None;
        }
        if std::mem::take(&mut self.is_out) {
            // On a large table the others may be out of sight, so the preferred place is another each time.
            let preferred = self.player.preference() + (stretch.time / 1_000_000 % 1_000) as usize;
            self.teapot = Teapot::new(stretch.arena.farthest_spawn(preferred, stretch.others));
        }
        let around = Surroundings { arena: stretch.arena, others: stretch.others };
        self.teapot.step(stretch.elapsed, controls, &around);
        let is_fired = controls.fire && self.cooldown.try_fire(stretch.time);
        is_fired.then(|| Launch::from_spout(self.player, &self.motion(), stretch.time))
    }

    /// Publishes the teapot's motion and phase. The session decides how often they are sent.
    pub(super) fn publish(&mut self, now: Time, session: &mut Session, phase: Phase) {
        let motion = self.motion();
        let Some(object) = session.object(self.object) else { return };
        self.phase.clear();
        phase.write(&mut self.phase);
        match self.player {
            // The former driver may have spoilt it.
            PlayerKey::Robot(number) => {
                self.state.clear();
                self.state.text(&robot_identity(number).encode());
                motion.encode(&mut self.state);
                self.state.text(&self.phase);
            }
            PlayerKey::Seat(_) => refill(&mut self.state, object, &motion, &self.phase),
        }
        // If this peer has just lost the object, this fails, and the next step notices the loss.
        let _ = session.edit(now).set_state(self.object, &self.state);
    }
}

/// Refills the state of a teapot with a new motion and phase; its identity stays.
pub(super) fn refill(state: &mut State, object: &Object, motion: &Motion, phase: &[u8]) {
    state.clear();
    state.text(object.field(IDENTITY));
    motion.encode(state);
    state.text(phase);
}

/// A player's first spawn point: its preferred one, unless another teapot is near.
///
/// The spawn point farthest from all others would be the same for all players that join at once and do not see each
/// other yet.
fn first_place(player: PlayerKey, arena: &Arena<'_>, others: &[Vec2]) -> Spawn {
    // Steps of 5 share no factor with the number of spawn points, so they visit all of them, far apart.
    let places = (0..SPAWN_POINTS).map(|step| arena.spawn(5 * (player.preference() + step)));
    let mut free = places
        .filter(|place| others.iter().all(|&other| distance(place.position, other) >= 5.0 * BODY_RADIUS));
    free.next().unwrap_or_else(|| arena.farthest_spawn(player.preference(), others))
}
