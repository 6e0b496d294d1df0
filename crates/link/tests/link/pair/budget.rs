//! The send budget and the bounds: how a link treats a narrow path, a lossy path, and its own memory.

use crate::pair::world::{Bottleneck, Pair};
use samovar_link::{Link, LinkConfig, SendError, Source};
use samovar_wire::limits::{DATAGRAM_MAX, MESSAGE_MAX};
use samovar_wire::link_frame::{Frame, PacketHeader};
use samovar_wire::{CloseCode, Duration, Generation, Generations, Lane, Mode, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Runs for `ms` milliseconds. Returns the mean and the longest wait of bytes in the bottleneck, in milliseconds.
fn watch(pair: &mut Pair, ms: u64, mut each: impl FnMut(&mut Pair, u64)) -> (u64, u64) {
    let (mut sum, mut most) = (0, 0);
    for n in 0..ms {
        each(pair, n);
        pair.step();
        let narrow = pair.bottleneck.as_ref().unwrap();
        let wait = narrow.held as u64 * 1_000 / narrow.rate;
        sum += wait;
        most = most.max(wait);
    }
    (sum / ms, most)
}

#[test]
fn a_narrow_path_is_used_and_not_filled() {
    for (jitter, tells) in [(0, false), (10_000, false), (0, true)] {
        let mut pair = Pair::new(1, 0);
        pair.jitter_micros = jitter;
        pair.tells_backlog = tells;
        pair.bottleneck = Some(Bottleneck::new(20_000, 16 * 1_024));
        // The datagrams take more than twice the path's capacity.
        pair.compose = [800, 0];
        watch(&mut pair, 3_000, |_, _| {});
        let before = pair.bottleneck.as_ref().map(|narrow| (narrow.passed, narrow.dropped)).unwrap();
        let (mut sent, mut worst) = (Vec::new(), 0);
        let (mean, most) = watch(&mut pair, 20_000, |pair, n| {
            if n % 100 == 0 {
                pair.ends[0].send(Lane::GAME, &n.to_le_bytes()).unwrap();
                sent.push(pair.now);
            }
            let heard = pair.heard(Lane::GAME).len();
            worst = worst.max(sent.get(heard).map_or(0, |at| pair.now.since(*at).as_micros() / 1_000));
        });
        let narrow = pair.bottleneck.as_ref().unwrap();
        let used = (narrow.passed - before.0) * 100 / (20_000 * 20);
        println!(
            "jitter {jitter} µs, backlog {tells}: {used} % used, queue {mean} ms on average, {most} at most; {} dropped, \
             a reliable message took {worst} ms at most",
            narrow.dropped
        );
        assert!(used >= 75, "{used} % of the path");
        assert!(mean <= 110, "{mean} ms of queue on average");
        assert!(most <= 400, "{most} ms of queue");
        assert!(worst <= 450, "a reliable message took {worst} ms");
        assert_eq!(narrow.dropped, before.1, "dropped after the start");
    }
}

#[test]
fn random_loss_does_not_slow_game_traffic_down() {
    for loss in [5, 10] {
        let mut pair = Pair::new(2, loss);
        pair.jitter_micros = 5_000;
        pair.compose = [1_000, 100];
        pair.run(2_000);
        let (before, packets) = (pair.composed, pair.bytes[0]);
        pair.run(20_000);
        let made = pair.composed - before;
        println!(
            "{loss} % loss: {made} of 1,200 datagrams, {} B/s, rate {}",
            (pair.bytes[0] - packets) / 20,
            pair.ends[0].stats().rate
        );
        assert!(made >= 1_190, "{made} of 1,200 at {loss} %");
    }
}

#[test]
fn a_lossy_path_without_a_bottleneck_carries_more_on_demand() {
    let mut pair = Pair::new(7, 5);
    pair.jitter_micros = 5_000;
    for _ in 0..10_000 {
        while pair.ends[0].send(Lane::SESSION, &[1; 900]).is_ok() {}
        pair.step();
    }
    let before = pair.heard(Lane::SESSION).len();
    for _ in 0..5_000 {
        while pair.ends[0].send(Lane::SESSION, &[1; 900]).is_ok() {}
        pair.step();
    }
    let rate = (pair.heard(Lane::SESSION).len() - before) * 900 / 5;
    println!("{rate} B/s at 5 % loss, rate {}", pair.ends[0].stats().rate);
    assert!(rate > 300_000);
}

#[test]
fn a_narrow_lossy_path_is_well_used_and_delivers_all() {
    let mut pair = Pair::new(8, 5);
    pair.jitter_micros = 5_000;
    pair.bottleneck = Some(Bottleneck::new(30_000, 16 * 1_024));
    pair.compose = [900, 100];
    watch(&mut pair, 3_000, |_, _| {});
    let before = pair.bottleneck.as_ref().unwrap().passed;
    let mut sent = 0;
    let (mean, most) = watch(&mut pair, 20_000, |pair, n| {
        if n % 50 == 0 {
            pair.ends[0].send(Lane::GAME, &[7; 40]).unwrap();
            sent += 1;
        }
    });
    pair.compose = [0, 0];
    watch(&mut pair, 1_000, |_, _| {});
    let used = (pair.bottleneck.as_ref().unwrap().passed - before) / (30 * 210);
    println!("{used} % used, queue {mean} ms on average, {most} at most");
    assert!(used > 70 && mean < 120);
    assert_eq!(pair.heard(Lane::GAME).len(), sent);
}

#[test]
fn a_narrow_path_that_widens_is_used_again() {
    let mut pair = Pair::new(3, 0);
    pair.jitter_micros = 0;
    pair.bottleneck = Some(Bottleneck::new(20_000, 16 * 1_024));
    pair.compose = [1_000, 0];
    watch(&mut pair, 5_000, |_, _| {});
    pair.bottleneck.as_mut().unwrap().rate = 200_000;
    watch(&mut pair, 5_000, |_, _| {});
    let before = pair.composed;
    watch(&mut pair, 5_000, |_, _| {});
    assert!(pair.composed - before > 280, "{} of 300", pair.composed - before);
}

#[test]
fn a_queue_of_another_sender_does_not_starve_this_link() {
    let mut pair = Pair::new(4, 0);
    pair.jitter_micros = 0;
    pair.compose = [400, 400];
    pair.run(3_000);
    // Another download: every packet is later by 150 ms from now on, whatever we send.
    pair.extra_delay = Duration::from_millis(150);
    pair.run(15_000);
    let before = pair.composed;
    pair.run(5_000);
    let made = pair.composed - before;
    assert!(made > 285, "{made} of 300, rate {}", pair.ends[0].stats().rate);
}

#[test]
fn a_bulk_transfer_leaves_room_for_game_datagrams() {
    let mut pair = Pair::new(5, 0);
    pair.jitter_micros = 0;
    pair.bottleneck = Some(Bottleneck::new(60_000, 32 * 1_024));
    pair.compose = [300, 0];
    watch(&mut pair, 2_000, |_, _| {});
    let big = vec![7; MESSAGE_MAX];
    let receipt = pair.ends[0].send(Lane::Bulk, &big).unwrap();
    let before = pair.composed;
    let (mean, most) = watch(&mut pair, 5_000, |_, _| {});
    println!("queue {mean} ms on average, {most} at most");
    assert!(pair.ends[0].is_delivered(receipt));
    assert!(pair.composed - before > 270, "{} of 300 datagrams", pair.composed - before);
}

#[test]
fn no_lane_starves_when_all_have_more_than_fits() {
    let mut pair = Pair::new(6, 0);
    pair.jitter_micros = 0;
    pair.bottleneck = Some(Bottleneck::new(50_000, 32 * 1_024));
    pair.compose = [1_000, 0];
    let mut first_heard = [0; 4];
    for n in 0..20_000u64 {
        for lane in 0..4 {
            while pair.ends[0].send(Lane::Reliable(lane), &[lane; 900]).is_ok() {}
        }
        pair.ends[0].send(Lane::Unreliable, &[b'u'; DATAGRAM_MAX]).unwrap();
        pair.step();
        for lane in 0..4u8 {
            if first_heard[usize::from(lane)] == 0 && !pair.heard(Lane::Reliable(lane)).is_empty() {
                first_heard[usize::from(lane)] = n;
            }
        }
    }
    let heard: Vec<_> = (0..4).map(|lane| pair.heard(Lane::Reliable(lane)).len()).collect();
    let loose = pair.heard(Lane::Unreliable).len();
    println!("{heard:?}, {} datagrams, {loose} unreliable; first after {first_heard:?} ms", pair.datagrams);
    let total: usize = heard.iter().sum::<usize>() + pair.datagrams as usize + loose;
    assert!(heard[1..].iter().all(|&count| count * 12 > total), "{heard:?} of {total}");
    assert!(heard[0] * 4 > total && pair.datagrams as usize * 6 > total && loose * 12 > total);
    assert!(first_heard.iter().all(|&ms| ms < 2_000), "{first_heard:?}");
}

#[test]
fn a_sender_that_overruns_is_blocked_and_memory_is_bounded() {
    let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    for (lane, most) in [(Lane::SESSION, 768), (Lane::GAME, 256), (Lane::Reliable(3), 256)] {
        let taken = (0..100_000).take_while(|_| link.send(lane, &[0; 500]).is_ok()).count();
        assert_eq!(taken, most);
    }
    let taken = (0..100_000).take_while(|_| link.send_control(&[0; 500]).is_ok()).count();
    assert_eq!(taken, 256, "room is kept for control messages");
    let taken = (0..100_000).take_while(|_| link.send(Lane::Bulk, &[0; 60_000]).is_ok()).count();
    assert!(taken <= 9);
    for _ in 0..10_000 {
        link.send(Lane::Unreliable, &[0; DATAGRAM_MAX]).unwrap();
        link.send(Lane::Sequenced(3), &[0; DATAGRAM_MAX]).unwrap();
    }
    assert_eq!(link.stats().dropped, 10_000 - 64 + 10_000 - 1);
    assert_eq!(link.send(Lane::Reliable(4), b""), Err(SendError::NoSuchLane));
    assert_eq!(link.send(Lane::Sequenced(4), b""), Err(SendError::NoSuchLane));
    assert_eq!(link.send(Lane::Unreliable, &[0; DATAGRAM_MAX + 1]), Err(SendError::TooLarge));
    assert_eq!(link.send(Lane::Bulk, &vec![0; MESSAGE_MAX + 1]), Err(SendError::TooLarge));
}

#[test]
fn a_link_sends_little_to_an_end_that_never_acks() {
    let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    let (mut now, mut bytes, mut total) = (Time::ZERO, Vec::new(), 0);
    for n in 0..60_000u64 {
        now += Duration::from_millis(1);
        link.handle_timeout(now);
        while link.send(Lane::GAME, &[0; 500]).is_ok() {}
        let _ = link.send(Lane::Unreliable, &[0; 500]);
        let source =
            Source { wanted: n % 16 == 0, compose: &mut |_, room, out| out.resize(room.min(300), 1) };
        if link.poll_transmit(now, Time::ZERO, source, &mut bytes).is_some() {
            total += bytes.len();
        }
        while link.poll_event().is_some() {}
    }
    assert_eq!(link.stats().unacked, 256);
    assert!(total < 64_000 * 60, "{total} bytes in a minute, without an ack");
}

#[test]
fn a_sender_that_exceeds_a_bound_closes_the_link() {
    let packet = |number: u16, frame: Frame<'_>| {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        PacketHeader { generations: Generations::FIRST, number, ack: None }.encode(&mut out);
        frame.encode(&mut out);
        bytes
    };
    for (lane, window) in [(0, 256), (1, 64)] {
        let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
        for number in 1..=window {
            let frame = Frame::Segment { lane, number, last: false, bytes: &[0; 1_000] };
            let result = link.handle(Time::ZERO, Mode::Unreliable, &packet(number, frame));
            let expected = if number < window { Ok(()) } else { Err(CloseCode::LimitExceeded) };
            assert_eq!(result, expected, "segment {number} of lane {lane}");
        }
    }
    // A message that never ends.
    let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    let results = (0..100u16).map(|number| {
        let frame = Frame::Segment { lane: 2, number, last: false, bytes: &[0; 1_000] };
        link.handle(Time::ZERO, Mode::Unreliable, &packet(number, frame))
    });
    assert_eq!(results.take_while(Result::is_ok).count(), 65);
    // The owner fetches no events: packets beyond the bound count as lost.
    let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
    for number in 0..5_000u16 {
        link.handle(Time::ZERO, Mode::Unreliable, &packet(number, Frame::Datagram(b"x"))).unwrap();
    }
    assert_eq!(core::iter::from_fn(|| link.poll_event()).count(), 1_024);
}

#[test]
fn a_packet_holds_at_most_64_unreliable_messages() {
    let handle = |frames: &[Frame<'_>]| {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        PacketHeader { generations: Generations::FIRST, number: 0, ack: None }.encode(&mut out);
        frames.iter().for_each(|frame| frame.encode(&mut out));
        let mut link = Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST);
        let result = link.handle(Time::ZERO, Mode::Unreliable, &bytes);
        (result, core::iter::from_fn(|| link.poll_event()).count())
    };
    assert_eq!(handle(&[Frame::Datagram(b""); 64]), (Ok(()), 64));
    assert_eq!(handle(&[Frame::Datagram(b""); 65]), (Err(CloseCode::LimitExceeded), 0));
    let sequenced = |count| (0..count).map(|number| Frame::Sequenced { channel: 0, number, bytes: b"" });
    assert_eq!(handle(&sequenced(4).collect::<Vec<_>>()), (Ok(()), 4));
    assert_eq!(handle(&sequenced(5).collect::<Vec<_>>()), (Err(CloseCode::LimitExceeded), 0));
}
