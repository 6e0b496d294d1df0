//! The events that are still to happen, in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use samovar_wire::Time;

/// Events in the order of their times. Events of the same time come in the order in which they were pushed.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    /// Time, number and place of each event. The events themselves stay in `events`: a heap moves its entries about,
    /// and events are large.
    heap: BinaryHeap<Reverse<(Time, u64, usize)>>,
    events: Vec<Option<E>>,
    /// Places without an event.
    free: Vec<usize>,
    next: u64,
}

impl<E> Queue<E> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), events: Vec::new(), free: Vec::new(), next: 0 }
    }

    pub(crate) fn push(&mut self, at: Time, event: E) {
        let place = self.free.pop().unwrap_or(self.events.len());
        if place == self.events.len() {
            self.events.push(None);
        }
        self.events[place] = Some(event);
        self.heap.push(Reverse((at, self.next, place)));
        self.next += 1;
    }

    /// The next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, E)> {
        let entry = self.heap.peek_mut()?;
        let Reverse((at, _, place)) = *entry;
        if at > until {
            return None;
        }
        PeekMut::pop(entry);
        self.free.push(place);
        self.events[place].take().map(|event| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn events_come_by_time_and_then_in_order_of_insertion() {
        let mut queue = Queue::new();
        for (at, name) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
            queue.push(Time::from_micros(at), name);
        }
        let early: Vec<_> = std::iter::from_fn(|| queue.pop(Time::from_micros(4))).map(|e| e.1).collect();
        assert_eq!(early, ['a', 'b']);
        let late: Vec<_> = std::iter::from_fn(|| queue.pop(Time::FAR)).map(|e| e.1).collect();
        assert_eq!(late, ['c', 'd']);
        assert!(queue.pop(Time::FAR).is_none());
    }
}
