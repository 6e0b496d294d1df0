//! One log that the host writes and everybody reads: what the dispatcher and the sequencer have in common.
//!
//! A member *submits* what it says to the host, which gives it a place in the log: the host's stream of its
//! [`Group`]. Who submitted something keeps it until it sees it in the log. At the end of an epoch all survivors have
//! read the log up to the same place; what they submitted and did not see there has no place, and nobody will ever
//! read it there: so it is submitted again, to the next host, and takes no second one.

mod entry;
mod reading;
mod timeline;

use std::collections::VecDeque;

use samovar_wire::order::{Frame, ITEMS_BYTES_MAX, Run};
use samovar_wire::timed::Promise;
use samovar_wire::{CloseCode, PeerId, SortedMap, SortedSet, Time, Writer};

use crate::group::{Group, blame};
use crate::order::{Event, SendError, Transmit, UNSTABLE_BYTES_MAX, UNSTABLE_MAX, View, check_size};
use crate::timestamp::TimeOrderConfig;
pub(crate) use entry::{Entry, LATE, PEER_LATE, PEER_ON_TIME, Purpose};
use entry::{STABLE, is_message};
use reading::Reading;
use timeline::Timeline;

/// What this peer said and has not seen in the log.
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

/// At the host: what a member has submitted in this epoch.
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
    purpose: Purpose,
    group: Group<Reading>,
    /// The epoch that what follows is about.
    epoch: u64,
    next: u64,
    pending: Vec<Pending>,
    pending_bytes: usize,
    /// The number of the last message that was submitted in this epoch.
    submitted: u64,
    /// The same, in any epoch.
    ever_submitted: u64,
    arrivals: VecDeque<Arrival>,
    /// By time: where arrivals wait instead.
    timeline: Option<Timeline>,
    submissions: SortedMap<PeerId, Submissions>,
    events: VecDeque<Event>,
}

impl Log {
    pub(crate) fn new(me: PeerId, purpose: Purpose) -> Self {
        Self {
            me,
            purpose,
            group: Group::new(me, Reading::new(me, purpose)),
            epoch: 0,
            next: 1,
            pending: Vec::new(),
            pending_bytes: 0,
            submitted: 0,
            ever_submitted: 0,
            arrivals: VecDeque::new(),
            timeline: None,
            submissions: SortedMap::new(),
            events: VecDeque::new(),
        }
    }

    /// A log in which messages, which begin with their times, stand by these.
    pub(crate) fn by_time(me: PeerId, config: TimeOrderConfig) -> Self {
        Self { timeline: Some(Timeline::new(me, config)), ..Self::new(me, Purpose::Time) }
    }

    pub(crate) fn handle_view(&mut self, view: &View) {
        self.group.handle_view(view);
        self.go_on();
    }

    pub(crate) fn handle_link(&mut self, peer: PeerId) {
        self.group.handle_link(peer);
        if self.group.host() == Some(peer) {
            // What has arrived before is told from what has not by its number.
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

    /// Whether this peer is, or was, with the others.
    pub(crate) const fn is_in_group(&self) -> bool {
        self.epoch > 0
    }

    /// Whether another peer hears now what this one has to say.
    pub(crate) fn submits_to(&self, peer: PeerId) -> bool {
        peer != self.me && self.group.host() == Some(peer) && !self.group.is_frozen()
    }

    /// The number of the last message that this peer has not seen in the log, 0 if there is none.
    pub(crate) fn last_pending(&self) -> u64 {
        self.pending.last().map_or(0, |pending| pending.number)
    }

    /// By time: a member promises to say nothing older.
    pub(crate) fn handle_promise(&mut self, now: Time, from: PeerId, promise: Promise) {
        if let Some(timeline) = &mut self.timeline {
            timeline.on_promise(now, from, promise);
        }
    }

    /// By time: at the host time passes; whether something has its place now.
    pub(crate) fn handle_time(&mut self, now: Time, floor: Time) -> bool {
        let Some(timeline) = &mut self.timeline else { return false };
        timeline.handle_time(now, floor);
        let has_placed = !self.group.is_frozen() && self.place();
        if has_placed {
            self.go_on();
        }
        has_placed
    }

    /// By time: when that alone gives something a place.
    pub(crate) fn poll_timeout(&self, now: Time) -> Option<Time> {
        let is_open = self.is_host() && !self.group.is_frozen() && self.group.has_room();
        self.timeline.as_ref().filter(|_| is_open).and_then(|timeline| timeline.poll_timeout(now))
    }

    /// Does what follows from what has happened in the group.
    fn go_on(&mut self) {
        loop {
            while let Some(event) = self.group.poll_event() {
                if event == Event::Behind {
                    // Whether these got a place is not to be known here any more; twice would be worse than not at all.
                    self.forget_pending(self.ever_submitted);
                }
                self.events.push_back(event);
            }
            self.forget_pending(self.group.rule.seen);
            for number in core::mem::take(&mut self.group.rule.taken) {
                self.forget_one(number);
            }
            if self.epoch != self.group.epoch() {
                self.begin_epoch();
            }
            if self.group.is_frozen() || !self.is_host() || !self.place() {
                return;
            }
        }
    }

    /// Everything that has no place is submitted again.
    fn begin_epoch(&mut self) {
        self.epoch = self.group.epoch();
        self.submitted = self.group.rule.seen;
        self.arrivals.clear();
        self.submissions.clear();
        if let Some(timeline) = &mut self.timeline {
            let members = self.group.members().to_vec();
            let Reading { late, last, .. } = &mut self.group.rule;
            late.retain(|peer| members.binary_search(peer).is_ok());
            timeline.begin(&members, late, *last);
        }
    }

    fn forget_one(&mut self, number: u64) {
        if let Ok(at) = self.pending.binary_search_by_key(&number, |pending| pending.number) {
            self.pending_bytes -= self.pending.remove(at).payload.len();
        }
    }

    fn forget_pending(&mut self, last: u64) {
        let known = self.pending.partition_point(|pending| pending.number <= last);
        self.pending_bytes -= self.pending.drain(..known).map(|pending| pending.payload.len()).sum::<usize>();
    }

    /// The host gives places to what has arrived, its own messages included; whether there was any.
    fn place(&mut self) -> bool {
        let own = self.pending.iter().filter(|pending| pending.number > self.submitted);
        for Pending { number, flags, payload } in own.cloned().collect::<Vec<_>>() {
            // What this peer itself says is what it checked when it was said.
            let _ = self.arrive(Arrival { origin: self.me, number, flags, payload });
        }
        self.submitted = self.next - 1;
        self.ever_submitted = self.submitted;
        let mut is_any = false;
        while self.group.has_room() {
            let next = match &mut self.timeline {
                Some(timeline) => timeline.pop(),
                None => self.arrivals.pop_front(),
            };
            let Some(Arrival { origin, number, flags, payload }) = next else { break };
            if let Some(submissions) = self.submissions.get_mut(&origin).filter(|_| is_message(flags)) {
                submissions.waiting -= 1;
                submissions.bytes -= payload.len();
            }
            self.group.append(Entry { flags, origin, number, payload: &payload }.encode());
            is_any = true;
        }
        is_any
    }

    fn arrive(&mut self, arrival: Arrival) -> Result<(), CloseCode> {
        if let Some(timeline) = &mut self.timeline {
            return timeline.push(arrival);
        }
        self.arrivals.push_back(arrival);
        Ok(())
    }

    /// Tells the host what it was not told in this epoch.
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
                // By time a later one may have got its place before.
                if first.is_some() && (is_full || pending.number != last + 1) {
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
        // What was submitted to this peer in another epoch is submitted again in the next one.
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
            if !self.purpose.allows(flags) {
                return Err(CloseCode::Malformed);
            }
            submissions.last = number;
            submissions.waiting += 1;
            submissions.bytes += payload.len();
            let arrival = Arrival { origin: from, number, flags, payload: payload.to_vec() };
            match &mut self.timeline {
                Some(timeline) => timeline.push(arrival)?,
                None => self.arrivals.push_back(arrival),
            }
        }
        Ok(())
    }
}
