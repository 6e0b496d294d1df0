//! The times when a peer has nothing to do.

use samovar_wire::Time;

/// Whether anything has happened since a peer was last driven. Mostly a driver polls when there is nothing to send, and
/// the peer needs to find that out only once.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// When the peer was last driven and had nothing to send; `None` if something has happened since.
    since: Option<Time>,
    /// When the peer's next timer is due, if nothing happens before.
    due: Option<Time>,
}

impl Rest {
    /// Notes that something happened.
    pub(crate) const fn end(&mut self) {
        self.since = None;
    }

    /// Notes that the peer has nothing to send now, and that its next timer is due at `due`.
    pub(crate) const fn begin(&mut self, now: Time, due: Option<Time>) {
        (self.since, self.due) = (Some(now), due);
    }

    /// Whether the peer found at exactly this time that it has nothing to send.
    pub(crate) fn began_at(&self, now: Time) -> bool {
        self.since == Some(now)
    }

    /// When the peer's next timer is due. The outer `None` means that this is not known.
    pub(crate) fn due(&self) -> Option<Option<Time>> {
        self.since.map(|_| self.due)
    }
}
