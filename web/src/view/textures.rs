//! Pictures made in code, so that nothing is downloaded: a woven check for the cloth, turned wood for the rim.
//!
//! This module is pure. Both pictures repeat without a seam in both directions and hold sRGB bytes.

/// Edge of the square tiles, in texels.
pub const SIZE: usize = 256;

/// One period of gingham: white, single and double checks, with its threads. The alpha byte says how dark the check
/// is.
pub fn gingham() -> Vec<[u8; 4]> {
    const PALE: [f32; 3] = [243.0, 234.0, 216.0];
    const DYED: [f32; 3] = [126.0, 160.0, 172.0];
    let threads = 64.0;
    tile(|x, y| {
        let dyed = |t: f32| f32::from(u8::from(t < 0.5));
        let (warp, weft) = ((x * threads).floor(), (y * threads).floor());
        let warp_on_top = (warp + weft) as i32 % 2 == 0;
        // The thread on top gives a little of the tone, and both threads the rest. So the cloth looks woven from near
        // and even from afar.
        let on_top = if warp_on_top { dyed(x) } else { dyed(y) };
        let depth = 0.12 * on_top + 0.88 * (dyed(x) + dyed(y)) / 2.0;
        let (across, along) = ((x * threads).fract() - 0.5, (y * threads).fract() - 0.5);
        let round = if warp_on_top { across } else { along };
        let relief = 1.0 - 0.22 * round * round - 0.025 * grain(warp as u32 * 7 + 1, weft as u32 * 13 + 5);
        let [r, g, b] = [0, 1, 2].map(|c| (PALE[c] + (DYED[c] - PALE[c]) * depth) * relief);
        [r as u8, g as u8, b as u8, (depth * 255.0) as u8]
    })
}

/// Wood that runs along x: broad rings, fine pores.
pub fn wood() -> Vec<[u8; 4]> {
    const DARK: [f32; 3] = [78.0, 48.0, 33.0];
    const LIGHT: [f32; 3] = [138.0, 92.0, 60.0];
    tile(|x, y| {
        let bend = noise(x, y, 2, 3) * 0.9 + noise(x, y, 4, 8) * 0.35;
        let ring = samovar_duel::angle::sin((y * 5.0 + bend) * std::f32::consts::TAU) * 0.5 + 0.5;
        let pores = noise(x, y, 8, 128);
        let light =
            (0.2 + 0.5 * ring * ring + 0.3 * noise(x, y, 3, 32) + 0.25 * (pores - 0.5)).clamp(0.0, 1.0);
        let [r, g, b] = [0, 1, 2].map(|c| (DARK[c] + (LIGHT[c] - DARK[c]) * light) as u8);
        [r, g, b, 255]
    })
}

fn tile(texel: impl Fn(f32, f32) -> [u8; 4]) -> Vec<[u8; 4]> {
    let at = |i: usize| (i as f32 + 0.5) / SIZE as f32;
    // The GPU reads the lowest row first.
    (0..SIZE * SIZE).map(|i| texel(at(i % SIZE), at(SIZE - 1 - i / SIZE))).collect()
}

/// Smooth noise in 0 to 1 with `columns` by `rows` cells to the tile.
fn noise(x: f32, y: f32, columns: u32, rows: u32) -> f32 {
    let (x, y) = (x * columns as f32, y * rows as f32);
    let (column, row) = (x as u32, y as u32);
    let corner =
        |dx: u32, dy: u32| grain((column + dx) % columns + 57 * columns, (row + dy) % rows + 31 * rows);
    let ease = |t: f32| t * t * (3.0 - 2.0 * t);
    let (u, v) = (ease(x.fract()), ease(y.fract()));
    let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
    mix(mix(corner(0, 0), corner(1, 0), u), mix(corner(0, 1), corner(1, 1), u), v)
}

/// A number in 0 to 1 that looks random but is the same for the same cell.
fn grain(x: u32, y: u32) -> f32 {
    let mut hash = x.wrapping_mul(0x9E37_79B1) ^ y.wrapping_mul(0x85EB_CA77);
    hash = (hash ^ (hash >> 15)).wrapping_mul(0x2C1B_3C6D);
    hash = (hash ^ (hash >> 12)).wrapping_mul(0x297A_2D39);
    (hash >> 8) as f32 / (1 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gingham_has_three_tones_in_a_quarter_half_quarter() {
        let tile = gingham();
        assert_eq!(tile.len(), SIZE * SIZE);
        let share = |low: u8, high: u8| {
            let inside = tile.iter().filter(|texel| (low..=high).contains(&texel[3])).count();
            inside as f32 / tile.len() as f32
        };
        assert!((share(0, 20) - 0.25).abs() < 0.01);
        assert!((share(80, 180) - 0.5).abs() < 0.01);
        assert!((share(240, 255) - 0.25).abs() < 0.01);
    }

    #[test]
    fn wood_repeats_without_a_seam() {
        let tile = wood();
        let step = |a: usize, b: usize| (i32::from(tile[a][0]) - i32::from(tile[b][0])).abs();
        let inner: i32 = (0..SIZE).map(|y| step(y * SIZE + 99, y * SIZE + 100)).sum();
        let seam: i32 = (0..SIZE).map(|y| step(y * SIZE, y * SIZE + SIZE - 1)).sum();
        assert!(seam <= inner * 3 + SIZE as i32, "seam {seam}, inside {inner}");
    }
}
