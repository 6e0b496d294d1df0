//! Warping: how the error of what was shown fades (docs/sources.md, "Teapots").
//!
//! A peer extrapolates the newest sample of another peer's object by its speed: this is the goal G. When the next sample
//! moves the goal, the object must not jump there. So the shown value W is extrapolated by its own speed, and blended
//! with the goal in each frame: W = F·W + (1 − F)·G, with F = exp(−dt / τ) for a frame of dt.
//!
//! The difference W − G is all that has to be kept. The formula multiplies it by F, and it drifts by the difference of
//! both speeds. After any number of frames it is exp(−t / τ)·(d + t·d′) for a first difference d with speed d′, exactly.
//! So the shown value does not depend on the frame rate.

/// The time τ in which a difference shrinks to 37 %, in seconds.
pub const TIME_CONSTANT: f32 = 0.1;

/// The difference of a shown number to its goal, when a sample changed the goal. Its unit is the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Offset {
    /// The shown value minus the goal.
    pub value: f32,
    /// The shown speed minus the goal's, per second.
    pub speed: f32,
}

impl Offset {
    /// The difference `seconds` later. Times before the sample count as the time of the sample.
    #[must_use]
    pub fn after(self, seconds: f32) -> Self {
        let seconds = seconds.max(0.0);
        let factor = (-seconds / TIME_CONSTANT).exp();
        Self { value: (self.value + self.speed * seconds) * factor, speed: self.speed * factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn difference_follows_the_warping_formula_frame_by_frame() {
        let start = Offset { value: 2.0, speed: -7.0 };
        for frames in [10_u16, 30, 144] {
            let dt = 1.0 / f32::from(frames);
            let factor = (-dt / TIME_CONSTANT).exp();
            let mut warped = start;
            for frame in 1..=frames {
                let value = (warped.value + warped.speed * dt) * factor;
                warped = Offset { value, speed: warped.speed * factor };
                let now = start.after(f32::from(frame) * dt);
                assert!((now.value - warped.value).abs() < 1e-4 && (now.speed - warped.speed).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn difference_waits_for_its_sample_and_ends() {
        let start = Offset { value: 2.0, speed: 1.0 };
        assert_eq!(start.after(-3.0), start);
        assert_eq!(start.after(f32::INFINITY).speed, 0.0);
        assert!(start.after(2.0).value.abs() < 1e-6);
    }
}
