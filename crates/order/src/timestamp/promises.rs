//! One member's promises to another, and when they begin to count.

use std::collections::VecDeque;

use samovar_wire::Time;
use samovar_wire::timed::Promise;

/// The most promises that wait for messages. Beyond this the last one is replaced, which delays messages but never
/// breaks the order.
const PROMISES_MAX: usize = 32;

/// The promises of one member: each counts once the messages that were sent before it are here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Promises {
    /// The member sends nothing older than this.
    pub(crate) bound: Time,
    /// Promises that wait for missing messages.
    waiting: VecDeque<Promise>,
    /// How many of the member's messages arrived on this link.
    received: u64,
    /// The highest `sent` of the member's promises on this link: how many of its messages it had sent before that
    /// promise. `None` before the first promise.
    counted: Option<u64>,
}

impl Promises {
    /// Begins to count messages anew, on a new link. Promises that count already stay valid.
    pub(crate) fn begin_anew(&mut self) {
        self.waiting.clear();
        self.received = 0;
        self.counted = None;
    }

    /// The highest `sent` of the member's promises on this link: how many of its messages it had sent before that
    /// promise. `None` before the first promise.
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

    /// Notes that one more of the member's messages arrived.
    pub(crate) fn on_received(&mut self) {
        self.on_received_up_to(self.received + 1);
    }

    /// Notes that the member's messages arrived up to this one.
    pub(crate) fn on_received_up_to(&mut self, number: u64) {
        self.received = self.received.max(number);
        while let Some(promise) = self.waiting.front().filter(|promise| promise.sent <= self.received) {
            self.bound = self.bound.max(promise.until);
            self.waiting.pop_front();
        }
    }
}
