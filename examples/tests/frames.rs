//! Plays frames until a condition holds.

use std::time::{Duration, Instant};

use samovar::prelude::*;

/// Long enough for every machine: no test measures how fast the host changes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Plays frames until `found` has found something.
///
/// # Panics
/// `found` finds nothing within 40 s, or the game ends.
pub(crate) fn until<G: Game, T>(
    running: &mut Running<G>,
    what: &str,
    mut found: impl FnMut(&mut G, &mut Room<'_, G>) -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = running.with(&mut found).flatten() {
            return found;
        }
        let is_late = start.elapsed() > PATIENCE;
        assert!(!is_late, "{what} did not come: {running:?}");
        assert_eq!(running.end(), None, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}
