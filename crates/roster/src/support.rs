//! Who stands behind a host, and until when it may reign on without (PROTOCOL §4.10).

use samovar_wire::{Duration, Time};

/// How long a host reigns on that reaches neither the relay nor a majority of the electorate.
pub const LEASE: Duration = Duration::from_millis(1_000);

/// Who stands behind a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Support {
    /// Most of the electorate.
    Majority,
    /// The relay, or the side that it is on, where each side goes on.
    Minority { since: Time },
    /// Nobody: no majority since `minority`, and no relay either.
    Alone { minority: Time, since: Time },
    /// Nor was anybody for the time of a lease: it acts no more until a majority is heard.
    Over { minority: Option<Time>, since: Option<Time> },
}

impl Support {
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Over { .. })
    }

    /// What this peer missed while it slept says nothing.
    pub(crate) const fn wake(&mut self) {
        *self = match self {
            Self::Over { .. } => Self::Over { minority: None, since: None },
            _ => Self::Majority,
        };
    }

    /// When a lease is over that ends for want of support.
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

    /// What it is now that no majority is heard; `silent_since` is when a relay that may not be counted on has been asked
    /// first, and nothing when it may.
    pub(crate) fn without_majority(self, now: Time, silent_since: Option<Time>) -> Self {
        let minority = self.minority().unwrap_or(now);
        // A relay that is silent has been so since it was asked.
        let since = silent_since.map(|silent| self.alone().unwrap_or(silent.max(minority)));
        if self.is_over() || since.is_some_and(|since| since + LEASE <= now) {
            // That there is a relay again does not say what it granted meanwhile: its answer does, which begins a term.
            return Self::Over { minority: Some(minority), since };
        }
        since.map_or(Self::Minority { since: minority }, |since| Self::Alone { minority, since })
    }
}
