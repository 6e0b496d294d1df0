//! The benches by name, and the figures that are made of a run's outcome.

use std::time::Duration;

use crate::age::Ages;
use crate::client_server;
use crate::network::Traffic;
use crate::options::Options;
use crate::orders;
use crate::reliable;
use crate::report::{Report, Row};
use crate::subjects::{self, Subject};
use crate::workload::{self, Outcome, Plan};

const TICK_MS: f64 = 1_000.0 / 60.0;

/// Runs the benches that the options ask for.
pub fn run(options: &Options, report: &mut Report) {
    for (bench, is_noisy) in [("w_smooth", false), ("w_noisy", true)] {
        if options.wants(bench) {
            for subject in subjects::SUBJECTS.iter().filter(|subject| options.includes(subject.name)) {
                workload_w(bench, *subject, options, |seed| Plan::standard(seed, is_noisy, 0.05), report);
            }
            report.print(bench);
        }
    }
    for (bench, loss) in
        [("w_over_sctp_loss0", 0.0), ("w_over_sctp_loss5", 0.05), ("w_over_sctp_loss10", 0.1)]
    {
        if options.wants(bench) {
            for subject in subjects::OVER_SCTP.iter().filter(|subject| options.includes(subject.name)) {
                workload_w(bench, *subject, options, |seed| Plan::standard(seed, false, loss), report);
            }
            report.print(bench);
        }
    }
    reliable_latency(options, report);
    if options.wants("rest") {
        rest(options, report);
        report.print("rest");
    }
    if options.wants("scale") {
        scale(options, report);
        report.print("scale");
    }
    orders::run(options, report);
    client_server::run(options, report);
}

/// Measures how many more bytes a thousand objects at rest cost than a single one.
fn rest(options: &Options, report: &mut Report) {
    for subject in subjects::SUBJECTS.iter().filter(|subject| options.includes(subject.name)) {
        let bytes = |objects| {
            let plan = Plan { objects, moving: 0, ticks: 0, freezes: 0, ..Plan::standard(1, false, 0.0) };
            workload::run(*subject, plan).rest.bytes as f64 / plan.observers as f64
        };
        let one = bytes(1);
        let mut add = |metric, value| {
            let (bench, subject) = ("rest".to_owned(), subject.name.to_owned());
            report.add(Row { bench, subject, metric, value, unit: "B/s per observer" });
        };
        add("bytes_per_second", bytes(1_000) - one);
        add("link_bytes_per_second", one);
    }
}

/// Measures the CPU time for a hundred moving objects, alone and among ten thousand.
fn scale(options: &Options, report: &mut Report) {
    const MOVING: usize = 100;
    const ALL: usize = 10_000;
    for subject in subjects::SCALED.iter().filter(|subject| options.includes(subject.name)) {
        let cpu = |objects| {
            let plan =
                Plan { objects, moving: MOVING, ticks: 300, freezes: 0, ..Plan::standard(1, false, 0.05) };
            let mut cpu: Vec<Duration> =
                workload::run(*subject, plan).costs.iter().map(|cost| cost.cpu).collect();
            cpu.sort_unstable();
            micros(cpu[cpu.len() / 2])
        };
        let (alone, among) = (cpu(MOVING), cpu(ALL));
        let mut add = |metric, value, unit| {
            let (bench, subject) = ("scale".to_owned(), subject.name.to_owned());
            report.add(Row { bench, subject, metric, value, unit });
        };
        add("owner_cpu_100_of_100", alone, "us per tick");
        add("owner_cpu_100_of_10000", among, "us per tick");
        add("cpu_ratio", among / alone, "1");
    }
}

/// Milliseconds between two messages, by bench.
const RELIABLE: [(&str, u64); 2] = [("reliable_dense", 16), ("reliable_sparse", 500)];

/// The most runs of a reliable bench. Each run has many messages, so more runs would add little.
const RELIABLE_SEEDS: u64 = 3;

fn reliable_latency(options: &Options, report: &mut Report) {
    for (bench, interval) in RELIABLE.into_iter().filter(|(bench, _)| options.wants(bench)) {
        for carrier in reliable::CARRIERS.iter().filter(|carrier| options.includes(carrier.name)) {
            let mut outcome = reliable::Outcome::default();
            for seed in 1..=options.seeds.min(RELIABLE_SEEDS) {
                outcome.add(reliable::run(*carrier, seed, options.messages, interval));
            }
            let mut add = |metric, value, unit| {
                let (bench, subject) = (bench.to_owned(), carrier.name.to_owned());
                report.add(Row { bench, subject, metric, value, unit });
            };
            let shares =
                [("latency_p50", 0.5), ("latency_p99", 0.99), ("latency_p999", 0.999), ("latency_max", 1.0)];
            for (metric, share) in shares {
                add(metric, outcome.quantile(share) as f64, "ms");
            }
            let messages = outcome.latencies.len() as f64;
            if outcome.copies > 0 {
                add("copies_per_message", outcome.copies as f64 / messages, "1");
            }
            add("bytes_per_message", outcome.traffic.bytes as f64 / messages, "B");
            add("packets_per_message", outcome.traffic.datagrams as f64 / messages, "1");
        }
        report.print(bench);
    }
}

/// Runs one subject with all seeds and reports its figures.
fn workload_w(
    bench: &str,
    subject: Subject,
    options: &Options,
    plan: impl Fn(u64) -> Plan,
    report: &mut Report,
) {
    let outcomes: Vec<Outcome> = (1..=options.seeds).map(|seed| workload::run(subject, plan(seed))).collect();
    let plan = plan(1);
    let mut add = |metric, value, unit| {
        let (bench, subject) = (bench.to_owned(), subject.name.to_owned());
        report.add(Row { bench, subject, metric, value, unit });
    };
    let runs = options.seeds as f64;
    let seconds = runs * plan.ticks as f64 / 60.0;
    let observers = plan.observers as f64;
    let updates = runs * (plan.ticks * (plan.moving * plan.observers) as u64) as f64;
    let (down, up) = (sum(&outcomes, |o| o.down), sum(&outcomes, |o| o.up));
    add("bytes_per_update", down.bytes as f64 / updates, "B");
    add("up_bytes_per_update", up.bytes as f64 / updates, "B");
    add("bytes_per_second", down.bytes as f64 / seconds / observers, "B/s per observer");
    add("packets_per_second", down.datagrams as f64 / seconds / observers, "1/s per observer");

    let cpu = outcomes.iter().flat_map(|outcome| outcome.costs.iter().map(|cost| cost.cpu));
    let mut cpu: Vec<Duration> = cpu.collect();
    cpu.sort_unstable();
    add("owner_cpu_p50", micros(cpu[cpu.len() / 2]), "us per tick");
    add("owner_cpu_min", micros(cpu[0]), "us per tick");
    let allocations: u64 = outcomes.iter().flat_map(|o| &o.costs).map(|cost| cost.allocations).sum();
    add("owner_allocations_per_tick", allocations as f64 / cpu.len() as f64, "1");

    let mut ages = Ages::default();
    outcomes.iter().for_each(|outcome| ages.add(&outcome.ages));
    for (metric, share) in [("age_p50", 0.5), ("age_p99", 0.99), ("age_p999", 0.999)] {
        add(metric, ages.quantile(share) as f64, "ticks");
    }

    let mut first: Vec<u64> = outcomes.iter().filter_map(|o| o.converged.first().copied()).collect();
    let mut all: Vec<u64> = outcomes.iter().flat_map(|outcome| outcome.converged.clone()).collect();
    first.sort_unstable();
    all.sort_unstable();
    for (metric, ticks, share) in
        [("converge_first_p50", &first, 0.5), ("converge_p50", &all, 0.5), ("converge_p99", &all, 0.99)]
    {
        add(metric, converged(ticks, share), "ms");
    }
    let rest = sum(&outcomes, |o| o.rest);
    add("rest_bytes_per_second", rest.bytes as f64 / runs / observers, "B/s per observer");
    let refused: u64 = outcomes.iter().map(|outcome| outcome.refused).sum();
    add("refused", refused as f64 / runs, "messages per run");
}

/// The time in milliseconds that the given share of freezes did not exceed. `ticks` must be sorted.
fn converged(ticks: &[u64], share: f64) -> f64 {
    let index = ((ticks.len() as f64 * share).ceil() as usize).max(1) - 1;
    match ticks.get(index) {
        Some(&ticks) if ticks < workload::CONVERGE_MAX => ticks as f64 * TICK_MS,
        _ => f64::INFINITY,
    }
}

fn sum(outcomes: &[Outcome], of: impl Fn(&Outcome) -> Traffic) -> Traffic {
    outcomes.iter().map(of).fold(Traffic::default(), |sum, one| Traffic {
        bytes: sum.bytes + one.bytes,
        datagrams: sum.datagrams + one.datagrams,
    })
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
