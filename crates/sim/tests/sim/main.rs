//! The simulator: its scenarios and past failures, the figures of recovery, its checkers, and its program.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

mod mischief;
mod paths;
#[cfg(not(target_arch = "wasm32"))]
mod program;
mod recovery;
mod seeds;

/// The number of runs. `cargo xtask test` makes enough to show a broken rule. `cargo xtask prove` sets
/// `SAMOVAR_MODEL=narrow`, and makes as many as the documents state.
fn runs(quick: u64, all: u64) -> u64 {
    if std::env::var_os("SAMOVAR_MODEL").is_some() { all } else { quick }
}
