//! Claims to the relay, and its answers (PROTOCOL §4.10, §5.5).

use samovar_wire::relay::Denial;
use samovar_wire::{Duration, PeerId, Term, Time};

use crate::phase::{Leave, Phase};
use crate::{Act, LEASE, Lives, Roster, View};

/// A member was removed if it has missed its host for this long, and the relay says that it is no member.
const REMOVED_AFTER: Duration = Duration::from_millis(3_000);
/// How often a claim is repeated while the host is missed.
const CLAIM_AGAIN: Duration = Duration::from_millis(250);
/// How long the relay must say that a host lives before that ends a side. Its first answer may be older than that
/// host's news of its successor, to which it gives way.
const DENIED_FOR: Duration = Duration::from_millis(500);
/// A relay that leaves claims unanswered for this long counts as away.
const ANSWERS_WITHIN: Duration = Duration::from_millis(1_000);
/// Within this time after reconnecting to the relay, a peer is told whether the host is connected.
const TOLD_WITHIN: Duration = Duration::from_millis(500);
/// After the relay is back, an excluded host has this time to return before another is asked for: the members that it
/// removed may return first.
const HOST_RETURNS_WITHIN: Duration = Duration::from_millis(6_000);
/// How long a resignation travels to the members before the relay is asked.
const RESIGNATION_TRAVELS: Duration = Duration::from_millis(60);

/// The relay, as this peer knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Witness {
    /// Whether there is a connection to it.
    is_connected: bool,
    /// Since when, unless it is the first connection.
    since: Option<Time>,
    /// It leaves claims unanswered.
    is_silent: bool,
    /// The peer that this one claimed for last in this term.
    claimed: Option<PeerId>,
    /// When it may be asked next.
    next: Time,
    /// The first claim that it has not answered.
    unanswered_since: Option<Time>,
    /// The first and the last answer that a host lives other than the one that this peer follows.
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

    /// A term begins. A renewed term may help no more than the last: the pause stays.
    pub(crate) const fn begin(&mut self, is_witnessed: bool, is_renewal: bool) {
        // It answers, if late.
        self.is_silent &= !is_witnessed;
        if !is_renewal {
            self.next = Time::ZERO;
        }
        (self.claimed, self.unanswered_since, self.denied) = (None, None, None);
    }

    /// Whether it can be reached, and answers.
    pub(crate) const fn is_reached(&self) -> bool {
        self.is_connected && !self.is_silent
    }

    /// Since when there is a connection to it, if there is one.
    pub(crate) fn connected_since(&self) -> Option<Time> {
        self.is_connected.then(|| self.since.unwrap_or(Time::ZERO))
    }

    /// Since when it leaves claims unanswered.
    pub(crate) const fn asked_since(&self) -> Option<Time> {
        self.unanswered_since
    }

    /// The peer that this one claimed for last in this term.
    pub(crate) const fn claimed(&self) -> Option<PeerId> {
        self.claimed
    }

    /// Whether it may be asked now.
    pub(crate) fn may_claim(&self, now: Time) -> bool {
        self.is_connected && self.next <= now
    }

    /// Asks it nothing before `until`.
    pub(crate) const fn pause(&mut self, until: Time) {
        self.next = until;
    }

    /// This peer slept, and asks anew.
    pub(crate) const fn ask_anew(&mut self) {
        (self.next, self.claimed) = (Time::ZERO, None);
    }

    fn hear(&mut self) {
        self.unanswered_since = None;
        self.is_silent = false;
    }

    /// A silent relay is still asked, but not waited for.
    pub(crate) fn note_silence(&mut self, now: Time) {
        self.is_silent |= self.silent_at().is_some_and(|at| at <= now);
    }

    /// When it is silent, if it does not answer until then.
    fn silent_at(&self) -> Option<Time> {
        self.unanswered_since.map(|since| since + ANSWERS_WITHIN)
    }

    /// The ends of its waits.
    pub(crate) fn timeouts(&self) -> impl Iterator<Item = Time> {
        [Some(self.next), self.silent_at()].into_iter().flatten()
    }

    /// Whether the connection is older than the last moment: right after a reconnect the relay reports events of the
    /// meantime.
    pub(crate) fn is_settled(&self, now: Time) -> bool {
        self.since.is_none_or(|since| now > since + TOLD_WITHIN)
    }

    /// It says that another host lives; whether it has said so for long enough, without long gaps.
    fn note_denied(&mut self, now: Time) -> bool {
        let first = self.denied.filter(|&(_, last)| now.since(last) <= DENIED_FOR.times(2));
        let first = first.map_or(now, |(first, _)| first);
        self.denied = Some((first, now));
        first + DENIED_FOR <= now
    }
}

impl Roster {
    /// Whether the relay can be reached now.
    pub fn set_relay(&mut self, now: Time, reached: bool) {
        self.witness.is_connected = reached;
        self.gone.forget_connections();
        self.witness.denied = None;
        if reached {
            self.witness.hear();
            self.witness.since = Some(now);
            // A host that lost its majority and went on without the relay gives way first.
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

    /// The relay refused this peer's claim. If it stays with that, these peers are at their end: a side that voted
    /// while the relay could not be reached, because the former host lives; a voter without a result, which cannot go
    /// back; a member that its host has removed unnoticed; and an excluded peer. Denials of a term that has begun
    /// meanwhile concern a former host. A host that resigned learns that the relay does not reach its heir.
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
        // A peer that died together with the host may have been missed a moment later.
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

    /// The relay reports that a peer's connection has closed, or that it cannot make that peer host. The peer may
    /// come back without notice.
    ///
    /// Returns whether the connection closed just now, and not before this peer came back to the relay, which then
    /// reports the host's state.
    pub fn handle_gone(&mut self, now: Time, peer: PeerId) -> bool {
        self.gone.note(now, peer);
        peer != self.host || self.witness.is_settled(now)
    }

    /// A peer said farewell: that peer never comes back.
    pub fn handle_farewell(&mut self, peer: PeerId) {
        self.gone.note_farewell(peer);
    }

    /// Whether a peer said farewell, or the relay lost it a moment ago.
    #[must_use]
    pub fn is_gone(&self, now: Time, peer: PeerId) -> bool {
        self.gone.has(now, peer)
    }

    /// This host leaves, and all are told its heir.
    pub(crate) fn tell_heir(&mut self, now: Time, heir: PeerId) {
        if let Phase::Leading { leave, .. } = &mut self.phase {
            *leave = Leave::Told { heir };
            self.witness.next = now + RESIGNATION_TRAVELS;
        }
    }
}
