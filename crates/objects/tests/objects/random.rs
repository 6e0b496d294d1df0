//! Long random lives of groups of 2 to 16 peers over a network that loses, doubles, delays and reorders.
//!
//! Promises 2 and 3 of docs/recovery.md are checked after every step. When all is quiet, all peers must agree to the
//! last bit (promise 1). `SAMOVAR_SEED=n` replays one life and prints every step, `SAMOVAR_SEEDS=n` runs that many
//! lives. A seed that ever failed belongs in `seeds.txt`, which runs first.

mod members;
mod network;
mod promises;
mod typed;
mod world;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;
use world::{Tally, World};

/// Seeds of lives that once failed, one a line, with an optional remark.
const FAILED_ONCE: &str = include_str!("random/seeds.txt");

/// The number of lives in a run by default. A browser is slower and runs the same code.
const LIVES: u64 = if cfg!(target_arch = "wasm32") { 60 } else { 300 };

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_random_life_keeps_the_promises_and_ends_in_one_state() {
    if let Some(seed) = number("SAMOVAR_SEED") {
        println!("{:?}", World::new(seed, true).live());
        return;
    }
    let known = FAILED_ONCE.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
    let (mut lives, mut total) = (0, Tally::default());
    for seed in known.chain(0..number("SAMOVAR_SEEDS").unwrap_or(LIVES)) {
        total.add(&World::new(seed, false).live());
        lives += 1;
    }
    println!("{lives} lives: {total:?}");
    assert!(total.host_changes > lives / 4 && total.joins > lives / 4, "lives are too dull");
}
