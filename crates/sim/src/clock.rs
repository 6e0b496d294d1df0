//! A process's own clock: it begins at another time than the world's, runs a little fast or slow, and may jump.

use samovar_wire::{Duration, Time};

/// Drift is counted in millionths.
const MILLION: i64 = 1_000_000;

/// A clock that never goes backwards, like the clocks of drivers.
#[derive(Clone, Debug)]
pub(crate) struct LocalClock {
    world: Time,
    local: Time,
    /// How fast the clock runs: the millionths that it gains. Negative if it runs slow.
    drift: i64,
}

impl LocalClock {
    pub(crate) fn new(now: Time, local: Time, drift: i64) -> Self {
        Self { world: now, local, drift: drift.clamp(-500_000, 500_000) }
    }

    /// The local time that the clock shows at a moment of the world.
    pub(crate) fn local(&self, now: Time) -> Time {
        let passed = now.since(self.world).as_micros();
        let gained = share(passed, self.drift, MILLION);
        self.local + Duration::from_micros((i128::from(passed) + gained) as u64)
    }

    /// The first moment of the world at which the clock shows `local` or more.
    pub(crate) fn world(&self, local: Time) -> Time {
        if local == Time::FAR {
            return Time::FAR;
        }
        let shown = local.since(self.local).as_micros();
        let passed = share(shown, MILLION, MILLION + self.drift);
        let mut at = self.world + Duration::from_micros(passed as u64);
        // Both divisions round, so that `at` may be a few microseconds early.
        while self.local(at) < local {
            at += Duration::from_micros(1);
        }
        at
    }

    /// Moves the clock ahead by this much from now on.
    pub(crate) fn jump(&mut self, now: Time, by: Duration) {
        (self.local, self.world) = (self.local(now) + by, now);
    }

    /// Notes that the clock stood still from `then` to `now`.
    pub(crate) fn stand_still(&mut self, then: Time, now: Time) {
        (self.local, self.world) = (self.local(then), now);
    }
}

/// `micros` times `times`, divided by `divisor`. Every event computes this, so spans of up to months use one machine
/// word, which is faster.
fn share(micros: u64, times: i64, divisor: i64) -> i128 {
    let product = i64::try_from(micros).ok().and_then(|micros| micros.checked_mul(times));
    match product {
        Some(product) => i128::from(product / divisor),
        None => i128::from(micros) * i128::from(times) / i128::from(divisor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn world_gives_the_first_moment_that_shows_a_local_time() {
        for drift in [-50_000, -137, 0, 1, 250, 50_000] {
            let start = Time::from_micros(9_000_000);
            let clock = LocalClock::new(start, Time::from_micros(123_456), drift);
            for ahead in [0, 1, 17, 999_999, 86_400_000_000] {
                let local = Time::from_micros(123_456 + ahead);
                let at = clock.world(local);
                assert!(clock.local(at) >= local, "{drift} {ahead}");
                assert!(at == start || clock.local(at - Duration::from_micros(1)) < local);
            }
        }
    }

    #[test]
    fn clock_never_goes_back_at_a_jump_or_a_standstill() {
        let mut clock = LocalClock::new(Time::ZERO, Time::from_micros(5), 100);
        let at = |ms: u64| Time::from_micros(ms * 1_000);
        clock.jump(at(10), Duration::from_millis(3_000));
        assert!(clock.local(at(10)) >= Time::from_micros(3_010_000));
        let before = clock.local(at(20));
        clock.stand_still(at(20), at(900));
        assert_eq!(clock.local(at(900)), before);
        assert!(clock.local(at(901)) > before);
    }
}
