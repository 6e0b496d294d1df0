//! What a peer is in its term, and what it waits for there.

use samovar_wire::control::Vote;
use samovar_wire::{Duration, PeerId, Time};

use crate::support::Support;

/// A vote that has come to nothing for so long is followed by one in the next term.
pub(crate) const VOTE_AGAIN: Duration = Duration::from_millis(1_000);
/// Where each side of a partition may go on by itself, it does when it has missed its host for so long: a network that is back
/// by then parts nobody.
pub(crate) const FORKS_AFTER: Duration = Duration::from_millis(3_000);

/// What this peer has voted last in its term, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ballot {
    pub(crate) vote: Vote,
    pub(crate) at: Time,
}

/// Whether a host goes, and who knows of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leave {
    /// It stays.
    No,
    /// It waits until its heir knows, or until then, with telling the others.
    Telling { heir: PeerId, until: Time },
    /// All are told.
    Told { heir: PeerId },
}

/// The phases of a peer in its term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Another peer hosts, and is heard.
    Following,
    /// Another peer hosts, and is missed.
    Seeking { since: Time, ballot: Option<Ballot> },
    /// A peer hosts that is no member, as far as this one knows. It is missed since then.
    Excluded { since: Option<Time> },
    /// This peer hosts; it may seek a successor for itself since then.
    Leading { support: Support, leave: Leave, since: Option<Time>, ballot: Option<Ballot> },
}

impl Phase {
    /// A term begins.
    pub(crate) const fn begin(is_host: bool) -> Self {
        if is_host {
            Self::Leading { support: Support::Majority, leave: Leave::No, since: None, ballot: None }
        } else {
            Self::Following
        }
    }

    /// Since when the host is missed; at a host, since when it may reign no longer.
    pub(crate) const fn missed_since(&self) -> Option<Time> {
        match *self {
            Self::Following => None,
            Self::Seeking { since, .. } => Some(since),
            Self::Excluded { since } | Self::Leading { since, .. } => since,
        }
    }

    /// Whom this host wants for its successor, as all are told.
    pub(crate) const fn told_heir(&self) -> Option<PeerId> {
        match *self {
            Self::Leading { leave: Leave::Told { heir }, .. } => Some(heir),
            _ => None,
        }
    }

    /// The heir of this host, told or still to be told.
    pub(crate) const fn named_heir(&self) -> Option<PeerId> {
        match *self {
            Self::Leading { leave: Leave::Telling { heir, .. } | Leave::Told { heir }, .. } => Some(heir),
            _ => None,
        }
    }

    pub(crate) const fn ballot(&self) -> Option<Ballot> {
        match *self {
            Self::Seeking { ballot, .. } | Self::Leading { ballot, .. } => ballot,
            Self::Following | Self::Excluded { .. } => None,
        }
    }

    /// This peer votes.
    pub(crate) fn set_ballot(&mut self, cast: Ballot) {
        if let Self::Seeking { ballot, .. } | Self::Leading { ballot, .. } = self {
            *ballot = Some(cast);
        }
    }

    pub(crate) const fn is_excluded(&self) -> bool {
        matches!(self, Self::Excluded { .. })
    }

    pub(crate) fn is_lease_over(&self) -> bool {
        matches!(self, Self::Leading { support, .. } if support.is_over())
    }

    /// Notes whether the host is missed now; whether it is or has to be taken for that: who has voted cannot go back.
    pub(crate) fn note_missed(&mut self, now: Time, missed: bool) -> bool {
        match self {
            Self::Following if missed => *self = Self::Seeking { since: now, ballot: None },
            Self::Seeking { ballot: None, .. } | Self::Excluded { .. } if !missed => *self = Self::Following,
            Self::Leading { since, ballot: None, .. } if !missed => *since = None,
            Self::Excluded { since } | Self::Leading { since, .. } => drop(since.get_or_insert(now)),
            Self::Following | Self::Seeking { .. } => {}
        }
        self.missed_since().is_some()
    }

    /// This peer slept until now: what it missed before says nothing.
    pub(crate) fn wake(&mut self, now: Time) {
        match self {
            Self::Following => {}
            Self::Seeking { ballot: None, .. } => *self = Self::Following,
            Self::Seeking { since, ballot: Some(_) } => *since = now,
            Self::Excluded { since } => *since = None,
            Self::Leading { support, since, .. } => {
                *since = None;
                support.wake();
            }
        }
    }

    /// When the waits of this phase are over.
    pub(crate) fn timeouts(&self, forks: bool) -> impl Iterator<Item = Time> {
        let again = |ballot: Option<Ballot>| ballot.map(|ballot| ballot.at + VOTE_AGAIN);
        let forks_at = |since: Option<Time>| since.filter(|_| forks).map(|since| since + FORKS_AFTER);
        let waits: [Option<Time>; 4] = match self {
            Self::Following => [None; 4],
            Self::Seeking { since, ballot } => [again(*ballot), forks_at(Some(*since)), None, None],
            Self::Excluded { since } => [forks_at(*since), None, None, None],
            Self::Leading { support, leave, since, ballot } => {
                let told = match leave {
                    Leave::Telling { until, .. } => Some(*until),
                    Leave::No | Leave::Told { .. } => None,
                };
                [support.over_at(), told, again(*ballot), forks_at(*since)]
            }
        };
        waits.into_iter().flatten()
    }

    /// For how long this phase may last that begins with `since`.
    pub(crate) fn has_lasted(&self, now: Time, span: Duration) -> bool {
        self.missed_since().is_some_and(|since| since + span <= now)
    }
}
