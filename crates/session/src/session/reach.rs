//! Whether it is this peer that is cut off, and not the others that are gone.
//!
//! A relay that ends closes its connections, and a member that ends takes no relay with it. When nothing comes from the
//! relay any more, nor from anybody else, it is this peer's own network.

use samovar_wire::{Duration, Time};

use super::Session;

/// Who has heard nobody for so long is alone.
const ALONE_AFTER: Duration = Duration::from_millis(1_000);

/// What this peer hears.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// When any other member was heard last; zero before.
    heard: Time,
    is_cut_off: bool,
}

impl Session {
    /// Whether this peer's own network seems to be cut: neither the relay, whose connection is open, nor any of the members
    /// that were there answers. It holds until one of them is heard again.
    #[must_use]
    pub const fn is_cut_off(&self) -> bool {
        self.reach.is_cut_off
    }

    pub(super) fn review_reach(&mut self, now: Time) {
        let members = self.links.values().filter(|peering| peering.admitted);
        let heard = members.map(|peering| peering.link.heard_at()).max();
        let reach = &mut self.reach;
        reach.heard = reach.heard.max(heard.unwrap_or_default());
        if self.roster.reaches_relay() || reach.heard + ALONE_AFTER > now {
            reach.is_cut_off = false;
        } else if reach.heard > Time::ZERO && self.roster.is_relay_silent() {
            reach.is_cut_off = true;
        }
    }
}
