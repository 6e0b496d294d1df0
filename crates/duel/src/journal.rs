//! A peer's record of its session, for its status: migrations and errors, both bounded.

use samovar_session::{Cause, Event, Migration};

/// The most migrations, and the most errors, that are kept; beyond this the oldest are dropped.
const REMEMBERED: usize = 50;

/// A peer's notes.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    migrations: Vec<Migration>,
    errors: Vec<String>,
}

impl Journal {
    /// Notes an event, if it is a change of host or an error.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::HostChanged(migration) => push(&mut self.migrations, *migration),
            Event::Diverged { objects, .. } => {
                self.error(format!("{} objects changed here while the others went on", objects.len()));
            }
            Event::LinkClosed { peer, code } => self.error(format!("link to {peer} closed: {code}")),
            Event::Ended(reason) => self.error(format!("session ended: {reason:?}")),
            _ => {}
        }
    }

    /// Notes an error.
    pub fn error(&mut self, text: String) {
        push(&mut self.errors, text);
    }

    /// Changes of host, oldest first.
    pub fn migrations(&self) -> impl Iterator<Item = &Migration> {
        self.migrations.iter()
    }

    /// Errors, oldest first.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.errors.iter().map(String::as_str)
    }
}

/// The word for a cause in a status.
pub(crate) const fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Lost => "lost",
        Cause::Left => "left",
        Cause::HandedOver => "handover",
    }
}

fn push<T>(notes: &mut Vec<T>, item: T) {
    if notes.len() == REMEMBERED {
        notes.remove(0);
    }
    notes.push(item);
}
