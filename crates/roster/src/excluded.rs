//! A peer whose host is in no view that the peer knows, and what that peer does (PROTOCOL §4.10 rule 16).

use samovar_wire::{Duration, Time};

use crate::phase::Phase;
use crate::{Act, Lives, Roster, View};

/// How long an excluded peer waits for the relay's decision before it comes back by its ticket. The relay may itself
/// wait for the host to come back (PROTOCOL §5.5).
const EXCLUDED_FOR: Duration = Duration::from_millis(15_000);

impl Roster {
    /// Notes that the host of the present term is in no view that this peer knows. If that host lives, it has removed
    /// this peer. If it is gone, the session must go on without it. Only the relay knows: this peer misses that host,
    /// claims the next term, and acts on the relay's answer.
    pub fn exclude(&mut self) {
        self.phase = Phase::Excluded { since: self.phase.missed_since() };
    }

    pub(crate) fn watch_excluded(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        if self.excluded_until().is_some_and(|until| until <= now) {
            self.acts.push_back(Act::Yield);
        } else {
            self.claim(now, view, lives);
        }
    }

    /// When this peer ends its session and comes back by its ticket, if the relay has not decided by then. `None`
    /// without a connection to the relay: the host is unknown then, and a ticket is of no use.
    pub(crate) fn excluded_until(&self) -> Option<Time> {
        match self.phase {
            Phase::Excluded { since: Some(since) } => {
                self.witness.connected_since().map(|back| back.max(since) + EXCLUDED_FOR)
            }
            _ => None,
        }
    }
}
