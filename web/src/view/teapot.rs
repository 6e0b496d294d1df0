//! The Utah teapot: Martin Newell's 32 bicubic Bézier patches of 1975, cut into triangles.
//!
//! Pure: control points in, mesh out. The pot is scaled so that its body has radius 1 and its bottom lies at z = 0;
//! the spout points along +x, the handle along -x.

use super::mesh::{MeshData, Paint};
use super::space::{InnerSpace, Vec3, Zero, vec3};

/// Radius of the body after scaling, in table units.
#[cfg(test)]
const BODY_RADIUS: f32 = 1.0;
/// The numbers of the file are in 1/100,000, and all of them are multiples of this.
const UNIT: i32 = 25;
/// The scale from the file's numbers to the scene: Newell's body has radius 2, ours 1.
const SCALE: f32 = 0.5 * UNIT as f32 / 100_000.0;
/// The file with the control points. The compiler reads it, so the page contains neither its text nor code to read
/// it.
const FILE: &[u8] = include_bytes!("../../assets/teapot.json");
/// The numbers of the control points, three for each.
static POINTS: [i16; 290 * 3] = numbers(b"\"points\":[", UNIT);
/// The sixteen control points of each patch.
static PATCHES: [i16; 32 * 16] = numbers(b"\"patches\":[", 1);
/// Where steam leaves the pot: the middle of the spout's mouth.
pub const SPOUT_TIP: Vec3 = Vec3::new(1.5, 0.0, 1.24);
/// Top of the lid's knob.
#[cfg(test)]
const HEIGHT: f32 = 1.575;

const CREAM: [f32; 3] = [0.86, 0.80, 0.68];
const GOLD: [f32; 3] = [0.60, 0.34, 0.08];

/// The parts of the pot in the order of the file, with the number of patches of each.
const PARTS: [(Part, usize); 7] = [
    (Part::Rim, 4),
    (Part::Body, 8),
    (Part::Handle, 4),
    (Part::Spout, 4),
    (Part::Knob, 4),
    (Part::Lid, 4),
    (Part::Bottom, 4),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Rim,
    Body,
    Handle,
    Spout,
    Knob,
    Lid,
    Bottom,
}

impl Part {
    /// The paint of a part: the player's colour for the pot, cream for the parts that a hand touches, gold for the
    /// rim.
    fn paint(self) -> Paint {
        let glaze = Paint { tint: 1.0, ..Paint::plain(CREAM, 1.0) };
        match self {
            Self::Body => Paint { dots: 1.0, ..glaze },
            Self::Spout | Self::Lid => glaze,
            Self::Bottom => glaze.shaded(0.5),
            Self::Handle | Self::Knob => Paint::plain(CREAM, 1.0),
            Self::Rim => Paint::plain(GOLD, 1.0),
        }
    }
}

/// The whole pot with `steps` by `steps` cells per patch; 10 is smooth from near, 5 will do from afar.
pub fn teapot(steps: usize) -> MeshData {
    let mut pot = MeshData::default();
    for (part, corners) in patches() {
        pot.grid(steps, steps, part.paint(), |column, row| {
            corners.surface(column as f32 / steps as f32, row as f32 / steps as f32)
        });
    }
    pot.weld();
    pot
}

fn patches() -> impl Iterator<Item = (Part, Patch)> {
    let parts = PARTS.into_iter().flat_map(|(part, count)| std::iter::repeat_n(part, count));
    let corners: Vec<Patch> = PATCHES
        .chunks_exact(16)
        .map(|chunk| {
            Patch(std::array::from_fn(|corner| {
                let start = chunk[corner] as usize * 3;
                vec3(POINTS[start].into(), POINTS[start + 1].into(), POINTS[start + 2].into()) * SCALE
            }))
        })
        .collect();
    parts.zip(corners)
}

/// Reads the integers of an array in the file, divided by `unit`. If there are not `COUNT` of them, or a remainder is
/// left, the page does not build.
const fn numbers<const COUNT: usize>(name: &[u8], unit: i32) -> [i16; COUNT] {
    let mut at = behind(name);
    let mut numbers = [0; COUNT];
    let (mut count, mut number, mut sign) = (0, 0, 1);
    loop {
        match FILE[at] {
            digit @ b'0'..=b'9' => number = number * 10 + (digit - b'0') as i32,
            b'-' => sign = -1,
            end @ (b',' | b']') => {
                assert!(number % unit == 0 && number / unit <= i16::MAX as i32);
                numbers[count] = (sign * number / unit) as i16;
                (count, number, sign) = (count + 1, 0, 1);
                if end == b']' {
                    assert!(count == COUNT);
                    return numbers;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The place in the file where a name ends.
const fn behind(name: &[u8]) -> usize {
    let mut at = 0;
    let mut same = 0;
    while same < name.len() {
        same = if FILE[at] == name[same] { same + 1 } else { 0 };
        at += 1;
    }
    at
}

/// Sixteen control points, row by row.
struct Patch([Vec3; 16]);

impl Patch {
    /// Place and outward normal at (u, v).
    fn surface(&self, u: f32, v: f32) -> (Vec3, Vec3) {
        let (place, mut normal) = self.derive(u, v);
        if normal.magnitude2() < 1e-8 {
            // At the knob's top and the bottom's middle, a whole edge is one point without a normal. The normal just
            // beside it is taken instead.
            normal = self.derive(u + (0.5 - u) * 0.01, v + (0.5 - v) * 0.01).1;
        }
        (place, normal.normalize())
    }

    fn derive(&self, u: f32, v: f32) -> (Vec3, Vec3) {
        let (bu, du) = bernstein(u);
        let (bv, dv) = bernstein(v);
        let sum = |along: &[f32; 4], across: &[f32; 4]| {
            self.0.iter().enumerate().fold(Vec3::zero(), |sum, (index, point)| {
                sum + point * (along[index % 4] * across[index / 4])
            })
        };
        (sum(&bu, &bv), sum(&du, &bv).cross(sum(&bu, &dv)))
    }
}

/// The four cubic Bernstein polynomials at t and their derivatives.
fn bernstein(t: f32) -> ([f32; 4], [f32; 4]) {
    let s = 1.0 - t;
    (
        [s * s * s, 3.0 * t * s * s, 3.0 * t * t * s, t * t * t],
        [-3.0 * s * s, 3.0 * s * s - 6.0 * t * s, 6.0 * t * s - 3.0 * t * t, 3.0 * t * t],
    )
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::{assert_sound, open_edges};
    use super::*;

    fn part(wanted: Part, steps: usize) -> MeshData {
        let mut mesh = MeshData::default();
        for (part, patch) in patches().filter(|(part, _)| *part == wanted) {
            mesh.grid(steps, steps, part.paint(), |column, row| {
                patch.surface(column as f32 / steps as f32, row as f32 / steps as f32)
            });
        }
        mesh.weld();
        mesh
    }

    #[test]
    fn file_holds_thirty_two_patches_of_known_points() {
        let text = std::str::from_utf8(FILE).expect("it is JSON");
        let read = |name: &str, unit: i32| -> Vec<i32> {
            let array =
                text.split(name).nth(1).and_then(|rest| rest.split(']').next()).expect("it has the array");
            array.split(',').map(|number| number.trim().parse::<i32>().expect("an integer") / unit).collect()
        };
        assert_eq!(read("\"points\":[", UNIT), POINTS.map(i32::from));
        assert_eq!(read("\"patches\":[", 1), PATCHES.map(i32::from));
        assert!(PATCHES.iter().all(|index| (0..290).contains(index)));
        assert_eq!(patches().count(), 32);
    }

    #[test]
    fn pot_has_the_promised_extents() {
        let pot = teapot(8);
        assert_sound(&pot);
        let reach = |axis: fn(&Vec3) -> f32| {
            let all = pot.positions.iter().map(axis);
            (all.clone().fold(f32::MAX, f32::min), all.fold(f32::MIN, f32::max))
        };
        let (low, high) = reach(|p| p.z);
        assert!(low.abs() < 1e-5 && (high - HEIGHT).abs() < 1e-4, "{low} {high}");
        let (back, front) = reach(|p| p.x);
        assert!((-1.51..-1.3).contains(&back) && (1.6..1.77).contains(&front), "{back} {front}");
        let (right, left) = reach(|p| p.y);
        assert!((right + BODY_RADIUS).abs() < 0.01 && (left - BODY_RADIUS).abs() < 0.01);
    }

    #[test]
    fn round_parts_point_away_from_the_axis() {
        for wanted in [Part::Body, Part::Lid, Part::Bottom] {
            let mesh = part(wanted, 6);
            for (position, normal) in mesh.positions.iter().zip(&mesh.normals) {
                let away = match wanted {
                    Part::Body => vec3(position.x, position.y, 0.0),
                    Part::Lid => Vec3::unit_z(),
                    _ => -Vec3::unit_z(),
                };
                assert!(away.dot(*normal) > -0.05, "{wanted:?}: {normal:?} at {position:?}");
            }
        }
    }

    #[test]
    fn hollow_parts_point_away_from_their_middle() {
        // The volume that the faces enclose with the part's centre is positive if and only if the faces look
        // outwards.
        for wanted in [Part::Handle, Part::Spout, Part::Knob] {
            let mesh = part(wanted, 6);
            let centre =
                mesh.positions.iter().fold(Vec3::zero(), |sum, p| sum + p) / mesh.positions.len() as f32;
            let volume: f32 = mesh
                .indices
                .chunks_exact(3)
                .map(|t| {
                    let [a, b, c] = [0, 1, 2].map(|i| mesh.positions[usize::from(t[i])] - centre);
                    a.dot(b.cross(c))
                })
                .sum();
            assert!(volume > 0.0, "{wanted:?}");
        }
    }

    #[test]
    fn poles_of_knob_and_bottom_look_straight_up_and_down() {
        for (wanted, up) in [(Part::Knob, 1.0), (Part::Bottom, -1.0)] {
            let mesh = part(wanted, 6);
            let on_axis = |p: &Vec3| p.x.hypot(p.y) < 1e-4;
            let poles: Vec<_> =
                mesh.positions.iter().zip(&mesh.normals).filter(|(p, _)| on_axis(p)).collect();
            assert_eq!(poles.len(), 1, "{wanted:?}: the degenerate edge is one vertex");
            assert!((poles[0].1.z - up).abs() < 1e-3, "{wanted:?}: {:?}", poles[0].1);
        }
    }

    #[test]
    fn parts_have_only_the_holes_of_newells_model() {
        // Newell's parts are open at rings of 4 * 6 edges, or of 2 * 6 edges for the tubes, and nowhere else.
        let holes = |wanted| open_edges(&part(wanted, 6));
        assert_eq!(holes(Part::Rim), 2 * 24);
        assert_eq!(holes(Part::Body), 2 * 24);
        assert_eq!(holes(Part::Handle), 2 * 12);
        assert_eq!(holes(Part::Spout), 2 * 12);
        assert_eq!(holes(Part::Knob), 24);
        assert_eq!(holes(Part::Lid), 2 * 24);
        assert_eq!(holes(Part::Bottom), 24);
    }
}
