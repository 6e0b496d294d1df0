//! One log that the host writes and all members read: the common part of dispatcher and sequencer.
//!
//! A member *submits* its message to the host, which gives it a place in the log: the host's stream of its [`Group`].
//! The sender keeps the message until it sees it in the log. At the end of an epoch all survivors have read the log
//! up to the same place. Messages that they submitted and did not see there have no place and never get one there, so
//! they are submitted again, to the next host.

mod entry;
mod reading;

use std::collections::VecDeque;

use samovar_wire::order::{Frame, ITEMS_BYTES_MAX, Run};
use samovar_wire::{CloseCode, PeerId, SortedMap, SortedSet, Writer};

use crate::group::{Group, blame};
use crate::order::{Event, SendError, Transmit, UNSTABLE_BYTES_MAX, UNSTABLE_MAX, View, check_size};
pub(crate) use entry::Purpose;
use entry::{Entry, STABLE, is_known};
use reading::Reading;

/// A message of this peer that it has not seen in the log.
#[derive(Clone, Debug)]
struct Pending {
    number: u64,
    flags: u8,
    payload: Vec<u8>,
}

/// A message at the host, without a place yet.
#[derive(Clone, Debug)]
struct Arrival {
    origin: PeerId,
    number: u64,
    flags: u8,
    payload: Vec<u8>,
}

/// At the host: a member's submissions in this epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Submissions {
    /// The number of the last.
    last: u64,
    /// How many have no place yet, and their bytes.
    waiting: usize,
    bytes: usize,
}

/// One member's part.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    me: PeerId,
    group: Group<Reading>,
    /// The epoch for which `submitted`, `arrivals` and `submissions` hold.
    epoch: u64,
    next: u64,
    pending: Vec<Pending>,
    pending_bytes: usize,
    /// The number of the last message that was submitted in this epoch.
    submitted: u64,
    /// The number of the last message that was submitted in any epoch.
    ever_submitted: u64,
    arrivals: VecDeque<Arrival>,
    submissions: SortedMap<PeerId, Submissions>,
    events: VecDeque<Event>,
}

impl Log {
    pub(crate) fn new(me: PeerId, purpose: Purpose) -> Self {
        Self {
            me,
            group: Group::new(me, Reading::new(me, purpose)),
            epoch: 0,
            next: 1,
            pending: Vec::new(),
            pending_bytes: 0,
            submitted: 0,
            ever_submitted: 0,
            arrivals: VecDeque::new(),
            submissions: SortedMap::new(),
            events: VecDeque::new(),
        }
    }

    pub(crate) fn handle_view(&mut self, view: &View) {
        self.group.handle_view(view);
        self.go_on();
    }

    pub(crate) fn handle_link(&mut self, peer: PeerId) {
        self.group.handle_link(peer);
        if self.group.host() == Some(peer) {
            // The link to the host is new. This peer submits again all messages that it has not seen in the log. By
            // their numbers the host tells which of them had arrived before, and skips these.
            self.submitted = self.group.rule.seen;
        }
    }

    pub(crate) fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let result = match Frame::decode(bytes).map_err(blame)? {
            Frame::Submit(count, run) => self.on_submit(from, count, &run),
            _ => self.group.handle_frame(from, bytes),
        };
        self.go_on();
        result
    }

    pub(crate) fn send(&mut self, payload: &[u8], is_stable: bool) -> Result<(), SendError> {
        check_size(payload)?;
        if self.pending.len() >= UNSTABLE_MAX || self.pending_bytes >= UNSTABLE_BYTES_MAX {
            return Err(SendError::WouldBlock);
        }
        self.pending_bytes += payload.len();
        let flags = if is_stable { STABLE } else { 0 };
        self.pending.push(Pending { number: self.next, flags, payload: payload.to_vec() });
        self.group.rule.said = self.next;
        self.next += 1;
        self.go_on();
        Ok(())
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.submit();
        self.group.poll_transmit()
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn awaited(&self) -> SortedSet<PeerId> {
        self.group.awaited()
    }

    pub(crate) fn stored_bytes(&self) -> usize {
        let arrived: usize = self.submissions.values().map(|submissions| submissions.bytes).sum();
        self.group.stored_bytes() + self.pending_bytes + arrived
    }

    pub(crate) fn is_host(&self) -> bool {
        self.group.host() == Some(self.me)
    }

    /// Acts on the events of the group.
    fn go_on(&mut self) {
        loop {
            while let Some(event) = self.group.poll_event() {
                if event == Event::Behind {
                    // This peer cannot find out any more whether its submitted messages got a place in the log. It
                    // drops them, because a second place would be worse than none.
                    self.forget_pending(self.ever_submitted);
                }
                self.events.push_back(event);
            }
            self.forget_pending(self.group.rule.seen);
            if self.epoch != self.group.epoch() {
                self.begin_epoch();
            }
            if self.group.is_frozen() || !self.is_host() || !self.place() {
                return;
            }
        }
    }

    /// Begins another epoch: everything that has no place in the log is due to be submitted again.
    fn begin_epoch(&mut self) {
        self.epoch = self.group.epoch();
        self.submitted = self.group.rule.seen;
        self.arrivals.clear();
        self.submissions.clear();
    }

    fn forget_pending(&mut self, last: u64) {
        let known = self.pending.partition_point(|pending| pending.number <= last);
        self.pending_bytes -= self.pending.drain(..known).map(|pending| pending.payload.len()).sum::<usize>();
    }

    /// Gives places to submitted messages at the host, its own included. Returns whether there were any.
    fn place(&mut self) -> bool {
        let own = self.pending.iter().filter(|pending| pending.number > self.submitted);
        for Pending { number, flags, payload } in own.cloned().collect::<Vec<_>>() {
            self.arrivals.push_back(Arrival { origin: self.me, number, flags, payload });
        }
        self.submitted = self.next - 1;
        self.ever_submitted = self.submitted;
        let mut is_any = false;
        while self.group.has_room() {
            let next = self.arrivals.pop_front();
            let Some(Arrival { origin, number, flags, payload }) = next else { break };
            if let Some(submissions) = self.submissions.get_mut(&origin) {
                submissions.waiting -= 1;
                submissions.bytes -= payload.len();
            }
            self.group.append(Entry { flags, origin, number, payload: &payload }.encode());
            is_any = true;
        }
        is_any
    }

    /// Submits to the host the messages that it was not sent in this epoch.
    fn submit(&mut self) {
        let Some(host) = self.group.host().filter(|&host| host != self.me && !self.group.is_frozen()) else {
            return;
        };
        loop {
            let mut encoded = Vec::new();
            let mut first = None;
            let mut last = self.submitted;
            for pending in self.pending.iter().filter(|pending| pending.number > self.submitted) {
                let is_full = encoded.len() + pending.payload.len() + 8 > ITEMS_BYTES_MAX;
                if first.is_some() && is_full {
                    break;
                }
                let item = [&[pending.flags], pending.payload.as_slice()].concat();
                Writer::new(&mut encoded).prefixed(&item);
                first = first.or(Some(pending.number));
                last = pending.number;
            }
            let Some(first) = first else { return };
            self.submitted = last;
            self.ever_submitted = self.ever_submitted.max(last);
            let run = Run { epoch: self.epoch, first, encoded: &encoded };
            let count = self.group.say_count();
            self.group.tell(host, &Frame::Submit(count, run));
        }
    }

    fn on_submit(&mut self, from: PeerId, count: u64, run: &Run<'_>) -> Result<(), CloseCode> {
        // Messages submitted to this peer in another epoch are submitted again in the next one.
        if !self.is_host() || run.epoch != self.epoch || !self.group.has_member(from) {
            return Ok(());
        }
        self.group.hear_count(from, count);
        let submissions = self.submissions.entry(from).or_default();
        for (number, item) in run.items() {
            if number <= submissions.last {
                continue;
            }
            if submissions.waiting >= 2 * UNSTABLE_MAX || submissions.bytes >= 2 * UNSTABLE_BYTES_MAX {
                return Err(CloseCode::LimitExceeded);
            }
            let (&flags, payload) = item.split_first().ok_or(CloseCode::Malformed)?;
            if !is_known(flags) {
                return Err(CloseCode::Malformed);
            }
            submissions.last = number;
            submissions.waiting += 1;
            submissions.bytes += payload.len();
            self.arrivals.push_back(Arrival { origin: from, number, flags, payload: payload.to_vec() });
        }
        Ok(())
    }
}
