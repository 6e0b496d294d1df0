//! The arrivals from the other end over all paths together.

use samovar_wire::{Duration, Time};

use super::Patience;
use super::complaints::Complaints;
use super::rhythm::Rhythm;

/// After a longer silence this end stops complaining, since more than one path to the other end must have failed.
const HOPELESS: Duration = Patience::PAIR.renew;

/// The usual gap between arrivals from the other end, and the complaints about a longer one. More than one path may
/// fail at once: without UDP the direct path and the channels to the relay are both silent, and only the WebSocket is
/// left. So a complaint goes over the WebSocket as well, and its receiver answers there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    rhythm: Option<Rhythm>,
    /// The complaints over the WebSocket.
    pub(super) complaints: Complaints,
    /// Whether this end has just complained. Then this end's next packet goes over the WebSocket, too.
    pub(super) owes: bool,
}

impl Presence {
    pub(super) fn on_heard(&mut self, now: Time) {
        match &mut self.rhythm {
            Some(rhythm) if rhythm.silence(now) < HOPELESS => rhythm.on_heard(now),
            none => *none = Some(Rhythm::new(now)),
        }
    }

    /// Whether the other end is heard: its silence, if any, is not unusual yet.
    pub(super) fn is_heard(&self, now: Time) -> bool {
        self.rhythm.is_some_and(|rhythm| rhythm.unusual_at(Patience::PAIR.doubt) > now)
    }

    /// When to complain of the silence, unless something arrives before.
    pub(super) fn complaint_at(&self) -> Time {
        let due = |rhythm: Rhythm| {
            let due = self.complaints.next_of(rhythm.unusual_at(Patience::PAIR.doubt));
            if due < rhythm.silent_at(HOPELESS) { due } else { Time::FAR }
        };
        self.rhythm.map_or(Time::FAR, due)
    }

    /// Whether to complain now.
    pub(super) fn complains(&mut self, now: Time) -> bool {
        let at = self.complaint_at();
        let complains = self.complaints.make(now, at);
        self.owes |= complains;
        complains
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
    fn a_sudden_silence_draws_complaints_for_three_seconds() {
        let mut presence = Presence::default();
        assert!(!presence.complains(at(0)), "nothing was ever heard");
        (0..100).for_each(|frame| presence.on_heard(at(frame * 16)));
        let complaints: Vec<_> = (1_584..9_000).filter(|&ms| presence.complains(at(ms))).collect();
        assert_eq!(complaints[..3], [1_644, 1_844, 2_044]);
        assert_eq!((complaints.len(), presence.complaint_at()), (15, Time::FAR));
        presence.on_heard(at(9_000));
        assert!(!presence.complains(at(9_249)) && presence.complains(at(9_250)), "another rhythm begins");
    }
}
