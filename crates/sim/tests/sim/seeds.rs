//! Runs the seeds of past failures and a seed of every scenario, and checks that one seed always gives the same run.

use samovar_sim::{SCENARIOS, Scenario, Shape, Toy, run, shrink};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const PAST: &str = include_str!("seeds.txt");

fn past() -> impl Iterator<Item = (&'static Scenario, u64, Shape)> {
    let lines = PAST.lines().map(|line| line.split('#').next().unwrap_or_default());
    let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|words| !words.is_empty()).map(|words| {
        let shape = match words.get(2) {
            Some(&"by-host") => Shape::ByHost,
            _ => Shape::Mesh,
        };
        (Scenario::named(words[0]).unwrap(), words[1].parse().unwrap(), shape)
    })
}

fn assert_sound(scenario: &Scenario, seed: u64, shape: Shape) {
    let outcome = run(scenario.plan_in(shape, seed), Toy::new(), false);
    assert_eq!(outcome.violation, None, "{} seed {seed} in a {shape:?}", scenario.name);
}

/// Runs one half of the past seeds. The other half runs in another test, so that two cores share the work.
fn assert_past_sound(half: usize) {
    for (scenario, seed, shape) in past().skip(half).step_by(2) {
        assert_sound(scenario, seed, shape);
    }
}

#[test]
fn first_half_of_past_failures_is_fixed() {
    assert_past_sound(0);
}

#[test]
fn second_half_of_past_failures_is_fixed() {
    assert_past_sound(1);
}

#[test]
fn every_scenario_keeps_every_promise() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.is_soaked) {
        assert_sound(scenario, 1, Shape::Mesh);
        assert_sound(scenario, 1, Shape::ByHost);
    }
}

#[test]
fn soaked_scenarios_plan_faults_and_names_are_unique() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.is_soaked) {
        assert!(!scenario.plan(1).faults.is_empty(), "{}", scenario.name);
    }
    let names: std::collections::BTreeSet<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), SCENARIOS.len());
}

#[test]
fn seed_gives_the_same_run_with_or_without_a_full_trace() {
    let scenario = Scenario::named("chaos").unwrap();
    let [first, second, full] =
        [false, false, true].map(|is_full| run(scenario.plan(3), Toy::new(), is_full).trace);
    assert_eq!(first.hash(), second.hash());
    assert_eq!(first.hash(), full.hash());
    assert!(full.entries().count() > 1_000 && first.entries().count() == 0);
    assert_ne!(first.hash(), run(scenario.plan(4), Toy::new(), false).trace.hash());
}

#[test]
fn a_sound_plan_is_not_shrunk() {
    let plan = Scenario::named("host-crash").unwrap().plan(1);
    assert_eq!(shrink(&plan, Toy::new).faults, plan.faults);
}
