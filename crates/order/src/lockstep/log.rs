//! The decided frames, as the changes in each, and the players with their inputs after the last.

use std::collections::VecDeque;

use samovar_wire::limits::{LOCKSTEP_RUN_MAX, LOCKSTEP_TOLD_MAX, SEATS_MAX};
use samovar_wire::lockstep::{Change, FrameChanges, Run, SeatChange};
use samovar_wire::{SeatId, SortedMap};

/// Frames that are kept for members behind: ten seconds at 60 a second. A member further behind loads a state.
const KEPT: usize = 600;
/// The most bytes of frames that a member tells a new host in one message.
const TOLD_BYTES: usize = 48 * 1_024;

/// The parameters of FNV-1a with 64 bits (G. Fowler, L. C. Noll, K.-P. Vo).
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The players, with their inputs.
pub type Players = SortedMap<SeatId, Vec<u8>>;

/// Applies all changes of a frame. If one is impossible, applies none and returns `false`.
pub(super) fn apply(changes: &[SeatChange], players: &mut Players, input_size: usize) -> bool {
    let is_possible = changes.iter().all(|change| match change.change {
        Change::Joins => !players.contains_key(&change.seat),
        Change::Leaves | Change::Input(_) => players.contains_key(&change.seat),
    });
    let joins = changes.iter().filter(|change| change.change == Change::Joins).count();
    if !is_possible || players.len() + joins > SEATS_MAX {
        return false;
    }
    for SeatChange { seat, change } in changes {
        match change {
            Change::Joins => drop(players.insert(*seat, vec![0; input_size])),
            Change::Leaves => drop(players.remove(seat)),
            Change::Input(input) => drop(players.insert(*seat, input.clone())),
        }
    }
    true
}

#[derive(Clone, Debug)]
struct Entry {
    changes: FrameChanges,
    digest: u64,
}

/// Decided frames without a gap. Two logs with the same digest at a frame are the same up to there.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// The frame before the first that is kept.
    base: u64,
    base_digest: u64,
    entries: VecDeque<Entry>,
    /// The players after the last frame.
    players: Players,
    /// All inputs of the last frames, in ascending order of seats.
    inputs: VecDeque<Vec<u8>>,
    input_size: usize,
}

impl Log {
    /// A log without frames and players.
    pub(super) const fn new(input_size: usize) -> Self {
        Self::resumed(0, FNV_BASIS, Players::new(), input_size)
    }

    /// A log that begins behind `frame`, with the players after it.
    pub(super) const fn resumed(frame: u64, digest: u64, players: Players, input_size: usize) -> Self {
        Self {
            base: frame,
            base_digest: digest,
            entries: VecDeque::new(),
            players,
            inputs: VecDeque::new(),
            input_size,
        }
    }

    pub(super) fn last(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    pub(super) const fn base(&self) -> u64 {
        self.base
    }

    pub(super) const fn players(&self) -> &Players {
        &self.players
    }

    /// Appends the next frame; `false` when it cannot follow the last one.
    pub(super) fn push(&mut self, changes: FrameChanges) -> bool {
        if !apply(&changes, &mut self.players, self.input_size) {
            return false;
        }
        let before = self.entries.back().map_or(self.base_digest, |entry| entry.digest);
        let digest = digest(before, &changes);
        self.entries.push_back(Entry { changes, digest });
        let mut inputs = if self.inputs.len() < LOCKSTEP_RUN_MAX { None } else { self.inputs.pop_front() }
            .unwrap_or_default();
        inputs.clear();
        self.players.values().for_each(|input| inputs.extend_from_slice(input));
        self.inputs.push_back(inputs);
        if self.entries.len() > KEPT
            && let Some(entry) = self.entries.pop_front()
        {
            self.base += 1;
            self.base_digest = entry.digest;
        }
        true
    }

    fn entry(&self, frame: u64) -> Option<&Entry> {
        let index = frame.checked_sub(self.base)?.checked_sub(1)?;
        self.entries.get(usize::try_from(index).ok()?)
    }

    /// The changes of a frame that is kept.
    pub(super) fn changes(&self, frame: u64) -> Option<&[SeatChange]> {
        self.entry(frame).map(|entry| entry.changes.as_slice())
    }

    /// The digest of all frames up to this one.
    pub(super) fn digest_at(&self, frame: u64) -> Option<u64> {
        if frame == self.base { Some(self.base_digest) } else { self.entry(frame).map(|entry| entry.digest) }
    }

    /// The frames to send after `known`: from `needed` to `last`, as many as there is room for, and earlier ones if
    /// that is cheap. Returns also the last frame in the run.
    pub(super) fn run(
        &self,
        (known, needed, last): (u64, u64, u64),
        cheap: usize,
        most: usize,
    ) -> (Run, u64) {
        let cost = |frame| self.changes(frame).unwrap_or_default().len() * (1 + self.input_size);
        let mut first = needed.min(last + 1).max(known + 1);
        let mut bytes: usize = (first..=last).map(cost).sum();
        while first > known + 1 && bytes + cost(first - 1) <= cheap {
            first -= 1;
            bytes += cost(first);
        }
        let mut run = Run::new();
        for frame in (first..=last).take(LOCKSTEP_RUN_MAX) {
            if !run.push(self.changes(frame).unwrap_or_default(), most) {
                break;
            }
        }
        let told = first - 1 + run.frames() as u64;
        let full = self.full((known, first, told), run.bytes().len());
        (full.unwrap_or(run), told)
    }

    /// The frames from `first` to `last` by all their inputs, if that takes less than `most` bytes and no player has
    /// joined or left after the frame `known`.
    fn full(&self, (known, first, last): (u64, u64, u64), most: usize) -> Option<Run> {
        let count = usize::try_from((last + 1).checked_sub(first)?).ok()?;
        let size: usize = self.players.values().map(Vec::len).sum();
        let is_input = |change: &SeatChange| matches!(change.change, Change::Input(_));
        let is_same = |frame| self.changes(frame).unwrap_or_default().iter().all(is_input);
        if size == 0 || size * count >= most || !(known + 1..=self.last()).all(is_same) {
            return None;
        }
        let newest = usize::try_from(self.last() - last).ok()?;
        let at = self.inputs.len().checked_sub(newest + count)?;
        let inputs = self.inputs.iter().skip(at).take(count).flatten().copied().collect();
        Some(Run::full(count, inputs))
    }

    /// The newest frames, as many as a new host is told.
    pub(super) fn newest(&self) -> Vec<FrameChanges> {
        let per_change = 8 + self.input_size;
        let mut room = TOLD_BYTES;
        let newest = self.entries.iter().rev().take(LOCKSTEP_TOLD_MAX).take_while(|entry| {
            let size = entry.changes.len() * per_change;
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        });
        let mut frames: Vec<_> = newest.map(|entry| entry.changes.clone()).collect();
        frames.reverse();
        frames
    }
}

/// The digest after a frame: FNV-1a over its changes, encoded as a run of one frame, and over the length of that run.
fn digest(before: u64, changes: &[SeatChange]) -> u64 {
    let mut run = Run::new();
    run.push(changes, usize::MAX);
    let step = |digest: u64, byte: u64| (digest ^ byte).wrapping_mul(FNV_PRIME);
    let digest = run.bytes().iter().fold(before, |digest, &byte| step(digest, u64::from(byte)));
    step(digest, run.bytes().len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn change(seat: u16, change: Change) -> FrameChanges {
        vec![SeatChange { seat: SeatId(seat), change }]
    }

    #[test]
    fn a_frame_that_cannot_follow_changes_nothing() {
        let mut log = Log::new(1);
        assert!(!log.push(change(1, Change::Leaves)));
        assert!(!log.push(change(1, Change::Input(vec![1]))));
        assert!(log.push(change(1, Change::Joins)));
        assert!(!log.push(change(1, Change::Joins)));
        assert_eq!(log.last(), 1);
        assert_eq!(log.players().get(&SeatId(1)), Some(&vec![0]));
    }

    #[test]
    fn digests_differ_after_the_first_difference() {
        let (mut a, mut b) = (Log::new(1), Log::new(1));
        assert!(a.push(change(1, Change::Joins)) && b.push(change(1, Change::Joins)));
        for frame in 2..2_000 {
            a.push(change(1, Change::Input(vec![frame as u8])));
            b.push(if frame == 1_000 { Vec::new() } else { change(1, Change::Input(vec![frame as u8])) });
            assert_eq!(a.digest_at(frame) == b.digest_at(frame), frame < 1_000, "{frame}");
        }
        assert_eq!(a.last() - a.base(), KEPT as u64);
        assert_eq!(a.digest_at(a.base() - 1), None);
    }
}
