//! The session clock: the host's time, which every other member estimates.

use samovar_wire::{Duration, Time};

/// The estimate uses this many of the latest answers.
const WINDOW: usize = 8;
/// The estimate moves by at most a twentieth of the time that passes, so that session time never goes backwards.
const SLEW: i64 = 20;
/// In microseconds. The clock takes its first estimate, and any later correction forwards by more than this, at once.
const STEP: i64 = 250_000;
/// How many past steps the clock remembers.
const STEPS: usize = 8;

/// Session time minus local time, as an estimate that follows its target slowly.
#[derive(Clone, Debug)]
pub(crate) struct SessionClock {
    base: i64,
    since: Time,
    target: i64,
    /// The upper bound that the answers set for the offset.
    latest: i64,
    known: bool,
    samples: Vec<Span>,
    /// The latest steps forwards: when each happened, and the offset before it.
    steps: Vec<(Time, i64)>,
}

impl SessionClock {
    /// The clock of a peer that has not heard of the host's time yet; it shows zero.
    pub(crate) fn unknown(now: Time) -> Self {
        let offset = -(now.as_micros() as i64);
        Self {
            base: offset,
            since: now,
            target: offset,
            latest: offset,
            known: false,
            samples: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Starts session time at zero, since the session is founded. Does nothing if the time is known already.
    pub(crate) fn begin(&mut self, now: Time) {
        if !self.known {
            *self = Self { known: true, ..Self::unknown(now) };
        }
    }

    /// Starts session time at `time`, at which the earlier session ended, since the session is founded anew.
    pub(crate) fn begin_at(&mut self, now: Time, time: Time) {
        let offset = (time.as_micros() as i64).saturating_sub(now.as_micros() as i64);
        *self = Self { known: true, base: offset, target: offset, latest: offset, ..Self::unknown(now) };
    }

    /// Continues session time from `heard`, the time of the last view that this host has read, since no other member
    /// knows the time. The host read that view after it began to ask for the time. So the true time is at most
    /// `heard` plus the time since it began to ask.
    pub(crate) fn resume(&mut self, now: Time, heard: Time) {
        if !self.known {
            let asked = now.since(self.since).as_micros() as i64;
            self.on_sample(heard, now, Duration::ZERO);
            self.on_host_changed(now);
            self.latest = self.offset(now).saturating_add(asked);
            self.known = true;
        }
    }

    /// From now on the game sees the clock, so the clock never goes backwards again. This call may still set it back,
    /// since a newcomer may have waited for longer than the session is old.
    pub(crate) fn show(&mut self, now: Time) {
        let latest = if self.known { self.target } else { -(now.as_micros() as i64) };
        self.base = self.offset(now).min(latest);
        self.target = self.target.min(latest);
        if self.known {
            self.since = now;
        }
    }

    /// Session time at a local time, now or in the past. For a moment before a step, it is the time that the clock
    /// showed at that moment.
    pub(crate) fn time(&self, at: Time) -> Time {
        let former = self.steps.iter().find(|(when, _)| at < *when);
        at.offset(former.map_or_else(|| self.offset(at), |(_, offset)| *offset))
    }

    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    fn offset(&self, now: Time) -> i64 {
        let reach = now.since(self.since).as_micros() as i64 / SLEW;
        // A host can name any time, so the difference may not fit an `i64`.
        self.base.saturating_add(self.target.saturating_sub(self.base).clamp(-reach, reach))
    }

    /// Takes the host's answer to a ping. `session` is the session time in the answer; `received` is when the answer
    /// came.
    pub(crate) fn on_sample(&mut self, session: Time, received: Time, round_trip: Duration) {
        let Some(sample) = Span::of(session, received, round_trip) else { return };
        self.samples.push(sample);
        if self.samples.len() > WINDOW {
            self.samples.remove(0);
        }
        // The estimate is the range that all answers agree on. Where one direction of a path is slow, and not always
        // the same one, this range is more exact than the answer with the shortest round trip. An answer from before
        // the host set its clock contradicts the newer ones. That answer and all older ones are left out.
        let all = self.samples.iter().rev().try_fold(sample, |all, older| all.with(*older));
        let span = match all {
            Ok(span) | Err(span) => span,
        };
        self.base = self.offset(received);
        self.since = received;
        self.target = span.middle();
        self.latest = span.latest;
        let certain = span.certain();
        if !self.known || certain.saturating_sub(self.base) > STEP {
            self.step(received, certain);
        }
    }

    /// Takes a member's answer to a ping of this peer, which is the host. A host learns the time from members if it
    /// had no answer from the former host, or only one that may have travelled for seconds. It sets its clock
    /// forwards only, and no further than its own answers allow. If it had no answer, the bound is `heard` plus the
    /// time since it began to ask; a `heard` of zero sets no bound. So a lying member cannot set the clock of a host
    /// that knows the time.
    pub(crate) fn on_word(&mut self, session: Time, received: Time, round_trip: Duration, heard: Time) {
        if !self.known {
            let most = if heard == Time::ZERO { Time::FAR } else { heard + received.since(self.since) };
            self.on_sample(session.min(most), received, round_trip);
            self.latest = self
                .latest
                .min(Span::of(most, received, Duration::ZERO).map_or(i64::MAX, |span| span.latest));
            return self.on_host_changed(received);
        }
        let Some(sample) = Span::of(session, received, round_trip) else { return };
        let certain = sample.certain().min(self.latest);
        let offset = self.offset(received);
        if certain.saturating_sub(offset) > STEP {
            (self.base, self.since, self.target) = (offset, received, certain);
            self.step(received, certain);
        }
    }

    /// Sets the clock forwards at once.
    fn step(&mut self, now: Time, offset: i64) {
        if offset > self.base {
            if self.steps.len() == STEPS {
                // The two oldest steps become one. Between them the clock then gives a time that is too early rather
                // than too late.
                let (_, oldest) = self.steps.remove(0);
                self.steps[0].1 = self.steps[0].1.min(oldest);
            }
            self.steps.push((now, self.base));
            self.base = offset;
        }
        self.known = true;
    }

    /// Drops the former host's samples, which say nothing about the new host: the new host's own estimate is now
    /// session time. On the new host the estimate stays as it is, so time is continuous. A peer that does not know
    /// the time yet keeps asking.
    pub(crate) fn on_host_changed(&mut self, now: Time) {
        if !self.known {
            return;
        }
        self.base = self.offset(now);
        self.since = now;
        self.target = self.base;
        self.samples.clear();
    }
}

/// The bounds that an answer sets for session time minus local time. At one bound the answer took no time to arrive,
/// at the other it took the whole round trip.
#[derive(Clone, Copy, Debug)]
struct Span {
    earliest: i64,
    latest: i64,
}

impl Span {
    /// The bounds that an answer sets; `None` if its sender does not know the time.
    fn of(session: Time, received: Time, round_trip: Duration) -> Option<Self> {
        let micros = |time: u64| time.min(i64::MAX as u64) as i64;
        let earliest = micros(session.as_micros()) - micros(received.as_micros());
        let latest = earliest.saturating_add(micros(round_trip.as_micros()));
        (session != Time::ZERO).then_some(Self { earliest, latest })
    }

    /// The bounds that two answers set together (Marzullo 1984). If the two contradict each other, the error holds
    /// the bounds of `self` alone.
    fn with(self, other: Self) -> Result<Self, Self> {
        let (earliest, latest) = (self.earliest.max(other.earliest), self.latest.min(other.latest));
        if earliest <= latest { Ok(Self { earliest, latest }) } else { Err(self) }
    }

    const fn middle(self) -> i64 {
        self.earliest.midpoint(self.latest)
    }

    /// The offset to which the clock may be set at once. An answer that a broken path delayed was slow in one
    /// direction only. So this offset is at most half a step above the lower bound.
    fn certain(self) -> i64 {
        self.middle().min(self.earliest.saturating_add(STEP / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::Entropy;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn clock_follows_the_host_despite_jitter_and_never_goes_back() {
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
    fn newcomer_that_waited_long_shows_the_session_time() {
        let now = Time::from_micros(3_000_000);
        let mut clock = SessionClock::unknown(Time::from_micros(100_000));
        clock.on_sample(Time::from_micros(200_000), now, Duration::from_micros(40_000));
        assert_eq!(
            clock.time(now),
            Time::from_micros(2_900_000),
            "forwards only, when somebody may have looked"
        );
        clock.show(now);
        assert_eq!(clock.time(now), Time::from_micros(220_000));
        let mut early = SessionClock::unknown(Time::from_micros(100_000));
        early.show(now);
        assert_eq!(early.time(now), Time::ZERO);
        early.on_sample(Time::from_micros(200_000), now, Duration::from_micros(40_000));
        assert_eq!(early.time(now), Time::from_micros(220_000));
        early.show(now + Duration::from_micros(10));
        assert_eq!(early.time(now + Duration::from_micros(10)), Time::from_micros(220_010));
    }

    #[test]
    fn clock_is_exact_over_paths_that_are_slow_one_way() {
        // A ping goes by a quick path and its answer by a slow one, or the other way round, so each answer alone is
        // 100 ms off.
        let mut clock = SessionClock::unknown(Time::ZERO);
        let mut now = Time::from_micros(1_000_000);
        for (out, back) in
            [(10_000, 210_000), (215_000, 12_000), (220_000, 230_000)].into_iter().cycle().take(60)
        {
            now += Duration::from_micros(500_000);
            clock.on_sample(now - Duration::from_micros(back), now, Duration::from_micros(out + back));
        }
        let error = clock.time(now).as_micros().abs_diff(now.as_micros());
        assert!(error < 2_000, "{error} µs off");
    }

    #[test]
    fn absurd_times_of_a_host_never_move_the_clock_back() {
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
    fn delayed_sample_sets_time_ahead_by_a_step_at_most() {
        let mut clock = SessionClock::unknown(Time::ZERO);
        clock.begin(Time::ZERO);
        let now = Time::from_micros(10_000_000);
        clock.on_host_changed(now);
        // The ping arrived at once and its answer took the three and a half seconds, or the other way round.
        let trip = Duration::from_micros(3_500_000);
        clock.on_sample(now, now, trip);
        assert!(clock.time(now) <= now + Duration::from_micros(STEP as u64));
        // The first good sample corrects at once a clock that is behind.
        clock.on_sample(now + trip, now, Duration::from_micros(60_000));
        assert!(clock.time(now) >= now + trip);
    }

    /// A host whose only answer took three seconds, so that the true time may be three seconds ahead of the certain
    /// time.
    fn in_doubt(now: Time) -> SessionClock {
        let mut clock = SessionClock::unknown(now);
        clock.on_sample(now - Duration::from_micros(3_000_000), now, Duration::from_micros(3_000_000));
        clock.on_host_changed(now);
        clock
    }

    #[test]
    fn only_a_host_in_doubt_learns_time_from_members() {
        let (now, trip) = (Time::from_micros(10_000_000), Duration::from_micros(40_000));
        let half = Duration::from_micros(20_000);
        let mut clock = in_doubt(now);
        assert!(now.since(clock.time(now)).as_micros() > 2_000_000);
        clock.on_word(now - half - Duration::from_micros(50_000), now, trip, Time::ZERO);
        assert_eq!(now.since(clock.time(now)).as_micros(), 50_000);
        // Neither a member that lags, nor one that is ahead by as much as two clocks may be apart, changes the time.
        let known = clock.time(now);
        clock.on_word(now - Duration::from_micros(2_000_000), now, trip, Time::ZERO);
        clock.on_word(now + Duration::from_micros(50_000), now, trip, Time::ZERO);
        assert_eq!(clock.time(now), known);
        let mut founder = SessionClock::unknown(Time::ZERO);
        founder.begin(Time::ZERO);
        founder.on_word(now + Duration::from_micros(3_000_000), now, trip, Time::ZERO);
        assert_eq!(founder.time(now), now);
    }

    #[test]
    fn lying_member_cannot_set_time_beyond_the_hosts_bounds() {
        let now = Time::from_micros(10_000_000);
        let mut clock = in_doubt(now);
        for session in [u64::MAX, 1, i64::MAX as u64] {
            clock.on_word(Time::from_micros(session), now, Duration::from_micros(1), Time::ZERO);
        }
        assert_eq!(clock.time(now), now);
        // A host that has no answer, but has read a view's time since it began to ask, is not misled either.
        let mut clock = SessionClock::unknown(Time::from_micros(6_000_000));
        for _ in 0..2 {
            clock.on_word(Time::FAR, now, Duration::from_micros(1_000), Time::from_micros(2_000_000));
            assert!((6_000_000..6_001_000).contains(&clock.time(now).as_micros()), "{:?}", clock.time(now));
        }
        // A host that has resumed from such a time is not misled either.
        let mut clock = SessionClock::unknown(Time::from_micros(6_000_000));
        clock.resume(now, Time::from_micros(7_000_000));
        assert_eq!(clock.time(now), Time::from_micros(7_000_000));
        clock.on_word(Time::from_micros(u64::MAX), now, Duration::from_micros(1), Time::ZERO);
        assert_eq!(clock.time(now), Time::from_micros(11_000_000));
    }

    #[test]
    fn new_host_without_answers_takes_time_from_a_member() {
        let (asked, now) = (Time::from_micros(6_000_000), Time::from_micros(10_000_000));
        let heard = Time::from_micros(2_000_000);
        let mut clock = SessionClock::unknown(asked);
        clock.on_host_changed(now);
        clock.on_word(Time::from_micros(5_500_000), now, Duration::from_micros(40_000), heard);
        assert_eq!(clock.time(now), Time::from_micros(5_520_000));
    }

    #[test]
    fn host_ahead_of_the_time_it_heard_does_not_slow_down() {
        let (now, later) = (Time::from_micros(10_000_000), Time::from_micros(15_000_000));
        let mut resumed = SessionClock::unknown(Time::ZERO);
        resumed.resume(now, Time::from_micros(9_000_000));
        let mut told = SessionClock::unknown(Time::ZERO);
        told.on_word(Time::from_micros(9_000_000), now, Duration::from_micros(40_000), Time::ZERO);
        for clock in [resumed, told] {
            assert!(clock.is_known());
            assert_eq!([clock.time(now), clock.time(later)], [now, later]);
        }
    }

    #[test]
    fn member_follows_a_host_that_corrects_time_at_once() {
        let mut now = Time::from_micros(10_000_000);
        let mut clock = SessionClock::unknown(now);
        for trip in [40_000, 60_000] {
            now += Duration::from_micros(50_000);
            clock.on_sample(now - Duration::from_micros(3_000_000), now, Duration::from_micros(trip));
        }
        clock.on_sample(now, now, Duration::from_micros(50_000));
        assert!(clock.time(now) >= now);
    }

    #[test]
    fn clock_keeps_the_times_of_moments_before_a_step() {
        let mut clock = SessionClock::unknown(Time::ZERO);
        clock.begin(Time::ZERO);
        let (noted, trip) = (Time::from_micros(1_000_000), Duration::from_micros(40_000));
        let mut now = noted;
        for _ in 0..2 * STEPS {
            now += Duration::from_micros(500_000);
            let ahead = clock.time(now) + Duration::from_micros(1_000_000);
            let before = now - Duration::from_micros(1);
            let shown = clock.time(before);
            clock.on_sample(ahead, now, trip);
            assert!(clock.time(now) >= ahead);
            assert_eq!(clock.time(before), shown);
        }
        assert_eq!(clock.time(noted), noted, "however many steps ago");
    }
}
