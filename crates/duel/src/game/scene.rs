//! The scene to draw and to list: plain data, independent of network and screen.

use samovar_session::Session;
use samovar_wire::view::SeatRecord;
use samovar_wire::{ObjectId, Time};

use super::kinds::is_program;
use super::teapots::Seen;
use super::{Duel, host};
use crate::arena::{Obstacle, Table};
use crate::course::Course;
use crate::motion::Motion;
use crate::phase::Phase;
use crate::plane::{Vec2, Vec3, seconds_between};
use crate::player::{Glaze, PlayerKey, PlayerName};
use crate::teapot::BODY_RADIUS;

/// How long the teapot of a player who is away stands on the table, as a ghost, in microseconds.
const GHOST_FOR: u64 = 10_000_000;

/// How far ahead of the last step a scene is drawn at most, in seconds.
const AHEAD_MAX: f32 = 0.1;

/// The duel as one picture shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Session time, in microseconds.
    pub time: u64,
    /// One teapot for each player, sorted by player, without those out of sight and those of players who have been away
    /// for 10 s.
    pub teapots: Vec<TeapotView>,
    /// The cubes in flight.
    pub cubes: Vec<CubeView>,
    /// The table and what stands on it: where the obstacles are now.
    pub table: Table,
    /// See [`table`](Self::table).
    pub obstacles: Vec<Obstacle>,
    /// Where the sugar bowl stands, while there is one.
    pub bowl: Option<Vec2>,
    /// The match that is played.
    pub course: Course,
    /// The scores, the best first.
    pub standings: Vec<Standing>,
}

/// One teapot.
#[derive(Clone, Debug, PartialEq)]
pub struct TeapotView {
    /// The object.
    pub id: ObjectId,
    /// The player that drives it.
    pub player: PlayerKey,
    /// The name to show. It may contain markup.
    pub name: PlayerName,
    /// Red, green and blue of the glaze, from 0 to 255.
    pub glaze: [u8; 3],
    /// The shown motion: smoothed ([`warp`](crate::warp)) if another peer drives the teapot.
    pub motion: Motion,
    /// The phase. A teapot that was hit is off the table; do not draw its motion.
    pub phase: Phase,
    /// Whether the player is away. The teapot is then parked, and nothing touches it.
    pub is_ghost: bool,
    /// Whether this peer's player drives the teapot.
    pub is_me: bool,
    /// Whether a program drives the teapot.
    pub is_robot: bool,
}

/// One cube in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeView {
    /// The object.
    pub id: ObjectId,
    /// The player that fired it.
    pub shooter: PlayerKey,
    /// The cube's centre.
    pub position: Vec3,
    /// The cube's velocity, in units per second.
    pub velocity: Vec3,
}

/// One line of the scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The player.
    pub player: PlayerKey,
    /// The name to show. It may contain markup.
    pub name: PlayerName,
    /// The colour.
    pub glaze: Glaze,
    /// Points.
    pub score: u16,
    /// How often this player was hit.
    pub lost: u16,
    /// The hits that this player has made since it was last hit.
    pub streak: u16,
    /// Whether this is the player of this peer.
    pub is_me: bool,
    /// Whether a program plays.
    pub is_robot: bool,
    /// Whether the player's seat has no peer at the moment.
    pub is_away: bool,
    /// Whether the player left for good.
    pub has_left: bool,
}

impl Duel {
    /// The scene to draw at `now`, shortly after the last [`Duel::step`].
    pub fn scene(&self, now: Time, session: &Session) -> Scene {
        let time = session.session_time(now).as_micros();
        let me = self.player(session);
        let ahead = seconds_between(self.time, time).clamp(0.0, AHEAD_MAX);
        let table = self.board.rows.course.stakes.table;
        let teapots =
            self.picture.iter().filter(|seen| !seen.is_far && !is_long_gone(session, seen, time)).map(
                |seen| {
                    let (name, glaze) = self.looks_of(session, seen.player);
                    let mut motion = seen.motion.extrapolated(ahead);
                    motion.position = table.laid().push_inside(motion.position, BODY_RADIUS);
                    TeapotView {
                        id: seen.id,
                        player: seen.player,
                        name,
                        glaze: glaze.rgb(),
                        motion,
                        phase: seen.phase,
                        is_ghost: seen.is_ghost,
                        is_me: Some(seen.player) == me,
                        is_robot: is_robot(session, seen.player),
                    }
                },
            );
        let cubes = self.cubes.flying().map(|cube| CubeView {
            id: cube.id,
            shooter: cube.launch.shooter,
            position: cube.launch.position_at(time),
            velocity: cube.launch.velocity_at(time),
        });
        Scene {
            time,
            teapots: teapots.collect(),
            cubes: cubes.collect(),
            table,
            obstacles: self.props.obstacles().to_vec(),
            bowl: self.bowl(time),
            course: self.course(),
            standings: self.standings(session),
        }
    }

    /// The scores, the best first.
    pub fn standings(&self, session: &Session) -> Vec<Standing> {
        let me = self.player(session);
        let standing = |row: &crate::scores::Row| Standing {
            player: row.player,
            name: row.name.clone(),
            glaze: row.glaze,
            score: row.score,
            lost: row.lost,
            streak: row.streak,
            is_me: Some(row.player) == me,
            is_robot: is_robot(session, row.player),
            is_away: matches!(row.player, PlayerKey::Seat(_)) && sitting(session, row.player).is_none(),
            has_left: seat_of(session, row.player).is_some_and(SeatRecord::has_left),
        };
        self.board.rows.standings().into_iter().map(standing).collect()
    }

    /// The name and colour to show for a player.
    pub fn looks_of(&self, session: &Session, player: PlayerKey) -> (PlayerName, Glaze) {
        if let Some(row) = self.board.rows.row(player) {
            return (row.name.clone(), row.glaze);
        }
        if let Some(record) = sitting(session, player) {
            return host::looks(record);
        }
        match self.teapots.of(player) {
            Some((_, track)) => (track.identity.name.clone(), track.identity.glaze),
            None => (PlayerName::new(""), Glaze::default()),
        }
    }
}

/// A player's seat.
fn seat_of(session: &Session, player: PlayerKey) -> Option<&SeatRecord> {
    let PlayerKey::Seat(number) = player else { return None };
    session.view().seats().find(|record| record.seat.0 == number)
}

/// The seat of a player who is here.
fn sitting(session: &Session, player: PlayerKey) -> Option<&SeatRecord> {
    seat_of(session, player).filter(|record| record.peer.is_some())
}

/// Whether a ghost is no longer shown: its player left, or has been away too long. The host still keeps its object
/// for the seat.
fn is_long_gone(session: &Session, seen: &Seen, time: u64) -> bool {
    if !matches!(seen.player, PlayerKey::Seat(_)) {
        return false;
    }
    let seat = seat_of(session, seen.player).filter(|record| record.peer.is_none());
    seen.is_ghost && seat.is_none_or(|seat| seat.has_left() || seat.since.saturating_add(GHOST_FOR) <= time)
}

fn is_robot(session: &Session, player: PlayerKey) -> bool {
    match player {
        PlayerKey::Robot(_) => true,
        PlayerKey::Seat(_) => sitting(session, player).is_some_and(|record| is_program(record.attributes)),
    }
}
