//! Three people click, type, reload, close, hide and lose their networks at random, and the relay crashes now and
//! then. No person may lose a seat, and no page may show an error or stand still.
//!
//! `cargo xtask person --seed N --minutes M` makes such a walk. A seed gives the same acts in the same order.
//! Browsers decide the times, so two runs of a seed are similar, but not equal.

mod deed;
mod walk;

use std::time::Duration;

use walk::Walk;

/// The minutes of a walk, unless `cargo xtask person` sets another time.
const MINUTES: f64 = 1.0;

#[tokio::test(flavor = "multi_thread")]
async fn random_acts_of_people_lose_no_seat() {
    let seed = number("SAMOVAR_PERSON_SEED").map_or(1, |seed: u64| seed);
    let minutes = number("SAMOVAR_PERSON_MINUTES").unwrap_or(MINUTES);
    let mut walk = Walk::begin(seed).await;
    walk.go_on_for(Duration::from_secs_f64(minutes * 60.0)).await;
    walk.end().await;
}

/// A number in the environment.
fn number<N: std::str::FromStr>(variable: &str) -> Option<N> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is no number: {value:?}")))
}
