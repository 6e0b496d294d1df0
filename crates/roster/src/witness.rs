//! Claims to the relay, and its answers (PROTOCOL §4.10, §5.5).

use samovar_wire::relay::Denial;
use samovar_wire::{Duration, PeerId, Term, Time};

use crate::phase::{Leave, Phase};
use crate::{Act, LEASE, Lives, Roster, View};

/// A member was removed if it has missed its host for this long, and the relay says that it is no member.
const REMOVED_AFTER: Duration = Duration::from_millis(3_000);
/// The time between two claims while the host is missed.
const CLAIM_AGAIN: Duration = Duration::from_millis(250);
/// How long the relay must say that another host lives before this peer ends its session. The first answer may come
/// too early: that host may still give way once it learns of its successor.
const DENIED_FOR: Duration = Duration::from_millis(500);
/// A relay that leaves claims unanswered for this long counts as away.
const ANSWERS_WITHIN: Duration = Duration::from_millis(1_000);
/// Within this time after reconnecting to the relay, a peer is told whether the host is connected.
const TOLD_WITHIN: Duration = Duration::from_millis(500);
/// An excluded peer claims this long after the relay is back. The host may return to the relay later than the members
/// that it removed.
const HOST_RETURNS_WITHIN: Duration = Duration::from_millis(6_000);
/// How long a host that hands over lets the news travel to the members before it asks the relay.
const RESIGNATION_TRAVELS: Duration = Duration::from_millis(60);

/// The relay, as this peer knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Witness {
    /// Whether there is a connection to the relay.
    is_connected: bool,
    /// When the connection began, unless it is the first one.
    since: Option<Time>,
    /// Whether the relay leaves claims unanswered.
    is_silent: bool,
    /// The peer for which this peer claimed last in this term.
    claimed: Option<PeerId>,
    /// When the relay may be asked next.
    next: Time,
    /// When this peer made the first claim that the relay has not answered.
    unanswered_since: Option<Time>,
    /// When the relay said first and last, without a long gap, that another host lives than the one that this peer
    /// follows.
    denied: Option<(Time, Time)>,
}

impl Witness {
    pub(crate) const fn new() -> Self {
        Self {
            is_connected: true,
            since: None,
            is_silent: false,
            claimed: None,
            next: Time::ZERO,
            unanswered_since: None,
            denied: None,
        }
    }

    /// Begins a term. If this host only renews its term, the pause before the next claim stays, since the new term
    /// may help no more than the last.
    pub(crate) const fn begin(&mut self, is_witnessed: bool, is_renewal: bool) {
        // A new witnessed term shows that the relay answers, if late.
        self.is_silent &= !is_witnessed;
        if !is_renewal {
            self.next = Time::ZERO;
        }
        (self.claimed, self.unanswered_since, self.denied) = (None, None, None);
    }

    /// Whether the relay can be reached, and answers.
    pub(crate) const fn is_reached(&self) -> bool {
        self.is_connected && !self.is_silent
    }

    /// When the connection to the relay began, if there is one.
    pub(crate) fn connected_since(&self) -> Option<Time> {
        self.is_connected.then(|| self.since.unwrap_or(Time::ZERO))
    }

    /// When the relay began to leave claims unanswered.
    pub(crate) const fn asked_since(&self) -> Option<Time> {
        self.unanswered_since
    }

    /// The peer for which this peer claimed last in this term.
    pub(crate) const fn claimed(&self) -> Option<PeerId> {
        self.claimed
    }

    /// Whether the relay may be asked now.
    pub(crate) fn may_claim(&self, now: Time) -> bool {
        self.is_connected && self.next <= now
    }

    /// Asks the relay nothing before `until`.
    pub(crate) const fn pause(&mut self, until: Time) {
        self.next = until;
    }

    /// Allows this peer, which slept, to ask the relay at once.
    pub(crate) const fn ask_anew(&mut self) {
        (self.next, self.claimed) = (Time::ZERO, None);
    }

    fn hear(&mut self) {
        self.unanswered_since = None;
        self.is_silent = false;
    }

    /// Notes whether the relay is silent. A silent relay is still asked, but not waited for.
    pub(crate) fn note_silence(&mut self, now: Time) {
        self.is_silent |= self.silent_at().is_some_and(|at| at <= now);
    }

    /// When the relay counts as silent, if it does not answer until then.
    fn silent_at(&self) -> Option<Time> {
        self.unanswered_since.map(|since| since + ANSWERS_WITHIN)
    }

    /// The ends of this peer's waits for the relay.
    pub(crate) fn timeouts(&self) -> impl Iterator<Item = Time> {
        [Some(self.next), self.silent_at()].into_iter().flatten()
    }

    /// Whether the connection to the relay is older than [`TOLD_WITHIN`], or the first one. Right after a reconnect,
    /// the relay reports events from before it.
    pub(crate) fn is_settled(&self, now: Time) -> bool {
        self.since.is_none_or(|since| now > since + TOLD_WITHIN)
    }

    /// Notes the relay's word that another host lives. Returns whether the relay has said so for long enough, without
    /// long gaps.
    fn note_denied(&mut self, now: Time) -> bool {
        let first = self.denied.filter(|&(_, last)| now.since(last) <= DENIED_FOR.times(2));
        let first = first.map_or(now, |(first, _)| first);
        self.denied = Some((first, now));
        first + DENIED_FOR <= now
    }
}

impl Roster {
    /// Sets whether the relay can be reached now.
    pub fn set_relay(&mut self, now: Time, reached: bool) {
        self.witness.is_connected = reached;
        self.gone.forget_connections();
        self.witness.denied = None;
        if reached {
            self.witness.hear();
            self.witness.since = Some(now);
            // A host may have gone on without a majority and without the relay. So it waits for a lease, and the
            // claims of members that have another candidate come first.
            let gives_way = self.is_host() && self.term.is_witnessed() && self.probation.is_none();
            self.witness.next = match (gives_way, self.phase.is_excluded()) {
                (true, _) => now + LEASE,
                (_, true) => now + HOST_RETURNS_WITHIN,
                _ => Time::ZERO,
            };
        }
    }

    /// Whether the relay can be reached, and answers.
    #[must_use]
    pub const fn reaches_relay(&self) -> bool {
        self.witness.is_reached()
    }

    /// Whether there is a connection to the relay that brings nothing.
    #[must_use]
    pub const fn is_relay_silent(&self) -> bool {
        self.witness.is_connected && self.witness.is_silent
    }

    /// Takes the relay's refusal of this peer's claim. It ends the session of each peer that cannot follow the
    /// relay's host:
    ///
    /// - a member of a side that elected another host;
    /// - a voter without a result, since it cannot go back;
    /// - an excluded peer;
    /// - a member that its host has removed unnoticed.
    ///
    /// The answer that another host lives counts only when the relay keeps repeating it.
    ///
    /// A refusal of a term that has begun meanwhile concerns a former host, and is ignored. A host that hands over
    /// learns from a refusal that the relay does not reach its heir.
    pub fn handle_denial(&mut self, now: Time, term: Term, denial: Denial) {
        self.witness.hear();
        if term <= self.term {
            return;
        }
        // The relay knows the host as a member, so it is the host's candidate that cannot host.
        if denial == Denial::NotAMember && self.warrant.host == self.me {
            if let Some(heir) = self.phase.told_heir().filter(|heir| self.witness.claimed == Some(*heir)) {
                self.handle_gone(now, heir);
            }
            return;
        }
        let (has_voted, is_excluded) = (self.phase.ballot().is_some(), self.phase.is_excluded());
        let is_over = match denial {
            Denial::HostIsAlive if has_voted || is_excluded || !self.term.is_witnessed() => {
                self.witness.note_denied(now)
            }
            Denial::HostIsAlive => {
                self.witness.denied = None;
                false
            }
            Denial::NotAMember => {
                let is_lost = self.phase.has_lasted(now, REMOVED_AFTER);
                self.is_apart() || !self.is_host() && (has_voted || is_excluded || is_lost)
            }
            Denial::Stale => false,
        };
        if is_over {
            self.acts.push_back(Act::Yield);
        }
    }

    /// Claims for the host's heir, or for the first in line.
    pub(crate) fn claim(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        self.witness.note_silence(now);
        if !self.witness.is_connected {
            return;
        }
        let candidate = self.candidate(view, lives);
        // The last claim's candidate may have died together with the host, and be missed only since. Then this peer
        // claims again at once.
        let is_claimed_dead =
            self.witness.claimed.is_some_and(|peer| peer != candidate && lives.missed.contains(&peer));
        if self.witness.next <= now || is_claimed_dead {
            self.push_claim(now, candidate);
        }
    }

    pub(crate) fn push_claim(&mut self, now: Time, candidate: PeerId) {
        self.witness.next = now + CLAIM_AGAIN;
        self.witness.claimed = Some(candidate);
        self.witness.unanswered_since.get_or_insert(now);
        self.acts.push_back(Act::Claim(self.term.next_witnessed(), candidate));
    }

    /// Takes the relay's word that a peer's connection has closed, or that the relay cannot make that peer host. The
    /// peer may come back without notice.
    ///
    /// Returns whether the news is fresh. Right after this peer's own reconnect, the relay also reports a host that
    /// was gone before.
    pub fn handle_gone(&mut self, now: Time, peer: PeerId) -> bool {
        self.gone.note(now, peer);
        peer != self.host || self.witness.is_settled(now)
    }

    /// Notes that a peer said farewell. That peer never comes back.
    pub fn handle_farewell(&mut self, peer: PeerId) {
        self.gone.note_farewell(peer);
    }

    /// Whether a peer said farewell, or the relay lost it a moment ago.
    #[must_use]
    pub fn is_gone(&self, now: Time, peer: PeerId) -> bool {
        self.gone.has(now, peer)
    }

    /// Notes that this host names its heir to all members now. It asks the relay to make the heir host once that news
    /// has had time to travel.
    pub(crate) fn tell_heir(&mut self, now: Time, heir: PeerId) {
        if let Phase::Leading { leave, .. } = &mut self.phase {
            *leave = Leave::Told { heir };
            self.witness.next = now + RESIGNATION_TRAVELS;
        }
    }
}
