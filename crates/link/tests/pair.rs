//! Two links over a path that loses, duplicates and reorders, in virtual time.

use samovar_link::{Fate, Link, LinkConfig, LinkEvent, close_packet};
use samovar_wire::{CloseCode, Duration, Entropy, Mode, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

struct Pair {
    now: Time,
    ends: [Link; 2],
    wire: Vec<(Time, usize, Mode, Vec<u8>)>,
    dice: Entropy,
    loss_percent: u64,
    bulk_gaps: bool,
    messages: [Vec<Vec<u8>>; 2],
    bulk: [Vec<Vec<u8>>; 2],
    fates: Vec<(u64, Fate)>,
    packets: u64,
    composed: u64,
    datagrams: u64,
}

impl Pair {
    fn new(seed: u8, loss_percent: u64) -> Self {
        let link = || Link::new(Time::ZERO, LinkConfig::default());
        Self {
            now: Time::ZERO,
            ends: [link(), link()],
            wire: Vec::new(),
            dice: Entropy::new([seed; 32]),
            loss_percent,
            bulk_gaps: false,
            messages: Default::default(),
            bulk: Default::default(),
            fates: Vec::new(),
            packets: 0,
            composed: 0,
            datagrams: 0,
        }
    }

    fn roll(&mut self, n: u64) -> u64 {
        self.dice.number() % n
    }

    fn step(&mut self) {
        let (due, later) = core::mem::take(&mut self.wire).into_iter().partition(|p| p.0 <= self.now);
        self.wire = later;
        let due: Vec<(Time, usize, Mode, Vec<u8>)> = due;
        for (_, to, mode, bytes) in due {
            self.ends[to].handle(self.now, mode, &bytes).expect("honest bytes are accepted");
        }
        for end in 0..2 {
            self.ends[end].handle_timeout(self.now);
            self.transmit(end);
            while let Some(event) = self.ends[end].poll_event() {
                match event {
                    LinkEvent::Message(m) => self.messages[end].push(m),
                    LinkEvent::Bulk(m) => self.bulk[end].push(m),
                    LinkEvent::Fate(n, fate) if end == 0 => self.fates.push((n, fate)),
                    LinkEvent::Datagram(..) => self.datagrams += 1,
                    _ => {}
                }
            }
            assert!(self.ends[end].poll_timeout() > self.now, "a drained link has nothing due");
        }
        self.now += Duration::from_millis(1);
    }

    fn transmit(&mut self, end: usize) {
        let mut wanted = end == 0 && self.now.as_micros().is_multiple_of(16_000);
        let mut composed = 0;
        while let Some(out) =
            self.ends[end].poll_transmit(self.now, Time::ZERO, wanted, &mut |_, _, bytes| {
                if end == 0 {
                    bytes.extend_from_slice(b"update");
                    composed += 1;
                }
            })
        {
            wanted = false;
            self.packets += 1;
            let lost = match out.mode {
                Mode::Unreliable => self.roll(100) < self.loss_percent,
                Mode::Reliable => self.bulk_gaps && self.roll(100) < 30,
            };
            if lost {
                continue;
            }
            let copies = if out.mode == Mode::Unreliable && self.roll(20) == 0 { 2 } else { 1 };
            for _ in 0..copies {
                let jitter = if out.mode == Mode::Unreliable { self.roll(20_000) } else { 20_000 };
                let arrival = self.now + Duration::from_micros(30_000 + jitter);
                self.wire.push((arrival, 1 - end, out.mode, out.bytes.clone()));
            }
        }
        self.composed += composed;
    }

    fn run(&mut self, ms: u64) {
        (0..ms).for_each(|_| self.step());
    }
}

#[test]
fn messages_arrive_once_and_in_order_whatever_the_path_does() {
    for seed in 0..20 {
        let mut pair = Pair::new(seed, u64::from(seed) * 2);
        let mut expected = Vec::new();
        for n in 0..200u32 {
            let length = if n % 17 == 0 { 5_000 } else { n as usize % 90 };
            let message = [n.to_le_bytes().as_slice(), &vec![n as u8; length]].concat();
            pair.ends[0].send(&message).unwrap();
            expected.push(message);
            pair.run(5);
        }
        pair.run(4_000);
        assert_eq!(pair.messages[1], expected, "seed {seed}");
    }
}

#[test]
fn the_fate_of_every_composed_packet_is_told_exactly_once() {
    let mut pair = Pair::new(1, 20);
    pair.run(5_000);
    let mut numbers: Vec<_> = pair.fates.iter().map(|f| f.0).collect();
    let told = numbers.len() as u64;
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, told);
    assert!(pair.composed - told < 20, "{} of {} are still open", pair.composed - told, pair.composed);
    let delivered = pair.fates.iter().filter(|f| f.1 == Fate::Delivered).count() as u64;
    assert!(delivered <= pair.datagrams, "a packet was called delivered that was not");
}

#[test]
fn bulk_survives_a_path_that_drops_chunks_and_waits_for_the_lane() {
    let mut pair = Pair::new(3, 30);
    pair.bulk_gaps = true;
    pair.ends[0].send(b"before").unwrap();
    let big: Vec<u8> = (0..60_000u32).map(|n| n as u8).collect();
    let receipts: Vec<_> = (0..4).map(|_| pair.ends[0].send_bulk(&big).unwrap()).collect();
    for _ in 0..40_000 {
        pair.step();
        assert!(pair.bulk[1].is_empty() || !pair.messages[1].is_empty(), "bulk overtook the lane");
        if pair.bulk[1].len() == 4 && pair.ends[0].is_delivered(receipts[3]) {
            assert!(pair.bulk[1].iter().all(|m| *m == big));
            return;
        }
    }
    panic!("the bulk stream stalled: {} of 4", pair.bulk[1].len());
}

#[test]
fn a_sender_that_overruns_is_told_to_wait_and_memory_does_not_grow() {
    let mut link = Link::new(Time::ZERO, LinkConfig::default());
    let taken = (0..100_000).take_while(|_| link.send(&[0; 500]).is_ok()).count();
    assert!(taken <= 1_024);
    let taken = (0..100_000).take_while(|_| link.send_bulk(&[0; 60_000]).is_ok()).count();
    assert!(taken <= 9);
}

#[test]
fn random_bytes_are_refused_and_deliver_nothing() {
    let mut dice = Entropy::new([9; 32]);
    let mut link = Link::new(Time::ZERO, LinkConfig::default());
    for n in 0..20_000u64 {
        let mut bytes: Vec<u8> = (0..n % 50).flat_map(|_| dice.bytes()).collect();
        bytes.truncate((dice.number() % 1_500) as usize);
        if n % 2 == 0 && !bytes.is_empty() {
            bytes[0] = 0x51;
        }
        let mode = if n % 3 == 0 { Mode::Reliable } else { Mode::Unreliable };
        if link.handle(Time::from_micros(n), mode, &bytes).is_err() {
            while let Some(event) = link.poll_event() {
                assert!(!matches!(event, LinkEvent::Message(_)));
            }
            link = Link::new(Time::from_micros(n), LinkConfig::default());
        }
    }
}

#[test]
fn an_ack_of_what_was_never_sent_is_misbehaviour() {
    let mut liar = Link::new(Time::ZERO, LinkConfig::default());
    let mut link = Link::new(Time::ZERO, LinkConfig::default());
    // The liar receives packet 40 of somebody who has sent 41, and acks it to somebody who has sent none.
    let mut other = Link::new(Time::ZERO, LinkConfig::default());
    for ms in 0..41 {
        let now = Time::from_micros(ms * 1_000);
        let out = other.poll_transmit(now, Time::ZERO, true, &mut |_, _, b| b.push(1)).unwrap();
        liar.handle(now, out.mode, &out.bytes).unwrap();
    }
    let now = Time::from_micros(50_000);
    let lie = liar.poll_transmit(now, Time::ZERO, true, &mut |_, _, _| {}).unwrap();
    assert_eq!(link.handle(now, lie.mode, &lie.bytes), Err(CloseCode::Malformed));
}

#[test]
fn who_has_forgotten_us_can_still_close_the_link() {
    let mut pair = Pair::new(4, 0);
    pair.run(1_000);
    let now = pair.now;
    pair.ends[0].handle(now, Mode::Unreliable, &close_packet(CloseCode::NotAMember)).unwrap();
    assert_eq!(pair.ends[0].poll_event(), Some(LinkEvent::Closed(CloseCode::NotAMember)));
}
