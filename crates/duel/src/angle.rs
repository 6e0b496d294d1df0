//! Sine and cosine of any angle, the same on every machine. The standard library's functions give different results
//! on different machines, and add kilobytes of machine code to a page.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// Sine and cosine of an angle in radians, right to about the last place of an `f32`. For angles far beyond a
/// thousand turns both lose their accuracy, but stay near the unit circle. For NaN and infinities both are NaN.
pub fn sin_cos(angle: impl Into<f64>) -> (f32, f32) {
    let (sin, cos) = of(angle.into());
    (sin as f32, cos as f32)
}

/// The sine of an angle in radians, see [`sin_cos`].
pub fn sin(angle: impl Into<f64>) -> f32 {
    of(angle.into()).0 as f32
}

/// The cosine of an angle in radians, see [`sin_cos`].
pub fn cos(angle: impl Into<f64>) -> f32 {
    of(angle.into()).1 as f32
}

/// The tangent of an angle in radians.
pub fn tan(angle: impl Into<f64>) -> f32 {
    let (sin, cos) = of(angle.into());
    (sin / cos) as f32
}

/// Computes sine and cosine by Taylor's series about the nearest multiple of a quarter turn. The angle is at most π/4
/// from that multiple, and there the first term left out is below 10⁻¹³.
#[inline(never)]
fn of(angle: f64) -> (f64, f64) {
    let quarters = (angle / FRAC_PI_2).round_ties_even();
    let rest = (angle - quarters * FRAC_PI_2).clamp(-FRAC_PI_4, FRAC_PI_4);
    let square = rest * rest;
    let series = |divisors: [f64; 6]| divisors.iter().fold(1.0, |sum, divisor| 1.0 - square / divisor * sum);
    let sin = rest * series([156.0, 110.0, 72.0, 42.0, 20.0, 6.0]);
    let cos = 1.0 - square / 2.0 * series([182.0, 132.0, 90.0, 56.0, 30.0, 12.0]);
    match quarters as i64 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn sine_and_cosine_agree_with_the_standard_library() {
        for step in -20_000..20_000 {
            let angle = f64::from(step) * 0.001_7;
            let (sin, cos) = sin_cos(angle);
            assert!((f64::from(sin) - angle.sin()).abs() < 1e-7, "sine of {angle}");
            assert!((f64::from(cos) - angle.cos()).abs() < 1e-7, "cosine of {angle}");
        }
        assert!((sin(1e6) - 1e6f64.sin() as f32).abs() < 1e-6);
        assert!((tan(0.5f32) - 0.5f32.tan()).abs() < 1e-6);
    }

    #[test]
    fn sine_and_cosine_of_nan_and_infinity_are_nan() {
        for angle in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(sin(angle).is_nan() && cos(angle).is_nan());
        }
        assert!(sin(f32::MAX).abs() <= 1.0);
    }
}
