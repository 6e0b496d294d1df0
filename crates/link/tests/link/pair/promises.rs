//! The promises of a link to its owner, over a path that loses, duplicates and reorders.

use crate::pair::world::Pair;
use samovar_link::{Fate, Link, LinkConfig, LinkEvent, SUSPECTED, Source, close_packet};
use samovar_wire::{CloseCode, Duration, Entropy, Generation, Lane, Mode, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn messages_arrive_once_and_in_order_whatever_the_path_does() {
    for seed in 0..20 {
        let mut pair = Pair::new(seed, u64::from(seed) * 2);
        let mut expected = vec![Vec::new(); 4];
        for n in 0..200u32 {
            let length = if n % 17 == 0 { 5_000 } else { n as usize % 90 };
            let message = [n.to_le_bytes().as_slice(), &vec![n as u8; length]].concat();
            let lane = (n % 4) as u8;
            pair.ends[0].send(Lane::Reliable(lane), &message).unwrap();
            expected[usize::from(lane)].push(message);
            pair.run(5);
        }
        pair.run(4_000);
        for lane in 0..4u8 {
            let heard = pair.heard(Lane::Reliable(lane));
            assert_eq!(heard.len(), 50, "seed {seed}");
            assert!(heard == expected[usize::from(lane)], "seed {seed}");
        }
    }
}

#[test]
fn messages_queued_before_reached_at_have_arrived() {
    for seed in 0..10 {
        let mut pair = Pair::new(seed, u64::from(seed) * 3);
        let mut sent = Vec::new();
        for n in 0..300u32 {
            let lane = if n % 10 == 0 { Lane::Bulk } else { Lane::Reliable((n % 4) as u8) };
            sent.push((pair.now, pair.ends[0].send(lane, &[n as u8; 900]).unwrap()));
            pair.run(10);
            let (link, reached) = (&pair.ends[0], pair.ends[0].reached_at());
            let mut before = sent.iter().filter(|(at, _)| *at < reached);
            assert!(before.all(|(_, receipt)| link.is_delivered(*receipt)), "seed {seed}, message {n}");
        }
        pair.loss_percent = 5;
        pair.run(8_000);
        let reached = pair.ends[0].reached_at();
        assert!(
            pair.now.since(reached) < Duration::from_millis(500),
            "seed {seed}: it follows by {:?}",
            pair.now.since(reached)
        );
        let before = pair.now;
        pair.cut = [true, false];
        pair.run(2_000);
        assert!(pair.ends[0].reached_at() <= before, "seed {seed}: nothing arrives, though it hears");
    }
}

#[test]
fn reached_at_stays_while_the_owner_has_more_to_queue() {
    let mut pair = Pair::new(3, 0);
    let follows = |pair: &Pair| pair.now.since(pair.ends[0].reached_at()) < Duration::from_millis(1_000);
    pair.run(2_000);
    assert!(follows(&pair));
    pair.ends[0].set_behind(true);
    let begun = pair.now;
    pair.ends[0].send(Lane::GAME, b"only some of it").unwrap();
    pair.run(2_000);
    assert!(pair.ends[0].reached_at() <= begun);
    pair.ends[0].set_behind(false);
    pair.run(2_000);
    assert!(follows(&pair));
}

#[test]
fn a_message_that_is_lost_holds_up_its_own_lane_only() {
    let mut pair = Pair::new(2, 0);
    pair.run(500);
    pair.ends[0].send(Lane::Reliable(2), &[0; 5_000]).unwrap();
    pair.cut = [true; 2];
    pair.run(2);
    pair.cut = [false; 2];
    pair.ends[0].send(Lane::GAME, b"fire").unwrap();
    pair.run(52);
    assert_eq!(pair.heard(Lane::GAME), [b"fire"]);
    assert!(pair.heard(Lane::Reliable(2)).is_empty());
    pair.run(400);
    assert_eq!(pair.heard(Lane::Reliable(2)).len(), 1);
}

#[test]
fn a_sequenced_channel_never_goes_back() {
    let mut pair = Pair::new(5, 20);
    for n in 0..1_000u32 {
        let channel = (n % 2) as u8;
        pair.ends[0].send(Lane::Sequenced(channel), &n.to_le_bytes()).unwrap();
        pair.ends[0].send(Lane::Unreliable, &n.to_le_bytes()).unwrap();
        pair.run(3);
    }
    pair.run(200);
    for channel in 0..2 {
        let heard = pair.heard(Lane::Sequenced(channel));
        let numbers: Vec<_> = heard.iter().map(|m| u32::from_le_bytes((*m).try_into().unwrap())).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert!(numbers.len() > 250, "{} of 500", numbers.len());
    }
    let unreliable = pair.heard(Lane::Unreliable).len();
    assert!((700..900).contains(&unreliable), "{unreliable} of 1,000");
}

#[test]
fn a_sequenced_channel_goes_on_when_its_numbers_wrap() {
    let mut pair = Pair::new(11, 0);
    for n in 0..66_000u32 {
        pair.ends[0].send(Lane::Sequenced(1), &n.to_le_bytes()).unwrap();
        pair.run(1);
        if n % 1_000 == 0 {
            let heard = pair
                .heard(Lane::Sequenced(1))
                .last()
                .map_or(0, |m| u32::from_le_bytes((*m).try_into().unwrap()));
            assert!(n - heard < 100, "{heard} at {n}");
            pair.messages[1].clear();
        }
    }
}

#[test]
fn each_composed_packet_gets_one_true_fate() {
    let mut pair = Pair::new(1, 20);
    pair.run(5_000);
    let mut numbers: Vec<_> = pair.fates.iter().map(|f| f.0).collect();
    let told = numbers.len() as u64;
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, told);
    assert!(pair.composed - told < 20, "{} of {} are still open", pair.composed - told, pair.composed);
    for (number, fate) in &pair.fates {
        assert!(*fate == Fate::Lost || pair.arrived.contains(number), "{number} never arrived");
    }
}

#[test]
fn a_burst_of_64_lost_acks_loses_no_information() {
    let mut pair = Pair::new(6, 0);
    pair.jitter_micros = 0;
    pair.compose = [6, 6];
    pair.run(1_000);
    let before = pair.packets[1];
    pair.cut = [false, true];
    while pair.packets[1] < before + 64 {
        pair.step();
    }
    pair.cut = [false; 2];
    pair.run(1_000);
    assert!(pair.fates.iter().all(|(_, fate)| *fate == Fate::Delivered));
    assert!(pair.composed - (pair.fates.len() as u64) < 10);
    assert!(pair.ends[0].stats().loss_out < 1e-6);
}

#[test]
fn overhead_at_60_hz_is_below_nine_bytes_a_packet() {
    let mut pair = Pair::new(7, 5);
    pair.compose = [100, 100];
    pair.run(1_000);
    let (packets, bytes) = (pair.packets[0], pair.bytes[0]);
    pair.run(20_000);
    let packets = pair.packets[0] - packets;
    let overhead = (pair.bytes[0] - bytes) as f64 / packets as f64 - 100.0;
    println!("{overhead:.2} bytes per packet around a datagram, pings included");
    assert!((59 * 20..61 * 20).contains(&packets), "{packets} packets");
    assert!(overhead < 9.0);
}

#[test]
fn bulk_survives_lost_chunks_and_waits_for_the_lane() {
    let mut pair = Pair::new(3, 30);
    pair.bulk_gaps = true;
    pair.ends[0].send(Lane::SESSION, b"before").unwrap();
    let big: Vec<u8> = (0..60_000u32).map(|n| n as u8).collect();
    let receipts: Vec<_> = (0..4).map(|_| pair.ends[0].send(Lane::Bulk, &big).unwrap()).collect();
    for _ in 0..120_000 {
        pair.step();
        let bulk = pair.heard(Lane::Bulk);
        assert!(bulk.is_empty() || !pair.heard(Lane::SESSION).is_empty(), "bulk overtook the lane");
        if bulk.len() == 4 && pair.ends[0].is_delivered(receipts[3]) {
            assert!(bulk.iter().all(|m| *m == big));
            return;
        }
    }
    panic!("the bulk stream stalled: {} of 4", pair.heard(Lane::Bulk).len());
}

#[test]
fn a_lossless_path_has_no_resends_before_a_proven_loss() {
    let mut pair = Pair::new(8, 0);
    pair.jitter_micros = 0;
    pair.ends.iter_mut().for_each(|end| end.set_lossless(Time::ZERO, true));
    for n in 0..200u8 {
        pair.ends[0].send(Lane::GAME, &[n; 60]).unwrap();
        pair.run(40);
    }
    let stats = pair.ends[0].stats();
    assert_eq!((stats.segments, stats.copies, stats.resends), (200, 0, 0));
    // An overloaded relay drops packets. Later packets prove such a loss; the probe finds the loss of the last packet.
    pair.cut = [true; 2];
    pair.ends[0].send(Lane::GAME, b"dropped").unwrap();
    pair.run(5);
    pair.cut = [false; 2];
    pair.run(250);
    assert_eq!(pair.heard(Lane::GAME).last().unwrap(), b"dropped");
}

#[test]
fn silence_is_suspected_on_time_unless_this_peer_slept() {
    let mut pair = Pair::new(9, 5);
    pair.run(3_000);
    assert!(pair.ends[0].suspicion(pair.now) < 1.0);
    let at = pair.ends[0].suspect_at(SUSPECTED);
    let wait = at.since(pair.now).as_micros();
    assert!((600_000..2_000_000).contains(&wait), "{wait} µs");
    assert!(pair.ends[0].suspicion(at) >= SUSPECTED);
    // The same silence, while this end slept.
    let woken = pair.now + Duration::from_millis(30_000);
    assert_eq!(pair.ends[0].suspicion(woken), 0.0);
    assert_eq!(pair.ends[0].silence(woken), Duration::ZERO);
    pair.ends[0].handle_timeout(woken);
    assert_eq!(pair.ends[0].suspicion(woken), 0.0);
    assert!(pair.ends[0].suspect_at(SUSPECTED) > woken);
}

#[test]
fn a_living_peer_is_not_suspected_at_40_percent_loss() {
    for loss in [0, 5, 20, 40] {
        let mut pair = Pair::new(10 + loss as u8, loss);
        pair.compose = [0, 0];
        let (mut alarms, mut highest) = (0, 0f64);
        for _ in 0..120_000 {
            pair.step();
            let suspicion = pair.ends[0].suspicion(pair.now);
            alarms += u32::from(suspicion >= SUSPECTED);
            highest = highest.max(suspicion);
        }
        println!("{loss} % loss: highest suspicion {highest:.1} in two minutes");
        assert_eq!(alarms, 0, "at {loss} % loss");
    }
}

#[test]
fn random_bytes_deliver_no_message() {
    let mut dice = Entropy::new([9; 32]);
    let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    for n in 0..20_000u64 {
        let mut bytes: Vec<u8> = (0..n % 50).flat_map(|_| dice.bytes()).collect();
        bytes.truncate((dice.number() % 1_500) as usize);
        if n % 2 == 0 && !bytes.is_empty() {
            bytes[0] = 0x60 | bytes[0] & 0x0f;
            if let Some(generations) = bytes.get_mut(1) {
                *generations = 0x11;
            }
        }
        let mode = if n % 3 == 0 { Mode::Reliable } else { Mode::Unreliable };
        if link.handle(Time::from_micros(n), mode, &bytes).is_err() {
            while let Some(event) = link.poll_event() {
                assert!(!matches!(event, LinkEvent::Message(..)));
            }
            link = Link::new(Time::from_micros(n), LinkConfig::default(), Generation::FIRST);
        }
    }
}

fn packet_of(link: &mut Link, now: Time) -> Vec<u8> {
    let mut bytes = Vec::new();
    let source = Source { wanted: true, compose: &mut |_, _, out| out.push(1) };
    link.poll_transmit(now, Time::ZERO, source, &mut bytes).unwrap();
    bytes
}

/// Milliseconds until a link sends an ack by itself, when a packet was expected after `expected` ms and did not come.
fn acks_after(expected: u64) -> u64 {
    const ARRIVED: u64 = 700;
    let at = |ms| Time::from_micros(ms * 1_000);
    let mut sender = Link::new(at(0), LinkConfig::default(), Generation::FIRST);
    let mut link = Link::new(at(0), LinkConfig::default(), Generation::FIRST);
    for ms in (10..ARRIVED).step_by(10) {
        let packet = packet_of(&mut sender, at(ms));
        link.handle(at(ms), Mode::Unreliable, &packet).unwrap();
        let packet = packet_of(&mut link, at(ms));
        sender.handle(at(ms), Mode::Unreliable, &packet).unwrap();
    }
    let packet = packet_of(&mut sender, at(ARRIVED));
    link.expect_packet(at(ARRIVED + expected));
    link.handle(at(ARRIVED), Mode::Unreliable, &packet).unwrap();
    let is_sent = |ms: &u64| {
        let source = Source { wanted: false, compose: &mut |_, _, _| {} };
        link.poll_transmit(at(ARRIVED + *ms), Time::ZERO, source, &mut Vec::new()).is_some()
    };
    (0..).find(is_sent).unwrap()
}

#[test]
fn an_ack_waits_only_for_a_packet_that_is_expected_soon() {
    let usual = LinkConfig::default().ack_delay.as_micros() / 1_000;
    assert_eq!(acks_after(0), usual);
    assert_eq!(acks_after(10), usual, "a packet that is overdue is not waited for");
    assert_eq!(acks_after(28), 29);
    assert_eq!(acks_after(30), 31);
    assert_eq!(acks_after(31), usual);
}

#[test]
fn an_ack_of_an_unsent_packet_is_misbehaviour() {
    let mut liar = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    // The liar receives packet 40 from a peer that has sent 41, and acks it to one that has sent none.
    let mut other = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    for ms in 0..41 {
        let now = Time::from_micros(ms * 1_000);
        let packet = packet_of(&mut other, now);
        liar.handle(now, Mode::Unreliable, &packet).unwrap();
    }
    let now = Time::from_micros(50_000);
    let lie = packet_of(&mut liar, now);
    assert_eq!(link.handle(now, Mode::Unreliable, &lie), Err(CloseCode::Malformed));
}

#[test]
fn an_end_that_lost_its_state_can_close_the_link() {
    let mut pair = Pair::new(4, 0);
    pair.run(1_000);
    let now = pair.now;
    pair.ends[0].handle(now, Mode::Unreliable, &close_packet(CloseCode::NotAMember)).unwrap();
    assert_eq!(pair.ends[0].poll_event(), Some(LinkEvent::Closed(CloseCode::NotAMember)));
}
