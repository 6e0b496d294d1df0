//! Session time never goes backwards at a peer, and is the same at all peers when no fault is active.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{Duration, PeerId, SessionId, Time};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// How far apart two members' session times may be: half of the greatest difference between the delays of the two
/// directions of a round trip.
const APART_MAX: Duration = Duration::from_millis(100);
/// How far apart two members' session times may be when packets travel by streams alone. There, one loss delays
/// everything behind it, so even the shortest of eight round trips may take 0.7 to 1.9 s (`chaos` seeds 34005659,
/// 34005735, 34008841). An estimate of session time errs by up to half a round trip.
const APART_MAX_OVER_STREAMS: Duration = Duration::from_millis(500);

/// The last session time of each process.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    last: BTreeMap<ProcessId, (SessionId, PeerId, Time)>,
}

impl Clocks {
    /// Checks the session time of a process at its local time `now`. A peer that is not a member is not checked,
    /// because it may have to begin the session anew.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session) -> Result<(), Broken> {
        if !session.is_member() {
            self.forget(process);
            return Ok(());
        }
        self.hear(process, (session.warrant().session, session.me(), session.session_time(now)))
    }

    fn hear(&mut self, process: ProcessId, said: (SessionId, PeerId, Time)) -> Result<(), Broken> {
        match self.last.insert(process, said) {
            Some(last) if (last.0, last.1) == (said.0, said.1) && last.2 > said.2 => {
                let what =
                    format!("session time went from {:?} back to {:?} at process {process}", last.2, said.2);
                Err(Broken::new(Promise::Clock, what))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.last.remove(&process);
    }
}

/// Returns a violation if session times taken at one moment are too far apart.
pub(crate) fn out_of_step(
    times: impl Iterator<Item = (ProcessId, Time)> + Clone,
    has_datagrams: bool,
) -> Option<Broken> {
    let (slow, first) = times.clone().min_by_key(|said| said.1)?;
    let (fast, last) = times.max_by_key(|said| said.1)?;
    let most = if has_datagrams { APART_MAX } else { APART_MAX_OVER_STREAMS };
    (last.since(first) > most).then(|| {
        let what = format!("session time is {first:?} at process {slow}, and {last:?} at process {fast}");
        Broken::new(Promise::Clock, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    #[test]
    fn session_time_that_goes_backwards_is_found() {
        let mut clocks = Clocks::default();
        let said = |ms| (SessionId(1), PeerId(1), at(ms));
        assert_eq!(clocks.hear(0, said(20)), Ok(()));
        assert_eq!(clocks.hear(0, said(20)), Ok(()));
        assert_eq!(clocks.hear(1, said(19)), Ok(()), "another's clock");
        assert_eq!(clocks.hear(0, (SessionId(2), PeerId(1), at(3))), Ok(()), "another session");
        assert_eq!(clocks.hear(0, (SessionId(2), PeerId(1), at(2))).unwrap_err().promise, Promise::Clock);
    }

    #[test]
    fn session_times_that_are_too_far_apart_are_found() {
        let times = |ms: [u64; 3]| ms.into_iter().map(at).enumerate();
        assert_eq!(out_of_step(times([500, 400, 450]), true), None);
        assert_eq!(out_of_step(times([500, 100, 450]), false), None);
        assert!(out_of_step(times([500, 399, 450]), true).unwrap().what.contains("process 1"));
        assert_eq!(out_of_step(std::iter::empty(), true), None);
    }
}
