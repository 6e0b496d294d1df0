//! An answer that is made at most a few times a second and cached for all requests.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;

/// The greatest age of an answer.
const AGE_MAX: Duration = Duration::from_millis(250);

/// The last answer, and when it was made.
#[derive(Debug, Default)]
pub(crate) struct Fresh(Mutex<Option<(Instant, Bytes)>>);

impl Fresh {
    /// The answer; made by `make` if the last one is too old.
    pub(crate) fn get(&self, now: Instant, make: impl FnOnce() -> Bytes) -> Bytes {
        // While one request makes the answer, the others wait.
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((at, answer)) if now < *at + AGE_MAX => answer.clone(),
            _ => made.insert((now, make())).1.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_made_at_most_four_times_a_second() {
        let (fresh, start) = (Fresh::default(), Instant::now());
        let mut made = 0;
        for n in 0..1_000 {
            let answer = fresh.get(start + Duration::from_millis(n), || {
                made += 1;
                Bytes::from_static(b"it")
            });
            assert_eq!(answer, "it");
        }
        assert_eq!(made, 4);
    }
}
