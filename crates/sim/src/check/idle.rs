//! docs/recovery.md, promise 12: a host whose game stands still for two seconds hands over, if another member can
//! host.

use std::collections::BTreeMap;

use samovar_wire::{Duration, Time};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// How long a host's game may stand still: two seconds, and the time that a hand-over takes in the worst weather.
const STANDS_STILL_MAX: Duration = Duration::from_millis(3_500);

/// For each host, the time since which its game has stood still although another member could host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    since: BTreeMap<ProcessId, Time>,
}

impl Idle {
    /// Checks a process. `is_idle` says that the process hosts, that its game stands still, and that another member
    /// could host.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, is_idle: bool) -> Result<(), Broken> {
        if !is_idle {
            self.since.remove(&process);
            return Ok(());
        }
        let since = *self.since.entry(process).or_insert(now);
        if now.since(since) <= STANDS_STILL_MAX {
            return Ok(());
        }
        let what = format!("process {process} hosts, and its game has stood still since {since:?}");
        Err(Broken::new(Promise::Plays, what))
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.since.remove(&process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn host_may_stand_still_for_three_and_a_half_seconds() {
        let mut idle = Idle::default();
        let at = |ms: u64| Time::from_micros(ms * 1_000);
        assert!(idle.look(at(0), 1, true).is_ok() && idle.look(at(3_500), 1, true).is_ok());
        assert!(idle.look(at(3_600), 1, false).is_ok());
        assert!(idle.look(at(3_700), 1, true).is_ok(), "it played meanwhile");
        let broken = idle.look(at(7_300), 1, true).map_err(|broken| broken.promise);
        assert_eq!(broken, Err(Promise::Plays));
    }
}
