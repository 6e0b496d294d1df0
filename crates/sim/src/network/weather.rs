//! The conditions that a path is under.

use samovar_wire::{Duration, Time};

use crate::dice::Dice;

/// How a path loses packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet independently, with this probability.
    Random(f64),
    /// In bursts (Gilbert 1960, Elliott 1963): the path is either good or bad, and may change with each packet.
    Bursts {
        /// The probability that a good path is bad for the next packet.
        begin: f64,
        /// The probability that a bad path is good for the next packet.
        end: f64,
        /// The probability that a good path loses a packet.
        good: f64,
        /// The probability that a bad path loses a packet.
        bad: f64,
    },
}

impl Loss {
    /// The share of packets that is lost in the long run.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Random(probability) => probability,
            Self::Bursts { begin, end, good, bad } => {
                let share = if begin + end > 0.0 { begin / (begin + end) } else { 0.0 };
                share * bad + (1.0 - share) * good
            }
        }
    }

    /// Whether the next packet is lost. `is_bad` is the state of the path, which the caller keeps.
    pub(crate) fn strikes(&self, is_bad: &mut bool, dice: &mut Dice) -> bool {
        match *self {
            Self::Random(probability) => dice.chance(probability),
            Self::Bursts { begin, end, good, bad } => {
                *is_bad = if *is_bad { !dice.chance(end) } else { dice.chance(begin) };
                dice.chance(if *is_bad { bad } else { good })
            }
        }
    }
}

/// The conditions of one direction of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weather {
    /// The shortest time from the sending of a packet to its arrival.
    pub latency: Duration,
    /// The mean of a random delay that is added to the latency. It is the sum of two random spans below this value,
    /// so it is at most twice this value.
    pub jitter: Duration,
    /// The probability that a packet has an extra delay of up to [`Weather::spike`].
    pub spikes: f64,
    /// The longest extra delay of [`Weather::spikes`].
    pub spike: Duration,
    /// How packets are lost. On a stream a loss is a delay.
    pub loss: Loss,
    /// The probability that a packet arrives twice.
    pub duplication: f64,
    /// The probability that a packet is held back by up to four times the latency, so that others overtake it. If the
    /// jitter exceeds the time between two packets, packets overtake each other anyway.
    pub reordering: f64,
    /// Bytes per second; `None` for no limit.
    pub bandwidth: Option<u64>,
    /// Bytes that may wait for the bandwidth. A packet that finds the queue full is lost.
    pub queue: u64,
}

impl Weather {
    /// A path without faults: 15 ms one way, 2 ms of jitter.
    #[must_use]
    pub const fn fair() -> Self {
        Self {
            latency: Duration::from_millis(15),
            jitter: Duration::from_millis(2),
            spikes: 0.0,
            spike: Duration::ZERO,
            loss: Loss::Random(0.0),
            duplication: 0.0,
            reordering: 0.0,
            bandwidth: None,
            queue: 64 * 1_024,
        }
    }

    /// A path with this mean round trip and this loss. The jitter is the greatest deviation from the mean in each
    /// direction, as `tc netem` counts it. If the jitter exceeds half of the round trip, the mean round trip is twice
    /// the jitter instead.
    #[must_use]
    pub const fn of(round_trip: Duration, jitter: Duration, loss: f64) -> Self {
        let latency = Duration::from_micros((round_trip.as_micros() / 2).saturating_sub(jitter.as_micros()));
        Self { latency, jitter, loss: Loss::Random(loss), ..Self::fair() }
    }

    /// Rolls conditions that real players have, from a good line to a bad connection on a train.
    #[must_use]
    pub fn some(dice: &mut Dice) -> Self {
        let severity = dice.below(4);
        let loss = match dice.below(3) {
            0 => Loss::Random(0.0),
            1 => Loss::Random(0.02 * severity as f64),
            _ => Loss::Bursts { begin: 0.002 * severity as f64, end: 0.25, good: 0.002, bad: 0.6 },
        };
        Self {
            latency: dice.millis(2, 20 + 30 * severity),
            jitter: dice.millis(0, 2 + 8 * severity),
            spikes: if severity > 1 { 0.001 } else { 0.0 },
            spike: dice.millis(20, 150),
            loss,
            duplication: if dice.chance(0.3) { 0.02 } else { 0.0 },
            reordering: if dice.chance(0.3) { 0.02 } else { 0.0 },
            bandwidth: dice.chance(0.3).then(|| dice.range(40_000, 400_000)),
            queue: dice.range(8, 128) * 1_024,
        }
    }

    /// Rolls the time from the sending of a packet to its arrival.
    pub(crate) fn delay(&self, dice: &mut Dice) -> Duration {
        let mut delay = self.latency + dice.span(self.jitter) + dice.span(self.jitter);
        if dice.chance(self.spikes) {
            delay = delay + dice.span(self.spike);
        }
        if dice.chance(self.reordering) {
            delay = delay + dice.span(self.latency.times(4));
        }
        delay
    }

    /// How long it takes to put this many bytes on the path.
    pub(crate) fn serialisation(&self, bytes: usize) -> Duration {
        let micros = self.bandwidth.map_or(0, |rate| bytes as u64 * 1_000_000 / rate.max(1));
        Duration::from_micros(micros)
    }

    /// The number of bytes that still wait if the path is busy until `free_at`.
    pub(crate) fn waiting(&self, now: Time, free_at: Time) -> u64 {
        self.bandwidth.map_or(0, |rate| free_at.since(now).as_micros().saturating_mul(rate) / 1_000_000)
    }
}
