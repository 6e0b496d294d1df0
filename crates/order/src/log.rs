//! One log that the host writes and everybody reads: what the dispatcher and the sequencer have in common.
//!
//! A member *submits* what it says to the host, which gives it a place in the log: the host's stream of its
//! [`Group`]. Who submitted something keeps it until it sees it in the log. At the end of an epoch all survivors have
//! read the log up to the same place; what they submitted and did not see there has no place, and nobody will ever
//! read it there: so it is submitted again, to the next host, and takes no second one.

use std::collections::VecDeque;

use samovar_wire::order::{Frame, ITEMS_BYTES_MAX, Run};
use samovar_wire::{CloseCode, DecodeError, PeerId, Reader, SortedMap, Writer};

use crate::group::{Group, Rule, Turn, blame};
use crate::order::{
    Delivery, Event, SendError, Transmit, UNSTABLE_BYTES_MAX, UNSTABLE_MAX, View, check_size,
};

/// The one flag of an entry: it waits until the host's backups hold it.
const STABLE: u8 = 1;

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    is_stable: bool,
    origin: PeerId,
    /// Which of its origin's messages.
    number: u64,
    payload: &'a [u8],
}

impl<'a> Entry<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.payload.len() + 16);
        let mut out = Writer::new(&mut bytes);
        out.u8(if self.is_stable { STABLE } else { 0 });
        out.u32(self.origin.0);
        out.varint(self.number);
        out.bytes(self.payload);
        bytes
    }

    fn decode(item: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(item);
        let is_stable = decode_flags(reader.u8()?)?;
        let (origin, number) = (PeerId(reader.u32()?), reader.varint()?);
        Ok(Self { is_stable, origin, number, payload: reader.rest() })
    }
}

const fn decode_flags(flags: u8) -> Result<bool, DecodeError> {
    match flags {
        0 => Ok(false),
        STABLE => Ok(true),
        _ => Err(DecodeError::Invalid),
    }
}

/// Entries have their turns in the order of the log.
#[derive(Clone, Debug)]
struct Reading {
    me: PeerId,
    delivers_own: bool,
    /// The number of this peer's last message that it has seen in a log.
    seen: u64,
}

impl Rule for Reading {
    fn has_one_stream(&self) -> bool {
        true
    }

    fn begin(&mut self, _owners: &[PeerId], _me: Option<usize>) {}

    fn check(&self, _owner: usize, item: &[u8]) -> Result<(), DecodeError> {
        Entry::decode(item).map(|_| ())
    }

    fn is_due(&self, _owner: usize, item: &[u8], turn: Turn) -> bool {
        !self.is_urgent(item) || turn.is_ending || turn.number <= turn.safe
    }

    fn take(&mut self, _owner: usize, item: &[u8]) -> Option<Delivery> {
        let Entry { origin, number, payload, .. } = Entry::decode(item).ok()?;
        if origin == self.me {
            if number <= self.seen {
                return None;
            }
            self.seen = number;
        }
        let is_wanted = self.delivers_own || origin != self.me;
        is_wanted.then(|| Delivery { from: origin, payload: payload.to_vec() })
    }

    fn is_urgent(&self, item: &[u8]) -> bool {
        item.first() == Some(&STABLE)
    }
}

/// What this peer said and has not seen in the log.
#[derive(Clone, Debug)]
struct Pending {
    number: u64,
    is_stable: bool,
    payload: Vec<u8>,
}

/// A message at the host, without a place yet.
#[derive(Clone, Debug)]
struct Arrival {
    origin: PeerId,
    number: u64,
    is_stable: bool,
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
    group: Group<Reading>,
    /// The epoch that what follows is about.
    epoch: u64,
    next: u64,
    pending: VecDeque<Pending>,
    pending_bytes: usize,
    /// The number of the last message that was submitted in this epoch.
    submitted: u64,
    arrivals: VecDeque<Arrival>,
    submissions: SortedMap<PeerId, Submissions>,
    events: VecDeque<Event>,
}

impl Log {
    pub(crate) fn new(me: PeerId, delivers_own: bool) -> Self {
        Self {
            me,
            group: Group::new(me, Reading { me, delivers_own, seen: 0 }),
            epoch: 0,
            next: 1,
            pending: VecDeque::new(),
            pending_bytes: 0,
            submitted: 0,
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
        self.pending.push_back(Pending { number: self.next, is_stable, payload: payload.to_vec() });
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

    pub(crate) fn awaited(&self) -> Vec<PeerId> {
        self.group.awaited()
    }

    pub(crate) fn stored_bytes(&self) -> usize {
        let arrived: usize = self.submissions.values().map(|submissions| submissions.bytes).sum();
        self.group.stored_bytes() + self.pending_bytes + arrived
    }

    fn is_host(&self) -> bool {
        self.group.host() == Some(self.me)
    }

    /// Does what follows from what has happened in the group.
    fn go_on(&mut self) {
        loop {
            while let Some(event) = self.group.poll_event() {
                if event == Event::Behind {
                    // Whether these got a place is not to be known here any more; twice would be worse than not at all.
                    self.forget_pending(self.submitted);
                }
                self.events.push_back(event);
            }
            self.forget_pending(self.group.rule.seen);
            if self.epoch != self.group.epoch() {
                self.epoch = self.group.epoch();
                self.submitted = self.group.rule.seen;
                self.arrivals.clear();
                self.submissions.clear();
            }
            if self.group.is_frozen() || !self.is_host() || !self.place() {
                return;
            }
        }
    }

    fn forget_pending(&mut self, last: u64) {
        while let Some(pending) = self.pending.pop_front_if(|pending| pending.number <= last) {
            self.pending_bytes -= pending.payload.len();
        }
    }

    /// The host gives places to what has arrived, its own messages included; whether there was any.
    fn place(&mut self) -> bool {
        for pending in self.pending.iter().filter(|pending| pending.number > self.submitted) {
            let Pending { number, is_stable, payload } = pending;
            let (origin, payload) = (self.me, payload.clone());
            self.arrivals.push_back(Arrival { origin, number: *number, is_stable: *is_stable, payload });
        }
        self.submitted = self.next - 1;
        let mut is_any = false;
        while self.group.has_room() {
            let Some(Arrival { origin, number, is_stable, payload }) = self.arrivals.pop_front() else {
                break;
            };
            if let Some(submissions) = self.submissions.get_mut(&origin) {
                submissions.waiting -= 1;
                submissions.bytes -= payload.len();
            }
            self.group.append(Entry { is_stable, origin, number, payload: &payload }.encode());
            is_any = true;
        }
        is_any
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
                if !encoded.is_empty() && encoded.len() + pending.payload.len() + 8 > ITEMS_BYTES_MAX {
                    break;
                }
                let item = [&[u8::from(pending.is_stable)], pending.payload.as_slice()].concat();
                Writer::new(&mut encoded).prefixed(&item);
                first = first.or(Some(pending.number));
                last = pending.number;
            }
            let Some(first) = first else { return };
            self.submitted = last;
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
            let is_stable = decode_flags(flags).map_err(blame)?;
            submissions.last = number;
            submissions.waiting += 1;
            submissions.bytes += payload.len();
            self.arrivals.push_back(Arrival { origin: from, number, is_stable, payload: payload.to_vec() });
        }
        Ok(())
    }
}
