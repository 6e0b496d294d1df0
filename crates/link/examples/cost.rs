//! Measures the cost of one tick of one link. Both ends send at 60 Hz; a packet takes two ticks, and 5 % of the
//! packets are lost.
//!
//! `cargo run --release -p samovar-link --example cost`

#![expect(clippy::disallowed_types, reason = "it measures this machine, not the protocol")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use samovar_link::{Link, LinkConfig, LinkEvent, Source};
use samovar_wire::{Duration, Generation, Mode, Time};

const TICKS: u64 = 300_000;
const ROUND: usize = 1_000;

fn main() {
    let link = || Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    let mut ends = [link(), link()];
    let mut wire: VecDeque<(u64, usize, Vec<u8>)> = VecDeque::new();
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let (mut dice, mut rounds, mut packets) = (1u64, Vec::new(), 0u64);
    let mut started = Instant::now();
    for tick in 0..TICKS {
        let now = Time::ZERO + Duration::from_micros(tick * 16_667);
        while wire.front().is_some_and(|parcel| parcel.0 <= tick) {
            let Some((_, to, bytes)) = wire.pop_front() else { break };
            ends[to].handle(now, Mode::Unreliable, &bytes).expect("honest bytes are accepted");
            spare.push(bytes);
        }
        for (end, link) in ends.iter_mut().enumerate() {
            while let Some(event) = link.poll_event() {
                if let LinkEvent::Datagram(_, bytes) = black_box(event) {
                    link.recycle(bytes);
                }
            }
            link.handle_timeout(now);
            let mut bytes = spare.pop().unwrap_or_default();
            let mut compose = |_, _, out: &mut Vec<u8>| out.resize(250, 7);
            let source = Source { wanted: true, compose: &mut compose };
            if link.poll_transmit(now, Time::ZERO, source, &mut bytes).is_none() {
                spare.push(bytes);
                continue;
            }
            black_box(link.poll_timeout());
            packets += 1;
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if dice >> 33 & 0xfff < 4_096 * 5 / 100 {
                spare.push(bytes);
            } else {
                wire.push_back((tick + 2, 1 - end, bytes));
            }
        }
        if (tick + 1) % ROUND as u64 == 0 {
            rounds.push(started.elapsed().as_nanos() as f64 / (2 * ROUND) as f64);
            started = Instant::now();
        }
    }
    rounds.sort_by(f64::total_cmp);
    println!(
        "a tick of one link (handle, events, timeout, transmit): median {:.0} ns, best {:.0} ns; {packets} packets",
        rounds[rounds.len() / 2],
        rounds[0],
    );
}
