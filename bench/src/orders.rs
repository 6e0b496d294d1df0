//! The cost of each order: messages, bytes of stamps, and how much later than in FIFO order a message is delivered.
//! Also lockstep beside rollback (docs/benchmarks.md, "Orders").

mod ggrs;
mod lockstep;
mod stamps;
mod table;

use std::collections::BTreeMap;

use samovar_session::lockstep::LockstepConfig;
use samovar_session::{
    Causality, Delivery, Event, Lane, Orders, Rules, SendError, Target, TimeOrderConfig, Traits,
};
use samovar_wire::{Duration, Kind, PeerId, Time};

use crate::options::Options;
use crate::report::{Report, Row};
use table::Table;

/// Runs the benches that the options ask for.
pub fn run(options: &Options, report: &mut Report) {
    if options.wants("orders_frames") {
        frames(report);
        report.print("orders_frames");
    }
    for (bench, loss) in [("orders_delay", 0.0), ("orders_delay_loss2", 0.02)] {
        if options.wants(bench) {
            delays(bench, loss, report);
            report.print(bench);
        }
    }
    if options.wants("lockstep_8") {
        lockstep_of_eight(report);
        report.print("lockstep_8");
    }
    for (bench, changes) in [("lockstep_4", 12), ("lockstep_4_busy", 1)] {
        if options.wants(bench) {
            lockstep_of_four(bench, changes, options, report);
            report.print(bench);
        }
    }
}

fn add(
    report: &mut Report,
    bench: &str,
    subject: &str,
    metric: &'static str,
    value: f64,
    unit: &'static str,
) {
    let (bench, subject) = (bench.to_owned(), subject.to_owned());
    report.add(Row { bench, subject, metric, value, unit });
}

fn frames(report: &mut Report) {
    for (n, metric) in [
        (2, "total_step_2"),
        (4, "total_step_4"),
        (8, "total_step_8"),
        (16, "total_step_16"),
        (32, "total_step_32"),
    ] {
        let bench = "orders_frames";
        add(report, bench, "samovar", metric, stamps::frames_of_a_step(n), "messages");
        add(report, bench, "pacman", metric, f64::from(2 * n * (n - 1)), "messages");
    }
    add(report, "orders_frames", "samovar", "causal_stamp_16", stamps::bytes_of_a_stamp(16), "B per message");
}

/// A way to deliver messages: its name in the report, and its [`Delivery`] for a message of a given time.
type Way = (&'static str, fn(Time) -> Delivery);

const WAYS: [Way; 5] = [
    ("fifo", |_| Delivery::Lane(Lane::GAME)),
    ("causal", |_| Delivery::Causal),
    ("total", |_| Delivery::Total),
    ("stable", |_| Delivery::Stable),
    ("timestamp", Delivery::Timestamp),
];

/// Measures how long messages take among four members that are 25 ms apart. Each member sends ten messages a second,
/// and updates an object 60 times a second.
fn delays(bench: &str, loss: f64, report: &mut Report) {
    for (name, way) in WAYS {
        let timestamp = Some(TimeOrderConfig::default());
        let orders = Orders { causal: Some(Causality::Vector), total: true, timestamp, lockstep: None };
        let rules = Rules { orders, ..Rules::default() };
        let mut table = Table::new(4, rules, Duration::from_millis(25), loss);
        table.run(3_000, |_, _, _| {});
        let mut said: BTreeMap<(PeerId, u32), Time> = BTreeMap::new();
        let mut waits = Vec::new();
        let (mut count, mut ms, mut things) = (0_u32, 0_u64, BTreeMap::new());
        table.run(30_000, |now, session, events| {
            for event in events {
                if let Event::Message { from, bytes, .. } = event
                    && *from != session.me()
                    && let Ok(number) = <[u8; 4]>::try_from(&bytes[..])
                {
                    let at = said[&(*from, u32::from_le_bytes(number))];
                    waits.push(now.since(at).as_micros() as f64 / 1_000.0);
                }
            }
            if session.is_host() {
                ms += 1;
            }
            // As in a game, each member updates an object all the time.
            session.set_update_interval(Duration::from_micros(16_667));
            let thing = *things.entry(session.me()).or_insert_with(|| {
                session.edit(now).create(Traits::of(Kind(1)), &[&[0; 8]]).expect("its first object")
            });
            session.edit(now).set(thing, 0, &ms.to_le_bytes()).expect("it is its own");
            // Each member sends one message every 100 ms, and no two members send in the same millisecond.
            if (ms + u64::from(session.me().0) * 23).is_multiple_of(100) {
                count += 1;
                let time = session.session_time(now);
                match session.send(Target::All, way(time), &count.to_le_bytes()) {
                    Ok(()) => drop(said.insert((session.me(), count), now)),
                    Err(SendError::TooOld(_)) => {}
                    Err(error) => panic!("{name}: {error}"),
                }
            }
        });
        waits.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize];
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let subject = format!("samovar {name}");
        for (metric, value) in [("mean", mean), ("p50", at(0.5)), ("p99", at(0.99))] {
            add(report, bench, &subject, metric, value, "ms");
        }
    }
}

fn rules() -> Rules {
    let orders = Orders { lockstep: Some(LockstepConfig::new(1)), ..Orders::default() };
    Rules { orders, ..Rules::default() }
}

fn lockstep_of_eight(report: &mut Report) {
    let figures = lockstep::run(8, rules(), Duration::from_millis(50), 0.02, 12);
    let bench = "lockstep_8";
    add(report, bench, "samovar", "frames_per_second", figures.frames_per_second, "1/s");
    add(report, bench, "samovar", "longest_freeze", figures.longest_freeze, "ms");
}

fn lockstep_of_four(bench: &str, changes: u64, options: &Options, report: &mut Report) {
    let figures = lockstep::run(4, rules(), Duration::from_millis(50), 0.0, changes);
    add(report, bench, "samovar", "bytes_per_second", figures.bytes_per_second, "B/s per pair");
    add(report, bench, "samovar", "packets_per_second", figures.packets_per_second, "1/s per pair");
    if options.includes(ggrs::NAME) {
        let (bytes, packets) = ggrs::run(4, changes);
        add(report, bench, ggrs::NAME, "bytes_per_second", bytes, "B/s per pair");
        add(report, bench, ggrs::NAME, "packets_per_second", packets, "1/s per pair");
    }
}
