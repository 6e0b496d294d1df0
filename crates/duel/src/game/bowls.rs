//! The sugar bowl in the duel: each peer announces the touches of the teapots it drives, and all peers decide alike
//! which touch was first.
//!
//! Each peer counts the first touch of a bowl in time-stamp order. That is the order of the touches, not of the
//! messages, so a faster connection is no advantage. A touch that the order reports as late counts only while no
//! player has the bowl. The host gives the points for that touch. It gives them once, since the scoreboard holds the
//! bowl's number beside the points. A new host does the same with the touches that it has received.

use samovar_session::{Delivery, SendError, Session, Target};
use samovar_wire::{SortedMap, Time};

use super::{Duel, DuelEvent, Tick, positions};
use crate::bowl::Grab;
use crate::course::Stage;
use crate::plane::{Vec2, distance, seconds};
use crate::player::PlayerKey;
use crate::teapot::TOP_SPEED;
use crate::word::Word;

/// If the taker of a bowl gets no points in this time, in microseconds, the bowl stands on the table again: a new
/// host may not know of the touch.
const UNCREDITED: u64 = 6_000_000;

/// A teapot that claims a touch may be shown this far from the bowl, plus the distance that it can have driven since.
const TOLERANCE: f32 = 4.0;

/// The delay of the first bowl after the first match began, or after a time without bowls, in microseconds.
const FIRST_AFTER: u64 = 3_000_000;

/// This peer's knowledge of bowls besides the scoreboard.
#[derive(Debug, Default)]
pub(super) struct Bowls {
    /// The latest taking of a bowl, according to the time-stamp order.
    taken: Option<Grab>,
    /// The number of the latest taken bowl that the feed has announced; `None` until the scoreboard is known.
    told: Option<u32>,
    /// The last touch that this peer has announced for each player it drives: the bowl's number and the time.
    said: SortedMap<PlayerKey, (u32, u64)>,
}

impl Duel {
    /// The latest taking of a bowl that this peer knows of.
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
        (bowl.is_there(time) && !is_taken).then(|| bowl.position(self.table()))
    }

    /// Announces a touch if the teapot of `player`, which this peer drives, is over the bowl.
    pub(super) fn touch_bowl(&mut self, tick: Tick, session: &mut Session, player: PlayerKey, at: Vec2) {
        let bowl = self.board.rows.bowl;
        if self.bowl(tick.time).is_none() || !bowl.is_touched_from(self.table(), at) {
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
            // This peer has already promised the others to send nothing older than `bound`, a slightly later time. So
            // the touch gets that time.
            Err(SendError::TooOld(bound)) => {
                word = Word::Touched { player, bowl: bowl.number, at: bound.as_micros() };
                send(&word, bound.as_micros())
            }
            other => other,
        };
        match sent {
            Ok(()) => {}
            // On any other error the next step tries again.
            Err(_) => return,
        }
        self.bowls.said.insert(player, (bowl.number, tick.time));
    }

    /// Handles a touch that the time-stamp order delivers, or reports as late.
    pub(super) fn on_touch(&mut self, time: u64, grab: Grab) {
        // A late touch may claim a time in the future, since its sender's clock may jump or the sender may lie.
        let grab = Grab { at: grab.at.min(time), ..grab };
        let (bowl, taken) = (&self.board.rows.bowl, self.bowls.taken);
        let pause = u64::from(self.board.rows.course.stakes.bowl_seconds) * 1_000_000;
        // A bowl that is not on the table cannot be touched. At a peer other than the host, the scoreboard may still
        // name the bowl before this one. Then the touch counts if that bowl is taken and the pause after it is over.
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

    /// Whether the player's teapot can have been at the bowl, as far as this peer knows. The answer is no only if the
    /// player is in sight and neither hit nor shielded, and its teapot is shown too far from the bowl.
    fn is_near_bowl(&self, time: u64, grab: Grab) -> bool {
        let bowl = &self.board.rows.bowl;
        let Some(seen) = self.picture.iter().find(|seen| seen.player == grab.player) else { return true };
        let driven = TOP_SPEED * seconds(time.saturating_sub(grab.at));
        bowl.number != grab.bowl
            || seen.is_far
            || !seen.phase.is_vulnerable()
            || distance(seen.motion.position, bowl.position(self.table())) <= TOLERANCE + driven
    }

    /// Announces the last taken bowl on the scoreboard, if the feed has not announced it.
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

    /// At the host: gives the points for a taken bowl, and places the next one.
    pub(super) fn keep_bowl(&mut self, tick: Tick) {
        let rows = &self.board.rows;
        let pause = u64::from(rows.course.stakes.bowl_seconds) * 1_000_000;
        if pause == 0 || rows.course.stage == Stage::Waiting {
            return;
        }
        let teapots = positions(&self.picture, PlayerKey::Robot(u8::MAX));
        let table = rows.course.stakes.table;
        if rows.bowl.number == 0 {
            self.board.rows.bowl =
                rows.bowl.next(None, tick.time.saturating_add(FIRST_AFTER), (table, &teapots));
            return;
        }
        let rows = &mut self.board.rows;
        if let Some(grab) = self.bowls.taken.filter(|grab| grab.bowl == rows.bowl.number) {
            let next = rows.bowl.next(Some(grab), grab.at.saturating_add(pause), (table, &teapots));
            rows.credit(grab, next);
        }
    }
}
