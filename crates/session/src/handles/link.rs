//! The measurements of a link.

use samovar_link::LinkStats;
use samovar_wire::{Duration, Time};

use crate::core::peer_link::PeerLink;

/// The link to a peer, by [`crate::Session::link`].
#[derive(Clone, Copy, Debug)]
pub struct LinkTo<'a> {
    pub(super) link: &'a PeerLink,
}

impl LinkTo<'_> {
    /// The round trip of the path, without the time that either end was busy: the shortest of the last 16, which span
    /// eight seconds. `None` before the first.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        let LinkStats { least_round_trip, .. } = self.stats();
        least_round_trip
    }

    /// How long the peer has been silent.
    #[must_use]
    pub fn silence(&self, now: Time) -> Duration {
        self.link.transport.silence(now)
    }

    /// How suspicious that silence is; see [`samovar_link::Link::suspicion`].
    #[must_use]
    pub fn suspicion(&self, now: Time) -> f64 {
        self.link.transport.suspicion(now)
    }

    /// All that the link measures.
    #[must_use]
    pub fn stats(&self) -> LinkStats {
        self.link.transport.stats()
    }
}
