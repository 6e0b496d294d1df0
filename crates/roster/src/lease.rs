//! The lease of a host. A host reigns on while it hears a majority of the electorate or the relay, and for a short
//! time without either (PROTOCOL §4.10).

use samovar_wire::{PeerId, SortedSet, Time};

use crate::phase::{Leave, Phase};
use crate::support::{LEASE, Support};
use crate::{Lives, Roster, View};

impl Roster {
    /// On a host, checks whether it may reign on, and claims a new term when it needs one. On any other member, only
    /// ends its probation.
    pub(crate) fn watch_lease(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        if !self.is_host() {
            self.probation.take_if(|until| *until <= now);
            return;
        }
        let voters = &view.electorate().peers;
        // A removed member does not support this host, since it may still vote for another one.
        let is_majority = |silent: &SortedSet<PeerId>| {
            let is_heard = |peer: PeerId| view.has(peer) && !silent.contains(&peer);
            let heard = voters.iter().filter(|&&peer| peer == self.me || is_heard(peer)).count();
            heard * 2 > voters.len()
        };
        let has_majority = is_majority(lives.missed);
        // A member may be silent since this peer woke and not be missed yet. So only members that are not even
        // doubted count here.
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
        // With forks, a host that only its side elected does not claim here. `elect` claims the term for it, and does
        // so more often.
        let wants_new_term = !self.is_apart() && (self.probation.is_some() || !has_majority);
        if self.witness.may_claim(now) && wants_new_term && self.phase.told_heir().is_none() {
            self.push_claim(now, self.me);
            self.witness.pause(now + LEASE);
        }
    }

    /// When the present heir is gone, names another heir, if there is one. The relay makes no peer host that it does
    /// not reach.
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
