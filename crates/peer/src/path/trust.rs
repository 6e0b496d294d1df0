//! The time for which a fallen path has to be heard before packets go by it alone again.

use samovar_wire::{Duration, Time};

use super::Patience;

/// After its first fall a path must be heard for this long before it is trusted again. Each further fall doubles the
/// time.
pub const TRUST_MIN: Duration = Duration::from_millis(1_000);
/// The longest time that a path has to be heard before it is trusted again.
pub const TRUST_MAX: Duration = Duration::from_millis(16_000);
/// A path that has not fallen for this long counts as one that never fell.
pub const TRUST_FORGETS: Duration = Duration::from_millis(60_000);

/// The memory of a path's falls, over all its connections. A path that flaps is trusted less and less often, so that
/// the reported path changes a few times a minute at most. While it is not trusted, packets go by the next rung as
/// well.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trust {
    is_up: bool,
    /// When the path fell last, and how long it has to be heard after that.
    fell: Option<(Time, Duration)>,
    /// The start of the present span without a gap long enough for doubt.
    steady: Time,
}

impl Trust {
    pub(super) const fn is_up(&self) -> bool {
        self.is_up
    }

    /// Notes that another connection begins.
    pub(super) const fn restart(&mut self, now: Time) {
        self.steady = now;
    }

    /// Notes an arrival after this silence.
    pub(super) fn on_heard(&mut self, now: Time, silence: Duration, patience: Patience) {
        self.tend(now, silence, patience);
        if silence >= patience.doubt {
            self.steady = now;
        }
        if !self.is_up && self.fell.is_none_or(|(_, wait)| self.steady + wait <= now) {
            self.is_up = true;
        }
    }

    /// Marks the path as fallen if the silence has lasted too long.
    pub(super) fn tend(&mut self, now: Time, silence: Duration, patience: Patience) {
        if !self.is_up || silence < patience.fall {
            return;
        }
        self.is_up = false;
        let wait = match self.fell {
            Some((last, wait)) if last + TRUST_FORGETS > now => wait.times(2).min(TRUST_MAX),
            _ => TRUST_MIN,
        };
        self.fell = Some((now, wait));
    }
}
