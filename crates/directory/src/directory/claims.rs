//! The members that miss the host of a game, and the relay's probe of the host.

use std::collections::BTreeSet;

use samovar_wire::{PeerId, Term, Time};

use crate::limits::CLAIM_COUNTS_FOR;

/// A claim: a member misses the host and wants another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    pub(super) peer: PeerId,
    pub(super) term: Term,
    pub(super) candidate: PeerId,
}

/// An open probe of the host. The relay may probe the other members with it; such a member's answer shows only that
/// the member itself lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Probe {
    /// The number to answer with.
    pub(super) nonce: u64,
    /// When the host was first sent this probe. It has not answered since.
    pub(super) first: Time,
    /// When the relay last sent this probe to the host, and to the other members if it probes them, too.
    pub(super) since: Time,
    /// Whether the probe to the host has left the relay.
    pub(super) is_sent: bool,
    /// The members other than the host that answered; `None` if only the host was probed.
    pub(super) answered: Option<Vec<PeerId>>,
}

/// The members that miss the host, and the state of the relay's decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Claims {
    /// At most one claim of each claimant, in the order in which they began.
    noted: Vec<Noted>,
    /// The open probe of the host.
    pub(super) probe: Option<Probe>,
    /// When all members were last probed.
    pub(super) asked_all: Option<Time>,
    /// When the host last answered a probe.
    pub(super) alive_at: Option<Time>,
    /// The member that the host wants in its place and that cannot host yet, and when the host last said so.
    wanted: Option<(PeerId, Time)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Noted {
    claim: Claim,
    at: Time,
    is_answered: bool,
}

impl Noted {
    /// Whether the claim counts. A claimant that does not repeat its claim has heard the host again.
    fn is_fresh(&self, now: Time) -> bool {
        now.since(self.at) <= CLAIM_COUNTS_FOR
    }
}

impl Claims {
    /// Notes a claim. A repeated claim keeps its place in the order, unless the earlier one has expired.
    pub(super) fn note(&mut self, now: Time, claim: Claim) {
        let noted = Noted { claim, at: now, is_answered: false };
        match self.noted.iter().position(|before| before.claim.peer == claim.peer) {
            Some(place) if self.noted[place].is_fresh(now) => self.noted[place] = noted,
            place => {
                place.map(|place| self.noted.remove(place));
                self.noted.push(noted);
            }
        }
    }

    /// The claims that count now.
    pub(super) fn fresh(&self, now: Time) -> impl Iterator<Item = &Claim> {
        self.noted.iter().filter(move |noted| noted.is_fresh(now)).map(|noted| &noted.claim)
    }

    /// The members that miss the host.
    pub(super) fn missing(&self, now: Time) -> BTreeSet<PeerId> {
        self.fresh(now).map(|claim| claim.peer).collect()
    }

    /// Whether a member was heard after the host was missed: it claims, or has answered the open probe.
    pub(super) fn is_heard(&self, now: Time, peer: PeerId) -> bool {
        self.missing(now).contains(&peer) || self.answered().is_some_and(|all| all.contains(&peer))
    }

    /// The members that have answered the open probe, if it went to all.
    pub(super) fn answered(&self) -> Option<&Vec<PeerId>> {
        self.probe.as_ref()?.answered.as_ref()
    }

    /// Whether the open probe went to all, and only members that miss the host have answered it.
    pub(super) fn is_lonely(&self, now: Time) -> bool {
        let missing = self.missing(now);
        self.answered().is_some_and(|all| all.iter().all(|peer| missing.contains(peer)))
    }

    /// The claims that count now and have no answer.
    pub(super) fn waiting(&self, now: Time) -> impl Iterator<Item = &Claim> {
        let waits = move |noted: &&Noted| noted.is_fresh(now) && !noted.is_answered;
        self.noted.iter().filter(waits).map(|noted| &noted.claim)
    }

    /// Notes that the host wants this member in its place, although it cannot host yet.
    pub(super) fn note_wanted(&mut self, now: Time, candidate: PeerId) {
        self.wanted = Some((candidate, now));
    }

    /// The member that the host wants in its place, while that statement counts.
    pub(super) fn wanted(&self, now: Time) -> Option<PeerId> {
        self.wanted.filter(|&(_, at)| now.since(at) <= CLAIM_COUNTS_FOR).map(|(candidate, _)| candidate)
    }

    /// Marks all open claims as answered, even expired ones, except those for the candidate `spared`. Returns them.
    pub(super) fn answer(&mut self, spared: Option<PeerId>) -> Vec<Claim> {
        let is_open = |noted: &&mut Noted| !noted.is_answered && Some(noted.claim.candidate) != spared;
        let waiting = self.noted.iter_mut().filter(is_open);
        waiting
            .map(|noted| {
                noted.is_answered = true;
                noted.claim
            })
            .collect()
    }

    /// Removes the claim of a member that is disconnected or withdraws it. Returns the claim, unless it was answered
    /// and has expired.
    pub(super) fn remove(&mut self, now: Time, peer: PeerId) -> Option<Claim> {
        let place = self.noted.iter().position(|noted| noted.claim.peer == peer)?;
        let noted = self.noted.remove(place);
        (noted.is_fresh(now) || !noted.is_answered).then_some(noted.claim)
    }

    /// Forgets all claims and the probe, because a new term begins and no member misses its host yet.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
