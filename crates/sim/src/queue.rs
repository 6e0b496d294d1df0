//! What is going to happen, in the order in which it does.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use samovar_wire::Time;

/// Events by time; of one time in the order in which they were put in.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    next: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// The heap gives the greatest first, so the earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), next: 0 }
    }

    pub(crate) fn push(&mut self, at: Time, event: E) {
        self.heap.push(Entry { at, number: self.next, event });
        self.next += 1;
    }

    /// The next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, E)> {
        if self.heap.peek()?.at > until {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn events_come_by_time_and_then_by_age() {
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
