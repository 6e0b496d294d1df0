//! Where the page's state waits for what comes next.

use std::cell::Cell;

use super::App;

/// Holds the page's state while nothing works on it.
///
/// Whoever works on it takes it out: nothing is borrowed while JavaScript has the word, and an event that comes in between
/// finds nothing to work on. What JavaScript throws runs no destructor, so the state does not come back then: the page is
/// loaded anew, at the latest when its next frame is due.
#[derive(Default)]
pub struct Place(Cell<Option<Box<App>>>);

impl Place {
    /// Puts the state where it is found.
    pub(super) fn put(&self, app: Box<App>) {
        self.0.set(Some(app));
    }

    /// Works on the state; `None` while something else does.
    pub fn with<R>(&self, work: impl FnOnce(&mut App) -> R) -> Option<R> {
        let mut app = self.0.take()?;
        let result = work(&mut app);
        self.0.set(Some(app));
        Some(result)
    }
}
