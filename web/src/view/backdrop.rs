//! The still life behind the lobby: a laid table, so that the first thing a visitor sees is the game.

use samovar_duel::angle::{cos, sin};
use samovar_duel::arena::TEA_TABLE;

use super::frame::{CubeView, Frame, ObstacleView, TeapotView};

/// Place, heading (also the phase of the swaying), and colour of each pot.
const POTS: [([f32; 2], f32, [u8; 3]); 6] = [
    ([4.2, -1.4], 2.4, [196, 62, 52]),
    ([-4.0, -2.4], 0.4, [52, 110, 158]),
    ([-1.0, 4.4], -1.2, [226, 164, 52]),
    ([9.6, -3.0], 2.9, [92, 138, 84]),
    ([-9.4, 1.0], 0.2, [134, 92, 150]),
    ([3.0, 10.0], -2.0, [238, 232, 220]),
];

/// Hands the still life of this moment to `show`.
pub fn with_still_life<R>(time_s: f64, show: impl FnOnce(&Frame<'_>) -> R) -> R {
    let pots: Vec<_> = POTS
        .iter()
        .enumerate()
        .map(|(index, &([x, y], phase, colour))| TeapotView {
            key: index as u64 * 31,
            position: [x, y, 0.0],
            scale: 1.0,
            heading: phase + 0.35 * sin(time_s * 0.4 + f64::from(phase)),
            tilt: [0.03 * sin(time_s * 1.3 + f64::from(phase)), 0.02 * cos(time_s * 0.9)],
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
            position: [out * cos(turn), out * sin(turn), 0.18],
            spin: [0.0, 0.0, turn * 1.3],
        }
    });
    let obstacles: Vec<_> = TEA_TABLE.obstacles.iter().map(ObstacleView::from).collect();
    show(&Frame { time_s, teapots: &pots, cubes: &cubes, obstacles: &obstacles, ..Frame::default() })
}
