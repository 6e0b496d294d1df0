//! CPU of single steps, measured by criterion: `cargo xtask bench micro`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use samovar_bench::motion::Motion;
use samovar_bench::network::Outbox;
use samovar_bench::subjects::{Replicator, Setup, samovar};
use samovar_link::{Link, LinkConfig, LinkEvent, Source};
use samovar_wire::link_frame::{Frame, PacketHeader};
use samovar_wire::{Duration, Generation, Generations, Lane, Time, Writer};

/// Measures how long it takes to write and to read the frame of a message of 64 bytes.
fn frame(c: &mut Criterion) {
    let message = [7; 64];
    let mut bytes = Vec::with_capacity(1_200);
    let header = PacketHeader { generations: Generations::FIRST, number: 7, ack: None };
    let encode = |bytes: &mut Vec<u8>| {
        bytes.clear();
        let mut out = Writer::new(bytes);
        header.encode(&mut out);
        Frame::Segment { lane: 1, number: 7, last: true, bytes: &message }.encode(&mut out);
    };
    c.bench_function("frame/encode", |b| b.iter(|| encode(black_box(&mut bytes))));
    c.bench_function("frame/decode", |b| {
        b.iter(|| {
            let (_, mut frames) = PacketHeader::decode(black_box(&bytes)).expect("it was encoded");
            frames.next_frame().expect("it was encoded").is_some()
        });
    });
}

/// Lets one end send as in a driver's loop, and the other take its packets.
fn exchange(now: Time, from: &mut Link, to: &mut Link, packet: &mut Vec<u8>) {
    from.handle_timeout(now);
    loop {
        let source = Source { wanted: false, compose: &mut |_, _, _| {} };
        let Some(mode) = from.poll_transmit(now, now, source, packet) else { break };
        to.handle(now, mode, packet).expect("the ends agree");
    }
    while let Some(event) = to.poll_event() {
        if let LinkEvent::Message(_, message) = event {
            to.recycle(message);
        }
    }
}

/// Measures a packet with a message of 64 bytes: one link writes it, another handles it, and its events are drained.
fn link(c: &mut Criterion) {
    let (mut here, mut there) = (
        Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST),
        Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST),
    );
    let (mut now, mut packet) = (Time::ZERO, Vec::new());
    c.bench_function("link/round", |b| {
        b.iter(|| {
            now += Duration::from_micros(16_667);
            here.send(Lane::GAME, &[7; 64]).expect("the queue has room");
            exchange(now, &mut here, &mut there, &mut packet);
            exchange(now, &mut there, &mut here, &mut packet);
        });
    });
}

/// Measures one owner's tick of workload W, for one observer and for sixteen, on links without loss.
fn tick(c: &mut Criterion) {
    for observers in [1, 16] {
        let mut motion = Motion::new(1, 64, false);
        let mut states = motion.states(0);
        let mut subject = (samovar::SUBJECT.start)(Setup { observers, states: &states, seed: 1 });
        let (mut down, mut up) = (Outbox::new(), Outbox::new());
        let mut tick = 0;
        let mut step = |subject: &mut dyn Replicator| {
            tick += 1;
            motion.write(tick, &mut states);
            subject.tick_owner(tick, &states, &mut down);
            let mut arrived = vec![Vec::new(); observers];
            down.drain(|observer, datagram| arrived[observer].push(datagram.to_vec()));
            for (observer, datagrams) in arrived.iter().enumerate() {
                subject.tick_observer(tick, observer, datagrams, &mut up);
            }
            up.drain(|observer, datagram| subject.receive_at_owner(observer, datagram));
        };
        (0..200).for_each(|_| step(&mut *subject));
        c.bench_function(&format!("objects/tick_of_64_at_{observers}"), |b| b.iter(|| step(&mut *subject)));
    }
}

criterion_group!(benches, frame, link, tick);
criterion_main!(benches);
