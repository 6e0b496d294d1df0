//! Triangle meshes in plain memory, and the few ways the scene makes them: grids, turned profiles, bent tubes.
//!
//! Pure: nothing here knows of a browser or a GPU. Invariants of every mesh built here: indices are in range,
//! normals have unit length, and a triangle's winding agrees with its normals (counter-clockwise seen from outside).

use samovar_duel::angle::sin_cos;

use super::space::{InnerSpace, Vec3, Zero, vec3};

/// The looks of a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// Own colour, linear RGB.
    pub colour: [f32; 3],
    /// Share of the own colour that the instance's tint replaces, 0 to 1.
    pub tint: f32,
    /// The gloss, from 0 (chalk) to 1 (wet glaze).
    pub gloss: f32,
    /// 1 if the fragment shader puts polka dots on, else 0.
    pub dots: f32,
    /// The share of light that reaches the place, 0 to 1: baked ambient occlusion.
    pub open: f32,
}

impl Paint {
    /// Paint of this colour everywhere, not tinted, without pattern, fully lit.
    pub const fn plain(colour: [f32; 3], gloss: f32) -> Self {
        Self { colour, tint: 0.0, gloss, dots: 0.0, open: 1.0 }
    }

    /// The same paint in a place that only this share of the light reaches.
    pub const fn shaded(self, open: f32) -> Self {
        Self { open, ..self }
    }
}

/// Vertices and triangles.
#[derive(Clone, Debug, Default)]
pub struct MeshData {
    /// Places of the vertices.
    pub positions: Vec<Vec3>,
    /// Unit vectors that point out of the surface, one per vertex.
    pub normals: Vec<Vec3>,
    /// Looks, one per vertex.
    pub paints: Vec<Paint>,
    /// Indices of vertices, three per triangle.
    pub indices: Vec<u16>,
}

impl MeshData {
    /// Adds a vertex and returns its index.
    pub fn push(&mut self, position: Vec3, normal: Vec3, paint: Paint) -> u16 {
        self.positions.push(position);
        self.normals.push(normal);
        self.paints.push(paint);
        (self.positions.len() - 1) as u16
    }

    /// Adds a sheet of `columns` by `rows` cells. `vertex(column, row)` gives place and outward normal.
    /// The winding of each triangle is taken from its normals, and triangles without area are left out.
    pub fn grid(
        &mut self,
        columns: usize,
        rows: usize,
        paint: Paint,
        vertex: impl Fn(usize, usize) -> (Vec3, Vec3),
    ) {
        let first = self.positions.len();
        for row in 0..=rows {
            for column in 0..=columns {
                let (position, normal) = vertex(column, row);
                self.push(position, normal, paint);
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let a = first + row * (columns + 1) + column;
                let (b, c, d) = (a + 1, a + columns + 1, a + columns + 2);
                self.triangle(a, b, d);
                self.triangle(a, d, c);
            }
        }
    }

    fn triangle(&mut self, a: usize, b: usize, c: usize) {
        let face = (self.positions[b] - self.positions[a]).cross(self.positions[c] - self.positions[a]);
        if face.magnitude2() < 1e-14 {
            return;
        }
        let outside = self.normals[a] + self.normals[b] + self.normals[c];
        let (b, c) = if face.dot(outside) < 0.0 { (c, b) } else { (b, c) };
        self.indices.extend([a as u16, b as u16, c as u16]);
    }

    /// Turns a profile of (radius, height) around the z axis. Outside is to the right of the profile's direction: a
    /// profile that goes up is an outer wall, and one towards the axis is a top. Shading rounds the corners of a
    /// profile, so call this once per smooth strip.
    pub fn lathe(&mut self, profile: &[(f32, f32)], segments: usize, paint: Paint) {
        self.scalloped_lathe(profile, segments, paint, |_| 1.0);
    }

    /// Like [`MeshData::lathe`], with the radius multiplied by `scallop(angle)`.
    pub fn scalloped_lathe(
        &mut self,
        profile: &[(f32, f32)],
        segments: usize,
        paint: Paint,
        scallop: impl Fn(f32) -> f32,
    ) {
        let last = profile.len() - 1;
        let outward = |row: usize| {
            let (from, to) = (profile[row.saturating_sub(1)], profile[(row + 1).min(last)]);
            (to.1 - from.1, from.0 - to.0)
        };
        self.grid(segments, last, paint, |column, row| {
            let angle = (column % segments) as f32 / segments as f32 * std::f32::consts::TAU;
            let (sin, cos) = sin_cos(angle);
            let (radius, height) = profile[row];
            let (out, up) = outward(row);
            let radius = radius * scallop(angle);
            (vec3(radius * cos, radius * sin, height), vec3(out * cos, out * sin, up).normalize())
        });
    }

    /// Bends a tube of elliptic section along a path in the plane y = 0. `half` is the tube's half thickness in the
    /// plane and across it.
    pub fn tube(&mut self, path: &[(f32, f32)], half: (f32, f32), sides: usize, paint: Paint) {
        let last = path.len() - 1;
        let at = |row: usize| vec3(path[row].0, 0.0, path[row].1);
        self.grid(sides, last, paint, |column, row| {
            let along = (at((row + 1).min(last)) - at(row.saturating_sub(1))).normalize();
            let in_plane = vec3(-along.z, 0.0, along.x);
            let (sin, cos) = sin_cos((column % sides) as f32 / sides as f32 * std::f32::consts::TAU);
            let offset = in_plane * (cos * half.0) + Vec3::unit_y() * (sin * half.1);
            let normal = in_plane * (cos / half.0) + Vec3::unit_y() * (sin / half.1);
            (at(row) + offset, normal.normalize())
        });
    }

    /// A box with rounded edges around the origin. `half` is half the box's edge, `round` the radius of the rounding.
    pub fn rounded_box(&mut self, half: f32, round: f32, paint: Paint) {
        let inner = half - round;
        let steps = [-half, -inner, inner, half];
        let axes = [Vec3::unit_x(), Vec3::unit_y(), Vec3::unit_z()];
        for axis in 0..3 {
            for side in [-1.0, 1.0] {
                let (n, u, v) = (axes[axis] * side, axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
                self.grid(3, 3, paint, |column, row| {
                    let flat = n * half + u * steps[column] + v * steps[row];
                    // `clamp` is not used here: it checks its bounds and shows them, which takes kilobytes of machine
                    // code.
                    let core = flat.map(|c| c.max(-inner).min(inner));
                    let normal = (flat - core).normalize();
                    (core + normal * round, normal)
                });
            }
        }
    }

    /// Copies another mesh into this one, turned around z by `angle` (radians), scaled and then moved.
    pub fn place(&mut self, other: &Self, at: Vec3, angle: f32, scale: f32) {
        let first = self.positions.len() as u16;
        let (sin, cos) = sin_cos(angle);
        let turn = |v: Vec3| vec3(v.x * cos - v.y * sin, v.x * sin + v.y * cos, v.z);
        self.positions.extend(other.positions.iter().map(|p| turn(*p) * scale + at));
        self.normals.extend(other.normals.iter().map(|n| turn(*n)));
        self.paints.extend(&other.paints);
        self.indices.extend(other.indices.iter().map(|i| i + first));
    }

    /// Merges vertices that share place, paint and (nearly) normal, so that seams and poles of grids collapse.
    pub fn weld(&mut self) {
        let mut merged = Self::default();
        // Lists of vertices by the hash of their cell. Several cells may share a list, which only makes the search
        // longer.
        let mut seen = vec![Vec::<u16>::new(); 1 << 10];
        let mut renamed = Vec::with_capacity(self.positions.len());
        for vertex in 0..self.positions.len() {
            let (position, normal, paint) =
                (self.positions[vertex], self.normals[vertex], self.paints[vertex]);
            let cell = cell_of(position);
            let [x, y, z] = cell.map(|c| c as u32);
            let mixed = x ^ y.rotate_left(11) ^ z.rotate_left(22);
            let here = &mut seen[(mixed.wrapping_mul(0x9E37_79B1) >> 22) as usize];
            let twin = here.iter().copied().find(|other| {
                let other = usize::from(*other);
                cell_of(merged.positions[other]) == cell
                    && merged.paints[other] == paint
                    && merged.normals[other].normalize().dot(normal) > 0.7
            });
            let name = twin.unwrap_or_else(|| {
                let name = merged.push(position, Vec3::zero(), paint);
                here.push(name);
                name
            });
            merged.normals[usize::from(name)] += normal;
            renamed.push(name);
        }
        for normal in &mut merged.normals {
            *normal = normal.normalize();
        }
        for triangle in self.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|corner| renamed[usize::from(triangle[corner])]);
            if a != b && b != c && c != a {
                merged.indices.extend([a, b, c]);
            }
        }
        *self = merged;
    }
}

/// The cell of a place. Places in the same cell count as the same place.
fn cell_of(place: Vec3) -> [i32; 3] {
    [place.x, place.y, place.z].map(|c| (c * 20_000.0).round() as i32)
}

/// A smooth curve through the given points (Catmull-Rom), `steps` pieces between two of them.
pub fn smooth(points: &[(f32, f32)], steps: usize) -> Vec<(f32, f32)> {
    let last = points.len() - 1;
    let mut curve = Vec::with_capacity(last * steps + 1);
    for piece in 0..last {
        let [p0, p1, p2, p3] =
            [piece.saturating_sub(1), piece, piece + 1, (piece + 2).min(last)].map(|i| points[i]);
        for step in 0..steps {
            let t = step as f32 / steps as f32;
            let blend = |a: f32, b: f32, c: f32, d: f32| {
                let (linear, square) = (c - a, 2.0 * a - 5.0 * b + 4.0 * c - d);
                b + 0.5 * t * (linear + t * (square + t * (3.0 * (b - c) + d - a)))
            };
            curve.push((blend(p0.0, p1.0, p2.0, p3.0), blend(p0.1, p1.1, p2.1, p3.1)));
        }
    }
    curve.push(points[last]);
    curve
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::collections::HashMap;

    const WHITE: Paint = Paint::plain([1.0; 3], 0.0);

    /// Asserts the invariants that the head of this file promises, for any mesh.
    pub fn assert_sound(mesh: &MeshData) {
        assert_eq!(mesh.positions.len(), mesh.normals.len());
        assert_eq!(mesh.positions.len(), mesh.paints.len());
        assert!(mesh.positions.len() <= usize::from(u16::MAX), "indices must fit 16 bits");
        assert!(mesh.indices.len().is_multiple_of(3) && !mesh.indices.is_empty());
        for (position, normal) in mesh.positions.iter().zip(&mesh.normals) {
            assert!([position.x, position.y, position.z].iter().all(|c| c.is_finite()));
            assert!((normal.magnitude() - 1.0).abs() < 1e-4, "normal {normal:?} at {position:?}");
        }
        for triangle in mesh.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|corner| usize::from(triangle[corner]));
            let face = (mesh.positions[b] - mesh.positions[a]).cross(mesh.positions[c] - mesh.positions[a]);
            let outside = mesh.normals[a] + mesh.normals[b] + mesh.normals[c];
            assert!(face.dot(outside) >= 0.0, "winding disagrees at {:?}", mesh.positions[a]);
        }
    }

    /// The number of edges that belong to one triangle only: the rims of holes.
    pub fn open_edges(mesh: &MeshData) -> usize {
        let mut count: HashMap<(u16, u16), i32> = HashMap::new();
        for triangle in mesh.indices.chunks_exact(3) {
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                let (from, to) = (triangle[from], triangle[to]);
                *count.entry((from.min(to), from.max(to))).or_default() += 1;
            }
        }
        count.values().filter(|uses| **uses == 1).count()
    }

    #[test]
    fn turned_sphere_is_closed_and_points_outwards() {
        let profile: Vec<_> = (0..=16)
            .map(|i| (i as f32 / 16.0 - 0.5) * std::f32::consts::PI)
            .map(|latitude| (latitude.cos().max(0.0), latitude.sin()))
            .collect();
        let mut ball = MeshData::default();
        ball.lathe(&profile, 24, WHITE);
        ball.weld();
        assert_sound(&ball);
        assert_eq!(open_edges(&ball), 0);
        for (position, normal) in ball.positions.iter().zip(&ball.normals) {
            assert!(position.dot(*normal) > 0.95);
        }
    }

    #[test]
    fn rounded_box_is_closed_and_keeps_its_size() {
        let mut cube = MeshData::default();
        cube.rounded_box(0.18, 0.03, WHITE);
        cube.weld();
        assert_sound(&cube);
        assert_eq!(open_edges(&cube), 0);
        let reach = cube.positions.iter().map(|p| p.x.abs().max(p.y.abs()).max(p.z.abs()));
        assert!((reach.fold(0.0, f32::max) - 0.18).abs() < 1e-5);
    }

    #[test]
    fn tube_is_open_at_its_two_ends_only() {
        let mut handle = MeshData::default();
        handle.tube(&smooth(&[(1.0, 0.8), (1.4, 0.6), (1.0, 0.3)], 6), (0.08, 0.1), 10, WHITE);
        handle.weld();
        assert_sound(&handle);
        assert_eq!(open_edges(&handle), 20);
    }

    #[test]
    fn smooth_curve_goes_through_its_points() {
        let points = [(0.0, 0.0), (1.0, 0.5), (1.5, 2.0)];
        let curve = smooth(&points, 4);
        assert_eq!(curve.len(), 9);
        for (index, point) in points.iter().enumerate() {
            assert!((curve[index * 4].0 - point.0).abs() < 1e-6);
            assert!((curve[index * 4].1 - point.1).abs() < 1e-6);
        }
    }
}
