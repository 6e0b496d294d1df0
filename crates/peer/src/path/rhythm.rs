//! The usual gap between arrivals, and the silence that is unusual.

use samovar_wire::{Duration, Time};

/// A silence shorter than this is never unusual: it is a few frames.
const SHORTEST: Duration = Duration::from_millis(60);
/// The slack on top of the usual gap and four of its usual deviations (as in TCP's retransmission timer, RFC 6298).
const SLACK: Duration = Duration::from_millis(20);
/// The weight of a new gap in the averages is one divided by this.
const WEIGHT: u64 = 16;

/// The gaps between arrivals on one connection, or on several paths together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm {
    heard: Time,
    /// The mean gap and its mean deviation; `None` before the second packet.
    usual: Option<(Duration, Duration)>,
}

impl Rhythm {
    pub(crate) const fn new(now: Time) -> Self {
        Self { heard: now, usual: None }
    }

    pub(crate) fn on_heard(&mut self, now: Time) {
        let gap = now.since(self.heard).as_micros();
        self.heard = now;
        let (mean, deviation) = match self.usual {
            None => (gap, gap / 2),
            Some((mean, deviation)) => {
                let (mean, deviation) = (mean.as_micros(), deviation.as_micros());
                let new = mean - mean / WEIGHT + gap / WEIGHT;
                (new, deviation - deviation / WEIGHT + gap.abs_diff(mean) / WEIGHT)
            }
        };
        self.usual = Some((Duration::from_micros(mean), Duration::from_micros(deviation)));
    }

    /// Lets silence count from now.
    pub(crate) const fn restart(&mut self, now: Time) {
        self.heard = now;
    }

    pub(crate) const fn heard(&self) -> Time {
        self.heard
    }

    pub(crate) fn silence(&self, now: Time) -> Duration {
        now.since(self.heard)
    }

    pub(crate) fn silent_at(&self, patience: Duration) -> Time {
        self.heard + patience
    }

    /// When the silence since the last arrival becomes unusual: after `most` at the latest.
    pub(crate) fn unusual_at(&self, most: Duration) -> Time {
        self.silent_at(self.unusual(most))
    }

    /// The length from which on a silence is unusual: `most` at the longest.
    pub(crate) fn unusual(&self, most: Duration) -> Duration {
        let usual = self.usual.map_or(most, |(mean, deviation)| mean + deviation.times(4) + SLACK);
        usual.max(SHORTEST).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const MOST: Duration = Duration::from_millis(250);

    /// The unusual silence in milliseconds, after a thousand packets with these gaps in turn.
    fn unusual(gaps: &[u64]) -> u64 {
        let mut now = Time::ZERO;
        let mut rhythm = Rhythm::new(now);
        for gap in gaps.iter().cycle().take(1_000) {
            now += Duration::from_millis(*gap);
            rhythm.on_heard(now);
        }
        assert_eq!(rhythm.silence(now + MOST), MOST);
        rhythm.unusual(MOST).as_micros() / 1_000
    }

    #[test]
    fn silence_after_steady_arrivals_is_unusual_sooner() {
        assert_eq!(unusual(&[16, 17]), 60);
        assert!((65..80).contains(&unusual(&[50])));
        assert!((115..130).contains(&unusual(&[100])));
        assert!((100..200).contains(&unusual(&[5, 60, 20, 40])));
        assert_eq!(unusual(&[10, 300]), 250);
    }

    #[test]
    fn packets_that_arrive_together_keep_the_usual_gap_long() {
        assert!((90..160).contains(&unusual(&[0, 0, 33])));
    }

    #[test]
    fn one_packet_alone_defines_no_usual_gap() {
        assert_eq!(Rhythm::new(Time::ZERO).unusual(MOST), MOST);
    }
}
