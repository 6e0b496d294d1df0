//! A peer's phase in its term, with its timers.

use samovar_wire::control::Vote;
use samovar_wire::{Duration, PeerId, Time};

use crate::support::Support;

/// If a vote has no result after this time, the peer votes again in the next term.
pub(crate) const VOTE_AGAIN: Duration = Duration::from_millis(1_000);
/// With forks, a side of a partition goes on by itself when it has missed its host for this long. A shorter outage
/// splits no session.
pub(crate) const FORKS_AFTER: Duration = Duration::from_millis(3_000);

/// This peer's last vote in its present term, and when it was cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ballot {
    pub(crate) vote: Vote,
    pub(crate) at: Time,
}

/// Whether a host hands over, and which members know its heir.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leave {
    /// The host does not hand over.
    No,
    /// The host waits until its heir knows, or until `until`, before it tells the others.
    Telling { heir: PeerId, until: Time },
    /// The host has named its heir to all members.
    Told { heir: PeerId },
}

/// The phases of a peer in its term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Another peer hosts, and is heard.
    Following,
    /// Another peer hosts, and is missed.
    Seeking { since: Time, ballot: Option<Ballot> },
    /// The host is no member, as far as this peer knows. `since` is when this peer began to miss it.
    Excluded { since: Option<Time> },
    /// This peer hosts. `since` is when it began to seek a successor for itself.
    Leading { support: Support, leave: Leave, since: Option<Time>, ballot: Option<Ballot> },
}

impl Phase {
    /// The phase of a peer when a term begins.
    pub(crate) const fn begin(is_host: bool) -> Self {
        if is_host {
            Self::Leading { support: Support::Majority, leave: Leave::No, since: None, ballot: None }
        } else {
            Self::Following
        }
    }

    /// When this peer began to miss the host. On the host itself: when it began to seek a successor.
    pub(crate) const fn missed_since(&self) -> Option<Time> {
        match *self {
            Self::Following => None,
            Self::Seeking { since, .. } => Some(since),
            Self::Excluded { since } | Self::Leading { since, .. } => since,
        }
    }

    /// The heir of this host, once all members are told of it.
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

    /// Notes this peer's vote.
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

    /// Notes whether the host is missed now. Returns whether it counts as missed: once this peer has voted, it counts
    /// as missed even when it is heard again.
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

    /// Handles that this peer slept until now: the silences that it noted before prove nothing.
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

    /// The times at which the waits of this phase end.
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

    /// Whether this peer has missed its host, or sought a successor for itself, for `span`.
    pub(crate) fn has_lasted(&self, now: Time, span: Duration) -> bool {
        self.missed_since().is_some_and(|since| since + span <= now)
    }
}
