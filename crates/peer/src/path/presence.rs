//! What is heard of the other end at all, whichever way.

use samovar_wire::{Duration, Time};

use super::COMPLAIN_EVERY;
use super::rhythm::Rhythm;

/// Silence is unusual after this at the latest.
const UNUSUAL_MAX: Duration = Duration::from_millis(250);
/// Who is silent for longer is not complained of any more: that it has other ways than the one it uses is not what it lacks.
const HOPELESS: Duration = Duration::from_millis(3_000);

/// How regularly the other end is heard, and what follows when it suddenly is not. A path that fails is not all that may
/// have failed: without datagrams the direct one and the channels to the relay are silent at once, and only the WebSocket is
/// left. So a complaint goes there as well, and whoever gets it there answers there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    rhythm: Option<Rhythm>,
    /// When a silence is complained of next.
    complain_at: Time,
    /// When the other end said by the WebSocket that it hears nothing of us.
    complained: Option<Time>,
}

impl Presence {
    pub(super) fn on_heard(&mut self, now: Time) {
        match &mut self.rhythm {
            Some(rhythm) if rhythm.silence(now) < HOPELESS => rhythm.on_heard(now),
            none => *none = Some(Rhythm::new(now)),
        }
    }

    pub(super) const fn on_complaint(&mut self, now: Time) {
        self.complained = Some(now);
    }

    pub(super) fn is_complained_of(&self, now: Time) -> bool {
        self.complained.is_some_and(|last| last + COMPLAIN_EVERY.times(2) > now)
    }

    /// When it is to be complained that nothing is heard, unless something is.
    pub(super) fn complaint_at(&self) -> Time {
        let due = |rhythm: Rhythm| {
            let due = rhythm.silent_at(rhythm.unusual(UNUSUAL_MAX)).max(self.complain_at);
            if due < rhythm.silent_at(HOPELESS) { due } else { Time::FAR }
        };
        self.rhythm.map_or(Time::FAR, due)
    }

    /// Whether to complain now; at most every [`COMPLAIN_EVERY`].
    pub(super) fn complains(&mut self, now: Time) -> bool {
        let is_due = self.complaint_at() <= now;
        if is_due {
            self.complain_at = now + COMPLAIN_EVERY;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    #[test]
    fn a_sudden_silence_is_complained_of_soon_and_now_and_then_until_there_is_no_hope() {
        let mut presence = Presence::default();
        assert!(!presence.complains(at(0)), "nothing was ever heard");
        (0..100).for_each(|frame| presence.on_heard(at(frame * 16)));
        let complaints: Vec<_> = (1_584..9_000).filter(|&ms| presence.complains(at(ms))).collect();
        assert_eq!(complaints[..3], [1_644, 1_844, 2_044]);
        assert_eq!((complaints.len(), presence.complaint_at()), (15, Time::FAR));
        presence.on_heard(at(9_000));
        assert!(!presence.complains(at(9_249)) && presence.complains(at(9_250)), "another rhythm begins");
    }

    #[test]
    fn a_complaint_counts_for_two_intervals() {
        let mut presence = Presence::default();
        assert!(!presence.is_complained_of(at(0)));
        presence.on_complaint(at(10));
        assert!(presence.is_complained_of(at(409)) && !presence.is_complained_of(at(410)));
    }
}
