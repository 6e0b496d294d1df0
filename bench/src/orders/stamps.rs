//! The number of messages of a step in total order, and of bytes in a causal stamp. Both are counted on the orders
//! alone, without sessions.

use std::collections::{BTreeMap, VecDeque};

use samovar_order::causal::Vector;
use samovar_order::total::Total;
use samovar_order::{Event, Order, View, ViewId};
use samovar_wire::{PeerId, Term};

use crate::rng::Rng;

fn view(members: u32) -> View {
    let id = ViewId { term: Term::FIRST, number: 1 };
    let members: Vec<_> = (1..=members).map(PeerId).collect();
    View { id, host: members[0], backups: vec![members[1]], members }
}

/// Frames per step of the total order. In a step each of `n` members sends one message, and the host's frames are
/// polled once.
pub(super) fn frames_of_a_step(n: u32) -> f64 {
    const STEPS: u64 = 30;
    let view = view(n);
    let mut members: Vec<_> = view.members.iter().map(|&peer| Total::new(peer)).collect();
    members.iter_mut().for_each(|member| member.handle_view(&view));
    let mut frames = 0;
    for step in 0..=STEPS {
        for member in &mut members {
            member.send(b"x").expect("there is room");
        }
        // First the members send, then the host. The first step, which is not counted, goes on until no frame is left.
        let mut before = frames;
        loop {
            for from in (0..members.len()).rev() {
                while let Some(out) = members[from].poll_transmit() {
                    frames += u64::from(step > 0);
                    let (from, to) = (PeerId(from as u32 + 1), out.to.0 as usize - 1);
                    members[to].handle_frame(from, &out.bytes).expect("an honest member");
                    before += u64::from(step == 0);
                }
            }
            if before == frames || step > 0 {
                break;
            }
            before = frames;
        }
        members.iter_mut().for_each(|member| while member.poll_event().is_some() {});
    }
    frames as f64 / STEPS as f64
}

/// Frames on their way, each with the step in which it was sent.
type Lane = VecDeque<(u64, Vec<u8>)>;

/// The mean bytes of a message's causal stamp when all `n` members send equally often. A message takes `n` steps to
/// arrive, and in each step one member sends.
pub(super) fn bytes_of_a_stamp(n: u32) -> f64 {
    const MESSAGES: u64 = 8_000;
    let view = view(n);
    let mut members: Vec<_> = view.members.iter().map(|&peer| Vector::new(peer)).collect();
    members.iter_mut().for_each(|member| member.handle_view(&view));
    let mut lanes: BTreeMap<(usize, usize), Lane> = BTreeMap::new();
    let (mut rng, mut bytes, mut messages) = (Rng::new(1, 7), 0, 0);
    for step in 0..MESSAGES {
        if step > u64::from(n) * 8 {
            members[(rng.next_u64() % u64::from(n)) as usize].send(b"").expect("there is room");
        }
        for (from, member) in members.iter_mut().enumerate() {
            while let Some(out) = member.poll_transmit() {
                // A frame of the most frequent kind is one byte and the stamp, because the message is empty.
                if out.bytes[0] < 0x80 {
                    (bytes, messages) = (bytes + out.bytes.len() - 1, messages + 1);
                }
                lanes.entry((from, out.to.0 as usize - 1)).or_default().push_back((step, out.bytes));
            }
        }
        for (&(from, to), lane) in &mut lanes {
            while let Some((_, frame)) = lane.pop_front_if(|(at, _)| *at + u64::from(n) <= step) {
                members[to].handle_frame(PeerId(from as u32 + 1), &frame).expect("an honest member");
            }
            while let Some(Event::Delivered(_) | Event::View(_)) = members[to].poll_event() {}
        }
    }
    bytes as f64 / messages as f64
}
