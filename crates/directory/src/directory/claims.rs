//! Who misses the host of a game, and what it was asked.

use std::collections::BTreeSet;

use samovar_wire::{PeerId, Term, Time};

use crate::limits::CLAIM_COUNTS_FOR;

/// A member misses the host and wants another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    pub(super) peer: PeerId,
    pub(super) term: Term,
    pub(super) candidate: PeerId,
}

/// Whether the host lives was asked: it, and the other members, who answer for themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Probe {
    /// The number to answer with.
    pub(super) nonce: u64,
    /// Since when the host has been asked, and has not answered.
    pub(super) first: Time,
    /// When it was asked last, and the others with it.
    pub(super) since: Time,
    /// Whether the question to the host has left the relay.
    pub(super) is_sent: bool,
    /// Members that answered, without the host; `None` when only the host was asked.
    pub(super) answered: Option<Vec<PeerId>>,
}

/// Who misses the host, and what is being done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Claims {
    /// One of each claimant at most, who began first comes first.
    noted: Vec<Noted>,
    /// What the host has been asked.
    pub(super) probe: Option<Probe>,
    /// When the others were asked last.
    pub(super) asked_all: Option<Time>,
    /// When the host last answered one.
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
    /// Whoever does not repeat a claim has heard the host again.
    fn is_fresh(&self, now: Time) -> bool {
        now.since(self.at) <= CLAIM_COUNTS_FOR
    }
}

impl Claims {
    /// Notes a claim, or that a claimant still misses the host.
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

    /// Who misses the host.
    pub(super) fn missing(&self, now: Time) -> BTreeSet<PeerId> {
        self.fresh(now).map(|claim| claim.peer).collect()
    }

    /// Whether a member has said something since the host is missed: it claims, or has answered for itself.
    pub(super) fn is_heard(&self, now: Time, peer: PeerId) -> bool {
        self.missing(now).contains(&peer) || self.answered().is_some_and(|all| all.contains(&peer))
    }

    /// Members that have answered for themselves, when all were asked about the host.
    pub(super) fn answered(&self) -> Option<&Vec<PeerId>> {
        self.probe.as_ref()?.answered.as_ref()
    }

    /// Whether all were asked about the host, and only those have answered who miss it.
    pub(super) fn is_lonely(&self, now: Time) -> bool {
        let missing = self.missing(now);
        self.answered().is_some_and(|all| all.iter().all(|peer| missing.contains(peer)))
    }

    /// Those of them without an answer.
    pub(super) fn waiting(&self, now: Time) -> impl Iterator<Item = &Claim> {
        let waits = move |noted: &&Noted| noted.is_fresh(now) && !noted.is_answered;
        self.noted.iter().filter(waits).map(|noted| &noted.claim)
    }

    /// The host wants this member in its place, which cannot host yet.
    pub(super) fn note_wanted(&mut self, now: Time, candidate: PeerId) {
        self.wanted = Some((candidate, now));
    }

    /// The member that the host wants in its place, as long as its word counts.
    pub(super) fn wanted(&self, now: Time) -> Option<PeerId> {
        self.wanted.filter(|&(_, at)| now.since(at) <= CLAIM_COUNTS_FOR).map(|(candidate, _)| candidate)
    }

    /// All claims without an answer, however long ago, but those for `spared`: they are answered now.
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

    /// What a member missed counts no longer: it is not connected any more, or takes its claim back. The claim, unless it
    /// was answered and has expired.
    pub(super) fn remove(&mut self, now: Time, peer: PeerId) -> Option<Claim> {
        let place = self.noted.iter().position(|noted| noted.claim.peer == peer)?;
        let noted = self.noted.remove(place);
        (noted.is_fresh(now) || !noted.is_answered).then_some(noted.claim)
    }

    /// A new term: nobody misses its host yet.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
