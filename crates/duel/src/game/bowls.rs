//! The sugar bowl in the duel: drivers tell their touches, and all decide alike which was first.
//!
//! Each peer takes the first touch of a bowl that the time-stamp order delivers: the order of the touches, not of the
//! messages, so the nearer connection does not win. A touch that the order reports as late counts only while no
//! player has the bowl. The host turns its decision into points, once, since the bowl's number is on the scoreboard
//! with the points; the next host does so with the touches it was told.

use samovar_session::{Delivery, SendError, Session, Target};
use samovar_wire::{SortedMap, Time};

use super::{Duel, DuelEvent, Tick, positions};
use crate::bowl::Grab;
use crate::course::Stage;
use crate::plane::{Vec2, distance, seconds};
use crate::player::PlayerKey;
use crate::teapot::TOP_SPEED;
use crate::word::Word;

/// How long a taken bowl may stay without points before it stands there again, in microseconds: a new host may not
/// have known of the touch.
const UNCREDITED: u64 = 6_000_000;

/// How far from the bowl a teapot may be shown that claims a touch, besides the way it can have driven since.
const TOLERANCE: f32 = 4.0;

/// The delay of the first bowl after the first match began, or after a time without bowls, in microseconds.
const FIRST_AFTER: u64 = 3_000_000;

/// This peer's knowledge of bowls besides the scoreboard.
#[derive(Debug, Default)]
pub(super) struct Bowls {
    /// The latest bowl taken, by the order.
    taken: Option<Grab>,
    /// The number of the latest that the feed told of; `None` until the scoreboard is known.
    told: Option<u32>,
    /// The touches told for the players that this peer drives: bowl and time.
    said: SortedMap<PlayerKey, (u32, u64)>,
}

impl Duel {
    /// The taking of the last bowl that this peer knows.
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

    /// Tells a touch if a teapot that this peer drives is over the bowl.
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
            // A packet that left at this moment promised a little later time.
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

    /// A touch delivered in its turn, or late.
    pub(super) fn on_touch(&mut self, time: u64, grab: Grab) {
        // A late touch may lie ahead, by a clock that jumped or lies.
        let grab = Grab { at: grab.at.min(time), ..grab };
        let (bowl, taken) = (&self.board.rows.bowl, self.bowls.taken);
        let pause = u64::from(self.board.rows.course.stakes.bowl_seconds) * 1_000_000;
        // A missing bowl cannot be touched. The scoreboard here may be one bowl behind, when the one on it is taken.
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

    /// Whether a teapot can have been there, as far as this peer sees; a player off the table may have been.
    fn is_near_bowl(&self, time: u64, grab: Grab) -> bool {
        let bowl = &self.board.rows.bowl;
        let Some(seen) = self.picture.iter().find(|seen| seen.player == grab.player) else { return true };
        let driven = TOP_SPEED * seconds(time.saturating_sub(grab.at));
        bowl.number != grab.bowl
            || !seen.phase.is_vulnerable()
            || distance(seen.motion.position, bowl.position()) <= TOLERANCE + driven
    }

    /// Tells of a bowl that is taken by the scoreboard, if that was not told.
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
