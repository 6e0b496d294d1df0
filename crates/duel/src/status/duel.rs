//! The part of a status about matches and the sugar bowl.

use samovar_wire::Time;

use super::json::Json;
use crate::course::Stage;
use crate::game::Duel;
use crate::player::PlayerKey;

/// The match at one peer.
#[derive(Clone, Debug)]
pub struct MatchStatus {
    number: u32,
    stage: &'static str,
    since_ms: f64,
    winner: Option<String>,
    points: u16,
    seconds: u16,
}

/// The bowl at one peer.
#[derive(Clone, Debug)]
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

    pub(super) fn write(&self, json: &mut Json) {
        json.key("number").count(self.number);
        json.key("stage").text(self.stage);
        json.key("sinceMs").number(self.since_ms);
        json.key("winner").maybe(self.winner.as_deref(), Json::text);
        json.key("points").count(self.points);
        json.key("seconds").count(self.seconds);
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

    pub(super) fn write(&self, json: &mut Json) {
        json.key("number").count(self.number);
        json.key("position").maybe(self.position, |json, place| json.list(place, Json::number));
        json.key("lastTakenBy").maybe(self.last_taken_by.as_deref(), Json::text);
    }
}

fn name(duel: &Duel, player: PlayerKey) -> Option<String> {
    duel.scoreboard().row(player).map(|row| row.name.as_str().to_owned())
}
