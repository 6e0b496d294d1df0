//! An object's numbers in past frames: the baselines of later ones.

use std::collections::VecDeque;

/// An object's numbers at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    /// When the state was sampled, in the wire's units of 128 µs.
    pub(crate) sampled: u64,
    /// The object's numbers at that time.
    pub(crate) numbers: &'a [i32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    frame: u64,
    sampled: u64,
    place: usize,
}

/// The newest moments, by frame. The buffer of a dropped moment serves the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Past {
    entries: VecDeque<Entry>,
    numbers: Vec<i32>,
}

impl Past {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.numbers.clear();
    }

    /// Notes a moment. When there are `keep` already, drops the oldest, or ignores a moment that is older still.
    pub(crate) fn note(&mut self, keep: usize, frame: u64, sampled: u64, numbers: &[i32]) {
        let width = numbers.len();
        if width == 0 {
            return;
        }
        let place = if self.entries.len() < keep {
            self.numbers.extend_from_slice(numbers);
            self.numbers.len() / width - 1
        } else {
            let Some(oldest) = self.entries.front().copied().filter(|oldest| oldest.frame < frame) else {
                return;
            };
            self.entries.pop_front();
            self.numbers[oldest.place * width..][..width].copy_from_slice(numbers);
            oldest.place
        };
        let entry = Entry { frame, sampled, place };
        // Packets may overtake each other, but most moments are newer than all others.
        let at = self.entries.iter().rposition(|known| known.frame < frame).map_or(0, |before| before + 1);
        if at == self.entries.len() { self.entries.push_back(entry) } else { self.entries.insert(at, entry) }
    }

    /// The moment of exactly this frame.
    pub(crate) fn at(&self, width: usize, frame: u64) -> Option<Moment<'_>> {
        let moment = self.up_to(frame).filter(|entry| entry.frame == frame)?;
        Some(self.moment(width, moment))
    }

    /// The newest moment up to this frame.
    pub(crate) fn as_of(&self, width: usize, frame: u64) -> Option<Moment<'_>> {
        Some(self.moment(width, self.up_to(frame)?))
    }

    fn up_to(&self, frame: u64) -> Option<&Entry> {
        // Frames mostly follow each other without gaps. Then the entry lies as many places back as the frame.
        let newest = self.entries.back()?;
        let back = usize::try_from(newest.frame.saturating_sub(frame)).ok()?;
        let likely = self.entries.len().checked_sub(back + 1).and_then(|index| self.entries.get(index));
        likely
            .filter(|entry| entry.frame == frame)
            .or_else(|| self.entries.iter().rfind(|entry| entry.frame <= frame))
    }

    fn moment(&self, width: usize, entry: &Entry) -> Moment<'_> {
        Moment { sampled: entry.sampled, numbers: &self.numbers[entry.place * width..][..width] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn past_keeps_the_newest_moments_in_the_order_of_frames() {
        let mut past = Past::default();
        for frame in [1, 2, 4, 3, 6, 5] {
            past.note(4, frame, frame * 10, &[frame as i32, 0]);
        }
        assert!(past.at(2, 2).is_none() && past.as_of(2, 2).is_none());
        for frame in 3..=6 {
            let moment = past.at(2, frame);
            assert_eq!(moment.map(|m| (m.sampled, m.numbers[0])), Some((frame * 10, frame as i32)));
        }
        assert_eq!(past.as_of(2, 100).map(|m| m.sampled), Some(60));
        past.note(4, 1, 1, &[1, 1]);
        assert!(past.at(2, 1).is_none() && past.at(2, 3).is_some(), "a moment older than all is not kept");
        assert_eq!(past.numbers.len(), 8, "buffers are used again");
    }
}
