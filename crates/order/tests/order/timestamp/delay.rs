//! The delay of the order: at most the slowest one-way delay and one packet interval.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::timestamp::{Event, SendError, TimeOrder, TimeOrderConfig};
use samovar_wire::timed::Promise;
use samovar_wire::{Duration, PeerId, Time, Writer};

use crate::timestamp::world::{World, at};
use samovar_wire::Rng;

const INTERVAL: u64 = 16;

/// The longest and the mean time from a message's time to its delivery by all, in milliseconds.
fn measure(lookahead: u64, slowest: u64, loss: u64) -> (f64, f64) {
    let ids: Vec<_> = (1..=6).map(PeerId).collect();
    let config =
        TimeOrderConfig { lookahead: Duration::from_millis(lookahead), ..TimeOrderConfig::default() };
    let mut world = World::with_config(&ids, config);
    (world.interval, world.loss) = (INTERVAL, loss);
    let mut dice = Rng::new(slowest);
    for &from in &ids {
        for &to in &ids {
            world.set_way(from, to, 5 + dice.roll(slowest - 4));
        }
    }
    world.set_way(ids[0], ids[1], slowest);
    world.run_to(500);
    let mut sent = 0;
    for step in 0..400 {
        world.run_to(500 + 20 * step + dice.roll(20));
        let time = world.now + Duration::from_millis(lookahead);
        world.send(ids[dice.roll(6) as usize], time, "x");
        sent += 1;
    }
    world.run_to(10_000);
    let (mut longest, mut sum, mut count) = (0.0_f64, 0.0, 0.0);
    for &id in &ids {
        assert!(world.late(id).is_empty());
        let delivered = world.delivered(id);
        assert_eq!(delivered.len(), sent);
        for (when, message) in delivered {
            let happened = message.time - Duration::from_millis(lookahead);
            let delay = when.since(happened).as_millis_f64();
            (longest, sum, count) = (longest.max(delay), sum + delay, count + 1.0);
        }
    }
    (longest, sum / count)
}

#[test]
fn delay_is_at_most_the_slowest_path_and_one_interval() {
    for slowest in [10, 25, 50, 100] {
        let (longest, mean) = measure(0, slowest, 0);
        println!(
            "slowest way {slowest} ms: delivered after {longest:.1} ms at most, {mean:.1} ms on average"
        );
        assert!(longest <= (slowest + INTERVAL) as f64 + 0.2, "{longest} ms");
    }
    let (longest, mean) = measure(0, 50, 20);
    println!("slowest way 50 ms, 2 % loss: {longest:.1} ms at most, {mean:.1} ms on average");
}

#[test]
fn lookahead_removes_the_delay_of_the_order() {
    let (longest, _) = measure(70, 50, 0);
    println!("lookahead 70 ms, slowest way 50 ms: {longest:.1} ms after it was said");
    assert!(longest <= 70.2, "{longest}");
}

#[test]
fn a_promise_takes_six_bytes_in_a_packet_of_the_first_hour() {
    let promise = Promise { until: Time::from_micros(3_600_000_000), sent: 2_000 };
    let mut bytes = Vec::new();
    promise.encode(&mut Writer::new(&mut bytes));
    assert_eq!(bytes.len(), 6);
    assert!(promise.until > at(0));
}

#[test]
fn an_updates_time_is_a_promise_after_a_stated_one() {
    let mut order = TimeOrder::new(PeerId(1), TimeOrderConfig::default());
    let mut other = TimeOrder::new(PeerId(2), TimeOrderConfig::default());
    for order in [&mut order, &mut other] {
        order.handle_view(at(0), &[PeerId(1), PeerId(2)]);
    }
    order.send(at(10), at(10), b"own").unwrap();
    let promise = |order: &mut TimeOrder, ms| order.promise(at(ms), PeerId(2)).unwrap();
    let _ = promise(&mut order, 12);
    assert!(!order.handle_update(at(20), PeerId(2), at(15)), "nothing was promised before");
    assert_eq!(order.poll_event(at(20)), None);
    order.handle_promise(at(20), PeerId(2), Promise { until: at(5), sent: 1 });
    assert!(order.handle_update(at(21), PeerId(2), at(15)));
    assert_eq!(order.poll_event(at(21)), None, "its first message is not here");
    other.send(at(4), at(8), b"of the other").unwrap();
    while let Some(transmit) = other.poll_transmit() {
        order.handle_message(at(22), PeerId(2), &transmit.bytes).unwrap();
    }
    for bytes in [b"of the other".as_slice(), b"own"] {
        assert!(matches!(order.poll_event(at(22)), Some(Event::Message(message)) if message.bytes == bytes));
    }
    // The times in this peer's own updates bind it as well.
    order.on_sent(at(40), PeerId(2), Some((1, at(40))));
    assert_eq!(order.send(at(30), at(39), b"late"), Err(SendError::TooOld(at(40))));
}
