//! What one member has promised to another, and from when on that counts.

use std::collections::VecDeque;

use samovar_wire::Time;
use samovar_wire::timed::Promise;

/// Promises that wait for messages; of more the one before the last is replaced, which delays and never breaks.
const PROMISES_MAX: usize = 32;

/// The promises of one member: each counts when the messages are here that were sent before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Promises {
    /// It says nothing older than this.
    pub(crate) bound: Time,
    /// Promises behind which messages are missing.
    waiting: VecDeque<Promise>,
    /// Up to where its messages came.
    received: u64,
    /// The most messages that a promise counted.
    counted: Option<u64>,
}

impl Promises {
    /// What is said is counted anew; what was promised stands.
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
