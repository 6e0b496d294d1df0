//! The lease of a host: it reigns on by a majority of the electorate, by the relay, or, for a moment, without either
//! (PROTOCOL §4.10).

use samovar_wire::{PeerId, SortedSet, Time};

use crate::phase::{Leave, Phase};
use crate::support::{LEASE, Support};
use crate::{Lives, Roster, View};

impl Roster {
    /// Checks whether this host may reign on, and what it does to keep its reign.
    pub(crate) fn watch_lease(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        if !self.is_host() {
            self.probation.take_if(|until| *until <= now);
            return;
        }
        let voters = &view.electorate().peers;
        // A member that was removed for its silence may still vote for another host.
        let is_majority = |silent: &SortedSet<PeerId>| {
            let is_heard = |peer: PeerId| view.has(peer) && !silent.contains(&peer);
            let heard = voters.iter().filter(|&&peer| peer == self.me || is_heard(peer)).count();
            heard * 2 > voters.len()
        };
        let has_majority = is_majority(lives.missed);
        // A member that is not missed yet need not have been heard since this peer woke.
        let has_heard_majority = is_majority(lives.doubted);
        self.witness.note_silence(now);
        let counts_on_relay = self.witness.is_reached() || self.forks;
        let silent_since = (!counts_on_relay).then(|| self.witness.asked_since().unwrap_or(now));
        if let Phase::Leading { support, .. } = &mut self.phase {
            *support =
                if has_majority { Support::Majority } else { support.without_majority(now, silent_since) };
        }
        let goes_on = has_heard_majority || self.forks;
        if self.probation.is_some_and(|until| until <= now) && !self.witness.is_reached() && goes_on {
            self.probation = None;
        }
        // A host that only its side voted for does not claim here: `elect` does so more often, as on a member whose
        // host the relay does not know.
        let wants_new_term = !self.is_apart() && (self.probation.is_some() || !has_majority);
        if self.witness.may_claim(now) && wants_new_term && self.phase.told_heir().is_none() {
            self.push_claim(now, self.me);
            self.witness.pause(now + LEASE);
        }
    }

    /// Names another heir, if there is one, when the relay does not reach the present heir. The relay makes no peer
    /// host that it does not reach.
    pub(crate) fn watch_heir(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        let Phase::Leading { leave: Leave::Told { heir }, .. } = self.phase else { return };
        if !self.is_gone(now, heir) {
            return;
        }
        let mut line = view.succession(self.me).into_iter();
        if let Some(heir) = line.find(|&peer| !self.is_gone(now, peer) && !lives.doubted.contains(&peer)) {
            self.tell_heir(now, heir);
        }
    }
}
