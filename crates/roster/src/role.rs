//! A peer's role in its session, and why no peer decides at present.

use samovar_wire::{Duration, Time};

use crate::{Roster, View};

/// After missing the host this long without a successor, this peer counts the session as suspended.
const SUSPENDED_AFTER: Duration = Duration::from_millis(1_000);

/// The role of a peer: one of the server roles of 2001 (docs/sources.md, "Teapots"), or `Suspended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A member that is neither the host nor a backup.
    Idle,
    /// A backup, which is among the first to take over.
    Backup,
    /// The host, without a backup that could take over.
    ActiveAlone,
    /// The host, with backups that hold what it has accepted.
    ActiveBackedUp,
    /// No peer decides here at present.
    Suspended(Suspension),
}

/// Why no peer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// The host is missed, and it has no successor yet.
    HostLost,
    /// The host reaches neither the relay nor most of the electorate: another may have replaced it.
    NoMajority,
    /// This host slept, and asks whether it was replaced.
    Slept,
}

impl Roster {
    /// The reason why no peer decides anything here now; `None` when a host can decide.
    #[must_use]
    pub fn suspension(&self, now: Time) -> Option<Suspension> {
        if self.is_host() {
            if self.probation.is_some() {
                Some(Suspension::Slept)
            } else if self.phase.ballot().is_some() || self.phase.is_lease_over() {
                Some(Suspension::NoMajority)
            } else {
                None
            }
        } else {
            let is_lost = self.phase.has_lasted(now, SUSPENDED_AFTER);
            // A suspended host tells that it misses its host, which is itself. A host that hands over does so, too,
            // but names an heir.
            let says_so = self.told_heir().is_none() && self.opinions.misses(self.host, self.term, self.host);
            match (is_lost, says_so) {
                (true, _) => Some(Suspension::HostLost),
                (false, true) => Some(Suspension::NoMajority),
                (false, false) => None,
            }
        }
    }

    /// Whether this peer may act as the host now: it is the host, and has no reason to doubt that.
    #[must_use]
    pub fn acts_as_host(&self) -> bool {
        self.is_host()
            && self.probation.is_none()
            && self.phase.ballot().is_none()
            && !self.phase.is_lease_over()
    }

    /// This peer's role; `is_backed_up` says whether the backups hold the session object.
    #[must_use]
    pub fn role(&self, now: Time, view: &View, is_backed_up: bool) -> Role {
        if let Some(suspension) = self.suspension(now) {
            return Role::Suspended(suspension);
        }
        if self.is_host() {
            return if is_backed_up { Role::ActiveBackedUp } else { Role::ActiveAlone };
        }
        if view.backups().contains(&self.me) { Role::Backup } else { Role::Idle }
    }
}
