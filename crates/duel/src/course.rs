//! Matches: their beginning, their end, and their winner.
//!
//! ```text
//!             two players        points or time        a pause, two players
//!   Waiting ─────────────▶ Running ─────────────▶ Over ─────────────▶ Running, the next
//! ```
//!
//! The host announces that a match begins or ends ([`Word::Began`], [`Word::Ended`]). An announcement takes effect
//! when it is delivered, in a total order that no single failure undoes. So all members know the same winner, and the
//! same first moment of the next match. The scoreboard repeats the announcements for members that join later. A new
//! host continues from the scoreboard or the announcements, whichever is newer.

use crate::arena::Table;
use crate::codec::{DecodeError, Reader};
use crate::player::PlayerKey;
use crate::word::Word;

/// How long the winner is shown before the next match, in microseconds.
pub const PAUSE: u64 = 8_000_000;

/// How many players a match needs.
pub const PLAYERS_MIN: usize = 2;

/// The limits of a match, the bowls' interval, and the table. The founder sets them. They stay on the scoreboard when the host
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stakes {
    /// The points that end a match; 0 for no such limit.
    pub points: u16,
    /// The longest time of a match, in seconds; 0 for no limit.
    pub seconds: u16,
    /// How long after the taking of a sugar bowl the next one appears, in seconds; 0 for no bowls.
    pub bowl_seconds: u16,
    /// The table.
    pub table: Table,
}

impl Stakes {
    /// One match that never ends, and no bowl.
    pub const NONE: Self = Self { points: 0, seconds: 0, bowl_seconds: 0, table: Table::Tea };
}

impl Default for Stakes {
    /// 25 points or 5 minutes, a bowl every 15 seconds, and the tea table.
    fn default() -> Self {
        Self { points: 25, seconds: 300, bowl_seconds: 15, table: Table::Tea }
    }
}

/// The stage of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No match has begun yet: there are too few players.
    #[default]
    Waiting,
    /// The match is being played.
    Running,
    /// The match is over, and the next one begins soon.
    Over,
}

/// The current match, or the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The limits of the match.
    pub stakes: Stakes,
    /// The number of the match; the first one is 1.
    pub number: u32,
    /// The stage of the match.
    pub stage: Stage,
    /// The start of the stage, in microseconds of session time.
    pub since: u64,
    /// The winner, once the match is over; `None` when no player has a point.
    pub winner: Option<PlayerKey>,
}

impl Course {
    /// How far the matches have come: the greater of two values is newer.
    pub fn progress(&self) -> (u32, Stage) {
        (self.number, self.stage)
    }

    /// The course after this announcement; `None` if the announcement is no newer than the course.
    pub fn after(&self, word: &Word) -> Option<Self> {
        let next = match *word {
            Word::Began { number, at } => {
                Self { number, stage: Stage::Running, since: at, winner: None, ..*self }
            }
            Word::Ended { number, at, ref table } => {
                let winner = table.first().filter(|(_, points)| *points > 0).map(|&(player, _)| player);
                Self { number, stage: Stage::Over, since: at, winner, ..*self }
            }
            _ => return None,
        };
        (next.progress() > self.progress()).then_some(next)
    }

    /// The session time, in microseconds, at which the present stage ends: the match, or the pause after it. `None`
    /// when the stage has no time limit.
    pub fn ends_at(&self) -> Option<u64> {
        match self.stage {
            Stage::Waiting => None,
            Stage::Running if self.stakes.seconds == 0 => None,
            Stage::Running => Some(self.since.saturating_add(u64::from(self.stakes.seconds) * 1_000_000)),
            Stage::Over => Some(self.since.saturating_add(PAUSE)),
        }
    }

    /// Whether these points of one player end the match.
    pub fn is_won_by(&self, points: u16) -> bool {
        self.stage == Stage::Running && self.stakes.points > 0 && points >= self.stakes.points
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        for number in [self.stakes.points, self.stakes.seconds, self.stakes.bowl_seconds] {
            out.extend(number.to_le_bytes());
        }
        out.push(self.stakes.table as u8);
        out.extend(self.number.to_le_bytes());
        out.push(self.stage as u8);
        out.extend(self.since.to_le_bytes());
        if let Some(winner) = self.winner {
            winner.write(&mut out);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let (points, seconds, bowl_seconds) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let table = match reader.u8()? {
            0 => Table::Tea,
            1 => Table::Banquet,
            other => return Err(DecodeError::UnknownTag(other)),
        };
        let number = reader.u32()?;
        let stage = match reader.u8()? {
            0 => Stage::Waiting,
            1 => Stage::Running,
            2 => Stage::Over,
            other => return Err(DecodeError::UnknownTag(other)),
        };
        let since = reader.u64()?;
        let winner = if reader.is_empty() { None } else { Some(PlayerKey::read(&mut reader)?) };
        reader.finish()?;
        Ok(Self { stakes: Stakes { points, seconds, bowl_seconds, table }, number, stage, since, winner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const ADA: PlayerKey = PlayerKey::Seat(1);
    const BOB: PlayerKey = PlayerKey::Seat(2);

    #[test]
    fn the_first_of_two_endings_counts() {
        let running = Course::default().after(&Word::Began { number: 1, at: 5 }).unwrap();
        assert_eq!((running.stage, running.ends_at()), (Stage::Running, Some(300_000_005)));
        let over =
            running.after(&Word::Ended { number: 1, at: 9, table: vec![(ADA, 25), (BOB, 3)] }).unwrap();
        assert_eq!((over.winner, over.ends_at()), (Some(ADA), Some(9 + PAUSE)));
        assert_eq!(over.after(&Word::Ended { number: 1, at: 10, table: vec![(BOB, 25)] }), None);
        assert_eq!(over.after(&Word::Began { number: 1, at: 10 }), None);
        assert!(over.after(&Word::Began { number: 2, at: 10 }).is_some());
    }

    #[test]
    fn no_player_wins_without_a_point() {
        let over = Course::default().after(&Word::Ended { number: 1, at: 9, table: vec![(ADA, 0)] });
        assert_eq!(over.unwrap().winner, None);
    }

    #[test]
    fn a_match_without_stakes_never_ends() {
        let course = Course { stakes: Stakes::NONE, number: 1, stage: Stage::Running, ..Course::default() };
        assert_eq!(course.ends_at(), None);
        assert!(!course.is_won_by(u16::MAX));
        assert!(Course { stakes: Stakes::default(), ..course }.is_won_by(25));
    }

    #[test]
    fn an_encoded_course_decodes_to_itself() {
        for (winner, table) in
            [(None, Table::Tea), (Some(ADA), Table::Banquet), (Some(PlayerKey::Robot(3)), Table::Tea)]
        {
            let stakes = Stakes { table, ..Stakes::default() };
            let course = Course { stakes, number: 7, stage: Stage::Over, since: u64::MAX, winner };
            assert_eq!(Course::decode(&course.encode()), Ok(course));
        }
        assert_eq!(Course::decode(&[0; 9]), Err(DecodeError::WrongLength));
    }
}
