//! Whether this peer is cut off, as opposed to all others being gone.
//!
//! A relay that ends closes its connections, and a member that ends takes no relay with it. When nothing comes from the
//! relay any more, nor from any member, the fault is in this peer's own network.

use samovar_wire::{Duration, Time};

/// A peer that has heard no member for this long is alone.
const ALONE_AFTER: Duration = Duration::from_millis(1_000);

/// Whether this peer hears any other member or the relay.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// When this peer last heard any other member; zero before the first time.
    heard: Time,
    is_cut_off: bool,
}

impl Reach {
    pub(crate) const fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Decides whether this peer is cut off. `heard` is when any of the members with a link was last heard.
    pub(super) fn review(&mut self, now: Time, heard: Time, reaches_relay: bool, is_relay_silent: bool) {
        self.heard = self.heard.max(heard);
        if reaches_relay || self.heard + ALONE_AFTER > now {
            self.is_cut_off = false;
        } else if self.heard > Time::ZERO && is_relay_silent {
            self.is_cut_off = true;
        }
    }
}
