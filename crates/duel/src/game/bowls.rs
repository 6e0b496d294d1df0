//! The sugar bowl in the duel: whoever drives over it says when, and all decide alike who was first.
//!
//! Each peer takes the first touch that the time-stamp order delivers for a bowl: the order is that of the touches, not
//! that of the messages, so the nearer connection does not win. What the order reports as late counts only while nobody
//! has the bowl. The host turns what it has decided into points, and so does the next host with what it was told, once,
//! since the bowl's number is on the scoreboard with the points.

use samovar_session::{Delivery, SendError, Session, Target};
use samovar_wire::{SortedMap, Time};

use super::{Duel, DuelEvent, Tick, positions};
use crate::bowl::Grab;
use crate::course::Stage;
use crate::plane::{Vec2, distance, seconds};
use crate::player::PlayerKey;
use crate::teapot::TOP_SPEED;
use crate::word::Word;

/// How long a bowl that was taken may stay without points before it stands there again, in microseconds: the host that
/// should have given them was new, and knew of no touch.
const UNCREDITED: u64 = 6_000_000;

/// How far from the bowl a teapot may be shown that says it touched it, besides what it can have driven since.
const TOLERANCE: f32 = 4.0;

/// After the start of the first match, or when there were no bowls, the first one appears so soon, in microseconds.
const FIRST_AFTER: u64 = 3_000_000;

/// What this peer knows of bowls besides the scoreboard.
#[derive(Debug, Default)]
pub(super) struct Bowls {
    /// The latest that somebody took, by the order.
    taken: Option<Grab>,
    /// The number of the latest that the feed told of; `None` until the scoreboard is known.
    told: Option<u32>,
    /// The bowls that those whom this peer drives said they touched, and when.
    said: SortedMap<PlayerKey, (u32, u64)>,
}

impl Duel {
    /// Who took the last bowl of which this peer knows.
    pub fn last_grab(&self) -> Option<Grab> {
        let credited = self.board.rows.bowl.last_grab();
        self.bowls.taken.into_iter().chain(credited).max_by_key(|grab| grab.bowl)
    }

    /// Where the bowl stands, while there is one.
    pub fn bowl(&self, time: u64) -> Option<Vec2> {
        let bowl = &self.board.rows.bowl;
        let is_taken = self
            .bowls
            .taken
            .is_some_and(|grab| grab.bowl == bowl.number && time < grab.at.saturating_add(UNCREDITED));
        (bowl.is_there(time) && !is_taken).then(|| bowl.position())
    }

    /// A teapot that this peer drives is where it is: says so if that is over the bowl.
    pub(super) fn touch_bowl(&mut self, tick: Tick, session: &mut Session, player: PlayerKey, at: Vec2) {
        let bowl = self.board.rows.bowl;
        if self.bowl(tick.time).is_none() || !bowl.is_touched_from(at) {
            return;
        }
        let said = self.bowls.said.get(&player);
        if said.is_some_and(|&(number, when)| number == bowl.number && tick.time < when + UNCREDITED) {
            return;
        }
        let mut word = Word::Touched { player, bowl: bowl.number, at: tick.time };
        let mut send = |word: &Word, at| {
            session.send(Target::All, Delivery::Timestamp(Time::from_micros(at)), &word.encode())
        };
        let sent = match send(&word, tick.time) {
            // The promise of a packet that left in this very moment was a little later.
            Err(SendError::TooOld(bound)) => {
                word = Word::Touched { player, bowl: bowl.number, at: bound.as_micros() };
                send(&word, bound.as_micros())
            }
            other => other,
        };
        match sent {
            Ok(()) => {}
            // It is tried again in the next step.
            Err(_) => return,
        }
        self.bowls.said.insert(player, (bowl.number, tick.time));
    }

    /// A touch whose turn it is in the order, or that comes late.
    pub(super) fn on_touch(&mut self, time: u64, grab: Grab) {
        // What came late may lie ahead, by a clock that jumped or lies.
        let grab = Grab { at: grab.at.min(time), ..grab };
        let (bowl, taken) = (&self.board.rows.bowl, self.bowls.taken);
        let pause = u64::from(self.board.rows.course.stakes.bowl_seconds) * 1_000_000;
        // Nobody touches what is not there. The scoreboard may be one bowl behind here, when the one on it is taken.
        let is_known = if grab.bowl == bowl.number {
            bowl.is_there(grab.at)
        } else {
            let is_next = |taken: Grab| {
                taken.bowl == bowl.number
                    && taken.bowl.checked_add(1) == Some(grab.bowl)
                    && grab.at >= taken.at.saturating_add(pause)
            };
            !self.board.is_written_here() && taken.is_some_and(is_next)
        };
        let is_free = taken.is_none_or(|taken| {
            taken.bowl < grab.bowl
                || (taken.bowl == grab.bowl && grab.at >= taken.at.saturating_add(UNCREDITED))
        });
        if is_known && is_free && self.is_near_bowl(time, grab) {
            self.bowls.taken = Some(grab);
            self.tell_grab(grab);
        }
    }

    /// Whether a teapot can have been there, as far as this peer sees it; who is off the table may have been.
    fn is_near_bowl(&self, time: u64, grab: Grab) -> bool {
        let bowl = &self.board.rows.bowl;
        let Some(seen) = self.picture.iter().find(|seen| seen.player == grab.player) else { return true };
        let driven = TOP_SPEED * seconds(time.saturating_sub(grab.at));
        bowl.number != grab.bowl
            || !seen.phase.is_vulnerable()
            || distance(seen.motion.position, bowl.position()) <= TOLERANCE + driven
    }

    /// Tells of a bowl that the scoreboard says is taken, if that was not told.
    pub(super) fn follow_bowl(&mut self) {
        if !self.board.is_known() {
            return;
        }
        let credited = self.board.rows.bowl.last_grab();
        if self.bowls.told.is_none() {
            self.bowls.told = Some(credited.map_or(0, |grab| grab.bowl));
        }
        if let Some(grab) = credited {
            self.tell_grab(grab);
        }
    }

    fn tell_grab(&mut self, grab: Grab) {
        if self.bowls.told.is_none_or(|told| told < grab.bowl) {
            self.bowls.told = Some(grab.bowl);
            let seen = self.picture.iter().find(|seen| seen.player == grab.player);
            let position = seen.map_or([0.0, 0.0], |seen| seen.motion.position);
            self.feed.push(DuelEvent::BowlTaken { by: grab.player, bowl: grab.bowl, at: grab.at, position });
        }
    }

    /// At the host: points for the bowl that was taken, and the next one.
    pub(super) fn keep_bowl(&mut self, tick: Tick) {
        let rows = &self.board.rows;
        let pause = u64::from(rows.course.stakes.bowl_seconds) * 1_000_000;
        if pause == 0 || rows.course.stage == Stage::Waiting {
            return;
        }
        let teapots = positions(&self.picture, PlayerKey::Robot(u8::MAX));
        if rows.bowl.number == 0 {
            self.board.rows.bowl = rows.bowl.next(None, tick.time.saturating_add(FIRST_AFTER), &teapots);
            return;
        }
        let rows = &mut self.board.rows;
        if let Some(grab) = self.bowls.taken.filter(|grab| grab.bowl == rows.bowl.number) {
            let next = rows.bowl.next(Some(grab), grab.at.saturating_add(pause), &teapots);
            rows.credit(grab, next);
        }
    }
}
