//! Workload W: sixty-four moving objects and sixteen observers, over a network that loses packets. The tests check
//! what it costs, and that all agree in the end.

use samovar_objects::schema::{Coding, Motion};
use samovar_objects::{Objects, Place, SchemaBuilder, Schemas, State};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{Entropy, Kind, ObjectId, PeerId, Reader, Receipt, Term, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const OWNER: PeerId = PeerId(1);
const CRAFT: Traits = Traits::of(Kind(1));
/// Bytes that a link adds to a datagram: its header, the acks, and the frame around the datagram.
const LINK_OVERHEAD: usize = 16;
const TICK: u64 = 16_667;
/// How long the objects move, in ticks.
const TICKS: usize = 300;
/// The delay of packets, and of acks, in ticks.
const DELAY: usize = 2;

fn schemas() -> Schemas {
    let grid =
        |width, limit: i32, step, motion| Coding::Grid { width, min: -limit, max: limit, step, motion };
    let mut builder = SchemaBuilder::default();
    builder.field("position", grid(3, 64_000, 0.001, Motion::Rated(1)));
    builder.field("velocity", grid(3, 10_000, 0.01, Motion::Smooth));
    builder.field("rotation", Coding::Rotation { limit: 162, motion: Motion::Rated(3) });
    builder.field("spin", grid(3, 1_000, 0.02, Motion::Smooth));
    Schemas::new().with(builder.build(CRAFT.kind))
}

/// One object's motion.
struct Craft {
    id: ObjectId,
    amplitude: [f64; 3],
    pulse: [f64; 3],
    phase: [f64; 3],
    axis: [f64; 3],
    spin: f64,
}

struct World {
    owner: Objects,
    observers: Vec<Objects>,
    crafts: Vec<Craft>,
    dice: Entropy,
    noise: f64,
    loss_percent: u64,
    tick: u64,
    packets: Vec<u64>,
    down: Vec<Vec<(usize, u64, Vec<u8>)>>,
    up: Vec<Vec<(usize, Vec<u64>)>>,
    heard: Vec<Vec<u64>>,
    bytes: usize,
    datagrams: usize,
}

impl World {
    fn new(seed: u8, crafts: usize, observers: usize, noise: f64) -> Self {
        let mut dice = Entropy::new([seed; 32]);
        let mut owner = Objects::new(OWNER, OWNER, Term(1), schemas());
        let mut others: Vec<Objects> =
            (0..observers).map(|n| Objects::new(peer(n), OWNER, Term(1), schemas())).collect();
        others.iter_mut().for_each(|other| other.add_peer(OWNER));
        (0..observers).for_each(|n| owner.add_peer(peer(n)));
        let mut unit = || (dice.number() % 1_000_000) as f64 / 1e6;
        let crafts = (0..crafts)
            .map(|_| {
                let amplitude = [0; 3].map(|_| 10.0 + 10.0 * unit());
                // Up to 15 m/s in all.
                let pulse = amplitude.map(|amplitude| (3.0 + 5.6 * unit()) / amplitude);
                let (phase, axis) =
                    ([0; 3].map(|_| core::f64::consts::TAU * unit()), [0; 3].map(|_| unit() - 0.5));
                let norm = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
                Craft {
                    id: ObjectId::SESSION,
                    amplitude,
                    pulse,
                    phase,
                    axis: axis.map(|a| a / norm),
                    spin: 1.0 + 3.0 * unit(),
                }
            })
            .collect();
        let mut world = Self {
            owner,
            observers: others,
            crafts,
            dice,
            noise,
            loss_percent: 5,
            tick: 0,
            packets: vec![0; observers],
            down: vec![Vec::new(); DELAY],
            up: vec![Vec::new(); DELAY],
            heard: vec![Vec::new(); observers],
            bytes: 0,
            datagrams: 0,
        };
        world.announce();
        world
    }

    fn now(&self) -> Time {
        Time::from_micros(1_000_000 + self.tick * TICK)
    }

    fn announce(&mut self) {
        for index in 0..self.crafts.len() {
            let state = self.state(index);
            self.crafts[index].id = self.owner.create_state(self.now(), CRAFT, &state).unwrap();
        }
        for (n, observer) in self.observers.iter_mut().enumerate() {
            let mut bytes = Vec::new();
            while let Some(pending) = self.owner.poll_message(Time::ZERO, peer(n), &mut bytes) {
                self.owner.on_sent(peer(n), pending, Receipt::Lane(0));
                let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
                observer.handle_message(OWNER, kind, &bytes[1..]).unwrap();
                bytes.clear();
            }
        }
    }

    fn jitter(&mut self) -> f64 {
        // Nearly a normal distribution of variance one.
        let sum: f64 = (0..12).map(|_| (self.dice.number() % 1_000_000) as f64 / 1e6).sum();
        (sum - 6.0) * self.noise
    }

    fn state(&mut self, index: usize) -> State {
        let time = self.tick as f64 * TICK as f64 / 1e6;
        let mut numbers = Vec::new();
        for velocity in [false, true] {
            for axis in 0..3 {
                let noise = self.jitter() * 0.01;
                let craft = &self.crafts[index];
                let (sine, cosine) = (craft.pulse[axis] * time + craft.phase[axis]).sin_cos();
                let value = if velocity {
                    (craft.amplitude[axis] * craft.pulse[axis] * cosine + noise) * 100.0
                } else {
                    (craft.amplitude[axis] * sine + noise) * 1_000.0
                };
                numbers.push(value.round() as i32);
            }
        }
        let wobble = [0; 3].map(|_| self.jitter() * 0.01);
        let craft = &self.crafts[index];
        let (sine, cosine) = (craft.spin * time / 2.0).sin_cos();
        let mut q = [craft.axis[0] * sine, craft.axis[1] * sine, craft.axis[2] * sine, cosine];
        // Adding half the small angle to the vector part approximates a turn by that angle.
        (0..3).for_each(|axis| q[axis] += wobble[axis] / 2.0);
        numbers.extend(smallest_three(q, 162));
        numbers.extend(craft.axis.map(|axis| (axis * craft.spin / 0.02).round() as i32));
        let mut state = State::default();
        numbers.into_iter().for_each(|number| state.number(number));
        state
    }

    fn step(&mut self, moving: usize) {
        self.tick += 1;
        let now = self.now();
        for index in 0..moving {
            let state = self.state(index);
            self.owner.set_state(now, self.crafts[index].id, &state).unwrap();
        }
        for (n, packets) in self.up.remove(0) {
            packets.into_iter().for_each(|packet| self.owner.on_fate(peer(n), packet, true));
        }
        self.up.push(Vec::new());
        let mut sent = Vec::new();
        for n in 0..self.observers.len() {
            loop {
                let mut bytes = Vec::new();
                let place = Place { now, peer: peer(n), packet: self.packets[n], room: 1_180 };
                let more = self.owner.write_datagram(place, &|_| true, &mut bytes);
                if bytes.is_empty() {
                    break;
                }
                self.bytes += bytes.len() + LINK_OVERHEAD;
                self.datagrams += 1;
                if self.dice.number() % 100 >= self.loss_percent {
                    sent.push((n, self.packets[n], bytes));
                }
                self.packets[n] += 1;
                if !more {
                    break;
                }
            }
        }
        self.down.push(sent);
        for (n, packet, bytes) in self.down.remove(0) {
            assert_eq!(bytes[0], MessageKind::Frame as u8);
            self.observers[n].handle_datagram(OWNER, &bytes[1..]).unwrap();
            self.heard[n].push(packet);
        }
        for n in 0..self.observers.len() {
            // A lost ack is repeated in later packets.
            if self.dice.number() % 100 >= self.loss_percent {
                let heard = core::mem::take(&mut self.heard[n]);
                self.up[DELAY - 1].push((n, heard));
            }
        }
    }

    fn all_agree(&self) -> bool {
        self.observers.iter().all(|observer| {
            let pairs = self.owner.iter().zip(observer.iter());
            let mut pairs = pairs.map(|(a, b)| a.id() == b.id() && a.numbers() == b.numbers());
            pairs.all(|equal| equal)
        })
    }
}

fn peer(n: usize) -> PeerId {
    PeerId(10 + n as u32)
}

fn smallest_three(q: [f64; 4], limit: i32) -> [i32; 4] {
    let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    let largest = (0..4).max_by(|&a, &b| q[a].abs().total_cmp(&q[b].abs())).unwrap();
    let scale = f64::from(limit) * 2.0_f64.sqrt() / norm * q[largest].signum();
    let mut rest = (0..4).filter(|&i| i != largest).map(|i| (q[i] * scale).round() as i32);
    [largest as i32, rest.next().unwrap(), rest.next().unwrap(), rest.next().unwrap()]
}

/// Bytes per object update, and ticks until all agree.
fn cost(seed: u8, noise: f64) -> (f64, u64) {
    let mut world = World::new(seed, 64, 16, noise);
    // The figure includes the start, when there are few baselines to build on.
    (0..TICKS).for_each(|_| world.step(64));
    let bytes = world.bytes as f64 / (TICKS * 64 * 16) as f64;
    let last = world.tick;
    world.step(0);
    while !world.all_agree() {
        assert!(world.tick < last + 30, "they never agree");
        world.step(0);
    }
    (bytes, world.tick - last)
}

#[test]
fn smooth_motion_costs_less_than_4_bytes_an_update() {
    for seed in 0..2 {
        let (bytes, ticks) = cost(seed, 0.0);
        println!("smooth: {bytes:.2} bytes per update, agreed after {ticks} ticks");
        assert!(bytes < 4.0, "{bytes}");
        assert!(ticks <= 5, "{ticks}");
    }
}

#[test]
fn noisy_motion_costs_less_than_5_5_bytes_an_update() {
    let (bytes, ticks) = cost(3, 1.0);
    println!("noisy: {bytes:.2} bytes per update, agreed after {ticks} ticks");
    assert!(bytes < 5.5, "{bytes}");
    assert!(ticks <= 5, "{ticks}");
}
