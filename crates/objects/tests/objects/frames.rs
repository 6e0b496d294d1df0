//! Frames over a bad network, frames from a lying sender, and the exact bytes of frames.

use samovar_objects::{Coding, Motion, ObjectError, Objects, Place, SchemaBuilder, Schemas, State};
use samovar_wire::object::{FrameHead, MessageKind, Traits};
use samovar_wire::{CloseCode, Entropy, Kind, ObjectId, PeerId, Reader, Receipt, Term, Time, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const OWNER: PeerId = PeerId(1);
const OTHER: PeerId = PeerId(2);
const CRAFT: Traits = Traits::of(Kind(1));

fn schemas() -> Schemas {
    schemas_named(20)
}

/// Schemas with longer names than the receiver allows.
fn wider_schemas() -> Schemas {
    schemas_named(255)
}

fn schemas_named(max: u8) -> Schemas {
    let grid =
        |width, limit: i32, step, motion| Coding::Grid { width, min: -limit, max: limit, step, motion };
    let mut builder = SchemaBuilder::default();
    builder.field("name", Coding::Text { max });
    builder.field("place", grid(2, 20_000, 0.001, Motion::Rated(2)));
    builder.field("velocity", grid(2, 2_000, 0.01, Motion::Smooth));
    builder.field("heading", Coding::Angle { turn: 4_096, motion: Motion::Rated(4) });
    builder.field("turning", grid(1, 800, 0.01, Motion::Smooth));
    builder.field("pose", Coding::Rotation { limit: 500, motion: Motion::Held });
    builder.field("mode", Coding::Choice { count: 5 });
    builder.field("exact", Coding::Exact { width: 1 });
    Schemas::new().with(builder.build(CRAFT.kind))
}

fn machine(me: PeerId) -> Objects {
    let mut objects = Objects::new(me, OWNER, Term::FIRST, schemas());
    [OWNER, OTHER].into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

fn state(numbers: [i32; 12], name: &str) -> State {
    let mut state = State::default();
    numbers.into_iter().for_each(|number| state.number(number));
    state.text(name.as_bytes());
    state
}

fn tell(from: &mut Objects, to: &mut Objects) {
    let mut bytes = Vec::new();
    while let Some(pending) = from.poll_message(Time::ZERO, OTHER, &mut bytes) {
        from.on_sent(OTHER, pending, Receipt::Lane(0));
        let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
        to.handle_message(OWNER, kind, &bytes[1..]).unwrap();
        bytes.clear();
    }
}

fn frame(from: &mut Objects, now: u64, packet: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let place = Place { now: Time::from_micros(now), peer: OTHER, packet, room: 1_100 };
    from.write_datagram(place, &|_| true, &mut bytes);
    bytes
}

/// An owner with some objects, a receiver, and a network that loses packets at random.
struct Pair {
    owner: Objects,
    other: Objects,
    ids: Vec<ObjectId>,
    dice: Entropy,
    /// Packets in flight: arrival time, number, bytes.
    air: Vec<(u64, u64, Vec<u8>)>,
    fates: Vec<(u64, u64, bool)>,
}

impl Pair {
    fn new(seed: u8) -> Self {
        let (mut owner, mut other) = (machine(OWNER), machine(OTHER));
        let start = state([0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0], "pot");
        let create = |_| owner.create_state(Time::ZERO, CRAFT, &start).unwrap();
        let ids = (0..10).map(create).collect();
        tell(&mut owner, &mut other);
        Self { owner, other, ids, dice: Entropy::new([seed; 32]), air: Vec::new(), fates: Vec::new() }
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.dice.number() % below
    }

    /// Changes the objects: some jump, some glide, some stay.
    fn change(&mut self, now: u64) {
        for index in 0..self.ids.len() {
            let id = self.ids[index];
            let object = self.owner.get(id).unwrap();
            let (mut numbers, name) = (object.numbers().to_vec(), object.field(0).to_vec());
            let mut name = String::from_utf8(name).unwrap();
            match self.roll(6) {
                0 => continue,
                1 => {
                    numbers[0] = self.roll(40_001) as i32 - 20_000;
                    numbers[4] = self.roll(4_096) as i32;
                    numbers[6..10].copy_from_slice(&[self.roll(4) as i32, 30, -17, self.roll(500) as i32]);
                    numbers[11] = self.dice.number() as i32;
                }
                2 => numbers[10] = self.roll(5) as i32,
                3 => name = format!("pot {}", self.roll(100)),
                _ => {
                    numbers[0] = (numbers[0] + numbers[2] / 6).clamp(-20_000, 20_000);
                    numbers[2] = (numbers[2] + self.roll(21) as i32 - 10).clamp(-2_000, 2_000);
                    numbers[4] = (numbers[4] + 70) % 4_096;
                    numbers[5] = 650;
                }
            }
            let numbers: [i32; 12] = numbers.try_into().unwrap();
            self.owner.set_state(Time::from_micros(now), id, &state(numbers, &name)).unwrap();
        }
    }

    /// Runs one tick, a sixtieth of a second. `loss` is in percent; `delay` is the most ticks that a packet takes.
    fn tick(&mut self, tick: u64, loss: u64, delay: u64) {
        let bytes = frame(&mut self.owner, tick * 16_667, tick);
        let is_lost = self.roll(100) < loss;
        let due = tick + self.roll(delay + 1);
        if !bytes.is_empty() {
            if !is_lost {
                self.air.push((due, tick, bytes));
            }
            // A packet that arrives may have been declared lost.
            let told = !is_lost && self.roll(100) >= loss;
            let at = if told { due + 1 + self.roll(delay + 1) } else { tick + 2 * delay };
            self.fates.push((at, tick, told));
        }
        let arrived: Vec<_> = self.air.extract_if(.., |(due, ..)| *due <= tick).collect();
        for (_, _, bytes) in arrived {
            self.other.handle_datagram(OWNER, &bytes[1..]).unwrap();
        }
        for (_, packet, fate) in self.fates.extract_if(.., |(due, ..)| *due <= tick).collect::<Vec<_>>() {
            self.owner.on_fate(OTHER, packet, fate);
        }
    }
}

#[test]
fn the_last_state_arrives_exactly_on_any_network() {
    for seed in 0..if cfg!(target_arch = "wasm32") { 6 } else { 40 } {
        let mut pair = Pair::new(seed);
        let (loss, delay) = (pair.roll(51), pair.roll(60));
        for tick in 1..300 {
            pair.change(tick * 16_667);
            pair.tick(tick, loss, delay);
        }
        let mut tick = 300;
        while pair.owner.wants_datagram(OTHER) || !pair.air.is_empty() {
            pair.tick(tick, loss, delay);
            tick += 1;
            assert!(tick < 2_000, "seed {seed}: it never ends");
        }
        for (a, b) in pair.owner.iter().zip(pair.other.iter()) {
            assert_eq!((a.id(), a.numbers(), a.field(0)), (b.id(), b.numbers(), b.field(0)), "seed {seed}");
        }
        assert!(
            frame(&mut pair.owner, tick * 16_667 + 1, tick).is_empty(),
            "an object at rest costs nothing"
        );
    }
}

#[test]
fn mutated_frames_change_only_objects_of_their_sender() {
    let mut pair = Pair::new(1);
    let (mut refused, mut accepted) = (0, 0);
    for tick in 1..400 {
        pair.change(tick * 16_667);
        let mut bytes = frame(&mut pair.owner, tick * 16_667, tick).split_off(1);
        pair.owner.on_fate(OTHER, tick, false);
        for _ in 0..1 + pair.roll(4) {
            let at = pair.roll(bytes.len() as u64) as usize;
            match pair.roll(4) {
                0 if at > 0 => bytes.truncate(at),
                1 => bytes.push(tick as u8),
                _ => bytes[at] ^= 1 << (tick % 8),
            }
        }
        match pair.other.handle_datagram(OWNER, &bytes) {
            Err(CloseCode::Malformed | CloseCode::TooLarge) => refused += 1,
            Err(other) => panic!("{other:?}"),
            Ok(()) => accepted += 1,
        }
        let before: Vec<_> = pair.other.iter().map(|object| object.numbers().to_vec()).collect();
        // A stranger's datagram changes nothing, whether it parses or not.
        let _ = pair.other.handle_datagram(PeerId(9), &bytes);
        assert!(pair.other.iter().map(|object| object.numbers().to_vec()).eq(before));
        for object in pair.other.iter() {
            let places = object.numbers()[..2].iter().all(|n| (-20_000..=20_000).contains(n));
            assert!(places && object.field(0).len() <= 255);
        }
    }
    assert!(refused > 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn a_state_built_on_an_unsent_baseline_is_malformed() {
    let mut pair = Pair::new(2);
    pair.change(1);
    let honest = frame(&mut pair.owner, 16_667, 1);
    let mut reader = Reader::new(&honest[1..]);
    let head = FrameHead::decode(&mut reader).unwrap();
    let rest = reader.rest();
    let mut forged = Vec::new();
    // Baselines are counted back from the frame's number, so this one is a frame that was never sent.
    FrameHead { frame: head.frame + 7, ..head }.encode(&mut Writer::new(&mut forged));
    forged.extend_from_slice(rest);
    assert_eq!(pair.other.handle_datagram(OWNER, &forged), Err(CloseCode::Malformed));
    assert_eq!(pair.other.handle_datagram(OWNER, &honest[1..]), Ok(()));
}

#[test]
fn states_arrive_exactly_when_the_clock_leaps() {
    let mut pair = Pair::new(9);
    let id = pair.ids[0];
    // Samples by a clock that runs ahead of the frames' clock and then leaps.
    for tick in 1..80_u64 {
        let (sampled, stamped) = match tick {
            ..20 => (900_000 + tick * 16_667, 0),
            20..40 => (tick * 16_667, tick * 16_667),
            _ => (7_000_000 + tick * 16_667, 6_500_000 + tick * 16_667),
        };
        let at = tick as i32;
        let moved = state([at * at, -40 * at, 2 * at, -40, at * 9 % 4_096, 50, 3, 0, 0, 0, 0, 0], "pot");
        pair.owner.set_state(Time::from_micros(sampled), id, &moved).unwrap();
        let bytes = frame(&mut pair.owner, stamped, tick);
        pair.other.handle_datagram(OWNER, &bytes[1..]).unwrap();
        pair.owner.on_fate(OTHER, tick, true);
        assert_eq!(pair.other.get(id).unwrap().numbers(), moved.numbers(), "at {tick}");
    }
}

#[test]
fn a_text_beyond_its_bound_is_refused_at_both_ends() {
    let mut pair = Pair::new(10);
    let id = pair.ids[0];
    let long = [b'a'; 21];
    assert_eq!(pair.owner.set(Time::ZERO, id, 0, &long), Err(ObjectError::BadField));
    assert_eq!(pair.owner.set(Time::ZERO, id, 1, &[]), Err(ObjectError::BadField), "it has one text");
    // A peer that accepted such a text could never announce the object if it became the owner.
    let mut liar = Objects::new(OWNER, OWNER, Term::FIRST, wider_schemas());
    liar.add_peer(OTHER);
    let mut victim = machine(OTHER);
    let start = state([0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0], "pot");
    let id = liar.create_state(Time::ZERO, CRAFT, &start).unwrap();
    tell(&mut liar, &mut victim);
    liar.set(Time::ZERO, id, 0, &long).unwrap();
    let bytes = frame(&mut liar, 16_667, 1);
    assert_eq!(victim.handle_datagram(OWNER, &bytes[1..]), Err(CloseCode::Malformed));
    assert_eq!(victim.get(id).unwrap().field(0), b"pot");
}

#[test]
fn frames_have_the_same_bytes_on_every_machine() {
    let (mut owner, mut other) = (machine(OWNER), machine(OTHER));
    let id = owner
        .create_state(Time::ZERO, CRAFT, &state([0, 0, 300, -200, 0, 100, 3, 0, 0, 0, 0, 7], "Ann"))
        .unwrap();
    tell(&mut owner, &mut other);
    let mut written = Vec::new();
    for tick in 1..=12 {
        let t = tick as i32;
        let numbers = [50 * t, -33 * t, 300 - t * t, -200 + 3 * t, 11 * t, 100, 3, 9 * t, -t, 0, t / 5, 7];
        let name = if t > 9 { "Bo" } else { "Ann" };
        owner.set_state(Time::from_micros(tick * 16_667), id, &state(numbers, name)).unwrap();
        let bytes = frame(&mut owner, tick * 16_667, tick);
        other.handle_datagram(OWNER, &bytes[1..]).unwrap();
        if tick > 3 {
            owner.on_fate(OTHER, tick - 3, true);
        }
        written.push(bytes);
    }
    assert_eq!(other.get(id).unwrap().numbers(), owner.get(id).unwrap().numbers());
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let golden: Vec<_> = include_str!("frames.hex").lines().collect();
    for (written, golden) in written.iter().zip(&golden) {
        assert_eq!(hex(written), *golden);
    }
    assert_eq!(golden.len(), written.len());
}
