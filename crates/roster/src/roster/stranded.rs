//! A host that is no member (PROTOCOL §4.10 rule 16), and who is known to have gone.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, PeerId, Time};

use super::{Act, Lives, REMOVED_AFTER, Roster};
use crate::View;

/// For how long the word counts that a peer has gone.
const GONE_FOR: Duration = Duration::from_millis(10_000);
/// Within this time after its connection to the relay is back a peer is told whether the host has one.
const TOLD_WITHIN: Duration = Duration::from_millis(500);
/// How long who knows no way to its host, and reaches the relay, waits for others to be heard.
const ALONE_FOR: Duration = Duration::from_millis(500);
/// How long who knows no way to its host waits for the relay's word, which may wait for that host itself (PROTOCOL §5.5).
const STRANDED_FOR: Duration = Duration::from_millis(10_000);
/// How long it waits for that word and for the relay itself, which keeps a game's code for as long (PROTOCOL §5.2).
pub(super) const STRANDED_FOR_MOST: Duration = Duration::from_millis(60_000);
/// When the relay is back that host shall be, too, before it is asked for another: those whom it removed may be the first.
pub(super) const HOST_RETURNS_WITHIN: Duration = Duration::from_millis(6_000);

impl Roster {
    /// The host of the present term is no member that this peer knows. If it lives this peer was removed; if it does not,
    /// nobody shall end with it. The relay knows: this peer misses that host, and hears.
    pub const fn strand(&mut self) {
        self.is_stranded = true;
    }

    /// The relay says that a peer's connection has closed, or that it can make it no host. It may come back, and nobody says so.
    ///
    /// Whether it closed just now, and not before this peer came back to the relay, which then says how it is with the host.
    pub fn handle_gone(&mut self, now: Time, peer: PeerId) -> bool {
        self.note_gone(peer, now + GONE_FOR);
        peer != self.host || self.relay_since.is_none_or(|since| now > since + TOLD_WITHIN)
    }

    /// A peer said farewell: that peer never comes back.
    pub fn handle_farewell(&mut self, peer: PeerId) {
        self.note_gone(peer, Time::FAR);
    }

    fn note_gone(&mut self, peer: PeerId, until: Time) {
        let known = self.gone.iter().position(|&(gone, _)| gone == peer).map(|at| self.gone.remove(at));
        if known.is_none() && self.gone.len() == MEMBERS_MAX {
            let passing = self.gone.iter().position(|&(_, until)| until != Time::FAR);
            self.gone.remove(passing.unwrap_or_default());
        }
        self.gone.push((peer, known.map_or(until, |(_, known)| until.max(known))));
    }

    /// While the relay could not be reached nobody said who came back.
    pub(super) fn forget_gone(&mut self) {
        self.gone.retain(|&(_, until)| until == Time::FAR);
    }

    /// Whether a peer said farewell, or the relay lost it a moment ago.
    #[must_use]
    pub fn is_gone(&self, now: Time, peer: PeerId) -> bool {
        self.gone.iter().any(|&(gone, until)| gone == peer && now <= until)
    }

    /// When such a peer is to come back by its ticket: for it may not ask, has no answer, or hears nobody.
    pub(super) fn stranded_until(&self) -> [Option<Time>; 2] {
        let unanswered = match self.unasked_since {
            Some(since) => Some(since + REMOVED_AFTER),
            None => self.asked_since.map(|since| since + STRANDED_FOR),
        };
        [unanswered, self.unheard_since.map(|since| since + ALONE_FOR)]
    }

    /// The relay is asked by whom others are with, more than half of those that it hears. Who is alone was gone without, if it
    /// does not hear them again, unless that host is the one who went.
    pub(super) fn watch_stranded(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        self.tell_missing(true);
        let others = view.members().map(|member| member.peer);
        let heard = others.filter(|peer| *peer != self.me && !lives.missed.contains(peer));
        let (stranded, heard) = heard.fold((0, 0), |(stranded, heard), peer| {
            (stranded + usize::from(self.election.misses(peer, self.term, self.host)), heard + 1)
        });
        let is_counted = (stranded + 1) * 2 > heard + 1;
        let is_agreed = is_counted && (heard > 0 || self.is_gone(now, self.host));
        let asks = is_agreed && self.relay;
        // Without the relay nobody knows who was removed, and no ticket is of use.
        let is_waiting = is_counted && !self.relay;
        self.unasked_since = (!asks && !is_waiting).then(|| self.unasked_since.unwrap_or(now));
        self.asked_since = (!is_waiting).then(|| self.asked_since.unwrap_or(now));
        // Where the relay is reached others are heard soon, if they are there.
        let is_unheard = !asks && heard == 0 && self.reaches_relay();
        self.unheard_since = is_unheard.then(|| self.unheard_since.unwrap_or(now));
        let is_past = |until: Option<Time>| until.is_some_and(|until| until <= now);
        let is_over = self.stranded_until().into_iter().any(is_past);
        if is_over || self.missed_since.is_some_and(|since| since + STRANDED_FOR_MOST <= now) {
            self.acts.push_back(Act::Yield);
        } else if is_agreed {
            self.claim(now, view, lives);
        }
    }
}
