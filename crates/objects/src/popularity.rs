//! The frames that most peers have: a state coded against one of them serves many peers.

use core::cmp::Ordering;

use crate::replica::Popular;

/// A popular frame serves as the first baseline while it is at most this many frames older than the newest acked one.
const FRESH: u64 = 6;

/// How many peers have each of the last frames.
#[derive(Clone, Debug)]
pub(crate) struct Popularity([(u64, u32); 64]);

impl Default for Popularity {
    fn default() -> Self {
        Self([(0, 0); 64])
    }
}

impl Popularity {
    pub(crate) fn count(&mut self, frame: u64) {
        let place = &mut self.0[(frame % 64) as usize];
        match frame.cmp(&place.0) {
            // A very late ack: a newer frame has taken the entry.
            Ordering::Less => {}
            Ordering::Equal => place.1 += 1,
            Ordering::Greater => *place = (frame, 1),
        }
    }

    fn of(&self, frame: u64) -> u32 {
        let (known, count) = self.0[(frame % 64) as usize];
        if known == frame { count } else { 0 }
    }

    /// The frames that most peers have: two candidates for the first baseline, then the second and the third. The
    /// baselines lie about equally far apart, because extrapolation errs least then.
    pub(crate) fn choose(&self, frame: u64) -> Popular {
        let newest = self.0.iter().map(|(frame, _)| *frame).max().unwrap_or(0);
        let recent = newest.saturating_sub(FRESH)..=newest;
        let first = recent.clone().max_by_key(|&frame| (self.of(frame), frame)).unwrap_or(newest);
        let others = recent.filter(|&frame| frame != first);
        let other = others.max_by_key(|&frame| (self.of(frame), frame)).unwrap_or(first);
        let step = frame.saturating_sub(first).clamp(1, 15);
        let near =
            |wanted: u64| (wanted.saturating_sub(3)..=wanted).max_by_key(|&frame| (self.of(frame), frame));
        let second = near(first.saturating_sub(step)).unwrap_or(0);
        let third = near(second.saturating_sub(step)).unwrap_or(0);
        Popular { firsts: [first, other], behind: [second, third] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_late_ack_does_not_reduce_the_count_of_a_new_frame() {
        let mut popularity = Popularity::default();
        [70, 70, 70, 69].into_iter().for_each(|frame| popularity.count(frame));
        popularity.count(6);
        assert_eq!((popularity.of(70), popularity.of(69), popularity.of(6)), (3, 1, 0));
        assert_eq!(popularity.choose(72).firsts, [70, 69]);
        popularity.count(134);
        assert_eq!((popularity.of(134), popularity.of(70)), (1, 0));
    }
}
