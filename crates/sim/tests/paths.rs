//! Holds the standstills of the host's objects while paths come and go to the figures in `docs/recovery.md`.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

use samovar_sim::{Scenario, Shape, Summary, Toy, run};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The number of runs. `cargo xtask test` runs enough to show a broken rule; `prove` runs all that the documents state,
/// and sets `SAMOVAR_MODEL=narrow`.
fn runs(quick: u64, all: u64) -> u64 {
    if std::env::var_os("SAMOVAR_MODEL").is_some() { all } else { quick }
}

fn measure(scenario: &str, seeds: u64) -> Summary {
    let scenario = Scenario::named(scenario).unwrap();
    let mut summary = Summary::default();
    for seed in 0..seeds {
        let outcome = run(scenario.plan(seed), Toy::new(), false);
        assert_eq!(outcome.violation, None, "{} seed {seed}", scenario.name);
        summary.add(scenario.name, seed, Shape::Mesh, &outcome);
    }
    summary
}

/// The standstills that a half and 95 of 100 do not exceed, in milliseconds. Standstills of one run depend on each
/// other, and over streams they are as often 100 ms as 200, so it takes many runs. The longest depends on a
/// single seed, so no test bounds it.
fn holes(scenario: &str, runs: u64) -> [f64; 2] {
    let mut summary = measure(scenario, runs);
    [0.5, 0.95].map(|share| summary.standstills.percentile(share))
}

#[test]
fn a_step_up_leaves_no_hole() {
    let [median, most] = holes("hole-up", runs(10, 30));
    assert!(median <= 50.0 && most <= 70.0, "{median} and {most} ms");
}

#[test]
fn a_path_that_dies_leaves_a_hole_of_a_doubt_and_a_trip_by_the_relay() {
    let [median, most] = holes("hole-down", runs(10, 30));
    assert!(median <= 125.0 && most <= 150.0, "{median} and {most} ms");
    let [median, most] = holes("hole-one-way", runs(10, 30));
    assert!(median <= 170.0 && most <= 215.0, "{median} and {most} ms");
    let [median, _] = holes("hole-stream-down", runs(60, 200));
    assert!(median <= 165.0, "{median} ms");
}

#[test]
fn losses_seldom_send_a_packet_twice() {
    let [direct, relayed] = measure("hole-calm", runs(15, 60)).sent;
    assert!(relayed * 100 < direct, "{relayed} besides {direct}");
}
