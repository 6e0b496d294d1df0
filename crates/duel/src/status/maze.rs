//! What a status says of the maze besides.

use std::collections::BTreeMap;

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
    wins: BTreeMap<&'static str, u8>,
    role: Option<&'static str>,
    /// The peer of each role; null for a robot.
    roles: BTreeMap<&'static str, Option<String>>,
    /// Column and row of each teapot, in tiles.
    places: BTreeMap<&'static str, [u8; 2]>,
    input_delay: u64,
    desyncs: u64,
    /// A checksum is text: a number of JSON holds no 64 bits.
    checksums: Vec<(u64, String)>,
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
            wins: Side::BOTH.into_iter().map(|side| (side.name(), maze.wins(side))).collect(),
            role: game.role(session).map(Role::name),
            roles: Role::ALL.into_iter().map(|role| (role.name(), peer_of(role))).collect(),
            places: Role::ALL.into_iter().map(|role| (role.name(), place_of(role))).collect(),
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
