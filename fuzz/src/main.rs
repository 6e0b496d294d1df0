//! Hostile bytes and random scripts for every decoder and state machine, guided by coverage (libFuzzer).
//!
//! `cargo xtask fuzz` builds and runs this. `SAMOVAR_FUZZ` names the target, since the command line is libFuzzer's
//! own. All targets are in one program, so that they are compiled once.
//!
//! Every target has a bound on memory: `memory::within` fails when a run holds more at once.

#![no_main]

mod memory;
mod script;
mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use targets::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

static CHOSEN: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    let name = std::env::var("SAMOVAR_FUZZ").unwrap_or_default();
    let found = TARGETS.iter().find(|(known, ..)| *known == name);
    let names: Vec<_> = TARGETS.iter().map(|(known, ..)| *known).collect();
    *found.unwrap_or_else(|| panic!("SAMOVAR_FUZZ must be one of {}", names.join(" ")))
}

fuzz_target!(|bytes: &[u8]| {
    let (_, bound, run) = CHOSEN.get_or_init(chosen);
    memory::within(*bound, || run(bytes));
});
