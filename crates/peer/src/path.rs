//! The path to one peer: relayed until a direct one has proven itself, both while in doubt.
//!
//! ```text
//!            offer or answer              both channels open          first packet heard
//!   Idle ------------------------> Opening ---------------> Open, unproven ------> Open, proven
//!    ^                                |                          |                      |
//!    |        closed, or took too long|          nothing heard   |     silent too long  |
//!    +------- try again later --------+--------------------------+----------------------+
//! ```
//!
//! A link drops duplicates, so in doubt a packet goes both ways and no switch leaves a hole.

use samovar_wire::{Duration, Time};

/// A direct path that was silent for so long is in doubt: seven keep-alives. Packets go both ways.
const DOUBT_AFTER: Duration = Duration::from_millis(700);
/// A direct path that was silent for so long is given up.
const DEAD_AFTER: Duration = Duration::from_millis(3_000);
/// The first retry after a failed attempt; doubles up to [`RETRY_MAX`].
const RETRY_MIN: Duration = Duration::from_millis(3_000);
const RETRY_MAX: Duration = Duration::from_millis(48_000);
/// Offers from one peer that come sooner after one another are ignored.
const OFFER_INTERVAL: Duration = Duration::from_millis(300);

/// How packets reach a peer now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Over data channels.
    Direct,
    /// Over the relay.
    Relayed,
    /// Not at all, for now.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direct {
    Idle { retry_at: Time },
    Opening { attempt: u32, offered: bool },
    Open { attempt: u32, heard: Time, proven: bool },
}

/// Which ways a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) direct: Option<u32>,
    pub(crate) relayed: bool,
}

/// The path to one peer.
#[derive(Debug)]
pub(crate) struct PathState {
    direct: Direct,
    failures: u32,
    last_offer: Option<Time>,
    /// What the other end calls the attempt that we answer.
    pub(crate) remote_attempt: u32,
    /// What the driver's buffer of the connection holds, in bytes.
    pub(crate) backlog: u64,
}

impl PathState {
    pub(crate) fn new(now: Time) -> Self {
        let direct = Direct::Idle { retry_at: now };
        Self { direct, failures: 0, last_offer: None, remote_attempt: 0, backlog: 0 }
    }

    /// The attempt under way or open.
    pub(crate) fn attempt(&self) -> Option<u32> {
        match self.direct {
            Direct::Idle { .. } => None,
            Direct::Opening { attempt, .. } | Direct::Open { attempt, .. } => Some(attempt),
        }
    }

    /// Whether this attempt waits for an answer to our offer.
    pub(crate) fn is_offering(&self, asked: u32) -> bool {
        matches!(self.direct, Direct::Opening { attempt, offered: true } if attempt == asked)
    }

    /// Whether this attempt is being opened, and by our offer.
    pub(crate) fn opening(&self, asked: u32) -> Option<bool> {
        match self.direct {
            Direct::Opening { attempt, offered } if attempt == asked => Some(offered),
            _ => None,
        }
    }

    /// Whether it is time to offer.
    pub(crate) fn wants_offer(&self, now: Time) -> bool {
        matches!(self.direct, Direct::Idle { retry_at } if retry_at <= now)
    }

    /// Ends the pause before the next offer.
    pub(crate) fn hurry(&mut self, now: Time) {
        if let Direct::Idle { retry_at } = &mut self.direct {
            *retry_at = now;
        }
    }

    pub(crate) fn on_opening(&mut self, attempt: u32, offered: bool) {
        self.direct = Direct::Opening { attempt, offered };
        self.backlog = 0;
    }

    /// Whether to answer an offer: not when ours is under way and has precedence, and not too often.
    pub(crate) fn accepts_offer(&mut self, now: Time, ours_has_precedence: bool) -> bool {
        let offering = matches!(self.direct, Direct::Opening { offered: true, .. });
        let too_soon = self.last_offer.is_some_and(|last| last + OFFER_INTERVAL > now);
        if (offering && ours_has_precedence) || too_soon {
            return false;
        }
        self.last_offer = Some(now);
        true
    }

    pub(crate) fn on_opened(&mut self, now: Time, opened: u32) {
        if self.attempt() == Some(opened) {
            self.direct = Direct::Open { attempt: opened, heard: now, proven: false };
        }
    }

    /// Something came over the direct path; whether that proved it.
    pub(crate) fn on_heard(&mut self, now: Time, from: u32) -> bool {
        let Direct::Open { attempt, heard, proven } = &mut self.direct else { return false };
        if *attempt != from {
            return false;
        }
        *heard = now;
        self.failures = 0;
        !core::mem::replace(proven, true)
    }

    /// The attempt is over; whether that changes anything.
    pub(crate) fn on_closed(&mut self, now: Time, closed: u32) -> bool {
        if self.attempt() != Some(closed) {
            return false;
        }
        let wait = Duration::from_micros(RETRY_MIN.as_micros() << self.failures.min(8)).min(RETRY_MAX);
        self.failures += 1;
        self.direct = Direct::Idle { retry_at: now + wait };
        true
    }

    /// The attempt to give up, if its path has been silent for too long.
    pub(crate) fn dead_attempt(&self, now: Time) -> Option<u32> {
        match self.direct {
            Direct::Open { attempt, heard, .. } if heard + DEAD_AFTER <= now => Some(attempt),
            _ => None,
        }
    }

    pub(crate) fn ways(&self, now: Time, relay: bool) -> Ways {
        match self.direct {
            Direct::Open { attempt, heard, proven } => {
                let doubtful = !proven || heard + DOUBT_AFTER <= now;
                Ways { direct: Some(attempt), relayed: relay && doubtful }
            }
            _ => Ways { direct: None, relayed: relay },
        }
    }

    pub(crate) fn path(&self, now: Time, relay: bool) -> Path {
        match self.direct {
            Direct::Open { heard, proven: true, .. } if heard + DOUBT_AFTER > now => Path::Direct,
            _ if relay => Path::Relayed,
            _ => Path::None,
        }
    }

    pub(crate) fn timeout(&self) -> Time {
        match self.direct {
            Direct::Idle { retry_at } => retry_at,
            Direct::Opening { .. } => Time::FAR,
            Direct::Open { heard, .. } => heard + DEAD_AFTER,
        }
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
    fn a_direct_path_takes_over_when_proven_and_yields_when_silent() {
        let mut path = PathState::new(at(0));
        assert_eq!(path.ways(at(0), true), Ways { direct: None, relayed: true });
        path.on_opening(1, true);
        path.on_opened(at(10), 1);
        assert_eq!(path.ways(at(11), true), Ways { direct: Some(1), relayed: true });
        assert!(path.on_heard(at(20), 1));
        assert_eq!(path.ways(at(21), true), Ways { direct: Some(1), relayed: false });
        assert_eq!(path.path(at(21), true), Path::Direct);
        assert_eq!(path.ways(at(721), true), Ways { direct: Some(1), relayed: true });
        assert_eq!(path.path(at(721), true), Path::Relayed);
        assert_eq!(path.path(at(721), false), Path::None);
        assert_eq!(path.dead_attempt(at(3_020)), Some(1));
    }

    #[test]
    fn events_of_a_replaced_attempt_change_nothing() {
        let mut path = PathState::new(at(0));
        path.on_opening(1, true);
        path.on_opening(2, false);
        path.on_opened(at(1), 1);
        assert_eq!(path.opening(2), Some(false));
        assert!(!path.on_closed(at(1), 1));
        path.on_opened(at(2), 2);
        assert!(!path.on_heard(at(3), 1));
        assert!(path.on_heard(at(3), 2));
    }

    #[test]
    fn failed_attempts_are_repeated_less_and_less_often() {
        let mut path = PathState::new(at(0));
        let mut waits = Vec::new();
        for attempt in 1..8 {
            path.on_opening(attempt, true);
            assert!(path.on_closed(at(0), attempt));
            waits.push(path.timeout().as_micros() / 1_000_000);
        }
        assert_eq!(waits, [3, 6, 12, 24, 48, 48, 48]);
    }

    #[test]
    fn a_pause_can_be_ended_and_an_attempt_under_way_is_left_alone() {
        let mut path = PathState::new(at(0));
        path.on_opening(1, true);
        path.on_closed(at(0), 1);
        assert!(!path.wants_offer(at(1)));
        path.hurry(at(1));
        assert!(path.wants_offer(at(1)));
        path.on_opening(2, true);
        path.hurry(at(2));
        assert_eq!(path.attempt(), Some(2));
    }
}
