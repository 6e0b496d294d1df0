//! Reliable latency: how long a player's shot takes to the other end of a path that loses packets.
//!
//! The measure: one message of 64 bytes every 16 ms (dense) or every 500 ms (sparse), 30 ms one way. At 5 % loss both
//! ways, the 99th percentile is at most 50 ms (dense) and 66 ms (sparse). A message is sent at most three times on
//! average.

use samovar_wire::Duration;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::trial::{Outcome, Trial};

const MESSAGES: u32 = 20_000;
/// As many as the dense messages; they take three hours of virtual time.
const SPARSE_MESSAGES: u32 = 20_000;

fn run(messages: u32, interval_ms: u64, loss_permille: u64) -> Outcome {
    let trial = Trial {
        messages,
        size: 64,
        interval: Duration::from_millis(interval_ms),
        one_way: Duration::from_millis(30),
        loss_permille,
        seed: 7 + loss_permille,
    };
    let outcome = trial.run();
    println!(
        "every {interval_ms} ms, {:>4.1} % loss: p50 {:.1} p90 {:.1} p99 {:.1} p99.9 {:.1} max {:.1} ms, {:.2} sendings, \
         measured loss {:.3}, {} B out",
        loss_permille as f64 / 10.0,
        outcome.permille(500),
        outcome.permille(900),
        outcome.permille(990),
        outcome.permille(999),
        outcome.permille(1_000),
        outcome.sendings(),
        outcome.sender.loss_out,
        outcome.sender.bytes_out,
    );
    assert!(outcome.is_exact, "once each, in order");
    assert!(outcome.sendings() <= 3.0);
    outcome
}

#[test]
fn dense_messages_at_5_percent_loss_have_p99_within_50_ms() {
    assert!(run(MESSAGES, 16, 50).permille(990) <= 50.0);
}

#[test]
fn sparse_messages_at_5_percent_loss_have_p99_within_66_ms() {
    assert!(run(SPARSE_MESSAGES, 500, 50).permille(990) <= 66.0);
}

#[test]
fn order_survives_the_wrapping_of_packet_and_segment_numbers() {
    run(70_000, 16, 50);
}

#[test]
fn copies_grow_with_loss_and_stay_below_three_sendings() {
    assert!(run(MESSAGES / 4, 16, 0).sendings() <= 2.01);
    assert!(run(MESSAGES / 4, 16, 10).permille(990) <= 50.0);
    run(MESSAGES / 4, 16, 100);
    run(SPARSE_MESSAGES / 4, 500, 10);
    run(SPARSE_MESSAGES / 4, 500, 100);
}
