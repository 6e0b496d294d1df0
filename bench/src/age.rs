//! The age of the state that an observer shows.

use std::collections::VecDeque;

use crate::state::Key;

/// The number of ticks that are remembered. An older state counts as this old.
const REMEMBERED: usize = 256;

/// The owner's positions of the last ticks at a subject's precision.
#[derive(Debug, Default)]
pub struct History {
    ticks: VecDeque<Vec<[u32; 3]>>,
}

impl History {
    /// Remembers the positions of one more tick.
    pub fn push(&mut self, positions: Vec<[u32; 3]>) {
        self.ticks.push_front(positions);
        self.ticks.truncate(REMEMBERED);
    }

    /// The number of ticks since the owner last had the position that an observer shows.
    #[must_use]
    pub fn age(&self, object: usize, shown: Option<Key>) -> usize {
        let is_shown = |tick: &Vec<[u32; 3]>| shown.is_some_and(|key| tick[object] == key.position);
        self.ticks.iter().position(is_shown).unwrap_or(REMEMBERED)
    }
}

/// For each age, how often it was seen.
#[derive(Debug)]
pub struct Ages([u64; REMEMBERED + 1]);

impl Default for Ages {
    fn default() -> Self {
        Self([0; REMEMBERED + 1])
    }
}

impl Ages {
    /// Counts one observation.
    pub fn count(&mut self, age: usize) {
        self.0[age] += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum += more);
    }

    /// The age that the given share of observations does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> usize {
        let total: u64 = self.0.iter().sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        self.0
            .iter()
            .position(|count| {
                seen += count;
                seen >= wanted
            })
            .unwrap_or(REMEMBERED)
    }
}
