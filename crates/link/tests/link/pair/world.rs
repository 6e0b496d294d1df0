//! Two links over a path that delays, loses, duplicates, reorders, or has a bottleneck, in virtual time.

use std::collections::VecDeque;

use samovar_link::{Fate, Link, LinkConfig, LinkEvent, Source};
use samovar_wire::{Duration, Entropy, Generation, Lane, Mode, Time};

/// A part of the path that passes `rate` bytes per second, holds `holds` bytes, and drops the excess.
pub(crate) struct Bottleneck {
    pub(crate) rate: u64,
    pub(crate) holds: usize,
    queue: VecDeque<(Mode, Vec<u8>)>,
    pub(crate) held: usize,
    /// When it begins to pass on the first packet of `queue`.
    free_at: Time,
    pub(crate) passed: u64,
    pub(crate) dropped: u64,
}

impl Bottleneck {
    pub(crate) fn new(rate: u64, holds: usize) -> Self {
        let queue = VecDeque::new();
        Self { rate, holds, queue, held: 0, free_at: Time::ZERO, passed: 0, dropped: 0 }
    }

    fn push(&mut self, now: Time, mode: Mode, bytes: Vec<u8>) {
        if self.queue.is_empty() {
            self.free_at = self.free_at.max(now);
        }
        if self.held + bytes.len() > self.holds {
            self.dropped += 1;
            return;
        }
        self.held += bytes.len();
        self.queue.push_back((mode, bytes));
    }

    fn pop(&mut self, now: Time) -> Option<(Mode, Vec<u8>)> {
        let size = self.queue.front()?.1.len() as u64;
        let done = self.free_at + Duration::from_micros(size * 1_000_000 / self.rate);
        if done > now {
            return None;
        }
        self.free_at = done;
        let out = self.queue.pop_front()?;
        self.held -= out.1.len();
        self.passed += out.1.len() as u64;
        Some(out)
    }
}

pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) ends: [Link; 2],
    wire: Vec<(Time, usize, Mode, Vec<u8>)>,
    pub(crate) dice: Entropy,
    pub(crate) loss_percent: u64,
    pub(crate) jitter_micros: u64,
    /// The delay of the path besides 30 ms.
    pub(crate) extra_delay: Duration,
    pub(crate) bulk_gaps: bool,
    /// Whether all unreliable packets are lost, by the end that sends them.
    pub(crate) cut: [bool; 2],
    pub(crate) bottleneck: Option<Bottleneck>,
    /// Whether the driver reports the bottleneck's backlog.
    pub(crate) tells_backlog: bool,
    pub(crate) messages: [Vec<(Lane, Vec<u8>)>; 2],
    pub(crate) fates: Vec<(u64, Fate)>,
    pub(crate) packets: [u64; 2],
    pub(crate) bytes: [u64; 2],
    pub(crate) composed: u64,
    pub(crate) datagrams: u64,
    /// Numbers of the packets at end 1 that brought a composed datagram.
    pub(crate) arrived: Vec<u64>,
    /// Bytes that each end composes 60 times a second.
    pub(crate) compose: [usize; 2],
    wants: [bool; 2],
    ticks: u64,
}

impl Pair {
    pub(crate) fn new(seed: u8, loss_percent: u64) -> Self {
        let link = || Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
        Self {
            now: Time::ZERO,
            ends: [link(), link()],
            wire: Vec::new(),
            dice: Entropy::new([seed; 32]),
            loss_percent,
            jitter_micros: 20_000,
            extra_delay: Duration::ZERO,
            bulk_gaps: false,
            cut: [false; 2],
            bottleneck: None,
            tells_backlog: false,
            messages: Default::default(),
            fates: Vec::new(),
            packets: [0; 2],
            bytes: [0; 2],
            composed: 0,
            datagrams: 0,
            arrived: Vec::new(),
            compose: [6, 0],
            wants: [false; 2],
            ticks: 0,
        }
    }

    pub(crate) fn roll(&mut self, n: u64) -> u64 {
        self.dice.number() % n.max(1)
    }

    pub(crate) fn step(&mut self) {
        let now = self.now;
        while let Some((mode, bytes)) = self.bottleneck.as_mut().and_then(|narrow| narrow.pop(now)) {
            self.travel(0, mode, bytes);
        }
        let (due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.wire).into_iter().partition(|parcel| parcel.0 <= now);
        self.wire = later;
        for (_, to, mode, bytes) in due {
            self.ends[to].handle(now, mode, &bytes).expect("honest bytes are accepted");
        }
        let tick = now.as_micros() * 60 / 1_000_000 != self.ticks;
        self.ticks = now.as_micros() * 60 / 1_000_000;
        for end in 0..2 {
            self.ends[end].handle_timeout(now);
            self.transmit(end, tick);
            self.listen(end);
            assert!(self.ends[end].poll_timeout() > now, "a drained link has nothing due");
        }
        self.now += Duration::from_millis(1);
    }

    fn listen(&mut self, end: usize) {
        while let Some(event) = self.ends[end].poll_event() {
            match event {
                LinkEvent::Message(lane, message) => self.messages[end].push((lane, message)),
                LinkEvent::Fate(n, fate) if end == 0 => self.fates.push((n, fate)),
                LinkEvent::Datagram(packet, bytes) => {
                    if bytes.first() == Some(&b'c') {
                        self.datagrams += 1;
                        self.arrived.push(packet);
                    } else {
                        self.messages[end].push((Lane::Unreliable, bytes));
                    }
                }
                _ => {}
            }
        }
    }

    fn transmit(&mut self, end: usize, tick: bool) {
        let size = self.compose[end];
        self.wants[end] |= tick && size > 0;
        loop {
            let wanted = self.wants[end];
            let (mut bytes, mut composed) = (Vec::new(), 0);
            let mut compose = |_, room, out: &mut Vec<u8>| {
                if wanted && size <= room {
                    out.resize(size, b'c');
                    composed = 1;
                }
            };
            let source = Source { wanted, compose: &mut compose };
            let mode = self.ends[end].poll_transmit(self.now, Time::ZERO, source, &mut bytes);
            let Some(mode) = mode else { break };
            self.wants[end] &= composed == 0;
            self.composed += if end == 0 { composed } else { 0 };
            self.packets[end] += 1;
            self.bytes[end] += bytes.len() as u64;
            match &mut self.bottleneck {
                Some(narrow) if end == 0 => narrow.push(self.now, mode, bytes),
                _ => self.travel(end, mode, bytes),
            }
            if let Some(narrow) = self.bottleneck.as_ref().filter(|_| self.tells_backlog && end == 0) {
                self.ends[0].handle_backlog(self.now, narrow.held as u64);
            }
        }
    }

    fn travel(&mut self, end: usize, mode: Mode, bytes: Vec<u8>) {
        let lost = match mode {
            Mode::Unreliable => self.cut[end] || self.roll(100) < self.loss_percent,
            Mode::Reliable => self.bulk_gaps && self.roll(100) < 2,
        };
        if lost {
            return;
        }
        let reorders = mode == Mode::Unreliable && self.jitter_micros > 0;
        let copies = if reorders && self.roll(20) == 0 { 2 } else { 1 };
        for _ in 0..copies {
            let jitter = if reorders { self.roll(self.jitter_micros) } else { self.jitter_micros };
            let arrival = self.now + Duration::from_micros(30_000 + jitter) + self.extra_delay;
            self.wire.push((arrival, 1 - end, mode, bytes.clone()));
        }
    }

    pub(crate) fn run(&mut self, ms: u64) {
        (0..ms).for_each(|_| self.step());
    }

    /// The messages that end 1 received in a lane.
    pub(crate) fn heard(&self, lane: Lane) -> Vec<&[u8]> {
        self.messages[1].iter().filter(|(by, _)| *by == lane).map(|(_, message)| &message[..]).collect()
    }
}
