//! Pings: the round trip, its variation, and samples for the session clock.

use samovar_wire::{Duration, Time};

/// The round trip assumed before the first measurement.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(100);
/// The number of pings that may await answers: those of four seconds, longer than any playable round trip.
const AWAITED: usize = 8;
/// The first `EAGER_PINGS` pings go at this interval, so that a new peer's clock is soon right.
const EAGER_INTERVAL: Duration = Duration::from_millis(50);
const EAGER_PINGS: u32 = 6;
/// A due ping waits until this long after the last packet, since the next packet may carry it.
const RIDES_WITHIN: Duration = Duration::from_millis(40);
/// Bounds of the time after which an unacked segment is sent again.
const PROBE_MIN: Duration = Duration::from_millis(40);
const PROBE_MAX: Duration = Duration::from_millis(400);
/// The least round trip is the shortest of this many answers. They span eight seconds, in which both ends are idle at
/// least once.
const RECENT: usize = 16;

#[derive(Debug)]
pub(super) struct PingClock {
    interval: Duration,
    next_ping: Time,
    pings: u32,
    /// The packets with the newest pings, and when each left; in no order. A packet stays until its ping or a newer
    /// one is answered.
    outstanding: [Option<(u64, Time)>; AWAITED],
    /// The packet with the other end's newest unanswered ping, and when it came.
    pong: Option<(u64, Time)>,
    smoothed: Option<Duration>,
    variation: Duration,
    /// The newest round trips, in no order.
    recent: [Option<Duration>; RECENT],
    answers: usize,
}

impl PingClock {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            next_ping: Time::ZERO,
            pings: 0,
            outstanding: [None; AWAITED],
            pong: None,
            smoothed: None,
            variation: Duration::ZERO,
            recent: [None; RECENT],
            answers: 0,
        }
    }

    pub(super) fn on_ping(&mut self, now: Time, packet: u64) {
        if self.pong.is_none_or(|(newest, _)| newest < packet) {
            self.pong = Some((packet, now));
        }
    }

    /// Takes an answer. Returns the round trip if the answer is plausible and to one of our pings, and no newer ping
    /// was answered.
    pub(super) fn on_pong(&mut self, now: Time, ping: u16, held: u64) -> Option<Duration> {
        let asked = self.outstanding.iter().flatten().find(|(packet, _)| *packet as u16 == ping);
        let &(answered, sent) = asked?;
        for awaited in &mut self.outstanding {
            awaited.take_if(|(packet, _)| *packet <= answered);
        }
        let round_trip = Duration::from_micros(now.since(sent).as_micros().checked_sub(held)?);
        self.recent[self.answers % RECENT] = Some(round_trip);
        self.answers = self.answers.wrapping_add(1);
        // RFC 6298 §2.
        let sample = round_trip.as_micros();
        match self.smoothed {
            None => {
                self.smoothed = Some(round_trip);
                self.variation = Duration::from_micros(sample / 2);
            }
            Some(smoothed) => {
                let smoothed = smoothed.as_micros();
                let deviation = smoothed.abs_diff(sample);
                self.variation = Duration::from_micros((self.variation.as_micros() * 3 + deviation) / 4);
                self.smoothed = Some(Duration::from_micros((smoothed * 7 + sample) / 8));
            }
        }
        Some(round_trip)
    }

    /// Returns whether the packet that is being written, with this number, is to carry a ping.
    pub(super) fn take_ping(&mut self, now: Time, packet: u64) -> bool {
        if self.next_ping > now {
            return false;
        }
        self.pings += 1;
        self.next_ping = now + if self.pings < EAGER_PINGS { EAGER_INTERVAL } else { self.interval };
        self.outstanding[self.pings as usize % AWAITED] = Some((packet, now));
        true
    }

    /// The answer to the newest ping, if one is owed: its packet, and microseconds since it came.
    pub(super) fn take_pong(&mut self, now: Time) -> Option<(u16, u64)> {
        self.pong.take().map(|(packet, arrived)| (packet as u16, now.since(arrived).as_micros()))
    }

    /// When a ping needs a packet of its own, if the last packet went at `last_sent`. Frequent packets carry pings
    /// besides their own content.
    pub(super) fn ping_due(&self, last_sent: Time) -> Time {
        let rides = self.pings >= EAGER_PINGS;
        if rides { self.next_ping.max(last_sent + RIDES_WITHIN) } else { self.next_ping }
    }

    /// Forgets the open pings after this peer slept: the time until their answers proves nothing.
    pub(super) fn forget_ping(&mut self) {
        self.outstanding = [None; AWAITED];
        self.next_ping = Time::ZERO;
    }

    /// Forgets the least round trip after a change of the path.
    pub(super) fn forget_least(&mut self) {
        self.recent = [None; RECENT];
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(super) fn variation(&self) -> Duration {
        self.variation
    }

    pub(super) fn least(&self) -> Option<Duration> {
        self.recent.iter().flatten().min().copied()
    }

    pub(super) fn round_trip(&self) -> Duration {
        self.smoothed.unwrap_or(INITIAL_ROUND_TRIP)
    }

    /// How long an unacked segment at the tail waits until it is sent again: a round trip, its variation, and the other
    /// end's ack delay.
    pub(super) fn probe_timeout(&self) -> Duration {
        let patience = self.round_trip() + self.variation.times(4) + Duration::from_millis(36);
        patience.clamp(PROBE_MIN, PROBE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_least_round_trip_is_that_of_the_newest_answers() {
        let mut clock = PingClock::new(Duration::from_millis(500));
        let mut now = Time::ZERO;
        let mut least = |packet: u64, trip: u64| {
            now += Duration::from_millis(1_000);
            assert!(clock.take_ping(now, packet));
            now += Duration::from_millis(trip);
            assert!(clock.on_pong(now, packet as u16, 0).is_some());
            clock.least().map(|least| least.as_micros() / 1_000)
        };
        assert_eq!(least(0, 60), Some(60));
        for packet in 1..16 {
            assert_eq!(least(packet, 90), Some(60));
        }
        assert_eq!(least(16, 80), Some(80));
    }

    #[test]
    fn round_trips_longer_than_the_ping_interval_are_measured() {
        let at = |ms: u64| Time::from_micros(ms * 1_000);
        let mut clock = PingClock::new(Duration::from_millis(500));
        for packet in 0..4 {
            assert!(clock.take_ping(at(packet * 500), packet));
        }
        assert_eq!(clock.on_pong(at(1_700), 1, 100_000), Some(Duration::from_millis(1_100)));
        assert_eq!(clock.on_pong(at(1_701), 0, 0), None, "a newer one was answered");
        assert_eq!(clock.on_pong(at(1_702), 1, 0), None, "this one was");
        assert_eq!(clock.on_pong(at(2_600), 3, 0), Some(Duration::from_millis(1_100)));
    }
}
