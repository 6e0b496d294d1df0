//! Turns: objects are sent by priority when not all changes fit, and no more often than an owner wants.

use samovar_objects::{Objects, Place, Schemas};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{Duration, Kind, ObjectId, PeerId, Reader, Receipt, Term, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const OWNER: PeerId = PeerId(1);
const OTHER: PeerId = PeerId(2);
const TICK: u64 = 16_667;

/// Bytes of a long text: two such texts fit into one state, and three do not.
const LONG: usize = 250;

/// An owner whose objects all change in every tick, and a receiver.
struct Pair {
    owner: Objects,
    other: Objects,
    ids: Vec<ObjectId>,
    tick: u64,
}

impl Pair {
    fn new(count: usize) -> Self {
        Self::with_texts(count, 1)
    }

    /// A pair whose objects have `texts` texts each.
    fn with_texts(count: usize, texts: usize) -> Self {
        let mut owner = Objects::new(OWNER, OWNER, Term(1), Schemas::new());
        let mut other = Objects::new(OTHER, OWNER, Term(1), Schemas::new());
        owner.add_peer(OTHER);
        other.add_peer(OWNER);
        let create =
            |_| owner.create(Time::ZERO, Traits::of(Kind(1)), &vec![&b"at first"[..]; texts]).unwrap();
        let ids = (0..count).map(create).collect();
        let mut bytes = Vec::new();
        while let Some(pending) = owner.poll_message(Time::ZERO, OTHER, &mut bytes) {
            owner.on_sent(OTHER, pending, Receipt::Lane(0));
            let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
            other.handle_message(OWNER, kind, &bytes[1..]).unwrap();
            bytes.clear();
        }
        Self { owner, other, ids, tick: 0 }
    }

    /// Changes all objects, sends one datagram of at most `room` bytes, and returns the objects that came.
    fn step(&mut self, room: usize) -> Vec<ObjectId> {
        self.tick += 1;
        let now = Time::from_micros(self.tick * TICK);
        for &id in &self.ids {
            self.owner.set(now, id, 0, &self.tick.to_le_bytes()).unwrap();
        }
        self.send(now, room);
        let newest = self.tick.to_le_bytes();
        self.other.iter().filter(|object| object.field(0) == newest).map(|object| object.id()).collect()
    }

    /// Changes all texts of all objects to long ones, and sends one datagram of at most `room` bytes. Adds to
    /// `counts` which texts came: first those of the first object, then those of the second, and so on.
    fn step_of_texts(&mut self, room: usize, counts: &mut [u32]) {
        self.tick += 1;
        let now = Time::from_micros(self.tick * TICK);
        let texts = counts.len() / self.ids.len();
        let newest = [self.tick as u8; LONG];
        for &id in &self.ids {
            (0..texts).for_each(|index| self.owner.set(now, id, index, &newest).unwrap());
        }
        self.send(now, room);
        let objects = self.ids.iter().map(|&id| self.other.get(id).unwrap());
        let fields = objects.flat_map(|object| (0..texts).map(move |index| object.field(index)));
        counts.iter_mut().zip(fields).for_each(|(count, text)| *count += u32::from(text == newest));
    }

    /// Sends one datagram of at most `room` bytes, which arrives.
    fn send(&mut self, now: Time, room: usize) {
        let mut bytes = Vec::new();
        let place = Place { now, peer: OTHER, packet: self.tick, room };
        self.owner.write_datagram(place, &|_| true, &mut bytes);
        assert!(bytes.len() <= room);
        if !bytes.is_empty() {
            self.other.handle_datagram(OWNER, &bytes[1..]).unwrap();
            self.owner.on_fate(OTHER, self.tick, true);
        }
    }

    /// How often each object came in `ticks` ticks, by the object's number.
    fn counts(&mut self, ticks: usize, room: usize) -> Vec<u32> {
        let mut counts = vec![0; self.ids.iter().map(|id| id.number as usize).max().unwrap_or(0)];
        for _ in 0..ticks {
            for id in self.step(room) {
                counts[id.number as usize - 1] += 1;
            }
        }
        counts
    }
}

/// Checks that equal objects are sent about equally often.
fn assert_fair(counts: &[u32]) {
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 0 && *most <= least * 2, "equals are sent {least} to {most} times");
}

#[test]
fn four_times_the_priority_is_sent_four_times_as_often() {
    let mut pair = Pair::new(200);
    for &id in &pair.ids[..100] {
        pair.owner.set_priority(id, 64).unwrap();
    }
    let sent = pair.counts(600, 400);
    let sum = |part: &[u32]| f64::from(part.iter().sum::<u32>());
    let ratio = sum(&sent[..100]) / sum(&sent[100..]);
    assert!((3.2..4.8).contains(&ratio), "{ratio}");
    assert_fair(&sent[..100]);
    assert_fair(&sent[100..]);
}

/// Judged by their average size all objects fit one packet, but the last one does not.
#[test]
fn no_object_starves_whatever_the_number_of_objects() {
    for count in 20..60 {
        assert_fair(&Pair::new(count).counts(200, 400));
    }
}

#[test]
fn an_object_too_large_for_the_room_delays_no_other() {
    let mut pair = Pair::new(40);
    let large = pair.ids.remove(20);
    let mut counts = vec![0; 40];
    for round in 0..200 {
        pair.owner.set(Time::from_micros(pair.tick * TICK + 1), large, 0, &[round; 255]).unwrap();
        let came = pair.counts(1, 200);
        counts.iter_mut().zip(came).for_each(|(sum, count)| *sum += count);
    }
    assert_eq!(counts.remove(20), 0);
    assert_fair(&counts);
}

#[test]
fn texts_that_do_not_fit_into_one_packet_take_turns() {
    for texts in 3..10 {
        let mut counts = vec![0; texts];
        let mut pair = Pair::with_texts(1, texts);
        (0..98).for_each(|_| pair.step_of_texts(1_000, &mut counts));
        assert_fair(&counts);
    }
}

/// A packet has room for one object, so objects are often chosen and not sent.
#[test]
fn texts_that_were_chosen_and_not_sent_keep_their_turn() {
    for (objects, texts) in (2..6).flat_map(|objects| (3..7).map(move |texts| (objects, texts))) {
        let mut counts = vec![0; objects * texts];
        let mut pair = Pair::with_texts(objects, texts);
        (0..600).for_each(|_| pair.step_of_texts(700, &mut counts));
        assert_fair(&counts);
    }
}

#[test]
fn object_is_sent_at_its_interval_and_its_last_state_arrives() {
    let mut pair = Pair::new(2);
    let (slow, fast) = (pair.ids[0], pair.ids[1]);
    pair.owner.set_interval(slow, Duration::from_millis(100)).unwrap();
    let (mut ticks_of_slow, mut count_of_fast) = (Vec::new(), 0);
    for _ in 0..120 {
        let came = pair.step(1_000);
        count_of_fast += usize::from(came.contains(&fast));
        if came.contains(&slow) {
            ticks_of_slow.push(pair.tick);
        }
    }
    assert_eq!(count_of_fast, 120);
    // Six ticks are the fewest that last at least the interval.
    assert!(ticks_of_slow.windows(2).all(|pair| pair[1] - pair[0] == 6), "{ticks_of_slow:?}");
    pair.ids.clear();
    (0..6).for_each(|_| drop(pair.step(1_000)));
    assert_eq!(pair.other.get(slow).unwrap().field(0), 120_u64.to_le_bytes());
    assert!(!pair.owner.wants_datagram(OTHER));
}
