//! Latency of reliable messages over a lossy path: a trial in virtual time with two real links.

use samovar_link::{Link, LinkConfig, LinkEvent, LinkStats, Source};
use samovar_wire::{Duration, Generation, Lane, Mode, Rng, Time};

/// Parameters of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// Messages sent.
    pub(crate) messages: u32,
    /// Bytes of each message; four at least.
    pub(crate) size: usize,
    /// Time between two messages.
    pub(crate) interval: Duration,
    /// The delay of the path in each direction.
    pub(crate) one_way: Duration,
    /// Packets lost in each direction, in thousandths.
    pub(crate) loss_permille: u64,
    /// Seed of the losses.
    pub(crate) seed: u64,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Time from sending to delivery of each message in order, in microseconds, sorted.
    pub(crate) latencies: Vec<u64>,
    /// The sender's measurements at the end.
    pub(crate) sender: LinkStats,
    /// Whether each message was delivered once, in the order of sending, and as it was sent.
    pub(crate) is_exact: bool,
}

impl Outcome {
    /// The latency in milliseconds within which `permille` thousandths of the messages arrive.
    pub(crate) fn permille(&self, permille: usize) -> f64 {
        let at = (self.latencies.len() * permille / 1_000).min(self.latencies.len().saturating_sub(1));
        self.latencies.get(at).map_or(f64::NAN, |&micros| micros as f64 / 1_000.0)
    }

    /// How often a message was sent on average: once, and the copies and resends.
    pub(crate) fn sendings(&self) -> f64 {
        let LinkStats { segments, copies, resends, .. } = self.sender;
        (segments + copies + resends) as f64 / segments as f64
    }
}

/// A packet under way: when it arrives, at which end, and how it was sent.
struct Parcel(Time, usize, Mode, Vec<u8>);

struct Run {
    trial: Trial,
    now: Time,
    ends: [Link; 2],
    wire: std::collections::VecDeque<Parcel>,
    dice: Rng,
    sent: u32,
    next_send: Time,
    latencies: Vec<u64>,
    is_exact: bool,
    spare: Vec<Vec<u8>>,
}

impl Trial {
    /// Runs the trial to its end: until all messages are delivered, or for a minute longer than sending takes.
    pub(crate) fn run(self) -> Outcome {
        let link = || Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
        let mut run = Run {
            trial: self,
            now: Time::ZERO,
            ends: [link(), link()],
            wire: std::collections::VecDeque::new(),
            dice: Rng::new(self.seed),
            sent: 0,
            // The first message goes after one second, when both links have heard each other.
            next_send: Time::from_micros(1_000_000),
            latencies: Vec::with_capacity(self.messages as usize),
            is_exact: true,
            spare: Vec::new(),
        };
        let end = run.sending_time(self.messages) + Duration::from_millis(60_000);
        while run.latencies.len() < self.messages as usize && run.now < end {
            run.step();
        }
        run.is_exact &= run.latencies.len() == self.messages as usize;
        run.latencies.sort_unstable();
        Outcome { latencies: run.latencies, sender: run.ends[0].stats(), is_exact: run.is_exact }
    }
}

impl Run {
    fn sending_time(&self, message: u32) -> Time {
        Time::from_micros(1_000_000) + self.trial.interval.times(u64::from(message))
    }

    fn step(&mut self) {
        while self.wire.front().is_some_and(|parcel| parcel.0 <= self.now) {
            let Some(Parcel(_, to, mode, bytes)) = self.wire.pop_front() else { break };
            self.is_exact &= self.ends[to].handle(self.now, mode, &bytes).is_ok();
            self.spare.push(bytes);
        }
        if self.next_send <= self.now && self.sent < self.trial.messages {
            let mut message = vec![self.sent as u8; self.trial.size.max(4)];
            message[..4].copy_from_slice(&self.sent.to_le_bytes());
            if self.ends[0].send(Lane::GAME, &message).is_ok() {
                self.sent += 1;
                self.next_send = self.sending_time(self.sent);
            } else {
                self.next_send = self.now + Duration::from_millis(1);
            }
        }
        (0..2).for_each(|end| self.work(end));
        let due = self.ends.iter().map(Link::poll_timeout).min().unwrap_or(Time::FAR);
        let arrival = self.wire.front().map_or(Time::FAR, |parcel| parcel.0);
        let send = if self.sent < self.trial.messages { self.next_send } else { Time::FAR };
        self.now = due.min(arrival).min(send).max(self.now + Duration::from_micros(1));
    }

    fn work(&mut self, end: usize) {
        self.ends[end].handle_timeout(self.now);
        loop {
            let mut bytes = self.spare.pop().unwrap_or_default();
            let source = Source { wanted: false, compose: &mut |_, _, _| {} };
            let Some(mode) = self.ends[end].poll_transmit(self.now, Time::ZERO, source, &mut bytes) else {
                self.spare.push(bytes);
                break;
            };
            if self.dice.roll(1_000) >= self.trial.loss_permille {
                self.wire.push_back(Parcel(self.now + self.trial.one_way, 1 - end, mode, bytes));
            }
        }
        while let Some(event) = self.ends[end].poll_event() {
            let LinkEvent::Message(_, bytes) = event else { continue };
            let number = self.latencies.len() as u32;
            let expected = number.to_le_bytes();
            self.is_exact &= bytes.len() == self.trial.size.max(4) && bytes[..4] == expected;
            self.is_exact &= bytes[4..].iter().all(|&byte| byte == number as u8);
            self.latencies.push(self.now.since(self.sending_time(number)).as_micros());
            self.ends[end].recycle(bytes);
        }
    }
}
