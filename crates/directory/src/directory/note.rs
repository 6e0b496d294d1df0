//! What a directory tells its driver for the records: nothing hangs on it.

use core::hash::{Hash, Hasher};

use samovar_wire::{Duration, PeerId, SessionId, Time};

use super::ConnId;

/// For logs and figures; a driver may ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// A connection is that peer of that session from now on.
    Entered {
        /// The connection.
        conn: ConnId,
        /// Its session.
        session: SessionId,
        /// Who it is.
        peer: PeerId,
    },
    /// Another peer hosts the session, and its members are being told.
    HostChanged {
        /// Which session.
        session: SessionId,
        /// Why.
        cause: HostChange,
        /// From the moment at which the relay learnt that the former host was missed to this one. `None` when nobody
        /// missed it, or nobody said so to the relay.
        recovery: Option<Duration>,
    },
}

/// Why a session has another host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostChange {
    /// The former host handed over.
    HandedOver,
    /// Its connection to the relay had ended.
    Disconnected,
    /// Most of the members that the relay reaches missed it.
    Missed,
    /// It was asked whether it lives, and did not answer.
    Silent,
    /// A member showed a warrant that this relay did not know: its disk was lost.
    #[default]
    Shown,
}

/// What is remembered of a host's loss for [`Note::HostChanged`]. It decides nothing, so directories that differ in it
/// alone are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    /// Since when the host is missed; `None` when it is not.
    pub(super) since: Option<Time>,
    /// Why the term that is on its way to disk was given.
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
