//! The kinds of objects in a duel, its agreed parameters, and how scripts see the objects.

use samovar_session::{Causality, Object, Orders, Rules, Schemas, TimeOrderConfig};
use samovar_wire::object::{Orphan, Traits};
use samovar_wire::view::SPECTATOR;
use samovar_wire::{Kind, PeerId, Time, digest};

use super::props::{self, THING};
use crate::cube::Launch;
use crate::motion::Motion;
use crate::plane::Vec3;
use crate::player::Glaze;
use crate::state::{LAUNCH, TeapotState};
use crate::warp::Warp;

/// A teapot: updated in packets that may be lost. When its owner goes, the host keeps it for the seat. The host spreads
/// the robots' teapots over the members.
pub const TEAPOT: Kind = Kind(1);

/// A sugar cube: written once, and destroyed when its shooter goes.
pub const CUBE: Kind = Kind(2);

/// The scoreboard: owned by the host, each change reliable and in order.
pub const SCOREBOARD: Kind = Kind(3);

/// The version of the rules and of the fields. Peers of different versions refuse each other.
const RULES_VERSION: u16 = 5;

/// The bit of a member's attributes that says that a program plays.
const IS_PROGRAM: u32 = 1 << 8;

pub(super) const TEAPOT_TRAITS: Traits = Traits::of(TEAPOT);
pub(super) const ROBOT_TRAITS: Traits = Traits { balanced: true, ..TEAPOT_TRAITS };
pub(super) const CUBE_TRAITS: Traits = Traits { orphan: Orphan::Destroy, ..Traits::of(CUBE) };
pub(super) const SCOREBOARD_TRAITS: Traits =
    Traits { reliable: true, with_host: true, ..Traits::of(SCOREBOARD) };

/// The schemas of a duel's objects: teapots have numbers and texts, things have numbers only, all other objects have
/// texts only.
pub fn schemas() -> Schemas {
    Schemas::new().with(TeapotState::schema(TEAPOT)).with(props::schema())
}

/// The most spectators: the relay's referee, and one that takes its place while the former one is not missed yet.
const SPECTATORS: u8 = 2;

/// The rules of a duel's session, and the orders of its messages: the feed is in causal order, the bowl in time-stamp
/// order, matches in total order. Unless the founder chooses otherwise, each side of a partition plays on without a
/// majority.
pub fn rules() -> Rules {
    let orders = Orders {
        causal: Some(Causality::Vector),
        total: true,
        timestamp: Some(TimeOrderConfig::DEFAULT),
        lockstep: None,
    };
    Rules { orders, forks: true, spectators: SPECTATORS, ..Rules::default() }
}

/// The agreed parameters of a duel's session: a hash of the game's name, its rules' version, its schemas, and its
/// [`rules`] without the ones that the view states.
pub fn params() -> u64 {
    let schemas = schemas().hash().to_le_bytes();
    let Rules { migrates: _, forks: _, by_host: _, backups, grace, steps_within, orders, spectators } =
        rules();
    let TimeOrderConfig { lookahead, patience } = orders.timestamp.unwrap_or_default();
    let causal = orders.causal.map_or(0, |causality| 1 + causality as u8);
    let flags = [causal, u8::from(orders.total), u8::from(orders.timestamp.is_some())];
    let times = [grace, steps_within.unwrap_or_default(), lookahead, patience]
        .map(|time| time.as_micros().to_le_bytes())
        .concat();
    let hash =
        digest(&[b"duel", &RULES_VERSION.to_le_bytes(), &schemas, &flags, &[backups, spectators], &times]);
    let [a, b, c, d, e, f, g, h, ..] = hash;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The attributes of a member: the colour of its teapot, and whether a program plays.
pub fn attributes(glaze: Glaze, is_program: bool) -> u32 {
    u32::from(glaze.number()) | if is_program { IS_PROGRAM } else { 0 }
}

/// The colour in a member's attributes. Any attributes hold a valid colour.
pub fn glaze_of(attributes: u32) -> Glaze {
    Glaze::new((attributes & 0xff) as usize)
}

/// Whether a member's attributes say that a program plays.
pub fn is_program(attributes: u32) -> bool {
    attributes & IS_PROGRAM != 0
}

/// Whether a member's attributes say that it only watches, or hosts without playing: it has no row and no teapot.
pub fn is_spectator(attributes: u32) -> bool {
    attributes & SPECTATOR != 0
}

/// The name of a kind of object, for people and scripts.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::SESSION => "session",
        TEAPOT => "teapot",
        CUBE => "cube",
        SCOREBOARD => "scoreboard",
        THING => "thing",
        _ => "unknown",
    }
}

/// Position and velocity of an object at session time `at`, computed from its newest state; `None` if it has none. A
/// teapot is extrapolated as on the screen but not smoothed.
pub fn kinematics(object: &Object, at: Time) -> Option<(Vec3, Vec3)> {
    let time = at.as_micros();
    match object.traits().kind {
        TEAPOT | THING => {
            let motion = motion_of(object)?;
            let goal = Warp::new(time, motion, object.sampled().as_micros()).at(time);
            let flat = |[x, y]: [f32; 2]| [x, y, 0.0];
            Some((flat(goal.position), flat(goal.velocity)))
        }
        CUBE => {
            let launch = Launch::decode(object.field(LAUNCH)).ok()?;
            Some((launch.position_at(time), launch.velocity_at(time)))
        }
        _ => None,
    }
}

/// The motion of a teapot or a thing; `None` if the object is neither or cannot be read.
pub(super) fn motion_of(object: &Object) -> Option<Motion> {
    // The reader keeps numbers and texts apart, so the texts before the motion do not matter.
    Motion::decode(&mut object.reader()).ok()
}

/// The seat on which a peer plays, as far as this peer knows; `None` for a spectator.
pub(super) fn seat_number(session: &samovar_session::Session, peer: PeerId) -> Option<u16> {
    let record = session.seat_of(peer)?;
    (!is_spectator(record.attributes)).then_some(record.seat.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::GLAZES;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn attributes_carry_a_colour_and_the_program_bit() {
        for number in 0..GLAZES.len() {
            for program in [false, true] {
                let attributes = attributes(Glaze::new(number), program);
                assert_eq!(glaze_of(attributes), Glaze::new(number));
                assert_eq!(is_program(attributes), program);
            }
        }
        assert_eq!(glaze_of(u32::MAX), Glaze::new(255));
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let names: Vec<_> = (0..5).map(|kind| kind_name(Kind(kind))).collect();
        assert_eq!(names, ["session", "teapot", "cube", "scoreboard", "thing"]);
        assert_eq!(kind_name(Kind(200)), "unknown");
    }
}
