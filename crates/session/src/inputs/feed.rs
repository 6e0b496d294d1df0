//! Feeds: the inputs that go to each holder, and what the holder says about them.

use std::collections::VecDeque;

use samovar_link::Deliveries;
use samovar_objects::Objects;
use samovar_wire::input::{Held, Input, Told};
use samovar_wire::limits::SEGMENT_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::{Lane, PeerId, Receipt, SeatId, Time, Writer};

use super::Inputs;
use crate::core::{Core, Phase};

/// How many messages of inputs to one peer may be unacked. Later inputs wait, and share the next message.
const IN_FLIGHT_MAX: usize = 16;

/// The feed of one holder.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    /// The last of this peer's inputs that the holder was sent under this term.
    sent: u64,
    /// The last of this peer's inputs that the holder says it holds.
    pub(super) held: u64,
    /// The number of the holder's view when it last said what it holds.
    pub(super) view: u64,
    /// Inputs of others that are still to be passed to the holder.
    to_pass: VecDeque<(SeatId, u64)>,
    passed: Option<Receipt>,
    /// Whether this peer has told the holder that no more inputs are to come from earlier terms.
    is_told: bool,
    in_flight: VecDeque<Receipt>,
}

impl Feed {
    pub(super) fn on_held(&mut self, held: Held) {
        // A holder cannot hold an input that it was not sent.
        self.held = self.held.max(held.number.min(self.sent));
        self.view = held.view;
    }

    /// Sets the inputs of others that are also to be passed to the holder.
    pub(super) fn pass(&mut self, keys: impl Iterator<Item = (SeatId, u64)>) {
        self.to_pass.clear();
        self.to_pass.extend(keys);
    }

    /// Whether the holder has received the inputs of others.
    pub(super) fn has_passed(&self, deliveries: &Deliveries) -> bool {
        self.to_pass.is_empty() && self.passed.is_none_or(|receipt| deliveries.cover(receipt))
    }
}

/// The part of a feed that goes into one message.
struct Portion {
    passed: usize,
    sent: u64,
}

impl Inputs {
    /// Sends a member the inputs that it lacks, and says which of the member's own inputs this peer holds, as far as
    /// there is room.
    pub(crate) fn pump(&mut self, core: &mut Core, objects: &Objects, now: Time, to: PeerId) {
        if core.phase != Phase::Member || !core.net.is_admitted(to) {
            return;
        }
        self.acknowledge(core, to);
        let is_backup = core.view().backups().contains(&to);
        if to == core.host() || is_backup {
            let mut scratch = core::mem::take(&mut self.scratch);
            self.feed(core, objects, now, to, &mut scratch);
            self.scratch = scratch;
        } else {
            self.feeds.remove(&to);
        }
    }

    /// Tells a member that this peer holds its inputs. A host that may not act as one holds them and does not say so.
    fn acknowledge(&mut self, core: &mut Core, to: PeerId) {
        if !self.owed.contains(&to) || (core.roster.is_host() && !core.is_host()) {
            return;
        }
        let Some(&number) = self.received.get(&to) else { return };
        let held = Held { term: core.term(), view: core.view().number(), number };
        if core.net.send_about(to, MessageKind::Held, |out| held.encode(out)) {
            self.owed.remove(&to);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what it is told of, to whom, and where that is written")]
    fn feed(&mut self, core: &mut Core, objects: &Objects, now: Time, to: PeerId, scratch: &mut Vec<u8>) {
        if !self.feeds.contains_key(&to) {
            // A newcomer that does not have the view yet cannot know whose inputs these are, so the inputs wait.
            if core.roster.is_host() && !core.holds_view(objects, to) {
                return;
            }
            let mut feed = Feed::default();
            if to == core.host() || core.roster.is_host() {
                feed.pass(self.store.keys());
            }
            self.feeds.insert(to, feed);
        }
        let (is_host, told) = (to == core.host(), Told { term: core.term() });
        let own_seat = core.seat_of(core.me()).map(|record| (record.seat, record.since));
        let Some((seat, since)) = own_seat else { return };
        let Some(link) = core.net.link_mut(to) else { return };
        let deliveries = link.transport.deliveries();
        let is_own = |(of, number): (SeatId, u64)| of == seat && number > since;
        loop {
            if let Some(feed) = self.feeds.get_mut(&to) {
                feed.in_flight.retain(|&receipt| !deliveries.cover(receipt));
                if feed.in_flight.len() >= IN_FLIGHT_MAX {
                    return;
                }
            }
            scratch.clear();
            let portion = self.compose(now, to, seat, is_own, scratch);
            let Some(feed) = self.feeds.get_mut(&to) else { return };
            if scratch.len() > 1 {
                let Ok(receipt) = link.transport.send(Lane::SESSION, scratch) else { return };
                feed.in_flight.push_back(receipt);
                if portion.passed > 0 {
                    feed.passed = Some(receipt);
                }
            }
            feed.to_pass.drain(..portion.passed);
            feed.sent = portion.sent;
            if scratch.len() > 1 {
                continue;
            }
            if is_host && !feed.is_told {
                scratch.clear();
                let mut out = Writer::new(scratch);
                out.u8(MessageKind::Told as u8);
                told.encode(&mut out);
                feed.is_told = link.transport.send(Lane::SESSION, scratch).is_ok();
            }
            return;
        }
    }

    /// Writes the next message of inputs to a holder. The message has no inputs when none are left to send.
    #[expect(clippy::too_many_arguments, reason = "whose inputs, to whom, where to")]
    fn compose(
        &self,
        now: Time,
        to: PeerId,
        seat: SeatId,
        is_own: impl Fn((SeatId, u64)) -> bool,
        out: &mut Vec<u8>,
    ) -> Portion {
        out.push(MessageKind::Input as u8);
        let mut portion = Portion { passed: 0, sent: 0 };
        let Some(feed) = self.feeds.get(&to) else { return portion };
        portion.sent = feed.sent;
        // Several inputs share a segment when they fit.
        let fits =
            |out: &Vec<u8>, bytes: &[u8]| out.len() == 1 || out.len() + bytes.len() + 16 <= SEGMENT_MAX;
        for &key in &feed.to_pass {
            // This peer's own inputs come below, in their order.
            if let Some((bytes, until)) = self.store.get(key).filter(|_| !is_own(key)) {
                if !fits(out, bytes) {
                    return portion;
                }
                let left = (until.since(now).as_micros() / 1_000) as u16;
                Input { seat: key.0, left, number: key.1, bytes }.encode(&mut Writer::new(out));
            }
            portion.passed += 1;
        }
        for input in self.own.behind(feed.sent) {
            if !fits(out, &input.bytes) {
                break;
            }
            let left = input.left(now);
            let record = Input { seat, left, number: input.number, bytes: &input.bytes };
            record.encode(&mut Writer::new(out));
            portion.sent = input.number;
        }
        portion
    }
}
