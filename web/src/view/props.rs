//! Everything on the tea table that is not a teapot, turned on a lathe: the table, cups, sugar bowls, biscuits, cubes.
//!
//! This module is pure. Obstacles have radius 1 and height 1 here; the scene scales each to the size that the rules
//! give.

use samovar_duel::angle::{cos, sin};

use super::mesh::{MeshData, Paint, smooth};
use super::space::{Vec3, vec3};

/// Height of the rim above the table, in table units.
const RIM_HEIGHT: f32 = 0.5;
/// The width of the table's edge, beyond which the table is plain cloth.
const EDGE: f32 = 3.4;
/// Edge of a sugar cube, in table units.
pub const CUBE_EDGE: f32 = 0.36;
/// Height of the tea's surface in a cup of height 1.
pub const TEA_LEVEL: f32 = 0.84;

const PORCELAIN: Paint = Paint::plain([0.85, 0.83, 0.78], 1.0);
const BLUE: Paint = Paint::plain([0.05, 0.13, 0.33], 0.7);
const ROSE: Paint = Paint::plain([0.72, 0.33, 0.34], 1.0);
const GOLD: Paint = Paint::plain([0.60, 0.34, 0.08], 1.0);
const TEA: Paint = Paint::plain([0.105, 0.026, 0.006], 0.85);
const SUGAR: Paint = Paint::plain([0.92, 0.90, 0.87], 0.15).shaded(1.25);
const BISCUIT: Paint = Paint::plain([0.58, 0.34, 0.15], 0.0);
const CRUST: Paint = Paint::plain([0.40, 0.19, 0.07], 0.0);
const JAM: Paint = Paint::plain([0.32, 0.008, 0.016], 0.9);
const WOOD: Paint = Paint::plain([1.0; 3], 0.6);

/// The middle of the top of a table of this radius, which is nothing but cloth.
pub fn cloth(radius: f32, segments: usize) -> MeshData {
    let mut cloth = MeshData::default();
    let reach = radius - EDGE;
    cloth.lathe(&[(reach, 0.0), (reach * 0.5, 0.0), (0.0, 0.0)], segments, WOOD);
    cloth.weld();
    cloth
}

/// The rest of the table: hem and wood, the rim that keeps teapots on the table, and a moulding below. The shader
/// paints these by place.
pub fn border(radius: f32, segments: usize) -> MeshData {
    let mut table = MeshData::default();
    let (r, top) = (radius, RIM_HEIGHT);
    table.lathe(&[(r + 0.02, 0.0), (r - EDGE, 0.0)], segments, WOOD);
    let rim = [
        (r + 0.62, -0.42),
        (r + 0.68, -0.1),
        (r + 0.66, top * 0.6),
        (r + 0.52, top * 0.94),
        (r + 0.34, top),
        (r + 0.16, top * 0.93),
        (r + 0.05, top * 0.6),
        (r, 0.0),
    ];
    table.lathe(&smooth(&rim, 3), segments, WOOD);
    let apron = [(r - 0.8, -1.6), (r - 0.4, -1.25), (r, -0.62), (r + 0.3, -0.48), (r + 0.62, -0.42)];
    table.lathe(&smooth(&apron, 3), segments, WOOD.shaded(0.55));
    table.weld();
    table
}

/// A cup of tea on its saucer; the handle points along +x.
pub fn cup(segments: usize) -> MeshData {
    let mut cup = MeshData::default();
    cup.lathe(&[(0.0, 0.0), (0.55, 0.0), (0.9, 0.05), (1.1, 0.13)], segments, PORCELAIN.shaded(0.5));
    cup.lathe(&[(1.1, 0.13), (1.115, 0.145), (1.09, 0.15), (1.04, 0.135)], segments, BLUE);
    cup.lathe(
        &smooth(&[(1.04, 0.135), (0.88, 0.095), (0.6, 0.055), (0.0, 0.05)], 3),
        segments,
        PORCELAIN.shaded(0.8),
    );
    let wall = [(0.44, 0.05), (0.43, 0.11), (0.53, 0.2), (0.68, 0.4), (0.76, 0.65), (0.8, 0.9)];
    cup.lathe(&smooth(&wall, 4), segments, PORCELAIN);
    cup.lathe(&[(0.8, 0.9), (0.815, 0.96), (0.83, 0.995), (0.815, 1.0), (0.79, 0.985)], segments, BLUE);
    cup.lathe(&[(0.79, 0.985), (0.77, 0.9), (0.75, TEA_LEVEL - 0.02)], segments, PORCELAIN.shaded(0.85));
    cup.lathe(&[(0.76, TEA_LEVEL), (0.4, TEA_LEVEL), (0.0, TEA_LEVEL)], segments, TEA);
    let handle = [(0.74, 0.86), (0.92, 0.9), (1.09, 0.8), (1.1, 0.58), (0.92, 0.4), (0.66, 0.36)];
    cup.tube(&smooth(&handle, 5), (0.045, 0.065), 10, PORCELAIN);
    cup.weld();
    cup
}

/// An open sugar bowl, heaped with cubes.
pub fn sugar_bowl(segments: usize) -> MeshData {
    let mut bowl = MeshData::default();
    bowl.lathe(&[(0.0, 0.0), (0.5, 0.0)], segments, ROSE.shaded(0.5));
    let wall = [(0.5, 0.0), (0.52, 0.06), (0.6, 0.12), (0.9, 0.3), (0.97, 0.45), (0.88, 0.58)];
    bowl.lathe(&smooth(&wall, 4), segments, ROSE);
    bowl.lathe(&smooth(&[(0.88, 0.58), (0.9, 0.63), (0.98, 0.68)], 3), segments, ROSE);
    bowl.lathe(&[(0.98, 0.68), (0.995, 0.7), (0.97, 0.71), (0.92, 0.68)], segments, GOLD);
    bowl.lathe(&[(0.92, 0.68), (0.84, 0.61), (0.82, 0.5)], segments, PORCELAIN.shaded(0.7));
    bowl.lathe(&[(0.83, 0.52), (0.4, 0.56), (0.0, 0.58)], segments, SUGAR.shaded(0.5));
    bowl.weld();
    let mut cube = MeshData::default();
    cube.rounded_box(0.15, 0.025, SUGAR.shaded(0.9));
    for index in 0..10 {
        // The golden angle spreads the heap without a pattern; the last cubes lie on top.
        let turn = index as f32 * 2.4;
        let (out, up) = if index < 7 { (0.34 + 0.2 * (index % 2) as f32, 0.66) } else { (0.2, 0.85) };
        bowl.place(&cube, vec3(out * cos(turn), out * sin(turn), up), turn * 1.7, 1.0);
    }
    bowl
}

/// A flat plate with a ring of jam biscuits and one on top.
pub fn biscuits(segments: usize) -> MeshData {
    let mut plate = MeshData::default();
    plate.lathe(&[(0.0, 0.0), (0.7, 0.0), (0.9, 0.2), (0.99, 0.42)], segments, PORCELAIN.shaded(0.5));
    plate.lathe(&[(0.99, 0.42), (1.0, 0.46), (0.985, 0.48), (0.95, 0.46)], segments, GOLD);
    plate.lathe(&[(0.95, 0.46), (0.84, 0.3), (0.7, 0.15), (0.0, 0.12)], segments, PORCELAIN.shaded(0.9));
    plate.weld();
    let biscuit = one_biscuit(segments);
    for index in 0..6 {
        let turn = index as f32 / 6.0 * std::f32::consts::TAU;
        plate.place(&biscuit, vec3(0.53 * cos(turn), 0.53 * sin(turn), 0.16), turn, 1.0);
    }
    plate.place(&biscuit, vec3(0.03, -0.02, 0.6), 0.4, 1.0);
    plate
}

fn one_biscuit(segments: usize) -> MeshData {
    let scallop = |angle: f32| 1.0 + 0.045 * cos(angle * 12.0);
    let mut biscuit = MeshData::default();
    let edge = smooth(&[(0.19, 0.0), (0.25, 0.03), (0.265, 0.2), (0.25, 0.38), (0.22, 0.42)], 2);
    biscuit.scalloped_lathe(&edge, segments, CRUST, scallop);
    biscuit.scalloped_lathe(&[(0.22, 0.42), (0.18, 0.43), (0.125, 0.42)], segments, BISCUIT, scallop);
    biscuit.lathe(&[(0.13, 0.41), (0.115, 0.46), (0.07, 0.485), (0.0, 0.49)], segments / 2, JAM);
    biscuit.weld();
    biscuit
}

/// A sugar cube around the origin; its colour is the instance's.
pub fn sugar_cube() -> MeshData {
    let mut cube = MeshData::default();
    cube.rounded_box(CUBE_EDGE / 2.0, 0.035, Paint { tint: 1.0, ..SUGAR });
    cube.weld();
    cube
}

/// A square from -1 to 1 in the plane z = 0, for soft discs: contact shadows, steam.
pub fn card() -> MeshData {
    let mut card = MeshData::default();
    let corner = |side: usize| side as f32 * 2.0 - 1.0;
    card.grid(1, 1, WOOD, |column, row| (vec3(corner(column), corner(row), 0.0), Vec3::unit_z()));
    card
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::{assert_sound, open_edges};
    use super::*;

    #[test]
    fn obstacles_fill_their_unit_cylinder_and_stand_on_the_table() {
        for (mesh, slack) in [(cup(24), 0.17), (sugar_bowl(24), 0.02), (biscuits(48), 0.02)] {
            assert_sound(&mesh);
            let reach = mesh.positions.iter().map(|p| p.x.hypot(p.y)).fold(0.0, f32::max);
            let low = mesh.positions.iter().map(|p| p.z).fold(f32::MAX, f32::min);
            let high = mesh.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
            assert!((0.9..=1.0 + slack).contains(&reach), "radius {reach}");
            assert!((0.85..=1.1).contains(&high), "height {high}");
            assert!(low.abs() < 1e-4, "bottom {low}");
        }
    }

    #[test]
    fn table_is_flat_up_to_its_rim_and_closed_against_the_cloth() {
        const TABLE_RADIUS: f32 = 16.0;
        assert_sound(&cloth(TABLE_RADIUS, 48));
        let border = border(TABLE_RADIUS, 48);
        assert_sound(&border);
        let radius = |p: &Vec3| p.x.hypot(p.y);
        let inside = border.positions.iter().filter(|p| radius(p) < TABLE_RADIUS - 0.01 && p.z > -0.3);
        assert!(inside.clone().all(|p| p.z.abs() < 1e-5));
        // Where cloth and border meet they must share their corners, or a gap would show.
        let inner = inside.map(radius).fold(f32::MAX, f32::min);
        assert!((inner - (TABLE_RADIUS - EDGE)).abs() < 1e-4, "{inner}");
        let high = border.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
        assert!((high - RIM_HEIGHT).abs() < 0.02, "{high}");
    }

    #[test]
    fn the_sugar_cube_is_closed_and_has_its_edge_length() {
        let cube = sugar_cube();
        assert_sound(&cube);
        assert_eq!(open_edges(&cube), 0);
        let reach = cube.positions.iter().map(|p| p.x.abs()).fold(0.0, f32::max);
        assert!((reach * 2.0 - CUBE_EDGE).abs() < 1e-5);
    }
}
