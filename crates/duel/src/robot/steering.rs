//! The reflexes of a robot: urges, steering and aiming, as plain functions of its inputs.

use super::Rival;
use crate::angle::cos;
use crate::arena::Arena;
use crate::cube::{MUZZLE_SPEED, SPOUT_PITCH, SPOUT_REACH};
use crate::motion::Motion;
use crate::plane::{Vec2, add, dot, length, perpendicular, scale, sub, unit_or};
use crate::teapot::BODY_RADIUS;

/// How near another teapot may come before a robot makes room, in table units.
const ELBOW_ROOM: f32 = 5.0;

/// How near a surface may come before a robot turns away, in table units between body and surface.
const WALL_ROOM: f32 = 2.5;

/// The turn control that brings the heading round by `off` radians and stops it there.
pub(super) fn turn_towards(off: f32, spin: f32) -> f32 {
    (4.0 * off - 0.4 * spin).clamp(-1.0, 1.0)
}

/// The vector from the shooter to the place where a cube fired now would meet the target, if the target keeps the
/// share `foresight` of its velocity.
///
/// Three rounds compute the time of flight from the place, and a better place from that time. The remaining error is
/// far below that of the aim.
pub(super) fn lead(own: &Motion, target: &Motion, foresight: f32) -> Vec2 {
    let away = sub(target.position, own.position);
    // A cube takes its shooter's velocity along, so the shooter's velocity is subtracted.
    let drift = sub(scale(target.velocity, foresight), own.velocity);
    let speed = MUZZLE_SPEED * cos(SPOUT_PITCH);
    (0..3).fold(away, |meeting, _| {
        let flight = ((length(meeting) - SPOUT_REACH) / speed).clamp(0.0, 1.2);
        add(away, scale(drift, flight))
    })
}

/// The urge to make room for near teapots.
pub(super) fn keep_apart(own: &Motion, rivals: &[Rival]) -> Vec2 {
    rivals.iter().fold([0.0, 0.0], |urge, rival| {
        let away = sub(own.position, rival.motion.position);
        let closeness = (1.0 - length(away) / ELBOW_ROOM).max(0.0);
        add(urge, scale(unit_or(away, [0.0, 1.0]), 2.5 * closeness))
    })
}

/// The urge to turn away from the rim and from obstacles before they are touched.
pub(super) fn keep_clear(own: &Motion, urge: Vec2, arena: &Arena<'_>) -> Vec2 {
    let rim_gap = arena.radius - BODY_RADIUS - length(own.position);
    let inward = unit_or(scale(own.position, -1.0), [0.0, 0.0]);
    let from_rim = avoid(inward, rim_gap, urge);
    arena.obstacles.iter().fold(from_rim, |sum, obstacle| {
        let away = sub(own.position, obstacle.centre);
        let gap = length(away) - obstacle.radius - BODY_RADIUS;
        // A robot makes less of a detour round what it can push away, so nothing can lock it in.
        let weight = 1.0 - obstacle.kind.yields();
        add(sum, scale(avoid(unit_or(away, [1.0, 0.0]), gap, urge), weight))
    })
}

/// The urge away from one surface at distance `gap`, and along the surface, in the direction that suits `urge`.
fn avoid(away: Vec2, gap: f32, urge: Vec2) -> Vec2 {
    let closeness = (1.0 - gap / WALL_ROOM).clamp(0.0, 1.0);
    // If `urge` points straight at the surface, pushing away would only cancel it, so there is also an urge to go
    // round.
    let along = perpendicular(away);
    let way_round = if dot(along, urge) < 0.0 { -1.0 } else { 1.0 };
    add(scale(away, 1.6 * closeness), scale(along, 0.9 * closeness * way_round))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::TEA_TABLE;
    use crate::cube::Launch;
    use crate::hits::{Struck, Sweep, Target};
    use crate::plane::{direction, heading_of};
    use crate::player::PlayerKey;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const START: u64 = 50_000_000;

    #[test]
    fn a_cube_fired_at_the_lead_meets_a_steady_target() {
        let mut rng = Rng::new(81);
        for _ in 0..500 {
            let mut any = |radius: f32| Motion {
                position: scale(direction(rng.between(-3.1, 3.1)), rng.between(4.0, radius)),
                velocity: scale(direction(rng.between(-3.1, 3.1)), rng.between(0.0, 5.0)),
                heading: 0.0,
                spin: 0.0,
            };
            let (target, mut own) = (any(8.0), Motion { position: [0.0, 0.0], ..any(4.1) });
            let meeting = lead(&own, &target, 1.0);
            if length(meeting) > 12.0 {
                continue;
            }
            own.heading = heading_of(meeting);
            let launch = Launch::from_spout(PlayerKey::Seat(1), &own, START);
            let to = START + 1_000_000;
            let position = add(target.position, target.velocity);
            let targets = [Target { player: PlayerKey::Seat(2), position, velocity: target.velocity }];
            let open = Arena { obstacles: &[], ..TEA_TABLE };
            let impact = Sweep { launch: &launch, from: START, to }.first_impact(&open, &targets);
            assert_eq!(
                impact.map(|impact| impact.struck),
                Some(Struck::Teapot(PlayerKey::Seat(2))),
                "{own:?} at {target:?}"
            );
        }
    }

    #[test]
    fn surfaces_and_neighbours_push_away_only_when_they_are_near() {
        let at = |x: f32| Motion { position: [x, 0.0], ..Motion::default() };
        assert_eq!(keep_clear(&at(8.0), [1.0, 0.0], &TEA_TABLE), [0.0, 0.0]);
        assert!(keep_clear(&at(14.5), [1.0, 0.0], &TEA_TABLE)[0] < -1.0, "away from the rim");
        assert!(keep_clear(&at(3.0), [-1.0, 0.0], &TEA_TABLE)[0] > 0.5, "away from the bowl");
        let rival =
            |x: f32| Rival { player: PlayerKey::Robot(1), motion: at(x), is_vulnerable: true, behind: 0 };
        assert_eq!(keep_apart(&at(0.0), &[rival(6.0)]), [0.0, 0.0]);
        assert!(keep_apart(&at(0.0), &[rival(2.0)])[0] < -1.0);
        assert!(length(keep_apart(&at(0.0), &[rival(0.0)])) > 1.0, "even from the same place");
    }
}
