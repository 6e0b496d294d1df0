//! Frames: the states of objects that each peer lacks, coded against those it has (PROTOCOL §4.6).
//!
//! A state is in every frame to a peer until one of these frames is known to have arrived, so a loss costs only the
//! time until the next frame. Peers that have the same baselines get the same bytes, which are coded once.

use samovar_wire::object::{FrameHead, MessageKind, SAMPLE_UNIT};
use samovar_wire::{Kind, PeerId, Receipt, Time, Writer};

use crate::coder::Baseline;
use crate::object::Object;
use crate::objects::Objects;
use crate::replica::{Known, Replica};
use crate::scratch::{Context, Pick, Scratch};
use crate::slots::Slots;
use crate::text::Text;

/// The number of past states (moments) that an owner keeps of each object: the greatest age of a baseline (48
/// updates), and some more.
const KEPT_OWN: usize = 64;
/// The most states in one frame.
const STATES_MAX: usize = 255;
/// The first estimate of a coded state's size, in sixteenths of a byte.
const STATE_SIZE: usize = 16 * 8;
/// The most bytes of texts in one state, so that it fits a packet with its numbers. Further texts go in a later
/// frame.
const TEXTS_MAX: usize = 600;

/// The destination of a datagram of updates.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Session time.
    pub now: Time,
    /// The receiver.
    pub peer: PeerId,
    /// The number of the packet that will carry the datagram.
    pub packet: u64,
    /// The most bytes that the datagram may take.
    pub room: usize,
}

type IsDelivered<'a> = dyn Fn(Receipt) -> bool + 'a;

impl Objects {
    /// Begins a frame with the objects' present states.
    pub(crate) fn open_frame(&mut self) {
        self.frame += 1;
        self.scratch.valid = 0;
        self.scratch.popular = self.scratch.popularity.choose(self.frame);
        if !self.touched.is_empty() {
            self.news = self.frame;
        }
        while let Some(slot) = self.touched.pop() {
            let Some(object) = self.slots.at_mut(slot) else { continue };
            object.touched = false;
            let sample = object.sample();
            object.past.note(KEPT_OWN, self.frame, sample, &object.numbers);
        }
    }

    /// Whether a peer lacks something that a datagram could bring.
    #[must_use]
    pub fn wants_datagram(&self, peer: PeerId) -> bool {
        self.replicas.get(&peer).is_some_and(|replica| !replica.behind.is_empty())
    }

    /// Whether something changed since the last datagram to a peer; older changes are in flight to it.
    #[must_use]
    pub fn has_news(&self, peer: PeerId) -> bool {
        !self.touched.is_empty() || self.replicas.get(&peer).is_some_and(|replica| replica.told < self.news)
    }

    /// Appends a datagram with the states that the peer may lack, or nothing when there are none. Returns whether
    /// `room` was too small. The rest may then go in another packet at the same time.
    pub fn write_datagram(
        &mut self,
        place: Place,
        is_delivered: &IsDelivered<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        if !self.wants_datagram(place.peer) {
            return false;
        }
        if self.frame_time != place.now || !self.touched.is_empty() {
            self.frame_time = place.now;
            self.open_frame();
        }
        let Some(replica) = self.replicas.get_mut(&place.peer) else { return false };
        replica.told = self.frame;
        let (slots, scratch, frame) = (&self.slots, &mut self.scratch, self.frame);
        let room = place.room.saturating_sub(1 + FrameHead::LEN_MAX);
        let baselines = replica.baselines(frame, &scratch.popular);
        let mut round = Round::new(frame, baselines, room, place.now, replica.begun);
        let left_out = pick(slots, replica, scratch, &mut round, is_delivered);
        if scratch.picks.is_empty() {
            return false;
        }
        // The frame begins where the last one ran out of room, so that the same objects are not always left out.
        let first = scratch.picks.partition_point(|pick| pick.slot < replica.begin);
        scratch.picks.rotate_left(first);
        // No sample in a frame is newer than its base, even when the owner samples ahead of its packets.
        let base = (place.now.as_micros() / SAMPLE_UNIT).max(round.newest);
        let context = Context { schemas: &self.schemas.0, slots, me: self.me, frame, base, baselines };
        let encoded = scratch.encode(&context, room);
        let (written, size) = (encoded.written, encoded.bytes.len());
        if written > 0 {
            let mut writer = Writer::new(out);
            writer.u8(MessageKind::Frame as u8);
            FrameHead { frame, base, count: written as u8, baselines }.encode(&mut writer);
            writer.bytes(&encoded.bytes);
            let mut contents = replica.blank();
            for pick in &scratch.picks[..written] {
                contents.push((pick.slot, pick.texts));
                if let Some(known) = replica.known_mut(pick.slot) {
                    known.on_sent(frame, place.now, pick.texts);
                }
            }
            replica.on_packet(place.packet, frame, contents);
            let average = size * 16 / written;
            replica.state_size = (replica.state_size.max(16) * 7 + average) / 8;
        }
        // The next frame begins with the first object that was left out, but skips one that did not fit even alone.
        replica.begin = scratch.picks.get(written.max(1)).map_or(0, |pick| pick.slot);
        // When no object fits, the answer is `false`, or the caller would write packets without end.
        written > 0 && (left_out || written < scratch.picks.len())
    }

    /// Notes the fate of a packet that carried a datagram to `peer`.
    pub fn on_fate(&mut self, peer: PeerId, packet: u64, delivered: bool) {
        let Some(replica) = self.replicas.get_mut(&peer) else { return };
        let Some(flight) = replica.on_fate(packet, delivered) else { return };
        if flight.is_news {
            self.scratch.popularity.count(flight.frame);
        }
        for &(slot, _) in &flight.contents {
            if let Some((object, known)) = self.slots.at(slot).zip(replica.known(slot))
                && !is_behind(object, known)
            {
                replica.behind.remove(slot);
            }
        }
        replica.done(flight);
    }
}

/// Whether a peer may lack something of an object's state.
pub(crate) fn is_behind(object: &Object, known: &Known) -> bool {
    known.newest < object.frame
        || object.texts.iter().zip(&known.texts).any(|(text, &(has, _))| has < text.frame)
}

/// The parameters of one frame to one peer.
struct Round {
    frame: u64,
    room: usize,
    now: Time,
    /// The frame of the first baseline.
    first: u64,
    /// Masks of the first one, two and three baselines: bit i stands for the frame that lies i frames before `first`.
    /// Zero if there are fewer.
    masks: [u64; 3],
    /// The newest sample among the candidates, in units of `SAMPLE_UNIT` microseconds.
    newest: u64,
    /// See [`Replica::begun`].
    begun: u64,
}

impl Round {
    fn new(frame: u64, baselines: [u8; 3], room: usize, now: Time, begun: u64) -> Self {
        let (mut masks, mut mask, mut back) = ([0; 3], 1, 0);
        for (index, &step) in baselines.iter().enumerate().take_while(|(_, step)| **step > 0) {
            back += if index == 0 { 0 } else { u32::from(step) };
            mask |= 1_u64.checked_shl(back).unwrap_or(0);
            masks[index] = mask;
        }
        Self {
            frame,
            room,
            now,
            first: frame.saturating_sub(u64::from(baselines[0])),
            masks,
            newest: 0,
            begun,
        }
    }
}

/// Chooses the states of a frame. Returns whether some were left out for want of room.
fn pick(
    slots: &Slots,
    replica: &mut Replica,
    scratch: &mut Scratch,
    round: &mut Round,
    is_delivered: &IsDelivered<'_>,
) -> bool {
    scratch.picks.clear();
    let behind = core::mem::take(&mut replica.behind);
    let mut last = (Kind::SESSION, 3);
    for slot in behind.iter() {
        let Some((object, known)) = slots.at(slot).zip(replica.known_mut(slot)) else { continue };
        known.ready = known.ready || is_delivered(known.announced);
        let is_heeded = known.ready || is_ahead(object, known, round);
        if !is_heeded || !known.relevant || known.last_frame == round.frame {
            continue;
        }
        if round.now.since(known.last_time) < object.interval && known.last_frame != known.since {
            continue;
        }
        if object.traits.kind != last.0 {
            last = (object.traits.kind, scratch.habits.moments(object.traits.kind, round.frame));
        }
        round.newest = round.newest.max(object.sample());
        let texts = if object.texts.is_empty() { 0 } else { texts(object, known) };
        scratch.picks.push(Pick { slot, baseline: baseline(object, known, round, last.1), texts });
    }
    replica.behind = behind;
    let size = if replica.state_size == 0 { STATE_SIZE } else { replica.state_size };
    let count = (round.room * 16 / size + 1).min(STATES_MAX);
    if scratch.picks.len() <= count {
        return false;
    }
    // The objects with the highest product of waiting time and priority are kept. Objects whose announcement may not
    // have arrived yet come last.
    scratch.scores.clear();
    scratch.scores.extend(scratch.picks.iter().map(|pick| {
        let Some((object, known)) = slots.at(pick.slot).zip(replica.known(pick.slot)) else { return 0 };
        let weight = u64::from(object.priority) * u64::from(known.ready);
        weight.saturating_mul(round.frame - known.last_frame)
    }));
    keep_best(&mut scratch.picks, &scratch.scores, count);
    true
}

/// Keeps the `count` items with the highest scores, in their order. Among equal scores the first items are kept. A
/// library's sort would add kilobytes of machine code, and a few passes over numbers are no slower.
fn keep_best<T>(list: &mut Vec<T>, scores: &[u64], count: usize) {
    // Finds the highest score that at least `count` items reach, bit by bit from the highest.
    let mut least = 0;
    let highest = scores.iter().copied().max().unwrap_or(0);
    for bit in (0..u64::BITS - highest.leading_zeros()).rev() {
        let tried = least | 1 << bit;
        if scores.iter().filter(|&&score| score >= tried).count() >= count {
            least = tried;
        }
    }
    let mut room = count - scores.iter().filter(|&&score| score > least).count().min(count);
    let mut scores = scores.iter();
    list.retain(|_| {
        let score = scores.next().copied().unwrap_or(0);
        let is_equal = score == least && room > 0;
        room -= usize::from(is_equal);
        score > least || is_equal
    });
}

/// Whether states of an object may go before its announcement is known to have arrived. They may when this link alone
/// has announced the ownership: the peer then has the announcement, or ignores the states. So the peer sees a new
/// owner's objects move a round trip earlier (PROTOCOL §4.2 rule 6).
fn is_ahead(object: &Object, known: &Known, round: &Round) -> bool {
    object.stamp.counter > 0 && object.since > round.begun && matches!(known.announced, Receipt::Lane(_))
}

/// The moments of an object's past that a peer has and that a guess can build on.
fn baseline(object: &Object, known: &Known, round: &Round, most: u8) -> Baseline {
    if object.numbers.is_empty() {
        return Baseline::Frames(3);
    }
    if !known.ready {
        return Baseline::None;
    }
    for count in (1..=most).rev() {
        if known.has_all(round.first, round.masks[usize::from(count - 1)]) {
            return Baseline::Frames(count);
        }
    }
    let is_kept = object.past.as_of(object.numbers.len(), known.newest).is_some();
    match u32::try_from(round.frame - known.newest) {
        Ok(back) if back > 0 && known.is_fresh() && is_kept => Baseline::Own(back),
        _ => Baseline::None,
    }
}

/// The texts to send to a peer that may lack them, as a bit mask: as many as one packet holds, and those first that
/// were sent longest ago.
fn texts(object: &Object, known: &Known) -> u64 {
    let lacking = |chosen: u64| {
        let texts = object.texts.iter().zip(&known.texts).enumerate();
        texts.filter(move |(index, (text, (has, _)))| chosen >> index & 1 == 0 && *has < text.frame)
    };
    let (mut all, mut size) = (0, 0);
    for (index, (text, _)) in lacking(0) {
        all |= 1 << index;
        size += text_size(text);
    }
    if size <= TEXTS_MAX {
        return all;
    }
    let (mut chosen, mut size) = (0, 0);
    while let Some((index, (text, _))) = lacking(chosen).min_by_key(|(_, (_, (_, sent)))| *sent) {
        size += text_size(text);
        if size > TEXTS_MAX && chosen != 0 {
            break;
        }
        chosen |= 1 << index;
    }
    chosen
}

/// The most bytes that a text takes.
const fn text_size(text: &Text) -> usize {
    text.bytes.len() + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn keep_best_keeps_the_highest_scores_in_their_order() {
        let kept = |scores: &[u64], count| {
            let mut list: Vec<_> = (0..scores.len()).collect();
            keep_best(&mut list, scores, count);
            list
        };
        assert_eq!(kept(&[3, 9, 3, 7, 3], 3), [0, 1, 3]);
        assert_eq!(kept(&[0, 0, 0], 2), [0, 1]);
        assert_eq!(kept(&[u64::MAX, 1, u64::MAX], 1), [0]);
        let mut dice = samovar_wire::Entropy::new([3; 32]);
        for _ in 0..100 {
            let scores: Vec<u64> = (0..60).map(|_| dice.number() % 20).collect();
            let count = 1 + (dice.number() % 60) as usize;
            let mut best: Vec<usize> = (0..scores.len()).collect();
            best.sort_by_key(|&at| core::cmp::Reverse(scores[at]));
            best.truncate(count);
            best.sort_unstable();
            assert_eq!(kept(&scores, count), best);
        }
    }
}
