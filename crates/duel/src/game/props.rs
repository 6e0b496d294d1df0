//! The cups and bowls that teapots push: each is an object, and whoever drives against it asks for it.
//!
//! A member that touches a thing may move it at once; the others see the movement when the member owns the thing.
//! The host lays the table and names the objects on the scoreboard ([`Named`](crate::named::Named)). A thing whose
//! owner goes passes to the host, and stays where it is.

use samovar_session::objects::{Replicate, Schema, SchemaBuilder};
use samovar_session::{Object, Session, State};
use samovar_wire::object::{Access, Traits};
use samovar_wire::{Duration, Kind, ObjectId, SortedMap, Stamp};

use super::kinds::motion_of;
use super::{Duel, Tick};
use crate::arena::{Arena, Obstacle, Table};
use crate::motion::Motion;
use crate::plane::{distance, seconds};
use crate::push::{Pusher, RIM_ROOM, slide};
use crate::scores::Scoreboard;
use crate::warp::Warp;

/// A cup or a bowl that can be pushed: any member that touches it may ask for it.
pub const THING: Kind = Kind(4);

/// The time between two updates of a thing that moves: less often than teapots, since things slide evenly.
const INTERVAL: Duration = Duration::from_millis(100);

const THING_TRAITS: Traits = Traits { access: Access::Shared, ..Traits::of(THING) };

/// How long a member does not ask again for a thing that another keeps, in microseconds.
const REFUSED_FOR: u64 = 500_000;

/// A thing at rest that is shown within this distance of its place is shown at its place, in table units.
const SETTLED: f32 = 0.01;

/// A thing as this peer shows it.
#[derive(Debug)]
struct Track {
    revision: (Stamp, u64),
    /// Whether this peer moved the thing in the last step.
    was_moved_here: bool,
    /// Until when this peer does not ask for the thing again, in session time.
    refused_until: u64,
    /// The newest motion that the owner said.
    motion: Motion,
    warp: Warp,
    shown: Motion,
}

/// All things on the table.
#[derive(Debug, Default)]
pub(super) struct Props {
    tracks: SortedMap<ObjectId, Track>,
    /// The obstacles as they stand now.
    obstacles: Vec<Obstacle>,
    table: Table,
}

/// A copy of the table as it stands now.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    obstacles: Vec<Obstacle>,
    table: Table,
}

impl Ground {
    pub(super) fn arena(&self) -> Arena<'_> {
        Arena { obstacles: &self.obstacles, ..self.table.laid() }
    }
}

/// The schema of a thing: its motion.
pub(super) fn schema() -> Schema {
    let mut fields = SchemaBuilder::default();
    Motion::describe(&mut fields, "motion");
    fields.build(THING)
}

/// Whether this peer moves the thing: it owns the thing, or has asked for it.
fn is_moved_here(session: &Session, object: &Object) -> bool {
    object.owner() == session.me() || object.is_claimed()
}

impl Track {
    fn new(object: &Object, time: u64) -> Option<Self> {
        let motion = motion_of(object)?;
        let warp = Warp::new(time, motion, object.sampled().as_micros());
        let revision = (object.stamp(), object.revision());
        Some(Self { revision, was_moved_here: false, refused_until: 0, motion, warp, shown: motion })
    }

    /// Follows the owner's movement.
    fn follow(&mut self, object: &Object, time: u64) {
        let revision = (object.stamp(), object.revision());
        let was_moved_here = std::mem::take(&mut self.was_moved_here);
        if was_moved_here {
            // The owner counts, however new what this peer showed is.
            self.warp = Warp::new(time, self.shown, 0);
        }
        if was_moved_here || self.revision != revision {
            self.revision = revision;
            if let Some(motion) = motion_of(object) {
                self.motion = motion;
                self.warp.accept(time, motion, object.sampled().as_micros());
            }
        }
        let (shown, motion) = (self.warp.at(time), self.motion);
        let rests = motion.velocity == [0.0, 0.0] && motion.spin == 0.0;
        // A thing at rest is exactly where its owner left it, so that its next owner does not move it.
        let is_there = rests && distance(shown.position, motion.position) < SETTLED;
        self.shown = if is_there { motion } else { shown };
    }
}

impl Props {
    /// Follows the objects that the scoreboard names.
    pub(super) fn refresh(&mut self, session: &Session, board: &Scoreboard, time: u64) {
        self.table = board.course.stakes.table;
        let laid = self.table.laid();
        self.obstacles.clear();
        self.obstacles.extend_from_slice(laid.obstacles);
        self.tracks.retain(|&id, _| board.things.number(id).is_some() && session.object(id).is_some());
        for (number, id) in board.things.iter() {
            let object = session.object(id).filter(|object| object.traits().kind == THING);
            let obstacle = self.obstacles.get_mut(usize::from(number));
            let (Some(object), Some(obstacle)) = (object, obstacle) else { continue };
            if let Some(track) = self.tracks.get_mut(&id) {
                if !is_moved_here(session, object) {
                    track.follow(object, time);
                }
            } else if let Some(track) = Track::new(object, time) {
                self.tracks.insert(id, track);
            }
            if let Some(track) = self.tracks.get(&id) {
                obstacle.centre = laid.push_inside(track.shown.position, obstacle.radius);
                obstacle.heading = track.shown.heading;
            }
        }
    }

    /// Notes that another member keeps a thing that this peer asked for. So this peer shows for a moment what the other
    /// does with it.
    pub(super) fn on_denied(&mut self, id: ObjectId, time: u64) {
        if let Some(track) = self.tracks.get_mut(&id) {
            track.refused_until = time.saturating_add(REFUSED_FOR);
        }
    }

    /// The obstacles as they stand now.
    pub(super) fn obstacles(&self) -> &[Obstacle] {
        &self.obstacles
    }

    pub(super) fn ground(&self) -> Ground {
        let obstacles = if self.obstacles.is_empty() {
            self.table.laid().obstacles.to_vec()
        } else {
            self.obstacles.clone()
        };
        Ground { obstacles, table: self.table }
    }

    /// Asks for the things that this peer's teapots drive against, and moves the things that this peer has. `own` are
    /// the teapots of this peer, and `others` all further ones in play.
    pub(super) fn push(
        &mut self,
        tick: Tick,
        session: &mut Session,
        board: &Scoreboard,
        (own, others): (&[Pusher], &[Pusher]),
    ) {
        let mut state = State::default();
        for (number, id) in board.things.iter() {
            let index = usize::from(number);
            let Some(&thing) = self.obstacles.get(index) else { continue };
            let Some(object) = session.object(id) else { continue };
            let is_touched = thing.kind.yields() > 0.0 && own.iter().any(|pusher| pusher.pushes(&thing));
            let is_refused = self.tracks.get(&id).is_some_and(|track| tick.time < track.refused_until);
            if is_touched && !is_refused && object.owner() != session.me() {
                // If this peer asks for too much at once, the thing stays, and the next step asks again.
                let _ = session.ownership(tick.now).touch(id);
            }
            if !session.object(id).is_some_and(|object| is_moved_here(session, object)) {
                continue;
            }
            let Some(track) = self.tracks.get_mut(&id) else { continue };
            let before = Motion { position: thing.centre, ..track.shown };
            let around: Vec<_> = self.obstacles.iter().filter(|each| **each != thing).copied().collect();
            let laid = self.table.laid();
            let around = Arena { obstacles: &around, radius: laid.radius - RIM_ROOM, ..laid };
            let pushers: Vec<_> = own.iter().chain(others).copied().collect();
            let after = slide(before, seconds(tick.elapsed), &thing, &pushers, &around);
            (track.shown, track.was_moved_here) = (after, true);
            self.obstacles[index].centre = after.position;
            self.obstacles[index].heading = after.heading;
            if after != before {
                state.clear();
                after.encode(&mut state);
                // If this peer has just lost the object, this fails, and the next step notices the loss.
                let _ = session.edit(tick.now).set_state(id, &state);
                let _ = session.edit(tick.now).set_interval(id, INTERVAL);
            }
        }
    }
}

impl Duel {
    /// At the host: makes the things that are not on the table, names them, and removes things without a name.
    pub(super) fn lay_table(&mut self, tick: Tick, session: &mut Session, is_settled: bool) {
        let me = session.me();
        let things = &mut self.board.rows.things;
        let nameless = session.objects().filter(|object| {
            object.owner() == me && object.traits().kind == THING && things.number(object.id()).is_none()
        });
        let nameless: Vec<_> = nameless.map(Object::id).collect();
        for id in nameless {
            // This cannot fail: the lines above found only this peer's objects.
            let _ = session.edit(tick.now).destroy(id);
        }
        if !is_settled {
            return;
        }
        let laid = self.board.rows.course.stakes.table.laid();
        for (index, obstacle) in (0..).zip(laid.obstacles) {
            let is_there = things.get(index).is_some_and(|id| session.object(id).is_some());
            if is_there || obstacle.kind.yields() == 0.0 {
                continue;
            }
            let motion = Motion { position: obstacle.centre, heading: obstacle.heading, ..Motion::default() };
            let mut state = State::default();
            motion.encode(&mut state);
            // With too many objects at this peer, the obstacle stays where it was laid.
            let Ok(id) = session.edit(tick.now).create_state(THING_TRAITS, &state) else { return };
            things.set(index, id);
        }
    }
}
