//! Where the teapots were in the last seconds, as this peer saw them. A host judges claims by it.

use std::collections::VecDeque;

use super::teapots::Seen;
use crate::plane::Vec2;
use crate::player::PlayerKey;

/// The time between two entries, in microseconds.
const EVERY: u64 = 100_000;

/// How long an entry is kept, in microseconds: longer than a claim may take.
const KEPT_FOR: u64 = 12_000_000;

/// A teapot that was seen this long before or after a moment says nothing about the moment, in microseconds.
const GAP_MAX: u64 = 1_200_000;

/// The places of the teapots in play, at some moments; bounded by [`KEPT_FOR`].
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<(u64, Vec<(PlayerKey, Vec2)>)>);

impl History {
    /// Notes what this peer sees at a session time.
    pub(super) fn note(&mut self, time: u64, picture: &[Seen]) {
        let last = self.0.back().map(|&(last, _)| last);
        if last.is_some_and(|last| last > time.saturating_add(KEPT_FOR)) {
            // The clock was set back.
            self.0.clear();
        } else if last.is_some_and(|last| time < last.saturating_add(EVERY)) {
            return;
        }
        let in_play = picture.iter().filter(|seen| seen.is_in_play());
        self.0.push_back((time, in_play.map(|seen| (seen.player, seen.motion.position)).collect()));
        while self.0.front().is_some_and(|&(first, _)| first.saturating_add(KEPT_FOR) < time) {
            self.0.pop_front();
        }
    }

    /// The place where a player's teapot was seen nearest to this time, and how long before or after it that was.
    pub(super) fn near(&self, player: PlayerKey, at: u64) -> Option<(Vec2, u64)> {
        let near = self.0.iter().filter(|(time, _)| time.abs_diff(at) <= GAP_MAX);
        let seen = near.filter_map(|(time, places)| {
            let (_, place) = places.iter().find(|(other, _)| *other == player)?;
            Some((*place, time.abs_diff(at)))
        });
        seen.min_by_key(|&(_, gap)| gap)
    }
}
