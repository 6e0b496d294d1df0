//! The part of a status about the maze.

use samovar_session::Session;
use samovar_wire::SeatId;

use super::json::Json;
use crate::maze::game::MazeGame;
use crate::maze::{RATE, Role, Side, Stage};

/// The maze at one peer.
#[derive(Clone, Debug)]
pub struct MazeStatus {
    frame: u64,
    round: u8,
    stage: &'static str,
    seconds_left: u16,
    /// Rounds that red and blue have won.
    wins: [u8; 2],
    role: Option<&'static str>,
    /// The peer that plays each role; `None` for a robot.
    roles: [Option<String>; 4],
    /// Column and row of each teapot, in tiles.
    places: [[u8; 2]; 4],
    input_delay: u64,
    desyncs: u64,
    /// Frames with their checksums. A checksum is text, because a JSON number cannot hold 64 bits.
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
            wins: [Side::Red, Side::Blue].map(|side| maze.wins(side)),
            role: game.role(session).map(Role::name),
            roles: Role::ALL.map(peer_of),
            places: Role::ALL.map(place_of),
            input_delay: game.input_delay(),
            desyncs: game.desyncs(),
            checksums: game.checksums().map(|(frame, sum)| (frame, format!("{sum:016x}"))).collect(),
        }
    }

    pub(super) fn write(&self, json: &mut Json) {
        json.key("frame").count(self.frame);
        json.key("round").count(self.round);
        json.key("stage").text(self.stage);
        json.key("secondsLeft").count(self.seconds_left);
        let [red, blue] = self.wins;
        json.key("wins").object(|json| {
            json.key("red").count(red);
            json.key("blue").count(blue);
        });
        json.key("role").maybe(self.role, Json::text);
        json.key("roles").object(|json| {
            for (role, peer) in Role::ALL.into_iter().zip(&self.roles) {
                json.key(role.name()).maybe(peer.as_deref(), Json::text);
            }
        });
        json.key("places").object(|json| {
            for (role, place) in Role::ALL.into_iter().zip(self.places) {
                json.key(role.name()).list(place, Json::count);
            }
        });
        json.key("inputDelay").count(self.input_delay);
        json.key("desyncs").count(self.desyncs);
        json.key("checksums").list(&self.checksums, |json, (frame, sum)| {
            json.list([None, Some(sum)], |json, sum| match sum {
                None => json.count(*frame),
                Some(sum) => json.text(sum),
            });
        });
    }
}

/// The points of the member on a seat; 0 for a spectator.
pub(super) fn score(game: &MazeGame, seat: SeatId) -> u16 {
    game.maze().role_of(seat).map_or(0, |role| game.maze().teapot(role).points())
}
