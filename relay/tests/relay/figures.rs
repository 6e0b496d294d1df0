//! Assertions about times, which a machine can keep only if it has no other work. Every run prints the times. `cargo
//! xtask prove` sets `SAMOVAR_FIGURES`: then a test measures more of them, and asserts their medians.

use std::time::Duration;

/// Whether times are asserted.
pub(crate) fn are_asserted() -> bool {
    std::env::var_os("SAMOVAR_FIGURES").is_some()
}

/// The number of times to measure: `count` if they are asserted, and otherwise a quarter of it.
pub(crate) fn samples(count: u32) -> u32 {
    if are_asserted() { count } else { count / 4 }
}

/// Asserts that packets of honest members take hardly longer during an attack than before it; both lists are sorted.
/// `room` is for the machine, which runs the attackers as well.
pub(crate) fn assert_unharmed(calm: &[Duration], stormy: &[Duration], room: Duration) {
    let at = |sorted: &[Duration], percent: usize| sorted[sorted.len() * percent / 100];
    println!(
        "p50 {:?} calm, {:?} in the storm; p99 {:?} and {:?}",
        at(calm, 50),
        at(stormy, 50),
        at(calm, 99),
        at(stormy, 99)
    );
    if are_asserted() {
        assert!(at(stormy, 50) < 2 * at(calm, 50) + room, "{:?} {:?} {room:?}", at(calm, 50), at(stormy, 50));
    }
}
