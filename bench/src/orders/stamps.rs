//! Messages of a step in total order, and bytes of a causal stamp, counted on the orders alone.

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

/// Frames per step in which each of `n` members says something, the host being asked what it has to say once a step.
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
        // The members first, then the host, then whatever that leads to.
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

/// Bytes of the stamp of a message when all of `n` members chatter alike, a message taking as long as all need for one each.
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
                // A frame of the most frequent kind is its kind and the stamp.
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
