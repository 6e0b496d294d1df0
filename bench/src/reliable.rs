//! Reliable latency: small messages, in order, over a link that loses datagrams in both directions.

mod dcsctp;
mod enet;
mod quic;
mod renet;
mod samovar;
mod sctp;

use std::collections::VecDeque;

use crate::network::{Pipe, Traffic};
use crate::rng::Rng;

/// The one-way delay in milliseconds. A step takes a millisecond.
const DELAY: u64 = 30;
const LOSS: f64 = 0.05;
/// Bytes of a message.
pub const MESSAGE_LEN: usize = 64;
/// Every message begins with this, so that copies can be counted where nothing is encrypted.
const MARK: [u8; 8] = *b"\xa5SAMOVAR";
/// The longest set-up in milliseconds. The link loses nothing during it.
const SET_UP_MAX: u64 = 10_000;
/// The time in milliseconds that a run waits after the last message was sent. A message that has not arrived by then
/// is lost.
const PATIENCE: u64 = 120_000;

/// One end of a connection of one library.
pub trait End {
    /// Whether messages can be sent.
    fn is_ready(&self) -> bool;

    /// Takes a message for the other end, where it must arrive in order.
    fn send(&mut self, message: &[u8]);

    /// Takes a datagram from the other end.
    fn receive(&mut self, now: u64, datagram: &[u8]);

    /// Handles a millisecond that has passed, and appends the datagrams to send.
    fn step(&mut self, now: u64, out: &mut Vec<Vec<u8>>);

    /// The next message that has arrived.
    fn take(&mut self) -> Option<Vec<u8>>;
}

/// The two ends of a connection, the one that sends the messages first.
pub type Ends = (Box<dyn End>, Box<dyn End>);

/// A library that carries reliable messages.
#[derive(Clone, Copy)]
pub struct Carrier {
    /// Its name and version.
    pub name: &'static str,
    /// Makes a connection that is not set up yet.
    pub start: fn(seed: u64) -> Ends,
}

impl std::fmt::Debug for Carrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All carriers, in the order of the table.
pub const CARRIERS: &[Carrier] =
    &[samovar::CARRIER, sctp::CARRIER, dcsctp::CARRIER, quic::CARRIER, enet::CARRIER, renet::CARRIER];

/// The results of one or more runs.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Milliseconds from sending to delivery of each message, sorted.
    pub latencies: Vec<u64>,
    /// The traffic from the end that sends the messages.
    pub traffic: Traffic,
    /// How often the beginning of a message was seen in a datagram; 0 if datagrams are encrypted.
    pub copies: u64,
}

impl Outcome {
    /// Adds the results of another run.
    pub fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.latencies.sort_unstable();
        self.traffic.bytes += other.traffic.bytes;
        self.traffic.datagrams += other.traffic.datagrams;
        self.copies += other.copies;
    }

    /// The latency that the given share of messages does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let index = (self.latencies.len() as f64 * share).ceil() as usize;
        self.latencies[index.clamp(1, self.latencies.len()) - 1]
    }
}

/// Sends messages at an interval of some milliseconds and waits for all of them.
///
/// # Panics
/// When the carrier does not connect, or loses or reorders a message.
#[must_use]
pub fn run(carrier: Carrier, seed: u64, messages: u64, interval: u64) -> Outcome {
    let (mut sender, mut receiver) = (carrier.start)(seed);
    let mut there = Pipe::new(DELAY, Rng::new(seed, 1));
    let mut back = Pipe::new(DELAY, Rng::new(seed, 2));
    let mut now = 0;
    let mut copies = 0;
    let mut step =
        |now, sender: &mut Box<dyn End>, receiver: &mut Box<dyn End>, there: &mut Pipe, back: &mut Pipe| {
            copies += drive(now, &mut **sender, back, there);
            drive(now, &mut **receiver, there, back);
        };
    while !(sender.is_ready() && receiver.is_ready()) {
        now += 1;
        assert!(now < SET_UP_MAX, "{}: not connected after {SET_UP_MAX} ms without loss", carrier.name);
        step(now, &mut sender, &mut receiver, &mut there, &mut back);
    }
    // Estimates of the round trip settle after the set-up.
    for _ in 0..2_000 {
        now += 1;
        step(now, &mut sender, &mut receiver, &mut there, &mut back);
    }
    there.set_loss(LOSS);
    back.set_loss(LOSS);
    let before = there.traffic;
    let (start, mut sent_at, mut latencies) = (now, VecDeque::new(), Vec::new());
    let mut sent = 0;
    let end = start + messages * interval + PATIENCE;
    while (latencies.len() as u64) < messages && now < end {
        if (now - start).is_multiple_of(interval) && sent < messages {
            sender.send(&message(sent));
            sent_at.push_back(now);
            sent += 1;
        }
        step(now, &mut sender, &mut receiver, &mut there, &mut back);
        while let Some(arrived) = receiver.take() {
            assert_eq!(arrived, message(latencies.len() as u64), "{}: out of order", carrier.name);
            latencies.push(now - sent_at.pop_front().expect("what arrives was sent"));
        }
        now += 1;
    }
    assert_eq!(latencies.len() as u64, messages, "{}: messages were lost", carrier.name);
    latencies.sort_unstable();
    let bytes = there.traffic.bytes - before.bytes;
    let traffic = Traffic { bytes, datagrams: there.traffic.datagrams - before.datagrams };
    Outcome { latencies, traffic, copies }
}

/// Lets one end work for one millisecond and counts the copies of messages that it sends.
fn drive(now: u64, end: &mut dyn End, from: &mut Pipe, to: &mut Pipe) -> u64 {
    while let Some(datagram) = from.receive(now) {
        end.receive(now, &datagram);
    }
    let mut out = Vec::new();
    end.step(now, &mut out);
    let mut copies = 0;
    for datagram in out {
        copies += datagram.windows(MARK.len()).filter(|window| *window == MARK).count() as u64;
        to.send(now, &datagram);
    }
    copies
}

/// The message with a number: the mark, the number, and random bytes that cannot be compressed.
fn message(number: u64) -> Vec<u8> {
    let mut rng = Rng::new(number, 3);
    let mut bytes = [MARK, number.to_le_bytes()].concat();
    while bytes.len() < MESSAGE_LEN {
        bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    bytes
}
