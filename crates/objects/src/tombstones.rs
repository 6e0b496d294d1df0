//! The memory of destroyed objects: intervals of numbers per creator, each with the stamp of its ends.

use samovar_wire::object::Deaths;
use samovar_wire::{ObjectId, PeerId, SortedMap, Stamp};

/// The most intervals remembered per creator. Beyond it the lowest one is forgotten, because old ends hardly matter
/// any more. Two intervals must not be joined instead: the living objects between them would count as dead for ever.
const INTERVALS_MAX: usize = 4_096;

/// The most creators remembered; beyond it no further creators are added.
const CREATORS_MAX: usize = 512;

/// The ends that this peer knows. Ids are sequential per creator, so a run of destroyed objects takes one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tombstones {
    graves: SortedMap<PeerId, SortedMap<u32, (u32, Stamp)>>,
}

impl Tombstones {
    /// The stamp under which an object is known to have been destroyed.
    pub(crate) fn stamp(&self, id: ObjectId) -> Option<Stamp> {
        let (_, &(last, stamp)) = self.graves.get(&id.creator)?.range(&0, &id.number).next_back()?;
        (id.number <= last).then_some(stamp)
    }

    /// The highest number among this creator's objects that are known to have ended; zero for none.
    pub(crate) fn newest(&self, creator: PeerId) -> u32 {
        self.graves.get(&creator).and_then(|graves| graves.last_key_value()).map_or(0, |(_, &(last, _))| last)
    }

    /// The number of creators with tombstones.
    pub(crate) fn creators(&self) -> usize {
        self.graves.len()
    }

    /// Whether one interval covers the whole run, under its stamp or a higher one.
    pub(crate) fn holds(&self, run: &Deaths) -> bool {
        let graves = self.graves.get(&run.creator);
        let grave = graves.and_then(|graves| graves.range(&0, &run.first).next_back());
        grave.is_some_and(|(_, &(last, stamp))| last >= run.last && stamp >= run.stamp)
    }

    /// Remembers an end, unless it is known under this stamp or a higher one.
    pub(crate) fn bury(&mut self, id: ObjectId, stamp: Stamp) {
        if self.stamp(id).is_some_and(|known| known >= stamp) {
            return;
        }
        self.exhume(id);
        self.dig(id.creator, (id.number, id.number), stamp);
    }

    /// Remembers a run of ends. An end that is known under a higher stamp keeps that stamp.
    pub(crate) fn bury_run(&mut self, run: &Deaths) {
        let mut first = run.first;
        while let Some(graves) = self.graves.get(&run.creator) {
            let before = graves.range(&0, &first).next_back().filter(|(_, (last, _))| *last >= first);
            let Some((&start, &(end, stamp))) = before.or_else(|| graves.range(&first, &run.last).next())
            else {
                break;
            };
            if start > first {
                self.dig(run.creator, (first, start - 1), run.stamp);
            }
            let (start, end) = (start.max(first), end.min(run.last));
            if stamp < run.stamp {
                self.clear(run.creator, start, end);
                self.dig(run.creator, (start, end), run.stamp);
            }
            match end.checked_add(1).filter(|&next| next <= run.last) {
                Some(next) => first = next,
                None => return,
            }
        }
        self.dig(run.creator, (first, run.last), run.stamp);
    }

    /// Removes the numbers from `start` to `end` from the interval in which they lie.
    fn clear(&mut self, creator: PeerId, start: u32, end: u32) {
        let Some(graves) = self.graves.get_mut(&creator) else { return };
        let Some((&first, &(last, stamp))) = graves.range(&0, &start).next_back() else { return };
        graves.remove(&first);
        if first < start {
            graves.insert(first, (start - 1, stamp));
        }
        if end < last {
            graves.insert(end + 1, (last, stamp));
        }
    }

    /// Adds an interval, which lies in a gap, and joins it with neighbours of the same stamp.
    fn dig(&mut self, creator: PeerId, (mut first, mut last): (u32, u32), stamp: Stamp) {
        if self.graves.len() >= CREATORS_MAX && !self.graves.contains_key(&creator) {
            return;
        }
        let graves = self.graves.entry(creator).or_default();
        if let Some((&start, &(end, before))) = graves.range(&0, &first).next_back()
            && end.checked_add(1) == Some(first)
            && before == stamp
        {
            first = start;
        }
        if let Some(&(end, after)) = last.checked_add(1).and_then(|next| graves.get(&next))
            && after == stamp
        {
            graves.remove(&(last + 1));
            last = end;
        }
        graves.insert(first, (last, stamp));
        if graves.len() > INTERVALS_MAX {
            let lowest = graves.keys().copied().find(|&start| start != first);
            lowest.and_then(|lowest| graves.remove(&lowest));
        }
    }

    /// Forgets an end, because a newer ownership brought the object back or a newer end replaces this one.
    pub(crate) fn exhume(&mut self, id: ObjectId) {
        if self.stamp(id).is_none() {
            return;
        }
        self.clear(id.creator, id.number, id.number);
    }

    /// All intervals.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Deaths> {
        self.graves.iter().flat_map(|(&creator, graves)| {
            graves.iter().map(move |(&first, &(last, stamp))| Deaths { creator, first, last, stamp })
        })
    }

    /// How many intervals are held, for the check that memory is bounded.
    pub(crate) fn len(&self) -> usize {
        self.graves.values().map(SortedMap::len).sum()
    }

    /// Forgets a creator's ends, once no peer can mention its objects any more.
    pub(crate) fn forget(&mut self, creator: PeerId) {
        self.graves.remove(&creator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::{Entropy, Term};
    use std::collections::BTreeMap;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn id(number: u32) -> ObjectId {
        ObjectId { creator: PeerId(1), number }
    }

    fn stamp(counter: u32) -> Stamp {
        Stamp { term: Term::FIRST, counter }
    }

    #[test]
    fn a_run_of_deaths_is_one_interval() {
        let mut tombstones = Tombstones::default();
        [5, 3, 4, 1, 2].iter().for_each(|&n| tombstones.bury(id(n), stamp(0)));
        assert_eq!(tombstones.len(), 1);
        assert_eq!(tombstones.stamp(id(6)), None);
        assert_eq!(tombstones.stamp(id(3)), Some(stamp(0)));
    }

    #[test]
    fn tombstones_agree_with_a_plain_map_after_random_calls() {
        let mut dice = Entropy::new([1; 32]);
        let (mut tombstones, mut plain) = (Tombstones::default(), BTreeMap::new());
        for _ in 0..5_000 {
            let (number, roll) = ((dice.number() % 60) as u32, dice.number() % 5);
            if roll == 4 {
                let last = (number + (dice.number() % 30) as u32).min(59);
                let stamp = stamp((dice.number() % 4) as u32);
                tombstones.bury_run(&Deaths { creator: PeerId(1), first: number, last, stamp });
                for number in number..=last {
                    let known = plain.entry(number).or_insert(stamp);
                    *known = stamp.max(*known);
                }
            } else if roll == 0 {
                tombstones.exhume(id(number));
                plain.remove(&number);
            } else {
                let stamp = stamp(roll as u32);
                tombstones.bury(id(number), stamp);
                let known = plain.entry(number).or_insert(stamp);
                *known = stamp.max(*known);
            }
            for n in 0..60 {
                assert_eq!(tombstones.stamp(id(n)), plain.get(&n).copied());
            }
        }
    }

    #[test]
    fn memory_is_bounded_when_every_second_object_lives() {
        let mut tombstones = Tombstones::default();
        (0..100_000).for_each(|n| tombstones.bury(id(n * 2), stamp(n % 3)));
        assert!(tombstones.len() <= INTERVALS_MAX);
        assert_eq!(tombstones.stamp(id(199_998)), Some(stamp(0)));
    }
}
