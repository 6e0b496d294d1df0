//! What is heard of the other end at all, whichever way.

use samovar_wire::{Duration, Time};

use super::Patience;
use super::complaints::Complaints;
use super::rhythm::Rhythm;

/// Who is silent for longer is not complained of any more: that it has other ways than the one it uses is not what it lacks.
const HOPELESS: Duration = Patience::PAIR.renew;

/// How regularly the other end is heard, and what follows when it suddenly is not. A path that fails is not all that may
/// have failed: without datagrams the direct one and the channels to the relay are silent at once, and only the WebSocket is
/// left. So a complaint goes there as well, and whoever gets it there answers there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    rhythm: Option<Rhythm>,
    /// By the WebSocket.
    pub(super) complaints: Complaints,
    /// The next packet goes by the WebSocket, too: a complaint was just made.
    pub(super) owes: bool,
}

impl Presence {
    pub(super) fn on_heard(&mut self, now: Time) {
        match &mut self.rhythm {
            Some(rhythm) if rhythm.silence(now) < HOPELESS => rhythm.on_heard(now),
            none => *none = Some(Rhythm::new(now)),
        }
    }

    /// Whether what was heard last is no unusual time ago.
    pub(super) fn is_heard(&self, now: Time) -> bool {
        self.rhythm.is_some_and(|rhythm| rhythm.unusual_at(Patience::PAIR.doubt) > now)
    }

    /// When it is to be complained that nothing is heard, unless something is.
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
}
