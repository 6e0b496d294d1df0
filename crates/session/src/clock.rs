//! The session clock: the host's time, estimated by everybody else.

use samovar_wire::{Duration, Time};

/// Samples of which the one with the shortest round trip counts: its path was the most symmetric (NTP's filter).
const WINDOW: usize = 8;
/// The estimate moves by at most a twentieth of the time that passes, so that session time never goes backwards.
const SLEW: i64 = 20;
/// A first estimate, or one as wrong as this, is set at once and forwards only.
const STEP: i64 = 250_000;

/// Session time minus local time, as an estimate that follows its target slowly.
#[derive(Clone, Debug)]
pub(crate) struct SessionClock {
    base: i64,
    since: Time,
    target: i64,
    known: bool,
    samples: Vec<(Duration, i64)>,
}

impl SessionClock {
    /// The clock of a peer that has not heard of the host's time yet; it shows zero.
    pub(crate) fn unknown(now: Time) -> Self {
        let offset = -(now.as_micros() as i64);
        Self { base: offset, since: now, target: offset, known: false, samples: Vec::new() }
    }

    /// The session is founded: its time begins now, unless it is known already.
    pub(crate) fn begin(&mut self, now: Time) {
        if !self.known {
            *self = Self { known: true, ..Self::unknown(now) };
        }
    }

    /// Nobody is there who knows the time: it goes on from the last that was heard of.
    pub(crate) fn resume(&mut self, now: Time, heard: Time) {
        if !self.known {
            self.on_sample(heard, now, Duration::ZERO);
            self.known = true;
        }
    }

    /// Session time now.
    pub(crate) fn time(&self, now: Time) -> Time {
        now.offset(self.offset(now))
    }

    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    fn offset(&self, now: Time) -> i64 {
        let reach = now.since(self.since).as_micros() as i64 / SLEW;
        // A host can name any time, so the two may lie further apart than fits.
        self.base.saturating_add(self.target.saturating_sub(self.base).clamp(-reach, reach))
    }

    /// The host answered a ping: session time at its end, when the answer came, and the round trip.
    pub(crate) fn on_sample(&mut self, session: Time, received: Time, round_trip: Duration) {
        if session == Time::ZERO {
            return;
        }
        let there = session.as_micros().saturating_add(round_trip.as_micros() / 2);
        let sample = there.min(i64::MAX as u64) as i64 - received.as_micros() as i64;
        self.samples.push((round_trip, sample));
        if self.samples.len() > WINDOW {
            self.samples.remove(0);
        }
        let (trip, best) = self.samples.iter().min_by_key(|s| s.0).map_or((round_trip, sample), |s| *s);
        self.base = self.offset(received);
        self.since = received;
        self.target = best;
        // What waited for a path to be mended took its time one way: of that no more than a step is half in doubt.
        let certain = best.saturating_sub((trip.as_micros() as i64 - STEP).max(0) / 2);
        if !self.known || certain.saturating_sub(self.base) > STEP {
            self.base = self.base.max(certain);
            self.known = true;
        }
    }

    /// The host changed: its samples say nothing about the new one, whose own estimate now is the truth. For the new
    /// host itself nothing moves, so time is continuous.
    pub(crate) fn on_host_changed(&mut self, now: Time) {
        self.base = self.offset(now);
        self.since = now;
        self.target = self.base;
        self.samples.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::Entropy;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn time_never_goes_backwards_and_finds_the_host_through_jitter() {
        let mut dice = Entropy::new([1; 32]);
        let ahead = 7_000_000i64;
        let mut clock = SessionClock::unknown(Time::ZERO);
        let (mut now, mut last) = (Time::ZERO, Time::ZERO);
        for _ in 0..2_000 {
            now += Duration::from_millis(25);
            let (out, back) = (30_000 + dice.number() % 10_000, 30_000 + dice.number() % 10_000);
            let answered = (now - Duration::from_micros(back)).offset(ahead);
            let time = clock.time(now);
            assert!(time >= last || !clock.is_known());
            clock.on_sample(answered, now, Duration::from_micros(out + back));
            last = clock.time(now);
        }
        let error = last.as_micros() as i64 - now.offset(ahead).as_micros() as i64;
        assert!(error.abs() < 5_000, "{error} µs off");
    }

    #[test]
    fn a_host_that_names_absurd_times_breaks_nothing() {
        let mut clock = SessionClock::unknown(Time::ZERO);
        let mut last = Time::ZERO;
        for (n, session) in [u64::MAX, 1, u64::MAX, i64::MAX as u64, 2].into_iter().enumerate() {
            let now = Time::from_micros(1_000_000 * (n as u64 + 1));
            clock.on_sample(Time::from_micros(session), now, Duration::from_micros(90 - n as u64));
            assert!(clock.time(now) >= last);
            last = clock.time(now);
        }
    }

    #[test]
    fn time_is_continuous_across_a_change_of_host() {
        let mut clock = SessionClock::unknown(Time::from_micros(5));
        clock.begin(Time::from_micros(5));
        let now = Time::from_micros(1_000_000);
        let before = clock.time(now);
        clock.on_host_changed(now);
        assert_eq!(clock.time(now), before);
        clock.on_sample(before - Duration::from_micros(200_000), now, Duration::from_micros(10));
        assert!(clock.time(now) >= before);
    }

    #[test]
    fn a_sample_that_waited_for_its_path_throws_time_ahead_by_no_more_than_a_step() {
        let mut clock = SessionClock::unknown(Time::ZERO);
        clock.begin(Time::ZERO);
        let now = Time::from_micros(10_000_000);
        clock.on_host_changed(now);
        // It arrived at once, and its answer took the three and a half seconds; or the other way round.
        let trip = Duration::from_micros(3_500_000);
        clock.on_sample(now, now, trip);
        assert!(clock.time(now) <= now + Duration::from_micros(STEP as u64));
        // The first good sample puts right who is behind, at once.
        clock.on_sample(now + trip, now, Duration::from_micros(60_000));
        assert!(clock.time(now) >= now + trip);
    }
}
