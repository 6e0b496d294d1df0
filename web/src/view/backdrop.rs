//! The still life behind the lobby: a laid table, so that the first thing a visitor sees is the game.

use super::frame::{CubeView, Frame, Obstacle, ObstacleView, TeapotView};

const OBSTACLES: [ObstacleView; 6] = [
    ObstacleView { position: [0.0, 0.0], radius: 1.9, height: 1.9, kind: Obstacle::SugarBowl },
    ObstacleView { position: [6.5, 4.5], radius: 1.3, height: 1.3, kind: Obstacle::Cup },
    ObstacleView { position: [-7.0, 4.0], radius: 1.3, height: 1.3, kind: Obstacle::Cup },
    ObstacleView { position: [1.0, -8.5], radius: 1.3, height: 1.3, kind: Obstacle::Cup },
    ObstacleView { position: [-5.0, -6.5], radius: 1.6, height: 1.3, kind: Obstacle::Biscuits },
    ObstacleView { position: [3.0, 9.0], radius: 1.6, height: 1.3, kind: Obstacle::Biscuits },
];

/// Place, phase of the dance, and colour of each pot.
const POTS: [([f32; 2], f32, [u8; 3]); 5] = [
    ([4.6, -3.0], 2.4, [196, 62, 52]),
    ([-4.4, -1.8], 0.4, [52, 110, 158]),
    ([-1.4, 5.2], -1.2, [226, 164, 52]),
    ([8.6, -4.4], 2.9, [92, 138, 84]),
    ([-9.2, -1.6], 0.2, [134, 92, 150]),
];

/// Hands the still life of this moment to `show`.
pub fn with_still_life<R>(time_s: f64, show: impl FnOnce(&Frame<'_>) -> R) -> R {
    let time = (time_s % 3600.0) as f32;
    let pots: Vec<_> = POTS
        .iter()
        .enumerate()
        .map(|(index, &([x, y], phase, colour))| TeapotView {
            key: index as u64 * 31,
            position: [x, y, 0.0],
            heading: phase + 0.35 * (time * 0.4 + phase).sin(),
            tilt: [0.03 * (time * 1.3 + phase).sin(), 0.02 * (time * 0.9).cos()],
            colour,
            name: "",
            visible: true,
            flash: 0.0,
            ghost: false,
        })
        .collect();
    let cubes: [CubeView; 7] = std::array::from_fn(|index| {
        let turn = index as f32 * 2.4;
        let out = 2.7 + 0.35 * index as f32;
        CubeView {
            key: index as u64,
            position: [out * turn.cos(), out * turn.sin(), 0.18],
            spin: [0.0, 0.0, turn * 1.3],
        }
    });
    show(&Frame { time_s, teapots: &pots, cubes: &cubes, me: None, obstacles: &OBSTACLES })
}
