//! What a status says of the maze besides.

use samovar_session::Session;
use samovar_wire::SeatId;
use serde::Serialize;

use crate::maze::game::MazeGame;
use crate::maze::{RATE, Role, Side, Stage};

/// The maze at one peer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MazeStatus {
    frame: u64,
    round: u8,
    stage: &'static str,
    seconds_left: u16,
    wins: BySide,
    role: Option<&'static str>,
    /// The peer of each role; null for a robot.
    roles: ByRole<Option<String>>,
    /// Column and row of each teapot, in tiles.
    places: ByRole<[u8; 2]>,
    input_delay: u64,
    desyncs: u64,
    /// A checksum is text: a number of JSON holds no 64 bits.
    checksums: Vec<(u64, String)>,
}

#[derive(Clone, Debug, Serialize)]
struct BySide {
    red: u8,
    blue: u8,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "UPPERCASE")]
struct ByRole<T> {
    r1: T,
    r2: T,
    b1: T,
    b2: T,
}

impl<T> ByRole<T> {
    fn of(each: impl Fn(Role) -> T) -> Self {
        let [r1, r2, b1, b2] = Role::ALL.map(each);
        Self { r1, r2, b1, b2 }
    }
}

impl MazeStatus {
    pub(super) fn of(session: &Session, game: &MazeGame) -> Self {
        let maze = game.maze();
        let peer_of = |role: Role| {
            let seat = maze.seat_of(role)?;
            let member = session.view().members().find(|member| member.record.seat == seat)?;
            Some(member.peer.to_string())
        };
        let place_of = |role: Role| {
            let place = maze.teapot(role).mover().here();
            [place.x, place.y]
        };
        let (stage, left) = maze.stage();
        Self {
            frame: game.frame(),
            round: maze.round(),
            stage: match stage {
                Stage::Ready => "ready",
                Stage::Play => "play",
                Stage::Told(_) => "told",
                Stage::Over(_) => "over",
            },
            seconds_left: left.div_ceil(RATE),
            wins: BySide { red: maze.wins(Side::Red), blue: maze.wins(Side::Blue) },
            role: game.role(session).map(Role::name),
            roles: ByRole::of(peer_of),
            places: ByRole::of(place_of),
            input_delay: game.input_delay(),
            desyncs: game.desyncs(),
            checksums: game.checksums().map(|(frame, sum)| (frame, format!("{sum:016x}"))).collect(),
        }
    }
}

/// The points of whoever sits there: none for who only watches.
pub(super) fn score(game: &MazeGame, seat: SeatId) -> u16 {
    game.maze().role_of(seat).map_or(0, |role| game.maze().teapot(role).points())
}
