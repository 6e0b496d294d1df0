//! Reliable messages on their way through the host of a star: each is kept by its sender until the host says that all
//! receivers have it, and by the host until they do. So none is lost with the host, and none is delivered twice.

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_wire::via::Way;
use samovar_wire::{Lane, PeerId, Receipt, SortedMap, SortedSet, Term};

/// Messages of one member that may be under way, and their bytes.
const UNDER_WAY_MAX: usize = 512;
const BYTES_UNDER_WAY_MAX: usize = 256 * 1_024;

/// Whether so many messages of one member with so many bytes are more than may be under way.
pub(super) const fn is_too_much(messages: usize, bytes: usize) -> bool {
    messages > UNDER_WAY_MAX || bytes > BYTES_UNDER_WAY_MAX
}

/// A message of this peer that not all receivers are known to have.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    pub(super) lane: Lane,
    pub(super) number: u64,
    pub(super) way: Way,
    pub(super) message: Arc<[u8]>,
    /// The term whose host was given it.
    pub(super) carrier: Option<Term>,
}

/// What this peer says to others.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) posted: VecDeque<Posted>,
    bytes: usize,
    numbers: SortedMap<Lane, u64>,
}

impl Outbox {
    /// The number of the next message in a lane.
    pub(super) fn next(&mut self, lane: Lane) -> u64 {
        let number = self.numbers.entry(lane).or_insert(0);
        *number += 1;
        *number
    }

    /// Takes a message; whether there was room.
    pub(super) fn post(&mut self, lane: Lane, way: Way, message: Vec<u8>) -> bool {
        if is_too_much(self.posted.len() + 1, self.bytes + message.len()) {
            return false;
        }
        self.bytes += message.len();
        let number = self.next(lane);
        self.posted.push_back(Posted { lane, number, way, message: message.into(), carrier: None });
        true
    }

    /// All receivers have a lane's messages up to this one.
    pub(super) fn confirm(&mut self, lane: Lane, number: u64) {
        self.forget(|posted| posted.lane == lane && posted.number <= number);
    }

    /// Nobody needs these messages any more.
    pub(super) fn forget(&mut self, is_done: impl Fn(&Posted) -> bool) {
        self.posted.retain(|posted| !is_done(posted));
        self.bytes = self.posted.iter().map(|posted| posted.message.len()).sum();
    }
}

/// A message that the host passes on.
#[derive(Debug)]
pub(super) struct Passing {
    pub(super) from: PeerId,
    pub(super) lane: Lane,
    pub(super) number: u64,
    pub(super) message: Arc<[u8]>,
    /// Who has not acknowledged it, and the link's receipt where it was sent.
    pub(super) waits: Vec<(PeerId, Option<Receipt>)>,
}

/// How far one member's messages in one lane have come.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    accepted: u64,
    told: u64,
}

/// What the host of a star passes on.
#[derive(Debug, Default)]
pub(super) struct Passages {
    pub(super) passing: VecDeque<Passing>,
    /// To whom something was not sent yet.
    pub(super) unsent: SortedSet<PeerId>,
    tracks: SortedMap<(PeerId, Lane), Track>,
}

/// What the host makes of a member's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// It is to be passed on.
    New,
    /// It was there already.
    Known,
    /// The member has more under way than it may.
    TooMuch,
}

impl Passages {
    /// Whether a member's message is to be passed on.
    pub(super) fn accept(&mut self, from: PeerId, lane: Lane, number: u64, len: usize) -> Acceptance {
        let track = self.tracks.entry((from, lane)).or_default();
        if number <= track.accepted {
            // Its sender does not know: it is told again.
            track.told = 0;
            return Acceptance::Known;
        }
        let own = self.passing.iter().filter(|passing| passing.from == from);
        let (count, bytes) = own.fold((1, len), |(n, sum), passing| (n + 1, sum + passing.message.len()));
        if is_too_much(count, bytes) {
            return Acceptance::TooMuch;
        }
        track.accepted = number;
        Acceptance::New
    }

    /// A message is to reach these.
    pub(super) fn push(&mut self, passing: Passing) {
        self.unsent.extend(passing.waits.iter().map(|&(peer, _)| peer));
        self.passing.push_back(passing);
    }

    /// The link to a peer is another one: what it has not acknowledged is sent again.
    pub(super) fn forget_receipts(&mut self, peer: PeerId) {
        let waits = self.passing.iter_mut().flat_map(|passing| &mut passing.waits);
        for wait in waits.filter(|wait| wait.0 == peer) {
            wait.1 = None;
            self.unsent.insert(peer);
        }
    }

    /// Forgets what arrived, and whom nothing can be told; up to where whose messages in which lane are done with now,
    /// of those who have not been told.
    pub(super) fn settle(
        &mut self,
        is_done: impl Fn(PeerId, Option<Receipt>) -> bool,
    ) -> Vec<(PeerId, Lane, u64)> {
        let mut first_open: SortedMap<(PeerId, Lane), u64> = SortedMap::new();
        self.passing.retain_mut(|passing| {
            passing.waits.retain(|&(peer, receipt)| !is_done(peer, receipt));
            let is_open = !passing.waits.is_empty();
            if is_open {
                first_open.entry((passing.from, passing.lane)).or_insert(passing.number);
            }
            is_open
        });
        let mut news = Vec::new();
        for (&(from, lane), track) in self.tracks.iter_mut() {
            let done = first_open.get(&(from, lane)).map_or(track.accepted, |open| open - 1);
            if done > track.told {
                track.told = done;
                news.push((from, lane, done));
            }
        }
        news
    }

    /// A member is gone, or its messages are another host's to pass on.
    pub(super) fn retain(&mut self, is_here: impl Fn(PeerId) -> bool) {
        self.tracks.retain(|&(from, _), _| is_here(from));
        self.unsent.retain(|&peer| is_here(peer));
    }

    /// The sender was not told after all.
    pub(super) fn tell_again(&mut self, from: PeerId, lane: Lane) {
        self.tracks.entry((from, lane)).or_default().told = 0;
    }
}

/// The lanes of a link that take nothing more now.
pub(super) struct Full(Vec<Lane>);

impl Full {
    pub(super) fn new(said: bool) -> Self {
        Self(if said { Vec::new() } else { vec![Lane::SESSION] })
    }

    pub(super) fn is_open(&self, lane: Lane) -> bool {
        !self.0.contains(&lane)
    }

    pub(super) fn close(&mut self, lane: Lane) {
        if self.is_open(lane) {
            self.0.push(lane);
        }
    }

    pub(super) fn is_any_closed(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const A: PeerId = PeerId(1);
    const B: PeerId = PeerId(2);
    const C: PeerId = PeerId(3);

    fn pass(passages: &mut Passages, number: u64, to: &[PeerId]) -> Acceptance {
        let accepted = passages.accept(A, Lane::GAME, number, 10);
        if accepted == Acceptance::New {
            let waits = to.iter().map(|&peer| (peer, None)).collect();
            let message = [0; 10].as_slice().into();
            passages.push(Passing { from: A, lane: Lane::GAME, number, message, waits });
        }
        accepted
    }

    #[test]
    fn a_sender_is_told_once_how_far_all_receivers_are() {
        let mut passages = Passages::default();
        pass(&mut passages, 1, &[B, C]);
        pass(&mut passages, 2, &[B]);
        assert_eq!(passages.settle(|peer, _| peer == B), []);
        assert_eq!(passages.settle(|_, _| true), [(A, Lane::GAME, 2)]);
        assert_eq!(passages.settle(|_, _| true), []);
        assert_eq!(pass(&mut passages, 2, &[B]), Acceptance::Known);
        assert_eq!(passages.settle(|_, _| true), [(A, Lane::GAME, 2)], "who asks again is told again");
    }

    #[test]
    fn what_one_member_has_under_way_is_bounded_at_both_ends() {
        let (mut passages, mut outbox) = (Passages::default(), Outbox::default());
        for number in 1..=UNDER_WAY_MAX as u64 {
            assert_eq!(pass(&mut passages, number, &[B]), Acceptance::New);
            assert!(outbox.post(Lane::GAME, Way::ToAll, vec![0; 10]));
        }
        assert_eq!(pass(&mut passages, UNDER_WAY_MAX as u64 + 1, &[B]), Acceptance::TooMuch);
        assert!(!outbox.post(Lane::GAME, Way::ToAll, vec![0; 10]));
        outbox.confirm(Lane::GAME, 3);
        assert!(outbox.post(Lane::GAME, Way::ToAll, vec![0; 10]));
        assert!(!outbox.post(Lane::GAME, Way::ToAll, vec![0; BYTES_UNDER_WAY_MAX]));
        outbox.confirm(Lane::GAME, u64::MAX);
        assert!(outbox.posted.is_empty() && outbox.bytes == 0);
    }
}
