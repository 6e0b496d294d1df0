//! A host that is no member (PROTOCOL §4.10 rule 16).

use samovar_wire::Time;

use crate::phase::Phase;
use crate::wait::Wait;
use crate::{Act, Lives, Roster, View};

impl Roster {
    /// The host of the present term is no member that this peer knows. If it lives this peer was removed; if it does not,
    /// nobody shall end with it. The relay knows: this peer misses that host, and hears.
    pub fn strand(&mut self) {
        self.phase = Phase::Stranded { since: self.phase.missed_since(), wait: Wait::default() };
    }

    /// The relay is asked by whom others are with, more than half of those that it hears. Who is alone was gone without, if it
    /// does not hear them again, unless that host is the one who went.
    pub(crate) fn watch_stranded(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        let others = view.members().map(|member| member.peer);
        let heard = others.filter(|peer| *peer != self.me && !lives.missed.contains(peer));
        let (stranded, heard) = heard.fold((0, 0), |(stranded, heard), peer| {
            (stranded + usize::from(self.opinions.misses(peer, self.term, self.host)), heard + 1)
        });
        let is_counted = (stranded + 1) * 2 > heard + 1;
        let is_agreed = is_counted && (heard > 0 || self.is_gone(now, self.host));
        let has_relay = self.witness.is_connected();
        let asks = is_agreed && has_relay;
        // Without the relay nobody knows who was removed, and no ticket is of use.
        let is_waiting = is_counted && !has_relay;
        // Where the relay is reached others are heard soon, if they are there.
        let is_unheard = !asks && heard == 0 && self.witness.is_reached();
        let Phase::Stranded { since, wait } = &mut self.phase else { return };
        wait.unasked = (!asks && !is_waiting).then(|| wait.unasked.unwrap_or(now));
        wait.asked = (!is_waiting).then(|| wait.asked.unwrap_or(now));
        wait.unheard = is_unheard.then(|| wait.unheard.unwrap_or(now));
        if wait.until(*since).into_iter().flatten().any(|until| until <= now) {
            self.acts.push_back(Act::Yield);
        } else if is_agreed {
            self.claim(now, view, lives);
        }
    }
}
