//! Everything on the tea table that is not a teapot, turned on a lathe: the table, cups, sugar bowls, biscuits, cubes.
//!
//! Pure. Obstacles are unit sized: radius 1 and height 1 stand for what the rules say about one obstacle.

use three_d::{Vec3, vec3};

use super::mesh::{MeshData, Paint, smooth};

/// Radius of the table, in spoons; beyond it a teapot falls.
pub const TABLE_RADIUS: f32 = 16.0;
/// Radius within which the table is plain cloth; the hem begins outside.
const CLOTH_RADIUS: f32 = 12.6;
/// Edge of a sugar cube, in spoons.
pub const CUBE_EDGE: f32 = 0.36;
/// Where the tea's surface is in a cup of height 1.
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

/// The middle of the table's top, which is nothing but cloth.
pub fn cloth(segments: usize) -> MeshData {
    let mut cloth = MeshData::default();
    cloth.lathe(&[(CLOTH_RADIUS, 0.0), (CLOTH_RADIUS * 0.5, 0.0), (0.0, 0.0)], segments, WOOD);
    cloth.weld();
    cloth
}

/// The rest of the table: hem and wood, a rounded edge and a moulded rim under it. Its shader paints them by place.
pub fn border(segments: usize) -> MeshData {
    let mut table = MeshData::default();
    let r = TABLE_RADIUS;
    table.lathe(&[(r - 0.16, 0.0), (CLOTH_RADIUS, 0.0)], segments, WOOD);
    let edge = [(r - 0.05, -0.42), (r, -0.26), (r - 0.03, -0.09), (r - 0.16, 0.0)];
    table.lathe(&smooth(&edge, 4), segments, WOOD);
    let apron = [(r - 1.5, -1.6), (r - 1.1, -1.25), (r - 0.75, -0.62), (r - 0.4, -0.48), (r - 0.05, -0.42)];
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
        // The golden angle spreads the heap without a pattern; the last ones lie on top.
        let turn = index as f32 * 2.4;
        let (out, up) = if index < 7 { (0.34 + 0.2 * (index % 2) as f32, 0.66) } else { (0.2, 0.85) };
        bowl.place(&cube, vec3(out * turn.cos(), out * turn.sin(), up), turn * 1.7, 1.0);
    }
    bowl
}

/// A plate with a stack of jam biscuits.
pub fn biscuits(segments: usize) -> MeshData {
    let mut stack = MeshData::default();
    stack.lathe(&[(0.0, 0.0), (0.7, 0.0), (0.95, 0.05), (1.12, 0.1)], segments, PORCELAIN.shaded(0.5));
    stack.lathe(&[(1.12, 0.1), (1.13, 0.115), (1.1, 0.12), (1.06, 0.11)], segments, GOLD);
    stack.lathe(&[(1.06, 0.11), (0.92, 0.08), (0.7, 0.04), (0.0, 0.04)], segments, PORCELAIN.shaded(0.8));
    let biscuit = one_biscuit(segments);
    for layer in 0..4 {
        let turn = layer as f32 * 2.0;
        let at = vec3(0.05 * turn.cos(), 0.05 * turn.sin(), 0.05 + layer as f32 * 0.235);
        stack.place(&biscuit, at, turn, 1.0);
    }
    stack
}

fn one_biscuit(segments: usize) -> MeshData {
    let scallop = |angle: f32| 1.0 + 0.03 * (angle * 12.0).cos();
    let mut biscuit = MeshData::default();
    let edge = smooth(&[(0.6, 0.0), (0.78, 0.01), (0.84, 0.1), (0.8, 0.2), (0.7, 0.235)], 3);
    biscuit.scalloped_lathe(&edge, segments * 2, CRUST, scallop);
    biscuit.scalloped_lathe(&[(0.7, 0.235), (0.55, 0.24), (0.38, 0.235)], segments * 2, BISCUIT, scallop);
    biscuit.lathe(&[(0.40, 0.232), (0.36, 0.255), (0.2, 0.268), (0.0, 0.27)], segments, JAM);
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

/// A square from -1 to 1 in the plane z = 0, for soft discs: shadows of contact, steam.
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
        for (mesh, slack) in [(cup(24), 0.17), (sugar_bowl(24), 0.02), (biscuits(24), 0.14)] {
            assert_sound(&mesh);
            let reach = mesh.positions.iter().map(|p| p.x.hypot(p.y)).fold(0.0, f32::max);
            let low = mesh.positions.iter().map(|p| p.z).fold(f32::MAX, f32::min);
            let high = mesh.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
            assert!((0.9..=1.0 + slack).contains(&reach), "radius {reach}");
            assert!((0.85..=1.08).contains(&high), "height {high}");
            assert!(low.abs() < 1e-4, "bottom {low}");
        }
    }

    #[test]
    fn table_top_is_flat_and_has_the_radius_of_the_rules() {
        assert_sound(&cloth(48));
        let table = border(48);
        assert_sound(&table);
        // Where the two meet they share their corners, or the gap would show.
        let inner = table.positions.iter().map(|p| p.x.hypot(p.y)).fold(f32::MAX, f32::min);
        assert!((inner - CLOTH_RADIUS).abs() < 1e-4, "{inner}");
        let high = table.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
        let reach = table.positions.iter().map(|p| p.x.hypot(p.y)).fold(0.0, f32::max);
        assert!(high.abs() < 1e-4 && (reach - TABLE_RADIUS).abs() < 0.01, "{high} {reach}");
    }

    #[test]
    fn cube_has_the_edge_of_the_rules() {
        let cube = sugar_cube();
        assert_sound(&cube);
        assert_eq!(open_edges(&cube), 0);
        let reach = cube.positions.iter().map(|p| p.x.abs()).fold(0.0, f32::max);
        assert!((reach * 2.0 - CUBE_EDGE).abs() < 1e-5);
    }
}
