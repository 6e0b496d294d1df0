//! The precision of workload W in fixed bits: 1 mm, 1 cm/s, 0.5°. It is for libraries that quantise but do not
//! predict.

/// 17 bits for each axis: ±64 m in steps of 1 mm.
#[must_use]
pub fn position(position: [f32; 3]) -> [u32; 3] {
    position.map(|x| scaled(x, 1_000.0, 64_000, 17))
}

/// 12 bits for each axis: ±20.48 m/s in steps of 1 cm/s.
#[must_use]
pub fn velocity(velocity: [f32; 3]) -> [u32; 3] {
    velocity.map(|x| scaled(x, 100.0, 2_048, 12))
}

/// The number of the largest component in 2 bits, the three others in 9 bits each.
#[must_use]
pub fn rotation(rotation: [f32; 4]) -> (u32, [u32; 3]) {
    let largest = (0..4).max_by(|&a, &b| rotation[a].abs().total_cmp(&rotation[b].abs())).unwrap_or(3);
    let sign = rotation[largest].signum();
    let mut rest = [0; 3];
    for (part, k) in rest.iter_mut().zip((0..4).filter(|&k| k != largest)) {
        // No component but the largest exceeds the square root of a half.
        *part = scaled(sign * rotation[k], 255.0 * std::f32::consts::SQRT_2, 255, 9);
    }
    (largest as u32, rest)
}

fn scaled(value: f32, per_unit: f32, offset: i64, bits: u32) -> u32 {
    let step = (f64::from(value) * f64::from(per_unit)).round() as i64 + offset;
    step.clamp(0, (1 << bits) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::Motion;

    /// Degrees between an orientation and the one that the other end decodes from its quantised form.
    fn error(before: [f32; 4]) -> f64 {
        let (largest, rest) = rotation(before);
        let mut parts = rest.map(|part| (f64::from(part) - 255.0) / (255.0 * 2_f64.sqrt())).into_iter();
        let missing = (1.0 - parts.clone().map(|p| p * p).sum::<f64>()).max(0.0).sqrt();
        let after = [0, 1, 2, 3].map(|k| if k == largest { missing } else { parts.next().unwrap() });
        let dot: f64 = before.iter().zip(after).map(|(&b, a)| f64::from(b) * a).sum();
        2.0 * dot.abs().min(1.0).acos().to_degrees()
    }

    #[test]
    fn orientations_keep_a_precision_of_half_a_degree() {
        let mut motion = Motion::new(3, 64, false);
        let states = (0..100).flat_map(|tick| motion.states(tick));
        assert!(states.map(|state| error(state.rotation)).fold(0.0, f64::max) <= 0.5);
    }
}
