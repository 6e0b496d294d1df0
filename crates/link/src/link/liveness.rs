//! Failure detection: how suspicious a silence is.
//!
//! Phi-accrual detectors (Hayashibara 2004) fit a distribution to the intervals between arrivals. Here that would
//! often be wrong: a peer at play sends every 16 ms, one at rest every 100 ms, and a change between the two is no
//! sign of death. Instead there is a promise: a living peer sends at least every keep-alive interval K (PROTOCOL
//! §2.4). The silence of a living peer therefore has two parts:
//!
//! - *grace*: K, plus the excess of arrivals over K (mean and four mean deviations, at least 20 ms). So a peer with
//!   throttled timers, or a path with jitter, gets a longer grace. A *stall*, an unusual silence of a living peer,
//!   prolongs the grace for a minute, because more stalls follow: a TCP connection has lost a segment, or a page
//!   compiles a shader;
//! - *losses*: each further K means that one more packet is missing. Losses come in runs. A run of mean length g goes
//!   on with the probability 1 − 1/g, so the number lost in a row is geometric. A silence of s beyond the grace has
//!   the probability (1 − 1/g)^(s/K), which is at most 10^(−s / (2.303 (g − ½) K)).
//!
//! That exponent is the suspicion φ. Each time that a keep-alive is lost, a living peer stays silent for so long with
//! a probability of 10^−φ at most. The gaps in the numbers of arriving packets give g. It is at least 1.11: one loss
//! in ten brings another, even where none was seen. At [`SUSPECTED`] = 6 a path without losses is suspected after
//! 0.96 s, and one whose losses come three in a row after 3.6 s.

use samovar_wire::{Duration, Time};

/// From this suspicion on a peer counts as suspected: one false alarm in a million silences.
pub const SUSPECTED: f64 = 6.0;
/// A longer gap between two calls shows that this peer slept. The other end is not blamed for it.
pub(super) const SLEPT: Duration = Duration::from_millis(2_000);
/// The least grace beyond the keep-alive interval.
const SLACK: Duration = Duration::from_millis(20);
/// A silence shorter than this never counts as quiet.
const QUIET_MIN: Duration = Duration::from_millis(50);
/// A silence that exceeds the usual interval by more than this is a stall.
const STALL_MIN: Duration = Duration::from_millis(70);
/// A longer silence is an outage, which does not predict another.
const STALL_MAX: Duration = Duration::from_millis(1_500);
/// The time in which a stall's weight falls to zero.
const STALL_FADES: Duration = Duration::from_millis(60_000);
/// The shortest mean run of losses assumed.
const RUN_MIN: f64 = 1.11;

#[derive(Debug)]
pub(super) struct Liveness {
    keep_alive: Duration,
    heard: Time,
    /// Mean and mean deviation of the excess of an interval over the keep-alive interval, in microseconds.
    excess: f64,
    deviation: f64,
    /// The worst stall, in microseconds, and when it ended.
    stall: (f64, Time),
    /// Mean and mean deviation of the interval itself, in microseconds: the reported jitter.
    interval: f64,
    jitter: f64,
}

impl Liveness {
    pub(super) fn new(now: Time, keep_alive: Duration) -> Self {
        let (heard, stall) = (now, (0.0, now));
        Self { keep_alive, heard, excess: 0.0, deviation: 0.0, stall, interval: 0.0, jitter: 0.0 }
    }

    /// Handles an arrival from the other end.
    pub(super) fn on_heard(&mut self, now: Time) {
        let interval = now.since(self.heard).as_micros() as f64;
        let excess = (interval - self.keep_alive.as_micros() as f64).max(0.0);
        let remarkable = self.usual() + STALL_MIN.as_micros() as f64;
        let is_stall =
            interval > remarkable.max(self.stall_at(now)) && interval < STALL_MAX.as_micros() as f64;
        // The other end promised nothing before its first arrival.
        if is_stall && self.interval > 0.0 {
            self.stall = (interval, now);
        }
        self.deviation += ((excess - self.excess).abs() - self.deviation) / 16.0;
        self.excess += (excess - self.excess) / 16.0;
        self.jitter += ((interval - self.interval).abs() - self.jitter) / 16.0;
        self.interval += (interval - self.interval) / 16.0;
        self.heard = self.heard.max(now);
    }

    /// Sets the longest time between signs of life that the other end promises from now on.
    pub(super) fn set_keep_alive(&mut self, keep_alive: Duration) {
        self.keep_alive = keep_alive;
    }

    /// Counts the silence from now, because this peer slept until now.
    pub(super) fn forgive(&mut self, now: Time) {
        self.heard = self.heard.max(now);
    }

    /// Forgets the worst stall after a change of the path: the new path need not stall like the old one.
    pub(super) fn forget_stall(&mut self) {
        self.stall.0 = 0.0;
    }

    pub(super) fn heard_at(&self) -> Time {
        self.heard
    }

    pub(super) fn silence(&self, now: Time) -> Duration {
        now.since(self.heard)
    }

    /// Whether the silence is longer than usual for this path. The other end is suspected only much later.
    pub(super) fn is_quiet(&self, now: Time) -> bool {
        self.quiet_at() <= now
    }

    /// When [`Self::is_quiet`] becomes true if nothing arrives before.
    pub(super) fn quiet_at(&self) -> Time {
        let usual = 3.0 * (self.interval + self.jitter);
        self.heard + Duration::from_micros(usual as u64).max(QUIET_MIN)
    }

    /// The mean deviation of the time between two arrivals.
    pub(super) fn jitter(&self) -> Duration {
        Duration::from_micros(self.jitter as u64)
    }

    /// The longest usual interval, without stalls.
    fn usual(&self) -> f64 {
        let excess = self.excess + 4.0 * self.deviation;
        self.keep_alive.as_micros() as f64 + excess.max(SLACK.as_micros() as f64)
    }

    /// The worst stall, weighted by its age.
    fn stall_at(&self, now: Time) -> f64 {
        let (stall, ended) = self.stall;
        stall * (1.0 - now.since(ended).as_micros() as f64 / STALL_FADES.as_micros() as f64).max(0.0)
    }

    fn grace(&self) -> f64 {
        self.usual().max(self.stall_at(self.heard))
    }

    /// The time in which the probability of life falls to a tenth.
    fn decade(&self, run: f32) -> f64 {
        core::f64::consts::LN_10 * (f64::from(run).max(RUN_MIN) - 0.5) * self.keep_alive.as_micros() as f64
    }

    pub(super) fn suspicion(&self, now: Time, run: f32) -> f64 {
        let silence = self.silence(now).as_micros() as f64;
        ((silence - self.grace()) / self.decade(run)).max(0.0)
    }

    /// When the silence reaches this suspicion if nothing arrives before.
    pub(super) fn suspect_at(&self, suspicion: f64, run: f32) -> Time {
        self.heard + Duration::from_micros((self.grace() + suspicion * self.decade(run)).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const KEEP_ALIVE: Duration = Duration::from_millis(100);

    fn heard_every(ms: u64) -> (Time, Liveness) {
        let (mut now, mut liveness) = (Time::ZERO, Liveness::new(Time::ZERO, KEEP_ALIVE));
        for _ in 0..200 {
            now += Duration::from_millis(ms);
            liveness.on_heard(now);
        }
        (now, liveness)
    }

    #[test]
    fn suspicion_grows_with_silence_and_agrees_with_its_timer() {
        let (now, liveness) = heard_every(16);
        assert_eq!(liveness.suspicion(now + KEEP_ALIVE, 1.0), 0.0);
        let at = liveness.suspect_at(SUSPECTED, 1.0);
        assert_eq!(at.since(now).as_micros() / 1_000, 962);
        assert!(liveness.suspicion(at, 1.0) >= SUSPECTED);
        assert!(liveness.suspicion(at - Duration::from_micros(10), 1.0) < SUSPECTED);
    }

    #[test]
    fn only_gaps_beyond_the_keep_alive_extend_the_grace() {
        let (now, mut busy) = heard_every(8);
        busy.on_heard(now + KEEP_ALIVE);
        assert_eq!(busy.suspicion(now + KEEP_ALIVE + KEEP_ALIVE, 1.0), 0.0);
        // A page in the background that sends once a second.
        let (now, slow) = heard_every(1_000);
        assert_eq!(slow.suspicion(now + Duration::from_millis(1_000), 1.0), 0.0);
        assert!(slow.suspect_at(SUSPECTED, 1.0) > busy.suspect_at(SUSPECTED, 1.0));
    }

    #[test]
    fn a_stall_extends_the_grace_and_an_outage_does_not() {
        let (now, steady) = heard_every(16);
        let patience = |liveness: &Liveness| liveness.suspect_at(2.0, 1.0).since(liveness.heard_at());
        let stall = |ms| {
            let (now, mut liveness) = heard_every(16);
            liveness.on_heard(now + Duration::from_millis(ms));
            (0..200).for_each(|n| liveness.on_heard(now + Duration::from_millis(ms + 16 * n)));
            liveness
        };
        assert!(patience(&stall(350)) > Duration::from_millis(350));
        assert!(patience(&stall(350)) > patience(&steady));
        assert_eq!(patience(&stall(2_000)), patience(&steady));
        let mut stalled = stall(350);
        stalled.on_heard(now + STALL_FADES + Duration::from_millis(350));
        (0..200).for_each(|n| stalled.on_heard(now + STALL_FADES.times(2) + Duration::from_millis(16 * n)));
        assert_eq!(patience(&stalled), patience(&steady));
    }

    #[test]
    fn losses_in_runs_delay_the_suspicion() {
        let (now, liveness) = heard_every(16);
        let patience = |run| liveness.suspect_at(SUSPECTED, run).since(now).as_micros() / 1_000;
        assert_eq!([patience(1.0), patience(2.0), patience(3.0)], [962, 2_192, 3_573]);
    }
}
