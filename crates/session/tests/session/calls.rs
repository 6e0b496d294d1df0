//! Calls between games, and how each of them ends.

use crate::world::World;
use samovar_session::{
    CALLS_MAX, CALLS_PER_PEER_MAX, Call, CallError, CallId, CallKey, CallOutcome, Event, Lane, Procedure,
    Reply, ReplyError, Target,
};
use samovar_wire::{Duration, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ADD: u16 = 7;

fn two(seed: u8, loss: u64) -> (World, PeerId, PeerId) {
    let mut world = World::new(seed, loss);
    let host = *world.peers.keys().next().unwrap();
    let a = world.join(None);
    world.run(2_500);
    (world, host, a)
}

fn call(world: &mut World, from: PeerId, to: PeerId, lane: Lane, bytes: &[u8]) -> Result<CallId, CallError> {
    let (now, timeout) = (world.now, Duration::from_millis(2_000));
    world.peer(from).calls(now).call(Call { target: Target::Peer(to), lane, method: ADD, bytes, timeout })
}

fn outcomes(world: &World, peer: PeerId) -> Vec<(CallId, CallOutcome)> {
    let outcome = |event: &Event| match event {
        Event::Reply { call, outcome, .. } => Some((*call, outcome.clone())),
        _ => None,
    };
    world.events[&peer].iter().filter_map(outcome).collect()
}

/// Answers the waiting calls with the sum of their bytes. Returns the keys of the answered calls.
fn serve(world: &mut World, peer: PeerId) -> Vec<CallKey> {
    let mut keys = Vec::new();
    while let Some(call) = world.calls(peer).poll() {
        let sum = call.bytes.iter().sum::<u8>();
        let reply = match call.method {
            ADD if sum == 0 => Reply::Refused(404),
            ADD => Reply::Done(&[sum]),
            _ => Reply::NoSuchMethod,
        };
        if world.calls(peer).reply(call.key, reply).is_ok() {
            keys.push(call.key);
        }
    }
    keys
}

#[test]
fn calls_by_every_lane_are_answered() {
    for lane in [Lane::SESSION, Lane::GAME, Lane::Unreliable, Lane::Sequenced(1), Lane::Bulk] {
        let (mut world, host, a) = two(1, 0);
        let id = call(&mut world, a, host, lane, &[1, 2]).unwrap();
        world.run(200);
        serve(&mut world, host);
        world.run(200);
        assert_eq!(outcomes(&world, a), [(id, CallOutcome::Answered(vec![3]))], "{lane:?}");
    }
}

#[test]
fn each_of_many_calls_ends_once_under_loss() {
    let (mut world, host, a) = two(2, 25);
    let mut made = Vec::new();
    for n in 0..200u8 {
        let lane = if n % 2 == 0 { Lane::GAME } else { Lane::Unreliable };
        made.push(call(&mut world, a, host, lane, &[n, 1]).unwrap());
        world.run(10);
        serve(&mut world, host);
    }
    for _ in 0..300 {
        world.run(10);
        serve(&mut world, host);
    }
    let mut ended = outcomes(&world, a);
    ended.sort_unstable_by_key(|(id, _)| *id);
    assert_eq!(ended.iter().map(|(id, _)| *id).collect::<Vec<_>>(), made);
    for (n, (_, outcome)) in ended.iter().enumerate() {
        let answered = CallOutcome::Answered(vec![(n as u8).wrapping_add(1)]);
        assert!(*outcome == answered || n % 2 == 1 && *outcome == CallOutcome::TimedOut || n == 255, "{n}");
    }
    assert!(ended.iter().any(|(_, outcome)| *outcome == CallOutcome::TimedOut));
}

#[test]
fn call_ends_by_refusal_timeout_cancel_or_loss_of_the_peer() {
    let (mut world, host, a) = two(3, 0);
    let refused = call(&mut world, a, host, Lane::GAME, &[0]).unwrap();
    let (now, timeout) = (world.now, Duration::from_millis(100));
    let call_of =
        |method, timeout| Call { target: Target::Host, lane: Lane::GAME, method, bytes: &[1], timeout };
    let unknown = world.peer(a).calls(now).call(call_of(8, Duration::from_millis(900))).unwrap();
    world.run(100);
    serve(&mut world, host);
    world.run(100);
    let now = world.now;
    let late = world.peer(a).calls(now).call(call_of(ADD, timeout)).unwrap();
    world.run(90);
    let waiting = world.calls(host).poll().unwrap();
    assert!(world.calls(host).is_waiting(waiting.key));
    world.run(100);
    assert!(!world.calls(host).is_waiting(waiting.key), "a caller that gives up says so");
    assert_eq!(world.calls(host).reply(waiting.key, Reply::Done(&[])), Err(ReplyError::NotOpen));
    let cancelled = call(&mut world, a, host, Lane::GAME, &[4]).unwrap();
    world.run(60);
    world.calls(a).cancel(cancelled);
    world.calls(a).cancel(cancelled);
    world.run(60);
    assert!(world.calls(host).poll().is_none(), "a cancelled call need not be answered");
    let orphaned = call(&mut world, host, a, Lane::GAME, &[4]).unwrap();
    let own = call(&mut world, a, host, Lane::GAME, &[4]).unwrap();
    world.peer(a).leave();
    world.run(200);
    assert_eq!(outcomes(&world, host), [(orphaned, CallOutcome::PeerGone)]);
    let expected = [
        (refused, CallOutcome::Refused(404)),
        (unknown, CallOutcome::NoSuchMethod),
        (late, CallOutcome::TimedOut),
        (cancelled, CallOutcome::Cancelled),
        (own, CallOutcome::PeerGone),
    ];
    assert_eq!(outcomes(&world, a), expected);
}

#[test]
fn open_calls_are_bounded_on_both_sides() {
    let (mut world, host, a) = two(4, 0);
    for _ in 0..CALLS_MAX {
        call(&mut world, a, host, Lane::SESSION, &[1]).unwrap();
    }
    assert_eq!(call(&mut world, a, host, Lane::GAME, &[1]), Err(CallError::TooMany));
    world.run(300);
    let busy = outcomes(&world, a).iter().filter(|(_, outcome)| *outcome == CallOutcome::Busy).count();
    assert_eq!(busy, CALLS_MAX - CALLS_PER_PEER_MAX);
    assert_eq!(serve(&mut world, host).len(), CALLS_PER_PEER_MAX);
    world.run(300);
    assert_eq!(outcomes(&world, a).len(), CALLS_MAX);
    assert!(matches!(call(&mut world, a, a, Lane::GAME, &[1]), Err(CallError::NoSuchPeer)));
    assert!(matches!(call(&mut world, a, host, Lane::Unreliable, &[1; 3_000]), Err(CallError::Send(_))));
}

#[test]
fn calls_with_equal_numbers_get_their_own_answers() {
    let (mut world, host, a) = two(5, 0);
    let b = world.join(None);
    world.run(1_500);
    let id = call(&mut world, a, host, Lane::GAME, &[5]).unwrap();
    // The call of b has the same number as the call of a, but another key.
    call(&mut world, b, host, Lane::GAME, &[6]).unwrap();
    world.run(200);
    assert_eq!(serve(&mut world, host).len(), 2);
    world.run(200);
    assert_eq!(outcomes(&world, a), [(id, CallOutcome::Answered(vec![5]))]);
    assert_eq!(outcomes(&world, b)[0].1, CallOutcome::Answered(vec![6]));
}

struct Brew;

impl Procedure for Brew {
    const METHOD: u16 = 3;
    type Request = (u8, u16);
    type Reply = Option<u32>;
}

#[test]
fn procedure_carries_a_typed_request_and_reply() {
    let (mut world, host, a) = two(6, 0);
    let (now, timeout) = (world.now, Duration::from_millis(500));
    let how = Call { target: Target::Host, lane: Lane::GAME, method: 0, bytes: &[], timeout };
    world.peer(a).calls(now).call_as::<Brew>(how, &(4, 95)).unwrap();
    world.run(100);
    let call = world.calls(host).poll().unwrap();
    assert_eq!((call.method, call.read::<Brew>()), (Brew::METHOD, Ok((4, 95))));
    world.calls(host).reply_as::<Brew>(call.key, &Some(380)).unwrap();
    world.run(100);
    assert_eq!(outcomes(&world, a)[0].1.read::<Brew>(), Some(Ok(Some(380))));
}
