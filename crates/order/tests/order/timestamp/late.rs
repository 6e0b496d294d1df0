//! Silent or slow members delay the others for a stated time, and no longer.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::timestamp::{AHEAD_MAX, Event, SendError, TimeOrder, TimeOrderConfig};
use samovar_wire::limits::TIMED_MAX;
use samovar_wire::timed::{Promise, Timed, TimedMessage};
use samovar_wire::{CloseCode, Duration, PeerId, Writer};

use crate::timestamp::world::{World, at};
use samovar_wire::Rng;

const A: PeerId = PeerId(1);
const B: PeerId = PeerId(2);
const C: PeerId = PeerId(3);

#[test]
fn a_silent_member_delays_others_for_the_patience_only() {
    let mut world = World::new(&[A, B, C]);
    world.run_to(500);
    // From now on C's messages and promises take long.
    world.set_way(C, A, 600);
    world.set_way(C, B, 600);
    world.send(C, at(500), "from far away");
    world.run_to(510);
    world.send(A, at(510), "from here");
    world.run_to(1_000);
    let delivered = world.delivered(A);
    assert_eq!(delivered.len(), 1);
    let waited = delivered[0].0.since(at(510)).as_millis_f64();
    assert!((200.0..=251.0).contains(&waited), "waited for {waited} ms");
    assert!(world.nodes[&A].events.iter().any(|(_, event)| *event == Event::PeerLate(C)));
    world.run_to(1_500);
    for id in [A, B] {
        assert_eq!(world.texts(id), ["from here"]);
        assert_eq!(world.late(id).len(), 1);
    }
    assert_eq!(world.texts(C), ["from far away", "from here"], "C heard of both in time");
    // C is on time again when its packets are.
    world.set_way(C, A, 20);
    world.set_way(C, B, 20);
    world.run_to(2_500);
    assert!(world.nodes[&A].events.iter().any(|(_, event)| *event == Event::PeerOnTime(C)));
    world.send(C, at(2_500), "near again");
    world.run_to(2_700);
    assert_eq!(world.texts(A).last().unwrap(), "near again");
}

#[test]
fn a_dropped_member_delays_no_other_and_a_newcomer_joins() {
    let mut world = World::new(&[A, B, C]);
    world.run_to(300);
    world.nodes.get_mut(&C).unwrap().is_alive = false;
    world.members = vec![A, B];
    world.run_to(310);
    world.send(A, at(310), "one");
    world.run_to(330);
    [A, B].into_iter().for_each(|id| world.tell(id));
    world.run_to(380);
    assert_eq!((world.texts(A), world.texts(B)), (vec!["one".to_owned()], vec!["one".to_owned()]));
    let d = PeerId(4);
    world.add(d);
    world.members = vec![A, B, d];
    [A, B, d].into_iter().for_each(|id| world.tell(id));
    world.send(A, at(380), "two");
    world.send(d, at(380), "three");
    world.run_to(600);
    for id in [A, B, d] {
        let texts = world.texts(id);
        assert_eq!(texts[texts.len() - 2..], ["two", "three"], "at {id}");
        assert!(world.late(id).is_empty());
    }
}

#[test]
fn lost_members_messages_are_delivered_by_all_in_order() {
    let mut world = World::new(&[A, B, C]);
    // C's messages reach A soon, and B only after C is dead.
    world.set_way(C, A, 5);
    world.set_way(C, B, 5_000);
    world.run_to(200);
    world.send(C, at(200), "last words");
    world.send(B, at(201), "afterwards");
    world.nodes.get_mut(&C).unwrap().is_alive = false;
    world.run_to(220);
    world.members = vec![A, B];
    [A, B].into_iter().for_each(|id| world.tell(id));
    world.run_to(400);
    for id in [A, B] {
        assert_eq!(world.texts(id), ["last words", "afterwards"], "at {id}");
        assert!(world.late(id).is_empty());
    }
}

#[test]
fn a_link_that_begins_anew_neither_loses_nor_repeats_a_message() {
    let config = TimeOrderConfig::default();
    let (mut a, mut b) = (TimeOrder::new(A, config), TimeOrder::new(B, config));
    [&mut a, &mut b].into_iter().for_each(|order| order.handle_view(at(0), &[A, B]));
    for number in 0..4_u8 {
        a.send(at(10), at(10), &[number]).unwrap();
    }
    // BEGIN and two messages arrive, then the link is renewed.
    for _ in 0..3 {
        let message = a.poll_transmit().unwrap().bytes;
        b.handle_message(at(20), A, &message).unwrap();
    }
    a.handle_linked(at(30), B);
    b.handle_linked(at(30), A);
    let promise = a.promise(at(30), B).unwrap();
    b.handle_promise(at(35), A, promise);
    assert_eq!(b.poll_event(at(35)), None, "a promise means nothing without the messages before it");
    while let Some(transmit) = a.poll_transmit() {
        b.handle_message(at(40), A, &transmit.bytes).unwrap();
    }
    let mut delivered = Vec::new();
    while let Some(Event::Message(message)) = b.poll_event(at(40)) {
        delivered.push(message.bytes[0]);
    }
    assert_eq!(delivered, [0, 1, 2, 3]);
}

#[test]
fn message_is_not_repeated_after_a_view_dropped_its_sender() {
    let mut world = World::new(&[A, B, C]);
    world.run_to(500);
    world.send(A, at(500), "once");
    world.run_to(600);
    // B's view drops A, which does not hear of that. The next host's view has both, and their link begins anew.
    let order = &mut world.nodes.get_mut(&B).unwrap().order;
    order.handle_view(at(600), &[B, C]);
    world.run_to(900);
    world.tell(B);
    world.nodes.get_mut(&A).unwrap().order.handle_linked(at(900), B);
    world.send(A, at(900), "and another");
    world.run_to(1_500);
    for id in [A, B, C] {
        assert_eq!(world.texts(id), ["once", "and another"], "at {id}");
        assert_eq!(world.late(id).len(), 0, "at {id}");
    }
}

#[test]
fn messages_from_before_a_peers_membership_are_not_sent_to_it() {
    let [mut a, mut b] = [A, B].map(|me| TimeOrder::new(me, TimeOrderConfig::default()));
    a.handle_view(at(0), &[A, B, C]);
    b.handle_view(at(0), &[A, B, C]);
    while let Some(transmit) = a.poll_transmit() {
        if transmit.to == B {
            b.handle_message(at(10), A, &transmit.bytes).unwrap();
        }
    }
    // A's view drops B, which does not hear of that. The next host's view has both.
    a.handle_view(at(100), &[A, C]);
    a.send(at(110), at(110), b"to C").unwrap();
    a.handle_view(at(120), &[A, B, C]);
    let promise = a.promise(at(130), B).unwrap();
    b.handle_promise(at(140), A, promise);
    a.handle_linked(at(150), B);
    b.handle_linked(at(150), A);
    a.send(at(160), at(160), b"to both").unwrap();
    let mut heard = 0;
    while let Some(transmit) = a.poll_transmit() {
        if transmit.to == B {
            b.handle_message(at(170), A, &transmit.bytes).unwrap();
            heard += 1;
        }
    }
    assert!(heard > 1, "the beginning, and the owed messages");
}

#[test]
fn refused_messages_name_the_reason() {
    let mut order = TimeOrder::new(A, TimeOrderConfig::default());
    order.handle_view(at(0), &[A, B]);
    let _ = order.promise(at(100), B);
    assert_eq!(order.send(at(100), at(99), b""), Err(SendError::TooOld(at(100))));
    assert_eq!(order.send(at(100), at(101) + AHEAD_MAX, b""), Err(SendError::TooFarAhead));
    assert_eq!(order.send(at(100), at(100), &[0; TIMED_MAX + 1]), Err(SendError::TooLarge));
    let mut sent = 0;
    while order.send(at(100), at(100), b"x").is_ok() {
        sent += 1;
    }
    assert_eq!((sent, order.send(at(100), at(100), b"x")), (128, Err(SendError::WouldBlock)));
    assert!(order.send(at(3_000), at(3_000), b"x").is_ok());
}

#[test]
fn a_broken_promise_ends_the_link() {
    let message = |time, number| {
        let mut bytes = Vec::new();
        let message = Timed { time: at(time), number, bytes: vec![1; 100] };
        TimedMessage::Own(message).encode(&mut Writer::new(&mut bytes));
        bytes
    };
    let fresh = || {
        let mut order = TimeOrder::new(A, TimeOrderConfig::default());
        order.handle_view(at(0), &[A, B]);
        order
    };
    let mut order = fresh();
    order.handle_promise(at(50), B, Promise { until: at(50), sent: 0 });
    assert_eq!(order.handle_message(at(50), B, &message(40, 1)), Err(CloseCode::Unexpected));
    let mut order = fresh();
    let late = |order: &mut TimeOrder| {
        let events = std::iter::from_fn(|| order.poll_event(at(50)));
        events.filter(|event| matches!(event, Event::Late(_))).count()
    };
    // A jump of the clock is not misbehaviour.
    assert_eq!(order.handle_message(at(50), B, &message(9_000, 1)), Ok(()));
    assert_eq!(late(&mut order), 1);
    let mut order = fresh();
    assert!((1..1_000).all(|number| order.handle_message(at(50), B, &message(60, number)).is_ok()));
    assert_eq!(late(&mut order), 999 - 256);
    assert_eq!(fresh().handle_message(at(0), PeerId(9), &message(60, 1)), Ok(()), "a stranger is ignored");
}

#[test]
fn random_bytes_do_not_make_time_order_panic() {
    let mut dice = Rng::new(7);
    let mut order = TimeOrder::new(A, TimeOrderConfig::default());
    order.handle_view(at(0), &[A, B, C]);
    for step in 0..20_000 {
        let mut bytes: Vec<u8> = (0..dice.roll(40)).map(|_| dice.number() as u8).collect();
        if let Some(first) = bytes.first_mut() {
            *first %= 4;
        }
        let now = at(step);
        let _ = order.handle_message(now, B, &bytes);
        let until = now + Duration::from_micros(dice.number() >> dice.roll(64));
        order.handle_promise(now, C, Promise { until, sent: dice.number() >> dice.roll(64) });
        while order.poll_event(now).is_some() {}
    }
}
