//! What a status says of matches and of the sugar bowl.

use samovar_wire::Time;
use serde::Serialize;

use crate::course::Stage;
use crate::game::Duel;
use crate::player::PlayerKey;

/// The match at one peer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchStatus {
    number: u32,
    stage: &'static str,
    since_ms: f64,
    winner: Option<String>,
    points: u16,
    seconds: u16,
}

/// The bowl at one peer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BowlStatus {
    number: u32,
    position: Option<[f32; 2]>,
    last_taken_by: Option<String>,
}

impl MatchStatus {
    pub(super) fn of(duel: &Duel) -> Self {
        let course = duel.course();
        Self {
            number: course.number,
            stage: match course.stage {
                Stage::Waiting => "waiting",
                Stage::Running => "running",
                Stage::Over => "over",
            },
            since_ms: course.since as f64 / 1_000.0,
            winner: course.winner.and_then(|player| name(duel, player)),
            points: course.stakes.points,
            seconds: course.stakes.seconds,
        }
    }
}

impl BowlStatus {
    pub(super) fn of(duel: &Duel, time: Time) -> Self {
        Self {
            number: duel.scoreboard().bowl.number,
            position: duel.bowl(time.as_micros()),
            last_taken_by: duel.last_grab().and_then(|grab| name(duel, grab.player)),
        }
    }
}

fn name(duel: &Duel, player: PlayerKey) -> Option<String> {
    duel.scoreboard().row(player).map(|row| row.name.to_string())
}
