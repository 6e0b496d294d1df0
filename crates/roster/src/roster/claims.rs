//! What is asked of the relay, and what it answers (PROTOCOL §4.10, §5.5).

use samovar_wire::relay::Denial;
use samovar_wire::{Duration, PeerId, Term, Time};

use super::stranded::HOST_RETURNS_WITHIN;
use super::{Act, LEASE, Lives, REMOVED_AFTER, Roster};
use crate::View;

/// How often a claim is repeated while the host is missed.
const CLAIM_AGAIN: Duration = Duration::from_millis(250);
/// For how long the relay must have known of a living host until that ends a session: what it said first may be from before
/// that host heard that it has been succeeded, which then gives way, too.
const DENIED_FOR: Duration = Duration::from_millis(500);
/// A relay that leaves claims unanswered for so long is taken for away.
const RELAY_ANSWERS_WITHIN: Duration = Duration::from_millis(1_000);

impl Roster {
    /// Whether the relay can be reached now.
    pub fn set_relay(&mut self, now: Time, reached: bool) {
        self.relay = reached;
        self.forget_gone();
        (self.unasked_since, self.asked_since, self.denied) = (None, None, None);
        if reached {
            self.hear_relay();
            self.relay_since = Some(now);
            // A host whose majority is gone lets that come first, if it went on without it.
            let gives_way = self.is_host() && self.term.is_witnessed() && self.waking_until.is_none();
            self.claim_after = match (gives_way, self.is_stranded) {
                (true, _) => now + LEASE,
                (_, true) => now + HOST_RETURNS_WITHIN,
                _ => Time::ZERO,
            };
        }
    }

    fn hear_relay(&mut self) {
        self.unanswered_since = None;
        self.is_relay_silent = false;
    }

    /// Whether the relay can be reached, and answers.
    #[must_use]
    pub const fn reaches_relay(&self) -> bool {
        self.relay && !self.is_relay_silent
    }

    /// Whether there is a connection to the relay, and nothing comes by it.
    #[must_use]
    pub const fn is_relay_silent(&self) -> bool {
        self.relay && self.is_relay_silent
    }

    /// The relay gave this peer's claim no effect. When it stays with that, a side that voted while the relay could not be
    /// reached is at its end: the former host lives after all. So is who has voted to no avail, since it cannot go back; whom
    /// its host has removed without its knowing; and who knows no way to its host. The relay's word of a term that has begun
    /// meanwhile is about a former host. A host that resigned hears that the relay does not reach its heir.
    pub fn handle_denial(&mut self, now: Time, term: Term, denial: Denial) {
        self.hear_relay();
        if term <= self.term {
            return;
        }
        // The relay knows a host for a member: it is whom that one claimed for who cannot host.
        if denial == Denial::NotAMember && self.warrant.host == self.me {
            if let Some(heir) = self.heir.filter(|_| self.claimed == self.heir) {
                self.handle_gone(now, heir);
            }
            return;
        }
        let has_voted = self.ballot.is_some();
        let is_over = match denial {
            Denial::HostIsAlive => {
                let gives_way = has_voted || self.is_stranded || !self.term.is_witnessed();
                // What was said long ago is no part of it.
                let first = self.denied.filter(|&(_, last)| now.since(last) <= DENIED_FOR.times(2));
                let first = first.map_or(now, |(first, _)| first);
                self.denied = gives_way.then_some((first, now));
                gives_way && first + DENIED_FOR <= now
            }
            Denial::NotAMember => {
                let is_lost = self.missed_since.is_some_and(|since| since + REMOVED_AFTER <= now);
                self.is_apart() || !self.is_host() && (has_voted || self.is_stranded || is_lost)
            }
            Denial::Stale => false,
        };
        if is_over {
            self.acts.push_back(Act::Yield);
        }
    }

    pub(super) fn claim(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        self.note_silence(now);
        if !self.relay {
            return;
        }
        let candidate = self.candidate(view, lives);
        // Who died together with the host may have been missed a moment later than it.
        let is_claimed_dead =
            self.claimed.is_some_and(|peer| peer != candidate && lives.missed.contains(&peer));
        if self.claim_after <= now || is_claimed_dead {
            self.push_claim(now, candidate);
        }
    }

    /// When the relay is silent, if it does not answer until then.
    pub(super) fn silent_at(&self) -> Option<Time> {
        self.unanswered_since.map(|since| since + RELAY_ANSWERS_WITHIN)
    }

    /// A relay that is silent is asked on, but not waited for.
    pub(super) fn note_silence(&mut self, now: Time) {
        self.is_relay_silent |= self.silent_at().is_some_and(|at| at <= now);
    }

    pub(super) fn push_claim(&mut self, now: Time, candidate: PeerId) {
        self.claim_after = now + CLAIM_AGAIN;
        self.claimed = Some(candidate);
        self.unanswered_since.get_or_insert(now);
        self.acts.push_back(Act::Claim(self.term.next_witnessed(), candidate));
    }
}
