//! The support of a host, and how long the host may reign on without it (PROTOCOL §4.10).

use samovar_wire::{Duration, Time};

/// How long a host reigns on without reaching the relay or a majority of the electorate.
pub const LEASE: Duration = Duration::from_millis(1_000);

/// The support of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Support {
    /// Most of the electorate.
    Majority,
    /// The relay; or, with forks, the host's own side of a partition.
    Minority { since: Time },
    /// None: no majority since `minority`, and no relay since `since`.
    Alone { minority: Time, since: Time },
    /// None for the time of a lease. The host no longer acts until it hears a majority or a new term begins.
    Over { minority: Option<Time>, since: Option<Time> },
}

impl Support {
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Over { .. })
    }

    /// Handles that this peer slept: silences during its sleep prove nothing.
    pub(crate) const fn wake(&mut self) {
        *self = match self {
            Self::Over { .. } => Self::Over { minority: None, since: None },
            _ => Self::Majority,
        };
    }

    /// When a lease ends for want of support.
    pub(crate) fn over_at(self) -> Option<Time> {
        match self {
            Self::Alone { since, .. } | Self::Over { since: Some(since), .. } => Some(since + LEASE),
            Self::Majority | Self::Minority { .. } | Self::Over { since: None, .. } => None,
        }
    }

    const fn minority(self) -> Option<Time> {
        match self {
            Self::Majority => None,
            Self::Minority { since } => Some(since),
            Self::Alone { minority, .. } => Some(minority),
            Self::Over { minority, .. } => minority,
        }
    }

    const fn alone(self) -> Option<Time> {
        match self {
            Self::Majority | Self::Minority { .. } => None,
            Self::Alone { since, .. } => Some(since),
            Self::Over { since, .. } => since,
        }
    }

    /// The support when no majority is heard. `silent_since` is when this peer first asked a relay that has been
    /// silent since; `None` when the relay can be counted on.
    pub(crate) fn without_majority(self, now: Time, silent_since: Option<Time>) -> Self {
        let minority = self.minority().unwrap_or(now);
        // The relay counts as silent since it was first asked in vain, or since the majority was lost, whichever is
        // later.
        let since = silent_since.map(|silent| self.alone().unwrap_or(silent.max(minority)));
        if self.is_over() || since.is_some_and(|since| since + LEASE <= now) {
            // A relay that is back may have granted a term meanwhile. So the lease stays over until the relay's
            // answer begins a term.
            return Self::Over { minority: Some(minority), since };
        }
        since.map_or(Self::Minority { since: minority }, |since| Self::Alone { minority, since })
    }
}
