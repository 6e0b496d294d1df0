//! The scoreboard: the players, their hits, and which of them are off the table.
//!
//! The host owns the scoreboard object and alone changes it. Each row is a field, so that a hit changes two fields;
//! the match and the bowl have one field each, and two fields name objects, and one
//! says which inputs were dealt with. A row keeps its index while its player has the row; an empty field is
//! a free row. The rows hold everything that a new host needs to go on deciding hits.

use crate::bowl::{Bowl, Grab, POINTS_PER_BOWL};
use crate::claim::Counted;
use crate::codec::DecodeError;
use crate::course::{Course, Stage};
use crate::cube::Shot;
use crate::named::Named;
use crate::phase::Phase;
use crate::player::{GLAZES, Glaze, PlayerKey, PlayerName};
pub use crate::row::{ROWS, Row, Strike};
use crate::word::Word;
use samovar_wire::sorted::sort_by_key;

/// The fields that outlive the session: one for each row, one for the match and one for the bowl.
const LASTING: usize = ROWS + 2;

/// The fields of the scoreboard object: those, two that name objects, and one for the inputs.
pub const FIELDS: usize = LASTING + 3;

/// The points for a hit.
const POINTS_PER_HIT: u16 = 1;

/// Why a player got no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// All [`ROWS`] rows are taken.
    Full,
}

impl std::fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full => write!(formatter, "all {ROWS} rows are taken"),
        }
    }
}

impl std::error::Error for JoinError {}

/// All rows, at most [`ROWS`], with at most one for each player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// Indexed like the fields. The list ends with the last row in use, so that scoreboards with the same rows
    /// compare as equal.
    slots: Vec<Option<Row>>,
    /// The current match.
    pub course: Course,
    /// The bowl.
    pub bowl: Bowl,
    /// The objects of the cups and bowls that can be pushed, by their index on the table.
    pub things: Named,
    /// The objects of the robots' teapots, by the robots' numbers.
    pub robots: Named,
    /// The inputs that a host has dealt with.
    pub counted: Counted,
}

impl Scoreboard {
    /// Gives a player a row. A player that has a row keeps it with its points, under the new name and colour.
    ///
    /// # Errors
    /// [`JoinError::Full`] when there is no free row.
    pub fn join(&mut self, player: PlayerKey, name: PlayerName, glaze: Glaze) -> Result<(), JoinError> {
        if let Some(row) = self.row_mut(player) {
            row.name = name;
            row.glaze = glaze;
            return Ok(());
        }
        let row = Some(Row::new(player, name, glaze));
        if let Some(free) = self.slots.iter_mut().find(|slot| slot.is_none()) {
            *free = row;
        } else if self.slots.len() < ROWS {
            self.slots.push(row);
        } else {
            return Err(JoinError::Full);
        }
        Ok(())
    }

    /// The wanted glaze if no other player has it; else the player's present one; else the next free one in the
    /// table. With more players than glazes, some players have the same.
    pub fn glaze_for(&self, player: PlayerKey, wanted: Glaze) -> Glaze {
        let is_free = |glaze: &Glaze| self.rows().all(|row| row.player == player || row.glaze != *glaze);
        let present = self.row(player).map(|row| row.glaze);
        let further = (1..GLAZES.len()).map(|step| Glaze::new(usize::from(wanted.number()) + step));
        [Some(wanted), present].into_iter().flatten().chain(further).find(is_free).unwrap_or(wanted)
    }

    /// Removes a player's row for good, and returns it if there was one.
    pub fn leave(&mut self, player: PlayerKey) -> Option<Row> {
        let slot =
            self.slots.iter_mut().find(|slot| slot.as_ref().is_some_and(|row| row.player == player))?;
        let row = slot.take();
        self.trim();
        row
    }

    /// A player's row.
    pub fn row(&self, player: PlayerKey) -> Option<&Row> {
        self.rows().find(|row| row.player == player)
    }

    /// All rows, in the order of their indices.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.slots.iter().flatten()
    }

    /// All rows, the best first: more points, then fewer hits taken, then by key, so that all screens agree.
    pub fn standings(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows().collect();
        sort_by_key(&mut rows, |row| (std::cmp::Reverse(row.score), row.lost, row.player));
        rows
    }

    /// The phase of a player's teapot at `now`; a player without a row is not on the table.
    pub fn phase(&self, player: PlayerKey, now: u64) -> Phase {
        self.row(player).map_or(Phase::Hit { until: u64::MAX }, |row| row.phase(now))
    }

    /// The player that a cube hit, and when, if the hit counted.
    ///
    /// The hit is known for as long as the cube can be in flight. A row forgets a hit when its player is hit again.
    /// That cannot happen before the shield after the first hit ends, and by then the first cube's time is up.
    pub fn hit_by(&self, shot: Shot) -> Option<(PlayerKey, u64)> {
        let strikes = self.rows().filter_map(|row| Some((row.player, row.struck?)));
        strikes
            .into_iter()
            .find(|(_, strike)| strike.shot == shot)
            .map(|(player, strike)| (player, strike.at))
    }

    /// Records a hit on `struck` at session time `at`, if it counts, and returns whether it did. A hit does not count
    /// on the shooter itself, on a teapot that is off the table or shielded, or a second time for one cube. Between
    /// two matches a hit takes the teapot off the table and gives no points.
    ///
    /// A shooter that has left gets no point, but the hit counts.
    pub fn record_hit(&mut self, shot: Shot, struck: PlayerKey, at: u64) -> bool {
        let shooter = shot.shooter;
        if shooter == struck || self.hit_by(shot).is_some() {
            return false;
        }
        let is_over = self.course.stage == Stage::Over;
        // A late sweep can find a hit that came before the known one. Such a hit does not count.
        let Some(row) = self.row_mut(struck).filter(|row| row.phase(at).is_vulnerable()) else {
            return false;
        };
        row.struck = Some(Strike { shot, at });
        if is_over {
            return true;
        }
        row.lost = row.lost.saturating_add(1);
        row.streak = 0;
        if let Some(row) = self.row_mut(shooter) {
            row.score = row.score.saturating_add(POINTS_PER_HIT);
            row.streak = row.streak.saturating_add(1);
        }
        true
    }

    /// Follows an announcement about a match, if it is newer than the known state. A beginning resets the scores, and
    /// an end sets them to the announced ones. Returns whether the announcement was newer.
    pub fn follow(&mut self, word: &Word) -> bool {
        let Some(course) = self.course.after(word) else { return false };
        self.course = course;
        let rows = self.slots.iter_mut().flatten();
        match word {
            Word::Ended { table, .. } => rows.for_each(|row| {
                let known = table.iter().find(|(player, _)| *player == row.player);
                row.score = known.map_or(row.score, |&(_, points)| points);
            }),
            _ => rows.for_each(|row| (row.score, row.lost, row.streak) = (0, 0, 0)),
        }
        true
    }

    /// Gives the points for a taken bowl, once, and puts the bowl `next` in its place, which must have a higher
    /// number. Returns whether it did.
    pub fn credit(&mut self, grab: Grab, next: Bowl) -> bool {
        if grab.bowl != self.bowl.number || next.number <= grab.bowl {
            return false;
        }
        self.bowl = next;
        let is_over = self.course.stage == Stage::Over;
        if let Some(row) = self.row_mut(grab.player).filter(|_| !is_over) {
            row.score = row.score.saturating_add(POINTS_PER_BOWL);
        }
        true
    }

    /// How much has happened: of two scoreboards, the one with the greater value is newer.
    pub fn progress(&self) -> (u32, Stage, u32, u32) {
        let points = self.rows().map(|row| u32::from(row.score) + u32::from(row.lost)).sum();
        let (number, stage) = self.course.progress();
        (number, stage, points, self.bowl.number)
    }

    /// The points, the best first, for the end of a match.
    pub fn table(&self) -> Vec<(PlayerKey, u16)> {
        self.standings().into_iter().map(|row| (row.player, row.score)).collect()
    }

    /// The fields of the scoreboard object: [`FIELDS`] of them, empty where there is no row.
    pub fn to_fields(&self) -> Vec<Vec<u8>> {
        let row = |index| self.slots.get(index).and_then(Option::as_ref).map_or_else(Vec::new, Row::encode);
        let others = [
            self.course.encode(),
            self.bowl.encode(),
            self.things.encode(),
            self.robots.encode(),
            self.counted.encode(),
        ];
        (0..ROWS).map(row).chain(others).collect()
    }

    /// The rows, the match and the bowl, each after its length in one byte, to be kept outside a session. Objects end
    /// with their session, so their names are left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in self.to_fields().into_iter().take(LASTING) {
            // No field is longer than 111 bytes.
            bytes.push(field.len() as u8);
            bytes.extend(field);
        }
        bytes
    }

    /// The scoreboard written in these bytes.
    ///
    /// # Errors
    /// As [`from_fields`](Self::from_fields), and when a field ends too early.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Vec::new();
        while let Some((&length, rest)) = bytes.split_first() {
            let (field, rest) = rest.split_at_checked(length.into()).ok_or(DecodeError::WrongLength)?;
            fields.push(field);
            bytes = rest;
        }
        Self::from_fields(&fields)
    }

    /// The scoreboard written in these fields; missing fields at the end are free rows, no match, no bowl, no
    /// names and no inputs.
    ///
    /// # Errors
    /// A [`DecodeError`] when there are more than [`FIELDS`] fields, one of them is not a row, or two rows are of one
    /// player. After an error, the reader of a replicated scoreboard keeps the last scoreboard that it could read.
    pub fn from_fields<F: AsRef<[u8]>>(fields: &[F]) -> Result<Self, DecodeError> {
        if fields.len() > FIELDS {
            return Err(DecodeError::WrongLength);
        }
        let (rows, others) = fields.split_at(fields.len().min(ROWS));
        let mut others = others.iter().map(AsRef::as_ref);
        let course = others.next().map(Course::decode).transpose()?.unwrap_or_default();
        let bowl = others.next().map(Bowl::decode).transpose()?.unwrap_or_default();
        let things = others.next().map(Named::decode).transpose()?.unwrap_or_default();
        let robots = others.next().map(Named::decode).transpose()?.unwrap_or_default();
        let counted = others.next().map(Counted::decode).transpose()?.unwrap_or_default();
        let mut board = Self { course, bowl, things, robots, counted, ..Self::default() };
        for field in rows {
            let bytes = field.as_ref();
            let row = if bytes.is_empty() { None } else { Some(Row::decode(bytes)?) };
            if row.as_ref().is_some_and(|row| board.row(row.player).is_some()) {
                return Err(DecodeError::DuplicatePlayer);
            }
            board.slots.push(row);
        }
        board.trim();
        Ok(board)
    }

    fn trim(&mut self) {
        while self.slots.last().is_some_and(Option::is_none) {
            self.slots.pop();
        }
    }

    fn row_mut(&mut self, player: PlayerKey) -> Option<&mut Row> {
        self.slots.iter_mut().flatten().find(|row| row.player == player)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Table;
    use crate::phase::{OUT_FOR, SHIELDED_FOR};
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const ADA: PlayerKey = PlayerKey::Seat(1);
    const BOB: PlayerKey = PlayerKey::Seat(2);
    const POT: PlayerKey = PlayerKey::Robot(0);
    const NOW: u64 = 100_000_000;

    fn board(players: &[PlayerKey]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for (index, &player) in players.iter().enumerate() {
            board.join(player, PlayerName::new(&format!("player {index}")), Glaze::new(index)).unwrap();
        }
        board
    }

    fn shot(shooter: PlayerKey, launched_at: u64) -> Shot {
        Shot { shooter, launched_at }
    }

    fn key(rng: &mut Rng) -> PlayerKey {
        if rng.below(3) == 0 {
            PlayerKey::Robot(rng.below(6) as u8)
        } else {
            PlayerKey::Seat(rng.below(30) as u16)
        }
    }

    fn random_board(rng: &mut Rng) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.bowl = board.bowl.next(None, rng.next_u64(), (Table::Tea, &[]));
        board.follow(&Word::Began { number: rng.below(9), at: rng.next_u64() });
        for step in 0..rng.below(120) {
            let player = key(rng);
            match rng.below(4) {
                0 => drop(board.leave(player)),
                1 => drop(board.record_hit(
                    shot(player, NOW + u64::from(step) * 900_000),
                    key(rng),
                    NOW + u64::from(step) * 900_000,
                )),
                _ => {
                    let name = PlayerName::new(&"näme".repeat(rng.below(6) as usize));
                    let _ = board.join(player, name, Glaze::new(rng.below(50) as usize));
                }
            }
        }
        board
    }

    #[test]
    fn a_hit_gives_a_point_and_takes_the_victim_off_the_table() {
        let mut board = board(&[ADA, BOB]);
        assert!(board.record_hit(shot(ADA, NOW), BOB, NOW));
        assert_eq!((board.row(ADA).unwrap().score, board.row(ADA).unwrap().streak), (1, 1));
        assert_eq!((board.row(BOB).unwrap().lost, board.row(BOB).unwrap().score), (1, 0));
        assert_eq!(board.row(BOB).unwrap().struck, Some(Strike { shot: shot(ADA, NOW), at: NOW }));
        assert_eq!(board.phase(BOB, NOW), Phase::Hit { until: NOW + OUT_FOR });
        assert_eq!(board.phase(ADA, NOW), Phase::Alive);
    }

    #[test]
    fn no_player_is_hit_again_before_the_shield_is_down() {
        let mut board = board(&[ADA, BOB]);
        assert!(board.record_hit(shot(ADA, NOW), BOB, NOW));
        for later in [0, 1, OUT_FOR, OUT_FOR + SHIELDED_FOR - 1] {
            assert!(!board.record_hit(shot(ADA, NOW + later), BOB, NOW + later));
        }
        assert!(!board.record_hit(shot(ADA, NOW - 1), BOB, NOW - 1), "a hit before the known one");
        assert!(board.record_hit(shot(ADA, NOW + OUT_FOR + SHIELDED_FOR), BOB, NOW + OUT_FOR + SHIELDED_FOR));
        assert_eq!(board.row(ADA).unwrap().score, 2);
    }

    #[test]
    fn hits_on_oneself_or_on_a_player_without_a_row_do_not_count() {
        let mut board = board(&[ADA]);
        let before = board.clone();
        assert!(!board.record_hit(shot(ADA, NOW), ADA, NOW));
        assert!(!board.record_hit(shot(ADA, NOW), BOB, NOW));
        assert_eq!(board, before);
        assert!(board.record_hit(shot(BOB, NOW), ADA, NOW), "the shooter may have left");
        assert!(!board.phase(BOB, NOW).is_on_table());
    }

    #[test]
    fn a_cube_scores_once_even_at_a_new_host() {
        let mut board = board(&[ADA, BOB, POT]);
        assert!(board.record_hit(shot(ADA, NOW), BOB, NOW + 400_000));
        assert!(!board.record_hit(shot(ADA, NOW), POT, NOW + 700_000), "a new host sees it strike another");
        let board = Scoreboard::from_fields(&board.to_fields()).unwrap();
        assert_eq!(board.hit_by(shot(ADA, NOW)), Some((BOB, NOW + 400_000)));
        assert_eq!(board.hit_by(shot(ADA, NOW + 1)), None);
    }

    #[test]
    fn being_hit_ends_a_streak() {
        let mut board = board(&[ADA, BOB, POT]);
        assert!(
            board.record_hit(shot(ADA, NOW), BOB, NOW) && board.record_hit(shot(ADA, NOW + 1), POT, NOW + 1)
        );
        assert_eq!(board.row(ADA).unwrap().streak, 2);
        assert!(board.record_hit(shot(POT, NOW + 2), ADA, NOW + 2), "its cube flew on");
        assert_eq!((board.row(ADA).unwrap().streak, board.row(ADA).unwrap().score), (0, 2));
    }

    #[test]
    fn players_have_different_glazes_while_some_are_free() {
        let mut board = board(&[ADA, BOB]);
        let [white, red, yellow] = [0, 1, 2].map(Glaze::new);
        assert_eq!(board.glaze_for(POT, white), yellow, "red is Bob's");
        assert_eq!(board.glaze_for(ADA, white), white);
        board.join(POT, PlayerName::new("pot"), yellow).unwrap();
        assert_eq!(board.glaze_for(POT, white), yellow, "it stays what it became");
        board.leave(ADA);
        assert_eq!((board.glaze_for(POT, white), board.glaze_for(ADA, red)), (white, Glaze::new(3)));
        let players: Vec<PlayerKey> = (0..ROWS as u16).map(PlayerKey::Seat).collect();
        assert_eq!(self::board(&players).glaze_for(POT, red), red, "there are more players than glazes");
    }

    #[test]
    fn a_returning_player_finds_its_points() {
        let mut board = board(&[ADA, BOB]);
        board.record_hit(shot(ADA, NOW), BOB, NOW);
        board.join(ADA, PlayerName::new("Countess"), Glaze::new(5)).unwrap();
        assert_eq!((board.row(ADA).unwrap().score, board.rows().count()), (1, 2));
        assert_eq!(board.row(ADA).unwrap().name.as_str(), "Countess");
    }

    #[test]
    fn rows_keep_their_index_and_the_board_is_bounded() {
        let players: Vec<PlayerKey> = (0..ROWS as u16).map(PlayerKey::Seat).collect();
        let mut board = board(&players);
        assert_eq!(board.join(POT, PlayerName::new("late"), Glaze::default()), Err(JoinError::Full));
        let before = board.to_fields();
        board.leave(PlayerKey::Seat(7));
        board.join(POT, PlayerName::new("late"), Glaze::default()).unwrap();
        let after = board.to_fields();
        let changed: Vec<usize> = (0..ROWS).filter(|&index| before[index] != after[index]).collect();
        assert_eq!(changed, [7]);
    }

    #[test]
    fn a_match_resets_scores_and_its_end_fixes_them() {
        let mut board = board(&[ADA, BOB]);
        let begin = |number| Word::Began { number, at: NOW };
        board.record_hit(shot(ADA, NOW), BOB, NOW);
        assert!(board.follow(&begin(1)) && !board.follow(&begin(1)));
        assert_eq!(board.table(), [(ADA, 0), (BOB, 0)]);
        assert!(!board.phase(BOB, NOW).is_on_table(), "the struck player is still off the table");
        assert!(board.follow(&Word::Ended { number: 1, at: NOW, table: vec![(BOB, 7), (ADA, 5)] }));
        assert_eq!((board.course.winner, board.table()), (Some(BOB), vec![(BOB, 7), (ADA, 5)]));
        let later = NOW + 9_000_000;
        assert!(board.record_hit(shot(ADA, later), BOB, later), "they play on");
        assert_eq!(board.table(), [(BOB, 7), (ADA, 5)], "but it does not count any more");
        let other = Scoreboard::from_fields(&board.to_fields()).unwrap();
        assert_eq!(other, board);
        assert!(board.follow(&begin(2)) && board.progress() > other.progress(), "fewer points, yet newer");
    }

    #[test]
    fn a_bowl_gives_its_points_once() {
        let mut board = board(&[ADA, BOB]);
        board.bowl = board.bowl.next(None, NOW, (Table::Tea, &[]));
        let grab = |player| Grab { bowl: 1, player, at: NOW };
        let next = board.bowl.next(Some(grab(BOB)), NOW + 9, (Table::Tea, &[]));
        assert!(board.credit(grab(BOB), next));
        assert!(!board.credit(grab(BOB), next), "by the next host again");
        assert!(!board.credit(grab(ADA), next));
        assert_eq!(board.table(), [(BOB, POINTS_PER_BOWL), (ADA, 0)]);
        assert_eq!(board.bowl.last_grab(), Some(grab(BOB)));
    }

    #[test]
    fn standings_sort_by_points_then_by_hits_taken() {
        let mut board = board(&[BOB, POT, ADA]);
        board.record_hit(shot(POT, NOW), BOB, NOW);
        let order: Vec<PlayerKey> = board.standings().iter().map(|row| row.player).collect();
        assert_eq!(order, [POT, ADA, BOB]);
    }

    #[test]
    fn boards_decode_from_fields_of_at_most_111_bytes() {
        let mut rng = Rng::new(51);
        for _ in 0..500 {
            let board = random_board(&mut rng);
            let fields = board.to_fields();
            assert_eq!(fields.len(), FIELDS);
            assert!(fields.iter().all(|field| field.len() <= 111));
            let back = Scoreboard::from_fields(&fields).unwrap();
            assert_eq!(back.to_fields(), fields);
            assert_eq!(back, board);
        }
    }

    #[test]
    fn the_longest_row_fits_its_bound() {
        let mut row = Row::new(ADA, PlayerName::new(&"🫖".repeat(20)), Glaze::default());
        row.struck = Some(Strike { shot: shot(POT, u64::MAX), at: u64::MAX });
        assert_eq!(row.encode().len(), 111);
        assert_eq!(Row::decode(&row.encode()), Ok(row));
    }

    #[test]
    fn hostile_fields_are_refused_or_canonical() {
        let mut rng = Rng::new(52);
        let mut refused = 0;
        for _ in 0..20_000 {
            let mut fields = random_board(&mut rng).to_fields();
            for _ in 0..1 + rng.below(3) {
                let field = rng.below(FIELDS as u32) as usize;
                let bytes = &mut fields[field];
                match rng.below(4) {
                    0 => bytes.push(rng.next_u64() as u8),
                    1 => bytes.truncate(rng.below(20) as usize),
                    2 => *bytes = (0..rng.below(255)).map(|_| rng.next_u64() as u8).collect(),
                    _ => {
                        if let Some(byte) = bytes.get_mut(rng.below(30) as usize) {
                            *byte = rng.next_u64() as u8;
                        }
                    }
                }
            }
            match Scoreboard::from_fields(&fields) {
                Ok(board) => assert_eq!(board.to_fields(), fields),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 5_000);
    }

    #[test]
    fn two_rows_for_one_player_and_too_many_rows_are_refused() {
        let row = Row::new(ADA, PlayerName::new("Ada"), Glaze::default()).encode();
        let twice = [row.clone(), Vec::new(), row];
        assert_eq!(Scoreboard::from_fields(&twice), Err(DecodeError::DuplicatePlayer));
        assert_eq!(Scoreboard::from_fields(&[[]; ROWS + 1]), Err(DecodeError::WrongLength));
        assert_eq!(Scoreboard::from_fields::<&[u8]>(&[]), Ok(Scoreboard::default()));
    }
}
