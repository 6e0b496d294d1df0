//! One direction of a reliable stream of bytes: TCP below a WebSocket, or SCTP's reliable mode. A lost segment is
//! sent again, so a loss shows as a delay.

use std::collections::VecDeque;

use samovar_wire::{Duration, Time};

use super::Weather;
use crate::dice::Dice;

/// The time that a fast retransmission takes in addition to a round trip. The sender does not wait for a time-out,
/// because acks of later bytes reveal the loss.
const FAST: Duration = Duration::from_millis(20);
/// The time that a retransmission by time-out takes. It doubles with each further loss.
const TIMEOUT: Duration = Duration::from_millis(250);
/// The most times in a row that one message is lost.
const LOSSES_MAX: u32 = 6;
/// A delay by losses that lasts this long is a *stall*. It usually takes three losses in a row.
const STALL: Duration = Duration::from_millis(1_000);

/// One direction of a stream.
#[derive(Debug, Default)]
pub(crate) struct Stream<M> {
    is_bad: bool,
    free_at: Time,
    /// When the last message arrives. Later messages arrive no earlier.
    last: Time,
    /// The last stall, or the present one: when it begins and ends. No message arrives in between.
    stall: (Time, Time),
    /// Messages that were sent while the path was cut.
    held: VecDeque<M>,
    held_bytes: u64,
}

impl<M> Stream<M> {
    pub(crate) fn new() -> Self {
        Self {
            is_bad: false,
            free_at: Time::ZERO,
            last: Time::ZERO,
            stall: (Time::ZERO, Time::ZERO),
            held: VecDeque::new(),
            held_bytes: 0,
        }
    }

    /// Returns the time at which a message that is sent now arrives.
    pub(crate) fn carry(&mut self, now: Time, bytes: usize, weather: &Weather, dice: &mut Dice) -> Time {
        self.free_at = self.free_at.max(now) + weather.serialisation(bytes);
        let usual = self.free_at + weather.delay(dice);
        let mut at = usual;
        let mut wait = FAST + weather.latency.times(2);
        let mut is_lost = weather.loss.strikes(&mut self.is_bad, dice);
        for _ in 0..LOSSES_MAX {
            if !is_lost {
                break;
            }
            at += wait;
            wait = wait.times(2).max(TIMEOUT);
            // A burst is over by the time that the message is sent again.
            is_lost = dice.chance(weather.loss.mean());
        }
        if at > self.last && usual + STALL <= at {
            let goes_on = now < self.stall.1;
            self.stall = (if goes_on { self.stall.0 } else { usual.max(self.last) }, at);
        }
        self.last = at.max(self.last);
        self.last
    }

    /// Returns how much of this span the last stall covers.
    pub(crate) fn stalled(&self, from: Time, until: Time) -> Duration {
        let (first, last) = (self.stall.0.max(from), self.stall.1.min(until));
        if first < last { last.since(first) } else { Duration::ZERO }
    }

    /// Keeps a message until the path carries data again.
    pub(crate) fn hold(&mut self, message: M, bytes: usize) {
        self.held.push_back(message);
        self.held_bytes += bytes as u64;
    }

    /// Whether messages are kept. New messages queue up behind them.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes the messages that were kept, to be sent now.
    pub(crate) fn release(&mut self) -> VecDeque<M> {
        self.held_bytes = 0;
        std::mem::take(&mut self.held)
    }

    /// Bytes that the sender's buffer holds.
    pub(crate) fn backlog(&self, now: Time, weather: &Weather) -> u64 {
        self.held_bytes + weather.waiting(now, self.free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Loss;
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn stream_keeps_its_order_and_losses_only_delay_it() {
        let fair = Weather::of(Duration::from_millis(60), Duration::from_millis(10), 0.0);
        let lossy = Weather { loss: Loss::Random(0.05), ..fair };
        let delays = |weather: &Weather| -> Vec<u64> {
            let (mut stream, mut dice) = (Stream::<()>::new(), Dice::new(5));
            let mut last = Time::ZERO;
            let carry = |n: u64| {
                let sent = Time::from_micros(n * 500_000);
                let at = stream.carry(sent, 100, weather, &mut dice);
                assert!(at >= last);
                last = at;
                at.since(sent).as_micros()
            };
            (0..20_000).map(carry).collect()
        };
        let late = |delays: &[u64]| delays.iter().filter(|&&delay| delay >= 80_000).count();
        assert_eq!(late(&delays(&fair)), 0);
        assert!((850..1_200).contains(&late(&delays(&lossy))), "{}", late(&delays(&lossy)));
    }

    #[test]
    fn repeated_losses_of_one_message_stall_a_stream() {
        let weather = Weather {
            loss: Loss::Random(1.0),
            ..Weather::of(Duration::from_millis(60), Duration::ZERO, 0.0)
        };
        let mut stream = Stream::<()>::new();
        let sent = Time::from_micros(5_000_000);
        let at = stream.carry(sent, 100, &weather, &mut Dice::new(5));
        let usual = sent + weather.latency;
        assert!(at >= usual + STALL);
        assert_eq!(stream.stalled(Time::ZERO, Time::FAR), at.since(usual));
        assert_eq!(stream.stalled(usual + STALL, Time::FAR), at.since(usual + STALL));
        assert_eq!(stream.stalled(Time::ZERO, usual + STALL), STALL);
        assert_eq!(stream.stalled(Time::ZERO, usual), Duration::ZERO);
        assert_eq!(stream.stalled(at, Time::FAR), Duration::ZERO);
        // A later message that is not lost does not end the stall.
        assert_eq!(stream.carry(sent + STALL, 100, &Weather::fair(), &mut Dice::new(5)), at);
        assert_eq!(stream.stalled(Time::ZERO, Time::FAR), at.since(usual));
    }

    #[test]
    fn held_messages_are_released_in_order() {
        let mut stream = Stream::new();
        (0..5).for_each(|n| stream.hold(n, 10));
        assert_eq!(stream.backlog(Time::ZERO, &Weather::fair()), 50);
        assert!(stream.is_holding());
        assert_eq!(stream.release(), [0, 1, 2, 3, 4]);
        assert!(!stream.is_holding());
    }
}
