//! The simulated links between the owner and its observers: a fixed delay and independent loss, per direction.

use std::collections::VecDeque;

use crate::rng::Rng;

/// The buffer for the datagrams that a subject sends in one tick. It is reused, so that a datagram costs every subject
/// the same copy and no allocation.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl Outbox {
    /// An empty buffer with room for the traffic of one tick.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: Vec::with_capacity(1 << 22), ends: Vec::with_capacity(1 << 16) }
    }

    /// Sends a datagram to an observer. An observer that sends to the owner passes its own number.
    pub fn push(&mut self, observer: usize, datagram: &[u8]) {
        self.bytes.extend_from_slice(datagram);
        self.ends.push((observer, self.bytes.len()));
    }

    /// Takes all datagrams out.
    pub fn drain(&mut self, mut take: impl FnMut(usize, &[u8])) {
        let mut start = 0;
        for &(observer, end) in &self.ends {
            take(observer, &self.bytes[start..end]);
            start = end;
        }
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Bytes and datagrams that were handed to a link, lost ones included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Payloads only; UDP and IP would add 28 to each datagram.
    pub bytes: u64,
    /// Datagrams.
    pub datagrams: u64,
}

/// One direction between two ends.
#[derive(Debug)]
pub struct Pipe {
    under_way: VecDeque<(u64, Vec<u8>)>,
    delay: u64,
    loss: f64,
    rng: Rng,
    /// The traffic that was sent so far.
    pub traffic: Traffic,
}

impl Pipe {
    /// A pipe with a delay, in the caller's unit of time. It loses nothing at first.
    #[must_use]
    pub fn new(delay: u64, rng: Rng) -> Self {
        Self { under_way: VecDeque::new(), delay, loss: 0.0, rng, traffic: Traffic::default() }
    }

    /// Sets the share of datagrams that is lost from now on.
    pub fn set_loss(&mut self, loss: f64) {
        self.loss = loss;
    }

    /// Sends a datagram.
    pub fn send(&mut self, now: u64, datagram: &[u8]) {
        self.traffic.bytes += datagram.len() as u64;
        self.traffic.datagrams += 1;
        // The number is drawn in any case, so that a seed's losses do not depend on when loss begins.
        if self.rng.unit() >= self.loss {
            self.under_way.push_back((now + self.delay, datagram.to_vec()));
        }
    }

    /// The next datagram that has arrived.
    pub fn receive(&mut self, now: u64) -> Option<Vec<u8>> {
        let (due, _) = self.under_way.front()?;
        if *due > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, datagram)| datagram)
    }
}

/// All links of one run.
#[derive(Debug)]
pub struct Network {
    /// From the owner to each observer.
    pub down: Vec<Pipe>,
    /// From each observer to the owner.
    pub up: Vec<Pipe>,
}

impl Network {
    /// Links of the given one-way delay in ticks.
    #[must_use]
    pub fn new(seed: u64, observers: usize, delay: u64) -> Self {
        let pipes = |base: u64| {
            (0..observers as u64).map(|i| Pipe::new(delay, Rng::new(seed, base + i))).collect::<Vec<_>>()
        };
        Self { down: pipes(1_000), up: pipes(2_000) }
    }

    /// Sets the loss of both directions of all links.
    pub fn set_loss(&mut self, loss: f64) {
        self.down.iter_mut().chain(&mut self.up).for_each(|pipe| pipe.set_loss(loss));
    }

    /// The traffic so far: down to the observers, then up to the owner.
    #[must_use]
    pub fn traffic(&self) -> (Traffic, Traffic) {
        let sum = |pipes: &[Pipe]| {
            pipes.iter().fold(Traffic::default(), |sum, pipe| Traffic {
                bytes: sum.bytes + pipe.traffic.bytes,
                datagrams: sum.datagrams + pipe.traffic.datagrams,
            })
        };
        (sum(&self.down), sum(&self.up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_arrives_after_the_delay() {
        let mut pipe = Pipe::new(2, Rng::new(1, 1));
        pipe.send(5, b"a");
        assert_eq!(pipe.receive(6), None);
        assert_eq!(pipe.receive(7), Some(b"a".to_vec()));
        assert_eq!(pipe.receive(8), None);
    }

    #[test]
    fn a_pipe_loses_the_stated_share() {
        let mut pipe = Pipe::new(0, Rng::new(1, 1));
        pipe.set_loss(0.05);
        let arrived = (0..100_000).filter(|&now| {
            pipe.send(now, b"a");
            pipe.receive(now).is_some()
        });
        assert!((94_500..95_500).contains(&arrived.count()));
    }
}
