//! Waits for conditions. If one never comes true, the message has the last state that was seen.

use std::time::{Duration, Instant};

/// The time between two checks of a condition.
pub const POLL: Duration = Duration::from_millis(40);

/// Asks `probe` until it succeeds and returns its value. `probe`'s error is the state that it saw.
///
/// # Panics
/// The time `within` has passed. The message has `what` and the last state.
pub async fn until<T>(what: &str, within: Duration, mut probe: impl AsyncFnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(state) if start.elapsed() > within => {
                panic!("waited {within:?} in vain until {what}\nlast seen: {state}");
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

/// Checks, for the whole span, that `probe` does not fail.
///
/// # Panics
/// `probe` fails. The message has `what` and the state.
pub async fn throughout(what: &str, span: Duration, mut probe: impl AsyncFnMut() -> Result<(), String>) {
    let start = Instant::now();
    while start.elapsed() < span {
        if let Err(state) = probe().await {
            panic!("after {:?} it was no longer true that {what}\nseen: {state}", start.elapsed());
        }
        tokio::time::sleep(POLL).await;
    }
}
