//! When a peer has nothing to do.

use samovar_wire::Time;

/// Whether anything has happened since a peer was driven last. Most turns of a driver bring nothing to send, and to find
/// that out once is enough.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// When the peer was driven last and had nothing to send; `None` when something has happened since.
    since: Option<Time>,
    /// When it has something to do by itself, if nothing happens before.
    due: Option<Time>,
}

impl Rest {
    /// Something happened.
    pub(crate) const fn end(&mut self) {
        self.since = None;
    }

    /// The peer has nothing to send now, and something to do by itself when `due` says so.
    pub(crate) const fn begin(&mut self, now: Time, due: Option<Time>) {
        (self.since, self.due) = (Some(now), due);
    }

    /// Whether it was found out at this very time that there is nothing to send.
    pub(crate) fn began_at(&self, now: Time) -> bool {
        self.since == Some(now)
    }

    /// When the peer has something to do by itself; `None` when that is to be found out.
    pub(crate) fn due(&self) -> Option<Option<Time>> {
        self.since.map(|_| self.due)
    }
}
