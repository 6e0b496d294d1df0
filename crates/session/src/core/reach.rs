//! Whether it is this peer that is cut off, and not the others that are gone.
//!
//! A relay that ends closes its connections, and a member that ends takes no relay with it. When nothing comes from the
//! relay any more, nor from anybody else, it is this peer's own network.

use samovar_wire::{Duration, Time};

/// Who has heard nobody for so long is alone.
const ALONE_AFTER: Duration = Duration::from_millis(1_000);

/// What this peer hears.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// When any other member was heard last; zero before.
    heard: Time,
    is_cut_off: bool,
}

impl Reach {
    pub(crate) const fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// `heard` is when a member was, of those that there are links to now.
    pub(super) fn review(&mut self, now: Time, heard: Time, reaches_relay: bool, is_relay_silent: bool) {
        self.heard = self.heard.max(heard);
        if reaches_relay || self.heard + ALONE_AFTER > now {
            self.is_cut_off = false;
        } else if self.heard > Time::ZERO && is_relay_silent {
            self.is_cut_off = true;
        }
    }
}
