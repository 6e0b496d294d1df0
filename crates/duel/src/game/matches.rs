//! Matches in the duel: the host announces a beginning or an end, and all follow the announcement.
//!
//! An announcement takes effect when the total order delivers it, at the host too. If the former and the next host
//! both end a match, all follow the first announcement in the order. The scoreboard changes later than the
//! announcements, and repeats them.

use samovar_session::{Delivery, SendError, Session, Target};

use super::{Duel, DuelEvent, Tick};
use crate::course::{Course, PLAYERS_MIN, Stage};
use crate::player::PlayerKey;
use crate::word::Word;

/// If the order has not delivered the host's own announcement after this time, in microseconds, the host repeats it.
const PATIENCE: u64 = 4_000_000;

/// How long the scoreboard may be ahead of the announcements that this peer has received, in microseconds. After that
/// an announcement counts as missed.
const MISSED_AFTER: u64 = 3_000_000;

/// The announcements about matches that this peer has received.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The newest announcement, to be applied to scoreboards that do not contain it yet.
    word: Option<Word>,
    /// The match as the newest announcement describes it. A member that joins later has it from the scoreboard.
    course: Option<Course>,
    /// The session time since which the scoreboard is newer than the announcements.
    behind_since: Option<u64>,
    /// The last announcement that this peer sent as the host, and when.
    said: Option<((u32, Stage), u64)>,
}

impl Duel {
    /// The match that is played, as far as this peer knows.
    pub fn course(&self) -> Course {
        let told = self.told.course.filter(|told| told.progress() > self.board.rows.course.progress());
        told.unwrap_or(self.board.rows.course)
    }

    /// Handles an announcement that the total order delivers.
    pub(super) fn on_match_word(&mut self, word: Word) {
        let shown = self.board.rows.course;
        let known = self.told.course.unwrap_or(shown);
        // The stakes are only on the scoreboard, which may have arrived after the last announcement.
        let Some(course) = (Course { stakes: shown.stakes, ..known }).after(&word) else { return };
        self.told.course = Some(course);
        self.announce_match(&course);
        self.told.word = Some(word);
    }

    fn announce_match(&mut self, course: &Course) {
        let Course { number, since: at, winner, .. } = *course;
        match course.stage {
            Stage::Waiting => {}
            Stage::Running => self.feed.push(DuelEvent::MatchBegan { number, at }),
            Stage::Over => self.feed.push(DuelEvent::MatchEnded { number, at, winner }),
        }
    }

    /// Applies the newest announcement to this peer's scoreboard. The host publishes the same scoreboard in the
    /// object.
    pub(super) fn follow_match(&mut self, tick: Tick) {
        if let Some(word) = &self.told.word {
            self.board.rows.follow(word);
        }
        if !self.board.is_known() {
            return;
        }
        let shown = self.board.rows.course;
        match self.told.course {
            None => self.told.course = Some(shown),
            Some(told) if shown.progress() > told.progress() => {
                let since = *self.told.behind_since.get_or_insert(tick.time);
                if tick.time.saturating_sub(since) >= MISSED_AFTER || self.board.is_written_here() {
                    self.told.course = Some(shown);
                    self.announce_match(&shown);
                }
            }
            Some(_) => self.told.behind_since = None,
        }
    }

    /// At the host: begins and ends matches.
    pub(super) fn keep_match(&mut self, tick: Tick, session: &mut Session) {
        let Some(word) = self.next_word(tick, session) else { return };
        let Some(next) = self.board.rows.course.after(&word) else { return };
        let is_said =
            |&(said, at): &((u32, Stage), u64)| said == next.progress() && tick.time < at + PATIENCE;
        if self.told.said.as_ref().is_some_and(is_said) {
            return;
        }
        match session.send(Target::All, Delivery::Stable, &word.encode()) {
            Ok(()) => self.told.said = Some((next.progress(), tick.time)),
            // The session's rules lack this order, so the host's announcement takes effect at once.
            Err(SendError::NotInTheRules) => self.on_match_word(word),
            Err(_) => {}
        }
    }

    fn next_word(&self, tick: Tick, session: &Session) -> Option<Word> {
        let rows = &self.board.rows;
        let course = &rows.course;
        let is_due = course.ends_at().is_some_and(|at| tick.time >= at);
        let (number, at) = (course.number, tick.time);
        match course.stage {
            Stage::Running => {
                let table = rows.table();
                let is_won = table.first().is_some_and(|&(_, points)| course.is_won_by(points));
                (is_won || is_due).then_some(Word::Ended { number, at, table })
            }
            Stage::Over if !is_due => None,
            Stage::Waiting | Stage::Over => {
                let is_here = |player| match player {
                    PlayerKey::Robot(_) => true,
                    PlayerKey::Seat(seat) => {
                        session.view().members().any(|member| member.record.seat.0 == seat)
                    }
                };
                let players = rows.rows().filter(|row| is_here(row.player)).count();
                (players >= PLAYERS_MIN).then_some(Word::Began { number: number.saturating_add(1), at })
            }
        }
    }
}
