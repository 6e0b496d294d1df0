//! The place where the page's state waits for the next event.

use std::cell::Cell;

use super::App;

/// Holds the page's state while no function works on it.
///
/// A function that works on the state takes it out. So nothing is borrowed while JavaScript runs, and an event that
/// comes in between finds no state to work on. An exception of JavaScript runs no destructor, so the state does not
/// come back then: the page loads itself anew, at the latest when its next frame is due.
#[derive(Default)]
pub struct Place(Cell<Option<Box<App>>>);

impl Place {
    /// Puts the state back into its place.
    pub(super) fn put(&self, app: Box<App>) {
        self.0.set(Some(app));
    }

    /// Works on the state; `None` while another function does.
    pub fn with<R>(&self, work: impl FnOnce(&mut App) -> R) -> Option<R> {
        let mut app = self.0.take()?;
        let result = work(&mut app);
        self.0.set(Some(app));
        Some(result)
    }
}
