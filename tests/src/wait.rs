//! Waiting for a condition, with the last thing seen in the message when it never comes.

use std::time::{Duration, Instant};

/// The time between two looks at a condition.
pub const POLL: Duration = Duration::from_millis(40);

/// Asks `probe` until it succeeds and returns its value. `probe`'s error is the state that it saw.
///
/// # Panics
/// `within` has passed; with `what` and the last state.
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

/// Watches `probe` for the whole span: a condition that must not end.
///
/// # Panics
/// `probe` fails; with `what` and the state.
pub async fn throughout(what: &str, span: Duration, mut probe: impl AsyncFnMut() -> Result<(), String>) {
    let start = Instant::now();
    while start.elapsed() < span {
        if let Err(state) = probe().await {
            panic!("after {:?} it was no longer true that {what}\nseen: {state}", start.elapsed());
        }
        tokio::time::sleep(POLL).await;
    }
}
