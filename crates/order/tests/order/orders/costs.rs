//! The cost of the orders, counted: run with `--nocapture` to see the figures.

use std::collections::{BTreeMap, VecDeque};

use samovar_order::causal::Vector;
use samovar_order::{Event, Order, Transmit};
use samovar_wire::PeerId;

use crate::orders::any::{AnyOrder, CAUSAL, Kind};
use crate::orders::world::{World, view_of};
use samovar_wire::Rng;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Frames in a step of the game of docs/sources.md, "Pacman": each member sends a message, and all deliver all of
/// them.
fn frames_of_a_step(n: u32, is_stable: bool) -> f64 {
    let mut world = World::new(Kind::Total, n);
    world.is_eager = false;
    let peers: Vec<_> = (1..=n).map(PeerId).collect();
    let mut counted = 0;
    const STEPS: usize = 30;
    for step in 0..STEPS + 1 {
        let before = world.frames;
        for &peer in &peers {
            let _ = if is_stable { world.send_stable(peer) } else { world.send(peer) };
        }
        // The members are polled, then the host, once each.
        peers.iter().skip(1).for_each(|&peer| world.poll(peer));
        while let Some(&way) = world.busy().iter().find(|way| way.1 == PeerId(1)) {
            world.arrive(way);
        }
        world.poll(PeerId(1));
        while let Some(&way) = world.busy().first() {
            world.arrive(way);
        }
        // The first step does not count: it also contains the answers to the first view.
        counted += if step > 0 { world.frames - before } else { 0 };
    }
    let delivered = world.history.deliveries(peers[peers.len() - 1]).len();
    assert!(is_stable || delivered == (STEPS + 1) * n as usize, "{delivered} of {n}");
    counted as f64 / STEPS as f64
}

#[test]
fn total_order_takes_at_most_two_messages_per_member_and_step() {
    println!(
        "the seed | total | members | the source | total | the seed | total | stable: messages per step"
    );
    for n in 2..=32 {
        let (plain, stable) = (frames_of_a_step(n, false), frames_of_a_step(n, true));
        // In the source each of N inputs goes to all others, and so does the number of each.
        println!("{n:7} | {:8} | {plain:5.1} | {stable:6.1}", 2 * n * (n - 1));
        assert!(plain <= f64::from(2 * n), "{plain} for {n}");
        assert!(stable <= f64::from(2 * n), "{stable} for {n}");
    }
}

/// Frames, and the time of their sending.
type Lane = VecDeque<(usize, Vec<u8>)>;

/// The overhead of causal messages in bytes, and frames of other kinds per message.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    messages: usize,
    bytes: usize,
    others: usize,
}

/// Lets members chat, with `delay` messages in flight in all. `pick` chooses the next sender. Returns the overhead.
fn chat(n: u32, delay: usize, pick: impl Fn(&mut Rng) -> u32) -> Stamps {
    let view = view_of(n);
    let mut members: Vec<_> = view.members.iter().map(|&peer| Vector::new(peer)).collect();
    let mut lanes: BTreeMap<(PeerId, PeerId), Lane> = BTreeMap::new();
    let (mut dice, mut stamps) = (Rng::new(7), Stamps::default());
    members.iter_mut().for_each(|member| member.handle_view(&view));
    for step in 0..4_000 {
        let talker = pick(&mut dice) as usize;
        if step > n as usize {
            members[talker].send(b"").unwrap();
        }
        for (member, from) in members.iter_mut().zip(&view.members) {
            while let Some(Transmit { to, bytes }) = member.poll_transmit() {
                if step > 500 {
                    let is_message = bytes[0] < 0x80;
                    stamps.messages += usize::from(is_message);
                    stamps.bytes += if is_message { bytes.len() } else { 0 };
                    stamps.others += usize::from(!is_message);
                }
                lanes.entry((*from, to)).or_default().push_back((step, bytes));
            }
        }
        for (&(from, to), lane) in &mut lanes {
            // All members get to know each other before the chat.
            while let Some((_, bytes)) = lane.pop_front_if(|(sent, _)| step < 20 || *sent + delay <= step) {
                assert_eq!(members[to.0 as usize - 1].handle_frame(from, &bytes), Ok(()));
            }
        }
        members.iter_mut().for_each(|member| while member.poll_event().is_some() {});
    }
    stamps
}

#[test]
fn a_causal_stamp_takes_at_most_six_bytes_among_sixteen() {
    let show = |name: &str, n: u32, stamps: Stamps| {
        let Stamps { messages, bytes, others } = stamps;
        let average = bytes as f64 / messages as f64;
        let others = others as f64 / messages as f64;
        println!("{n:2} members, {name}: {average:.2} bytes a message, {others:.3} reports a message");
        average
    };
    for delay in [0, 8, 32, 128] {
        let name = format!("uniform, {delay:3} messages under way");
        assert!(show(&name, 16, chat(16, delay, |dice| dice.index(16) as u32)) <= 6.0);
    }
    let few = |dice: &mut Rng| if dice.chance(90, 100) { dice.index(2) } else { dice.index(16) } as u32;
    show("two of them say nine in ten", 16, chat(16, 8, few));
    for n in [2, 4, 8, 32] {
        show("uniform,   8 messages under way", n, chat(n, 8, |dice| dice.index(n as usize) as u32));
    }
}

/// One member talks, one answers sometimes, one listens. Returns the most bytes that a member kept, and the
/// deliveries.
fn talk(kind: Kind, messages: usize, size: usize) -> (usize, [usize; 3]) {
    let view = view_of(3);
    let mut members: Vec<_> = view.members.iter().map(|&peer| AnyOrder::new(kind, peer)).collect();
    members.iter_mut().for_each(|member| member.get_mut().handle_view(&view));
    let (mut delivered, mut most) = ([0; 3], 0);
    for step in 0..messages + 20 {
        let is_talk = (20..messages + 20).contains(&step);
        if is_talk && members[1].get_mut().send(&vec![7; size]).is_err() {
            panic!("{kind:?}: no message is taken any more after {step} messages");
        }
        if is_talk && step % 500 == 0 {
            members[2].get_mut().send(b"indeed").unwrap();
        }
        for _ in 0..4 {
            for at in 0..3 {
                members[at].get_mut().flush();
                while let Some(Transmit { to, bytes }) = members[at].get_mut().poll_transmit() {
                    let from = view.members[at];
                    let result = members[to.0 as usize - 1].get_mut().handle_frame(from, &bytes);
                    assert_eq!(result, Ok(()), "{kind:?}, {from} to {to}");
                }
            }
        }
        for (member, delivered) in members.iter_mut().zip(&mut delivered) {
            let events = core::iter::from_fn(|| member.get_mut().poll_event());
            *delivered += events.filter(|event| matches!(event, Event::Delivered(_))).count();
            most = most.max(member.get().stored_bytes());
        }
    }
    (most, delivered)
}

#[test]
fn messages_that_all_members_have_are_dropped() {
    for (kind, size) in CAUSAL.into_iter().flat_map(|kind| [(kind, 100), (kind, 10_000)]) {
        let (bytes, delivered) = talk(kind, 5_000, size);
        println!("{kind:?}: at most {bytes} bytes kept of 5000 messages of {size} bytes");
        assert_eq!(delivered[0], 5_010, "{kind:?}");
        assert!(bytes < 120 * size.min(4_000) + 100_000, "{kind:?} keeps {bytes} bytes");
    }
}
