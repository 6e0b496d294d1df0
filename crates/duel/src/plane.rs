//! Vectors and angles in the plane of the table.
//!
//! Points and vectors are plain arrays, so that rendering and encoding need no conversion.

use std::f32::consts::{PI, TAU};

use crate::angle::sin_cos;

/// A point or a vector in the plane of the table, in table units.
pub type Vec2 = [f32; 2];

/// A point or a vector above the table; the third number is the height.
pub type Vec3 = [f32; 3];

/// The sum of two vectors.
pub fn add(a: Vec2, b: Vec2) -> Vec2 {
    [a[0] + b[0], a[1] + b[1]]
}

/// The vector from `b` to `a`.
pub fn sub(a: Vec2, b: Vec2) -> Vec2 {
    [a[0] - b[0], a[1] - b[1]]
}

/// A vector made `factor` times as long.
pub fn scale(a: Vec2, factor: f32) -> Vec2 {
    [a[0] * factor, a[1] * factor]
}

/// The scalar product.
pub fn dot(a: Vec2, b: Vec2) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}

/// The vector turned a quarter counter-clockwise.
pub fn perpendicular(a: Vec2) -> Vec2 {
    [-a[1], a[0]]
}

/// The vector turned by `angle` radians counter-clockwise.
pub fn rotate(a: Vec2, angle: f32) -> Vec2 {
    let (sin, cos) = sin_cos(angle);
    [a[0] * cos - a[1] * sin, a[0] * sin + a[1] * cos]
}

/// The length of a vector.
pub fn length(a: Vec2) -> f32 {
    a[0].hypot(a[1])
}

/// The distance between two points.
pub fn distance(a: Vec2, b: Vec2) -> f32 {
    length(sub(a, b))
}

/// The unit vector along `a`, or `fallback` when `a` is too short to have a direction.
pub fn unit_or(a: Vec2, fallback: Vec2) -> Vec2 {
    let length = length(a);
    if length > 1e-6 { scale(a, 1.0 / length) } else { fallback }
}

/// The vector, shortened to `limit` when it is longer.
pub fn clamp_length(a: Vec2, limit: f32) -> Vec2 {
    let length = length(a);
    if length > limit { scale(a, limit / length) } else { a }
}

/// The unit vector that points along `heading`, in radians.
pub fn direction(heading: f32) -> Vec2 {
    let (sin, cos) = sin_cos(heading);
    [cos, sin]
}

/// The heading of a vector, in radians; zero for the zero vector.
pub fn heading_of(a: Vec2) -> f32 {
    a[1].atan2(a[0])
}

/// The same angle within −π (inclusive) to π (exclusive).
///
/// The difference of two headings, wrapped, is the shortest turn from the second to the first.
pub fn wrap_angle(angle: f32) -> f32 {
    // The remainder is computed by a division, which is exact enough in double precision. The `%` operator would add
    // kilobytes of machine code to a page.
    let (turned, full) = (f64::from(angle + PI), f64::from(TAU));
    let wrapped = (turned - (turned / full).floor() * full) as f32 - PI;
    // The remainder of a tiny negative number rounds up to the divisor itself.
    if wrapped >= PI { -PI } else { wrapped }
}

/// A time in microseconds, as seconds. Meant for differences: an `f32` holds microseconds for some 16 seconds only.
pub fn seconds(micros: u64) -> f32 {
    micros as f32 * 1e-6
}

/// The time from `earlier` to `later` in seconds, negative when `later` is the earlier one.
pub fn seconds_between(earlier: u64, later: u64) -> f32 {
    if later >= earlier { seconds(later - earlier) } else { -seconds(earlier - later) }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn wrapped_angles_stay_in_range_and_point_the_same_way() {
        for step in -2_000..2_000 {
            let angle = step as f32 * 0.013;
            let wrapped = wrap_angle(angle);
            assert!((-PI..PI).contains(&wrapped), "{angle} became {wrapped}");
            assert!(distance(direction(angle), direction(wrapped)) < 1e-4);
        }
        assert_eq!(wrap_angle(PI), -PI);
        assert!((-PI..PI).contains(&wrap_angle(-PI - 1e-7)));
    }

    #[test]
    fn a_quarter_turn_is_the_perpendicular() {
        let turned = rotate([3.0, 1.0], PI / 2.0);
        assert!(distance(turned, perpendicular([3.0, 1.0])) < 1e-5);
    }

    #[test]
    fn the_zero_vector_takes_the_fallback_direction() {
        assert_eq!(unit_or([0.0, 0.0], [0.0, 1.0]), [0.0, 1.0]);
        assert_eq!(unit_or([0.0, -2.0], [1.0, 0.0]), [0.0, -1.0]);
    }

    #[test]
    fn time_differences_carry_their_sign() {
        assert_eq!(seconds_between(1_000_000, 1_500_000), 0.5);
        assert_eq!(seconds_between(1_500_000, 1_000_000), -0.5);
        assert_eq!(seconds_between(u64::MAX - 250_000, u64::MAX), 0.25);
    }
}
