//! Whole sessions in virtual time: joins, updates, deaths, hand-overs, hostile bytes.

use crate::stranger::Stranger;
use crate::world::{CUBE, Craft, TEAPOT, World};
use samovar_session::{Delivery, Departure, EndReason, Event, Role, Suspension, Target};
use samovar_wire::control::PeerControl;
use samovar_wire::object::Traits;
use samovar_wire::{CloseCode, Duration, Entropy, Kind, Lane, Mode, ObjectId, PeerId, Term, Time, Warrant};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn members_see_the_same_objects_and_values_under_loss() {
    for seed in 0..10 {
        let mut world = World::new(seed, u64::from(seed) * 4);
        let host = *world.peers.keys().next().unwrap();
        let a = world.join(None);
        world.run(500);
        let b = world.join(None);
        world.run(1_500);
        let (x, y) = (world.create(a, TEAPOT, &[b"a", b"0"]), world.create(b, TEAPOT, &[b"b", b"0"]));
        for n in 0..100u32 {
            let now = world.now;
            world.peer(a).edit(now).set(x, 1, &n.to_le_bytes()).unwrap();
            world.peer(b).edit(now).set(y, 1, &(n * 2).to_le_bytes()).unwrap();
            world.run(16);
        }
        world.run(2_000);
        world.assert_converged();
        assert_eq!(world.peers[&host].object(x).unwrap().field(1), 99u32.to_le_bytes());
        assert_eq!(world.peers[&host].role(world.now), Role::ActiveBackedUp);
    }
}

#[test]
fn backup_takes_over_the_objects_of_a_dead_host() {
    for seed in 0..10 {
        let mut world = World::new(seed, u64::from(seed) * 3);
        let host = *world.peers.keys().next().unwrap();
        let (a, b) = (world.join(None), world.join(None));
        world.run(2_000);
        let score = world.create(host, TEAPOT, &[b"score 7"]);
        let cube = world.create(host, CUBE, &[b"cube"]);
        world.run(1_000);
        let backup = world.peers[&a].view().backup().unwrap();
        world.kill(host);
        let died = world.now;
        while !world.peers.values().all(|s| s.term().0 == 512 && s.object(score).unwrap().owner() == backup) {
            world.step();
            assert!(world.now.since(died).as_micros() < 1_000_000, "seed {seed}: no successor in a second");
        }
        world.run(1_000);
        world.assert_converged();
        for peer in [a, b] {
            assert_eq!(world.peers[&peer].object(score).unwrap().field(0), b"score 7");
            assert!(world.peers[&peer].object(cube).is_none(), "a cube dies with its owner");
            assert!(world.events[&peer].iter().any(|e| matches!(e, Event::HostChanged(m) if m.from == host)));
        }
    }
}

#[test]
fn session_goes_on_when_host_and_backup_die_together() {
    let mut world = World::new(1, 5);
    let host = *world.peers.keys().next().unwrap();
    let peers = [world.join(None), world.join(None), world.join(None)];
    world.run(2_000);
    let orphan = world.create(host, TEAPOT, &[b"pot"]);
    world.run(1_000);
    let backup = world.peers[&peers[0]].view().backup().unwrap();
    world.kill(host);
    world.kill(backup);
    let died = world.now;
    world.run(3_000);
    world.assert_converged();
    let survivor = *world.peers.keys().next().unwrap();
    assert!(world.peers[&survivor].object(orphan).is_some());
    let events = &world.events[&survivor];
    let Some(Event::HostChanged(m)) = events.iter().find(|e| matches!(e, Event::HostChanged(_))) else {
        panic!()
    };
    assert!(m.resumed.since(world.peers[&survivor].session_time(died)).as_micros() < 1_000_000);
}

#[test]
fn object_that_one_survivor_knows_is_adopted_for_all() {
    let mut world = World::new(2, 0);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(2_000);
    // The object that b creates reaches a, and never the host.
    world.cuts = vec![(b, host)];
    let pot = world.create(b, TEAPOT, &[b"seen by a"]);
    world.run(200);
    assert!(world.peers[&a].object(pot).is_some() && world.peers[&host].object(pot).is_none());
    world.kill(b);
    world.run(8_000);
    world.assert_converged();
    assert_eq!(world.peers[&host].object(pot).unwrap().owner(), host);
}

#[test]
fn ticket_takes_the_seat_back_and_ends_the_old_peer() {
    let mut world = World::new(3, 2);
    let host = *world.peers.keys().next().unwrap();
    let a = world.join(None);
    world.run(1_500);
    let (seat, ticket) = (world.peers[&a].seat().unwrap(), world.peers[&a].ticket().unwrap());
    let pot = world.create(a, TEAPOT, &[b"pot of a"]);
    world.run(500);
    let again = world.join(Some(ticket));
    world.run(1_500);
    assert_eq!(world.peers[&again].seat().unwrap(), seat);
    assert_eq!(world.events[&a].last(), Some(&Event::Ended(EndReason::SeatTaken)));
    assert!(world.events[&host].iter().any(
        |e| matches!(e, Event::MemberLeft { member, departure: Departure::Replaced } if member.peer == a)
    ));
    assert!(world.events[&host].iter().any(|e| matches!(e, Event::MemberJoined { resumed: true, .. })));
    assert_eq!(world.peers[&again].object(pot).unwrap().owner(), host);
    world.edit(host).grant(pot, again).unwrap();
    world.peers.remove(&a);
    world.run(1_000);
    assert_eq!(world.peers[&host].object(pot).unwrap().owner(), again);
    world.assert_converged();
}

#[test]
fn a_leaving_host_is_succeeded_without_waiting() {
    let mut world = World::new(4, 0);
    let host = *world.peers.keys().next().unwrap();
    let a = world.join(None);
    world.run(2_000);
    world.peer(host).leave();
    world.step();
    world.peers.remove(&host);
    let left = world.now;
    while world.peers[&a].term() == Term::FIRST {
        world.step();
        assert!(world.now.since(left).as_micros() < 200_000);
    }
    world.run(500);
    world.assert_converged();
}

#[test]
fn member_does_not_make_itself_host_without_the_relay() {
    let mut world = World::new(5, 0);
    let host = *world.peers.keys().next().unwrap();
    let a = world.join(None);
    world.run(2_000);
    world.witness_alive = false;
    world.kill(host);
    world.run(6_000);
    assert_eq!(world.peers[&a].role(world.now), Role::Suspended(Suspension::HostLost));
    world.witness_alive = true;
    world.run(1_500);
    assert!(world.peers[&a].is_host());
}

#[test]
fn peer_with_a_forged_warrant_is_shut_out() {
    let (mut world, host, a) = host_and_member();
    let mut mallory = Stranger::new(&world);
    let forged = Warrant { term: Term(512), host: Stranger::ID, ..world.witness.warrant };
    mallory.say(&mut world, host, Some(&Stranger::hello()));
    mallory.say(&mut world, host, Some(&PeerControl::Warrant(forged)));
    assert!(
        world.events[&host].contains(&Event::LinkClosed { peer: Stranger::ID, code: CloseCode::BadWarrant })
    );
    world.run(500);
    assert_eq!(world.peers[&a].host(), host);
    assert!(world.peers[&a].is_member() && !world.peers[&a].view().has(Stranger::ID));
}

/// A session of two, settled: the host and a member.
fn host_and_member() -> (World, PeerId, PeerId) {
    let mut world = World::new(6, 0);
    let host = *world.peers.keys().next().unwrap();
    let member = world.join(None);
    world.run(2_000);
    (world, host, member)
}

#[test]
fn only_the_host_confirms_tickets() {
    let (mut world, host, _) = host_and_member();
    let mut mallory = Stranger::new(&world);
    mallory.say(&mut world, host, Some(&Stranger::hello()));
    let hash = world.peers[&host].ticket().unwrap().hash();
    mallory.say(&mut world, host, Some(&PeerControl::Welcome(hash)));
    assert!(world.peers[&host].view().has(Stranger::ID));
    assert!(world.events[&host].iter().filter(|event| matches!(event, Event::Ticket(_))).count() == 1);
}

#[test]
fn repeated_hello_changes_nothing() {
    let (mut world, host, a) = host_and_member();
    let mut mallory = Stranger::new(&world);
    let mut views = Vec::new();
    for _ in 0..20 {
        mallory.say(&mut world, host, Some(&Stranger::hello()));
        world.run(80);
        views.push(world.peers[&a].view().clone());
    }
    assert!(views[2].has(Stranger::ID));
    let [seat, later] = [2, 19].map(|n| views[n].seats().find(|seat| seat.peer == Some(Stranger::ID)));
    assert_eq!(seat, later);
    assert_eq!(views[2].roll(), views[19].roll());
}

#[test]
fn a_former_host_keeps_no_link_to_a_stranger() {
    let (mut world, host, _) = host_and_member();
    Stranger::new(&world).say(&mut world, host, None);
    assert!(world.peers[&host].link(Stranger::ID).is_some(), "it may still send HELLO");
    let now = world.now;
    assert!(world.peer(host).hand_over(now));
    world.run(6_000);
    assert!(!world.peers[&host].is_host() && world.peers[&host].link(Stranger::ID).is_none());
    world.assert_converged();
}

#[test]
fn garbage_ends_the_senders_link_and_no_other() {
    let mut dice = Entropy::new([8; 32]);
    for round in 0..40u64 {
        let mut world = World::new(7, 0);
        let host = *world.peers.keys().next().unwrap();
        let (a, b) = (world.join(None), world.join(None));
        world.run(1_500);
        let mut bytes: Vec<u8> = (0..50).flat_map(|_| dice.bytes()).collect();
        bytes.truncate((dice.number() % 1_600) as usize);
        let mode = if round % 2 == 0 { Mode::Unreliable } else { Mode::Reliable };
        let now = world.now;
        world.peer(host).handle_packet(now, b, mode, &bytes);
        world.run(500);
        assert!(world.peers[&a].is_member() && world.peers[&host].is_member());
        let shut_out =
            world.events[&host].iter().any(|e| matches!(e, Event::LinkClosed { peer, .. } if *peer == b));
        assert_eq!(shut_out, !world.peers[&host].view().has(b));
    }
}

#[test]
fn game_messages_arrive_in_order_at_their_receivers_only() {
    let mut world = World::new(9, 20);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(3_000);
    for n in 0..50u8 {
        world.peer(a).send(Target::All, Lane::GAME, &[n]).unwrap();
        world.peer(a).send(Target::Peer(b), Lane::GAME, &[n, n]).unwrap();
        world.run(7);
    }
    world.run(2_000);
    let heard = |world: &World, peer| {
        let message = |e: &Event| {
            if let Event::Message { from, bytes, delivery: Delivery::Lane(Lane::GAME) } = e {
                Some((*from, bytes.clone()))
            } else {
                None
            }
        };
        world.events[&peer].iter().filter_map(message).collect::<Vec<_>>()
    };
    assert_eq!(heard(&world, host), (0..50).map(|n| (a, vec![n])).collect::<Vec<_>>());
    assert_eq!(heard(&world, b), (0..50).flat_map(|n| [(a, vec![n]), (a, vec![n, n])]).collect::<Vec<_>>());
}

#[test]
fn message_that_overtakes_an_admission_waits_for_it() {
    let mut overtaken = 0;
    for seed in 0..30 {
        let mut world = World::new(seed, 40);
        let host = *world.peers.keys().next().unwrap();
        let newcomer = world.join(None);
        for n in 0..2_500u32 {
            if world.peers[&host].view().has(newcomer) && n % 10 == 0 {
                let lane = Lane::Reliable((n / 10 % 4) as u8);
                world.peer(host).send(Target::Peer(newcomer), lane, &n.to_le_bytes()).unwrap();
            }
            world.step();
        }
        let events = &world.events[&newcomer];
        let place = |is: &dyn Fn(&Event) -> bool| events.iter().position(is).unwrap();
        let joined = place(&|event| *event == Event::Joined);
        let named =
            place(&|event| matches!(event, Event::MemberJoined { member, .. } if member.peer == host));
        let heard = place(&|event| matches!(event, Event::Message { .. }));
        assert!(joined < heard && named < heard, "seed {seed}: {events:?}");
        let waiting = events[heard..].iter().take_while(|event| matches!(event, Event::Message { .. }));
        overtaken += usize::from(heard == named + 1 && waiting.count() > 1);
    }
    assert!(overtaken > 0, "no message was early: the test tests nothing");
}

#[test]
fn wrong_parameters_or_a_full_session_refuse_a_newcomer() {
    let mut world = World::new(10, 0);
    let mut config = world.config(Vec::new());
    config.params = 2;
    let stranger = world.join_as(config);
    world.run(500);
    let reason = EndReason::Refused(CloseCode::ParameterMismatch);
    assert_eq!(world.events[&stranger].last(), Some(&Event::Ended(reason)));
    world.peers.remove(&stranger);
    (0..7).for_each(|_| {
        world.join(None);
    });
    world.run(2_000);
    let late = world.join(None);
    world.run(500);
    assert_eq!(world.events[&late].last(), Some(&Event::Ended(EndReason::Refused(CloseCode::Full))));
}

#[test]
fn session_time_agrees_and_never_jumps_at_a_host_change() {
    let mut world = World::new(11, 5);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(4_000);
    world.kill(host);
    let mut last = [Time::ZERO; 2];
    for _ in 0..4_000 {
        world.step();
        for (i, peer) in [a, b].into_iter().enumerate() {
            let time = world.peers[&peer].session_time(world.now);
            assert!(time >= last[i], "session time went backwards");
            last[i] = time;
        }
        assert!(last[0].as_micros().abs_diff(last[1].as_micros()) < 20_000, "{last:?}");
    }
}

#[test]
fn host_with_delayed_answers_learns_time_from_members() {
    let mut world = World::new(11, 0);
    let host = *world.peers.keys().next().unwrap();
    let a = world.join(None);
    world.run(10_000);
    let late = world.join(None);
    world.delays.insert((host, late), Duration::from_millis(3_000));
    let apart = |world: &World| {
        let [x, y] = [a, late].map(|peer| world.peers[&peer].session_time(world.now).as_micros());
        x.abs_diff(y)
    };
    // Runs until the member has had its first answer, and no better one.
    while !world.peers[&late].is_member() || apart(&world) > 4_000_000 {
        world.step();
    }
    assert!(apart(&world) > 2_000_000, "its answer told of seconds before");
    world.grant(Term::FIRST.next_witnessed(), late);
    let mut last = [Time::ZERO; 2];
    for _ in 0..500 {
        world.step();
        let times = [a, late].map(|peer| world.peers[&peer].session_time(world.now));
        assert!(times[0] >= last[0] && times[1] >= last[1], "session time went backwards");
        last = times;
    }
    assert!(apart(&world) < 100_000, "{} µs", apart(&world));
}

#[test]
fn host_without_an_answer_goes_on_from_the_last_views_time() {
    let mut world = World::new(13, 0);
    let host = *world.peers.keys().next().unwrap();
    world.run(60_000);
    let late = world.join_without_time(host);
    assert!(world.peers[&late].session_time(world.now) < Time::from_micros(30_000_000), "it had an answer");
    world.kill(host);
    world.grant(Term::FIRST.next_witnessed(), late);
    world.run(3_000);
    assert!(world.peers[&late].session_time(world.now) > Time::from_micros(60_000_000));
}

#[test]
fn newcomer_joins_the_successor_when_the_host_dies() {
    let mut world = World::new(12, 5);
    let host = *world.peers.keys().next().unwrap();
    world.join(None);
    world.run(2_000);
    let late = world.join(None);
    world.run(10);
    world.kill(host);
    world.run(4_000);
    world.assert_converged();
    assert!(world.peers[&late].is_member());
    assert_eq!(world.peers[&late].object(ObjectId::SESSION).unwrap().stamp().term.0, 512);
}

#[test]
fn member_that_left_is_no_member_under_the_next_host() {
    let mut world = World::new(13, 0);
    let host = *world.peers.keys().next().unwrap();
    let (a, b) = (world.join(None), world.join(None));
    world.run(2_000);
    let pot = world.create(b, TEAPOT, &[b"pot of b"]);
    world.run(500);
    // The host does not get the member's CLOSE, and dies before it misses the member. The other member closed its link
    // at once.
    world.cuts = vec![(b, host)];
    world.peer(b).leave();
    world.step();
    world.peers.remove(&b);
    world.run(200);
    world.kill(host);
    world.run(3_000);
    assert!(world.peers[&a].is_host());
    assert!(!world.peers[&a].view().has(b), "the member is gone for good");
    assert_eq!(world.peers[&a].object(pot).unwrap().owner(), a);
}

#[test]
fn newcomer_at_a_dying_host_joins_or_learns_it_is_removed() {
    let mut joined = 0;
    for seed in 0..60u8 {
        let mut world = World::new(seed, u64::from(seed % 4) * 8);
        let host = *world.peers.keys().next().unwrap();
        let (a, b) = (world.join(None), world.join(None));
        world.run(1_200);
        world.create(a, TEAPOT, &[b"pot of a"]);
        let late = world.join(None);
        world.run(50 + u64::from(seed) * 2);
        world.kill(host);
        world.run(1_500);
        world.create(b, TEAPOT, &[b"pot of b"]);
        if world.peers[&late].is_member() {
            world.create(late, TEAPOT, &[b"pot of the late"]);
        }
        world.run(1_500);
        if world.peers[&late].is_member() {
            joined += 1;
        } else {
            // The newcomer is no member only if the dead host admitted it, perhaps by its last packet, and no other
            // peer knows of that.
            let events = &world.events[&late];
            let was_told = events.contains(&Event::Ended(EndReason::Removed));
            assert!(events.contains(&Event::Joined) && was_told, "seed {seed}: {events:?}");
            world.peers.remove(&late);
            world.run(500);
        }
        world.assert_converged();
    }
    assert!(joined > 40, "only {joined} of 60");
}

/// Whether an event says that the link to this peer closed, or that this peer joined or left.
fn is_about(event: &Event, about: PeerId) -> bool {
    match event {
        Event::LinkClosed { peer, .. } => *peer == about,
        Event::MemberLeft { member, .. } | Event::MemberJoined { member, .. } => member.peer == about,
        _ => false,
    }
}

#[test]
fn member_that_the_next_host_did_not_know_is_linked_again() {
    for seed in 0..30u8 {
        let mut world = World::new(seed, u64::from(seed % 4) * 5);
        let host = *world.peers.keys().next().unwrap();
        let (a, b) = (world.join(None), world.join(None));
        world.run(2_000);
        let backup = world.peers[&host].view().backup().unwrap();
        let other = if backup == a { b } else { a };
        let pot = world.create(other, TEAPOT, &[b"pot of the other", b"0"]);
        world.run(300);
        let late = PeerId(103);
        world.cuts = vec![(host, backup), (host, late)];
        assert_eq!(world.join(None), late);
        // Before its first ack, a peer repeats only its first message. So this test loses no packet until the
        // newcomer is admitted.
        let loss = core::mem::replace(&mut world.loss_percent, 0);
        while !world.peers[&other].view().has(late) {
            world.step();
        }
        world.loss_percent = loss;
        world.kill(host);
        while world.peers[&other].view().has(late) {
            world.step();
        }
        // The CLOSE to the newcomer is lost.
        world.cuts = vec![(other, late)];
        world.step();
        world.cuts.clear();
        world.run(2_000);
        let mine = world.create(late, TEAPOT, &[b"pot of the late", b"0"]);
        let now = world.now;
        world.peer(other).edit(now).set(pot, 1, b"1").unwrap();
        world.run(2_000);
        world.assert_converged();
        assert_eq!(world.peers[&late].object(pot).unwrap().field(1), b"1");
        assert!(world.peers[&other].object(mine).is_some());
        for (peer, events) in &world.events {
            assert!(!events.iter().any(|e| matches!(e, Event::LinkClosed { .. })), "{peer}: {events:?}");
        }
    }
}

#[test]
fn link_lost_at_one_end_begins_anew_and_games_are_told() {
    for seed in 0..30u8 {
        let mut world = World::new(seed, u64::from(seed % 4) * 5);
        let (a, b) = (world.join(None), world.join(None));
        world.run(2_000);
        let (x, y) = (world.create(a, TEAPOT, &[b"a", b"0"]), world.create(b, TEAPOT, &[b"b", b"0"]));
        let reliable = Traits { reliable: true, ..TEAPOT };
        let z = world.create(b, reliable, &[b"reliable", b"0"]);
        let now = world.now;
        let craft = world.peer(b).edit(now).create_as(Traits::of(Kind(7)), &Craft::at(0.0)).unwrap();
        world.run(1_000);
        let before: Vec<_> = [a, b].map(|peer| world.events[&peer].len()).into();
        for n in 0..200u32 {
            let (now, value) = (world.now, n.to_le_bytes());
            for (owner, id) in [(a, x), (b, y), (b, z)] {
                world.peer(owner).edit(now).set(id, 1, &value).unwrap();
            }
            world.peer(b).edit(now).write(craft, &Craft::at(n as f32 * 4.0)).unwrap();
            if n == 50 {
                // This is sent once, on a link that the other end no longer has.
                world.peer(b).edit(now).set(z, 0, b"under way").unwrap();
                // The link has ended at `a`, while `b` goes on with its packet numbers.
                let farewell = samovar_link::close_packet(CloseCode::NotAMember);
                world.peer(a).handle_packet(now, b, Mode::Unreliable, &farewell);
                assert!(world.peers[&a].link(b).is_none());
            }
            world.run(10);
        }
        let now = world.now;
        world.peer(a).send(Target::Peer(b), Lane::GAME, b"to b").unwrap();
        world.peer(b).send(Target::Peer(a), Lane::GAME, b"to a").unwrap();
        world.peer(b).edit(now).set(z, 1, b"end").unwrap();
        world.run(1_500);
        world.assert_converged();
        for ((peer, other), before) in [(a, b), (b, a)].into_iter().zip(before) {
            let events = &world.events[&peer][before..];
            // Messages under way are lost. So each game is told that the other peer left and is back.
            let about: Vec<_> = events.iter().filter(|e| is_about(e, other)).collect();
            match about[..] {
                [Event::MemberLeft { .. }, Event::MemberJoined { resumed: true, .. }] => {}
                _ => panic!("seed {seed}: {about:?}"),
            }
            let heard = events.iter().filter(|e| matches!(e, Event::Message { from, .. } if *from == other));
            assert_eq!(heard.count(), 1, "seed {seed}: {events:?}");
        }
    }
}

#[test]
fn overfull_queue_of_objects_does_not_end_a_link() {
    let (mut world, _, others) = crate::world::world_of(61, 0, 3);
    let [heir, member] = others[..] else { panic!("{others:?}") };
    // Each object fills a segment, so no room is left.
    let large = [[7; 250].as_slice(); 3];
    let created: Vec<_> = (0..1_000).map(|_| world.create(member, TEAPOT, &large)).collect();
    let before = world.events[&member].len();
    world.run(20);
    // All members pass the warrant on while the queues are full.
    world.grant(Term::FIRST.next_witnessed(), heir);
    world.run(8_000);
    let heard = created.iter().filter(|&&id| world.peers[&heir].object(id).is_some()).count();
    assert_eq!(heard, created.len());
    let events = &world.events[&member][before..];
    assert!(!events.iter().any(|event| matches!(event, Event::LinkClosed { .. })), "{events:?}");
}
