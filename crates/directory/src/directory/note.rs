//! A directory's events for logs and metrics only; no behaviour depends on them.

use core::hash::{Hash, Hasher};

use samovar_wire::{Duration, PeerId, SessionId, Time};

use super::ConnId;

/// An event for logs and metrics; a driver may ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// A connection is that peer of that session from now on.
    Entered {
        /// The connection.
        conn: ConnId,
        /// Its session.
        session: SessionId,
        /// The peer.
        peer: PeerId,
    },
    /// Another peer hosts the session, and the relay tells the members.
    HostChanged {
        /// The session.
        session: SessionId,
        /// The reason.
        cause: HostChange,
        /// The time from the relay's first notice that the previous host was missed until now. `None` if no member
        /// missed that host, or none told the relay.
        recovery: Option<Duration>,
    },
}

/// The reason for a change of host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostChange {
    /// The previous host handed over.
    HandedOver,
    /// The previous host's connection to the relay had ended.
    Disconnected,
    /// Most of the members at the relay missed the previous host.
    Missed,
    /// The previous host did not answer its probe.
    Silent,
    /// The relay's operator put the previous host out.
    PutOut,
    /// A member showed a warrant that this relay did not know, for example because the relay lost its disk.
    #[default]
    Shown,
}

/// The state of a host's loss for [`Note::HostChanged`]. It decides nothing, so directories that differ only in it are
/// equal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    /// When members began to miss the host; `None` while no member misses it.
    pub(super) since: Option<Time>,
    /// The reason for the term that is on its way to disk.
    pub(super) cause: HostChange,
}

impl PartialEq for Loss {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Loss {}

impl Hash for Loss {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
