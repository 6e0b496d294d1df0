//! One member's promises to another, and when they begin to count.

use std::collections::VecDeque;

use samovar_wire::Time;
use samovar_wire::timed::Promise;

/// Promises that wait for messages; beyond this the second to last is replaced, which delays but never breaks the
/// order.
const PROMISES_MAX: usize = 32;

/// The promises of one member: each counts once the messages that were sent before it are here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Promises {
    /// It sends nothing older than this.
    pub(crate) bound: Time,
    /// Promises that wait for missing messages.
    waiting: VecDeque<Promise>,
    /// The number of its messages that arrived.
    received: u64,
    /// The most messages that a promise counted.
    counted: Option<u64>,
}

impl Promises {
    /// A new link counts messages anew; promises stand.
    pub(crate) fn begin_anew(&mut self) {
        self.waiting.clear();
        self.received = 0;
        self.counted = None;
    }

    /// How many messages its promises count by now; `None` before the first.
    pub(crate) const fn counted(&self) -> Option<u64> {
        self.counted
    }

    pub(crate) fn hear(&mut self, promise: Promise) {
        self.counted = self.counted.max(Some(promise.sent));
        if promise.sent <= self.received {
            self.bound = self.bound.max(promise.until);
            return;
        }
        let is_full = self.waiting.len() == PROMISES_MAX;
        match self.waiting.back_mut() {
            // Packets overtake each other; an older promise is contained in the newer one.
            Some(last) if promise.sent < last.sent || promise.until <= last.until => (),
            Some(last) if promise.sent == last.sent || is_full => *last = promise,
            _ => self.waiting.push_back(promise),
        }
    }

    /// One more of its messages is here.
    pub(crate) fn on_received(&mut self) {
        self.on_received_up_to(self.received + 1);
    }

    /// Its messages are here up to this one.
    pub(crate) fn on_received_up_to(&mut self, number: u64) {
        self.received = self.received.max(number);
        while let Some(promise) = self.waiting.front().filter(|promise| promise.sent <= self.received) {
            self.bound = self.bound.max(promise.until);
            self.waiting.pop_front();
        }
    }
}
