//! A member that sends arbitrary bytes: no order panics, and what it keeps of that member stays within bounds.

use samovar_order::UNSTABLE_BYTES_MAX;
use samovar_wire::order::{Frame, Run};
use samovar_wire::{CloseCode, PeerId};

use crate::orders::any::{AnyOrder, CAUSAL, Kind};
use crate::orders::world::{Parcel, World, view_of};
use samovar_wire::Rng;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOSTILE: PeerId = PeerId(3);

/// Frames that honest members have sent each other.
fn honest_frames(kind: Kind) -> Vec<Vec<u8>> {
    let mut world = World::new(kind, 3);
    let mut frames = Vec::new();
    for step in 0..60 {
        world.send(PeerId(1 + step % 3));
        if step % 20 == 10 {
            let view = world.next_view(PeerId(1), world.view.members.clone());
            world.publish(view);
        }
        for way in world.busy() {
            let lane = &world.lanes[&way];
            frames.extend(lane.iter().filter_map(|parcel| match parcel {
                Parcel::Frame(bytes) => Some(bytes.clone()),
                Parcel::View(_) => None,
            }));
            world.arrive(way);
        }
    }
    frames
}

fn mutate(dice: &mut Rng, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = dice.pick(frames).unwrap();
    for _ in 0..dice.index(4) {
        let at = dice.index(bytes.len().max(1));
        match dice.index(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), dice.index(256) as u8),
            4 => drop(bytes.splice(at..at, HUGE)),
            2 if !bytes.is_empty() => bytes[at] = dice.index(256) as u8,
            _ => bytes.extend((0..dice.index(40)).map(|_| dice.index(256) as u8)),
        }
    }
    bytes
}

/// A varint beyond every limit.
const HUGE: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];

/// The most that one member may make another keep: its share of each epoch's streams, early frames and submissions.
const BOUND: usize = 3 * 8 * UNSTABLE_BYTES_MAX;

#[test]
fn stored_bytes_stay_bounded_whatever_a_member_sends() {
    for kind in CAUSAL {
        let frames = honest_frames(kind);
        for seed in 0..30 {
            let mut dice = Rng::new(seed);
            let mut world = World::new(kind, 3);
            let victim = PeerId(1 + dice.index(2) as u32);
            let mut order = world.nodes.remove(&victim).unwrap();
            for step in 0..1_000 {
                let bytes = mutate(&mut dice, &frames);
                let _ = order.get_mut().handle_frame(HOSTILE, &bytes);
                if step % 100 == 50 {
                    let view = world.next_view(PeerId(1 + dice.index(3) as u32), world.view.members.clone());
                    world.view = view.clone();
                    order.get_mut().handle_view(&view);
                }
                order.get_mut().flush();
                let _ = order.get_mut().send(b"tea");
                while order.get_mut().poll_transmit().is_some() {}
                while order.get_mut().poll_event().is_some() {}
            }
            assert!(order.get().stored_bytes() < BOUND, "{kind:?}, seed {seed}");
        }
    }
}

/// Floods an order with frames until it refuses one. Returns the code, and the bytes that are kept.
fn flood(order: &mut AnyOrder, mut frame: impl FnMut(u64) -> Vec<u8>) -> (CloseCode, usize) {
    for number in 1..100_000 {
        if let Err(code) = order.get_mut().handle_frame(HOSTILE, &frame(number)) {
            return (code, order.get().stored_bytes());
        }
        while order.get_mut().poll_transmit().is_some() {}
    }
    panic!("a flood went on for ever with {} bytes kept", order.get().stored_bytes());
}

const fn items(run: Run<'_>) -> Frame<'_> {
    Frame::Items { safe: 0, stable: 0, run }
}

#[test]
fn a_flood_of_messages_that_wait_for_their_turn_is_stopped() {
    // No member ends the round.
    let mut order = World::new(Kind::Barrier, 3).nodes.remove(&PeerId(1)).unwrap();
    let item = [&[10_u8, 0][..], &[7; 9]].concat();
    let (code, bytes) = flood(&mut order, |first| items(Run { epoch: 1, first, encoded: &item }).to_bytes());
    assert_eq!(code, CloseCode::LimitExceeded);
    assert!(bytes < BOUND);
}

#[test]
fn a_flood_of_messages_of_an_epoch_to_come_is_stopped() {
    for kind in CAUSAL {
        let mut order = World::new(kind, 3).nodes.remove(&PeerId(1)).unwrap();
        let item = [&[200_u8, 1][..], &[0; 200]].concat();
        let (code, bytes) =
            flood(&mut order, |first| items(Run { epoch: 1 << 40, first, encoded: &item }).to_bytes());
        assert_eq!(code, CloseCode::LimitExceeded, "{kind:?}");
        assert!(bytes < BOUND, "{kind:?}");
    }
}

#[test]
fn a_flood_of_submissions_to_a_full_log_is_stopped() {
    // The other members send nothing, so the host's log becomes full.
    let mut order = World::new(Kind::Total, 3).nodes.remove(&PeerId(1)).unwrap();
    let item = [&[200_u8, 1, 0][..], &[7; 199]].concat();
    let (code, bytes) =
        flood(&mut order, |first| Frame::Submit(0, Run { epoch: 1, first, encoded: &item }).to_bytes());
    assert_eq!(code, CloseCode::LimitExceeded);
    assert!(bytes < BOUND);
}

#[test]
fn a_member_that_outpaces_the_others_is_told_to_wait() {
    for kind in CAUSAL {
        let mut order = AnyOrder::new(kind, PeerId(1));
        order.get_mut().handle_view(&view_of(2));
        let sent = (0..100_000).take_while(|_| order.get_mut().send(&[0; 100]).is_ok()).count();
        assert!((1_000..10_000).contains(&sent), "{kind:?} took {sent}");
        assert!(order.get().stored_bytes() < BOUND, "{kind:?}");
    }
}
