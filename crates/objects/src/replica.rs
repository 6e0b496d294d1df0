//! Another peer's knowledge of the objects that this peer owns.

use std::collections::VecDeque;

use samovar_wire::{ObjectId, PeerId, Receipt, SortedMap, SortedSet, Stamp, Time};

use crate::slots::SlotSet;

/// The most packets whose fate is open. Beyond this the oldest is forgotten; a link has no more in flight.
const IN_FLIGHT_MAX: usize = 1_024;
/// The most acked frames that are remembered as possible baselines.
const ACKED_MAX: usize = 64;
/// A baseline is at most this many updates old. Receivers keep more moments, in case updates overtake each other
/// (PROTOCOL §4.6).
pub(crate) const BASELINE_AGE_MAX: u64 = 48;

/// The state of a peer's copy of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Known {
    /// The receipt of the announcement, or of a newer reliable update. Most updates wait until it is delivered
    /// (docs/sources.md, "Bitsquid": the wait for the ack).
    pub(crate) announced: Receipt,
    pub(crate) ready: bool,
    /// The announcement's frame, the first baseline.
    pub(crate) since: u64,
    /// The newest frame that was sent before the announcement was known to have arrived. An ack of this frame proves
    /// nothing, because the peer may not have known the object.
    pub(crate) ahead: u64,
    /// The newest frame known to have brought the object. Bit i of `history` says the same of the frame that lies i
    /// frames before.
    pub(crate) newest: u64,
    history: u64,
    /// An upper bound of the updates sent since the frame `newest`.
    sent: u64,
    /// The time and the frame of the last update.
    pub(crate) last_frame: u64,
    pub(crate) last_time: Time,
    /// Per text: the newest frame known to have brought it, and the newest in which it was sent.
    pub(crate) texts: Vec<(u64, u64)>,
    /// When changes are reliable: per field, the version sent last.
    pub(crate) versions: Vec<u64>,
    /// Whether the object is in the peer's focus.
    pub(crate) relevant: bool,
}

impl Known {
    pub(crate) fn new(announced: Receipt, since: u64, texts: usize, versions: &[u64]) -> Self {
        Self {
            announced,
            ready: false,
            since,
            ahead: since,
            newest: since,
            history: 1,
            sent: 0,
            last_frame: since,
            last_time: Time::ZERO,
            texts: vec![(since, since); texts],
            versions: versions.to_vec(),
            relevant: true,
        }
    }

    /// Whether the peer is known to have the object as of all frames in `mask`, bits counted from `first` backwards;
    /// `false` for an empty mask.
    pub(crate) const fn has_all(&self, first: u64, mask: u64) -> bool {
        if first > self.newest || self.newest - first >= 64 || mask == 0 {
            return false;
        }
        (self.history >> (self.newest - first)) & mask == mask
    }

    /// Whether the newest frame that the peer has is recent enough for a baseline.
    pub(crate) const fn is_fresh(&self) -> bool {
        self.sent <= BASELINE_AGE_MAX
    }

    /// Notes that an update went out. `texts` is a bit mask of its texts.
    pub(crate) fn on_sent(&mut self, frame: u64, now: Time, texts: u64) {
        self.sent += 1;
        (self.last_frame, self.last_time) = (frame, now);
        if !self.ready {
            self.ahead = frame;
        }
        for (_, (_, sent)) in self.texts.iter_mut().enumerate().filter(|(index, _)| texts >> index & 1 == 1) {
            *sent = frame;
        }
    }

    fn on_delivered(&mut self, frame: u64, texts: u64) {
        if frame > self.newest {
            self.history = self.history.checked_shl((frame - self.newest).min(64) as u32).unwrap_or(0) | 1;
            self.newest = frame;
            self.sent = self.sent.min(self.last_frame.saturating_sub(frame));
        } else if self.newest - frame < 64 {
            self.history |= 1 << (self.newest - frame);
        }
        for (index, (known, _)) in self.texts.iter_mut().enumerate() {
            if texts >> index & 1 == 1 {
                *known = (*known).max(frame);
            }
        }
    }
}

/// Frames that many peers have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Popular {
    /// The best and the second best first baseline.
    pub(crate) firsts: [u64; 2],
    /// The second and the third baseline.
    pub(crate) behind: [u64; 2],
}

/// A frame in flight to one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct InFlight {
    packet: u64,
    pub(crate) frame: u64,
    /// The slots of the objects in the frame, each with a bit mask of its texts.
    pub(crate) contents: Vec<(u32, u64)>,
    /// Whether no earlier packet with the same frame was delivered to the peer.
    pub(crate) is_news: bool,
}

/// Another peer's knowledge of this peer's objects, and the messages about them that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Replica {
    known: Vec<Option<Known>>,
    /// Announced objects of which the peer may lack something that a frame can bring.
    pub(crate) behind: SlotSet,
    /// Announced objects with reliable updates of which the peer may lack something.
    pub(crate) dirty: SortedSet<ObjectId>,
    /// Objects to announce.
    pub(crate) unannounced: SortedSet<ObjectId>,
    /// Ends to tell the peer.
    pub(crate) destroys: SortedMap<ObjectId, Stamp>,
    /// Objects to grant to the peer, and the stamps under which it shall own them.
    pub(crate) grants: SortedMap<ObjectId, Stamp>,
    /// At the host: grants to other members, to be reported to this peer.
    pub(crate) granted: SortedMap<ObjectId, (Stamp, PeerId)>,
    /// Objects of peers that are gone, to report to this peer, which hosts.
    pub(crate) orphans: SortedSet<ObjectId>,
    /// Whether to tell the peer all ends that this peer knows.
    pub(crate) deaths_due: bool,
    /// At the host: how many more reports about ends of others' objects the peer may send. Each departure allows one.
    pub(crate) reports: u32,
    /// Whether the first announcements were composed. For a newcomer these may be one snapshot.
    pub(crate) greeted: bool,
    /// The first frame after the link began. If this peer took an object over later, it announced that on this link
    /// only.
    pub(crate) begun: u64,
    /// The frames in flight, by packet number.
    in_flight: VecDeque<InFlight>,
    /// The frame of the last datagram to this peer.
    pub(crate) told: u64,
    /// Buffers to use again.
    spare: Vec<Vec<(u32, u64)>>,
    /// The newest frames that arrived, in order.
    acked: VecDeque<u64>,
    /// The average size of a coded state, in sixteenths of a byte.
    pub(crate) state_size: usize,
    /// The next frame begins with the first object at or after this slot, because the last frame had no room for it.
    pub(crate) begin: u32,
}

impl Replica {
    /// The replica of a peer to which all these objects are to be announced.
    pub(crate) fn of(unannounced: SortedSet<ObjectId>, deaths_due: bool, begun: u64) -> Self {
        Self { unannounced, deaths_due, begun, ..Self::default() }
    }

    /// Queues an end for the peer, under the highest stamp reported for it.
    pub(crate) fn tell_end(&mut self, id: ObjectId, stamp: Stamp) {
        let told = self.destroys.entry(id).or_insert(stamp);
        *told = stamp.max(*told);
    }

    pub(crate) fn known(&self, slot: u32) -> Option<&Known> {
        self.known.get(slot as usize)?.as_ref()
    }

    pub(crate) fn known_mut(&mut self, slot: u32) -> Option<&mut Known> {
        self.known.get_mut(slot as usize)?.as_mut()
    }

    /// The slots of the objects that the peer was told of.
    pub(crate) fn known_slots(&self) -> impl Iterator<Item = u32> {
        self.known.iter().enumerate().filter(|(_, known)| known.is_some()).map(|(slot, _)| slot as u32)
    }

    pub(crate) fn learn(&mut self, slot: u32, known: Known) {
        if self.known.len() <= slot as usize {
            self.known.resize(slot as usize + 1, None);
        }
        self.known[slot as usize] = Some(known);
    }

    /// Drops everything noted about an object, because this peer no longer owns it or announces it anew.
    pub(crate) fn forget(&mut self, slot: Option<u32>, id: ObjectId) {
        if let Some(slot) = slot {
            if let Some(known) = self.known.get_mut(slot as usize) {
                *known = None;
            }
            self.behind.remove(slot);
        }
        self.dirty.remove(&id);
        self.unannounced.remove(&id);
        self.orphans.remove(&id);
    }

    /// The baselines of this frame, newest first; each number says how many frames back from the one before. They lie
    /// about equally far apart, because extrapolation errs least then. A peer that has the popular frames can be sent
    /// the same bytes as others.
    pub(crate) fn baselines(&self, frame: u64, popular: &Popular) -> [u8; 3] {
        let mut baselines = [0; 3];
        let has = |frame: u64| self.acked.binary_search(&frame).is_ok();
        let first = popular.firsts.into_iter().find(|&first| has(first)).or(self.acked.back().copied());
        let Some(first) = first.filter(|&first| frame - first <= BASELINE_AGE_MAX) else { return baselines };
        let step = frame - first;
        baselines[0] = step as u8;
        let mut at = first;
        for (baseline, popular) in baselines[1..].iter_mut().zip(popular.behind) {
            let wanted = at.saturating_sub(step);
            let found = if popular < at && has(popular) {
                Some(popular)
            } else {
                self.acked.iter().rfind(|&&acked| acked <= wanted).copied()
            };
            let Some(found) = found.filter(|&found| frame - found <= BASELINE_AGE_MAX) else { break };
            *baseline = (at - found) as u8;
            at = found;
        }
        baselines
    }

    /// An empty list of contents.
    pub(crate) fn blank(&mut self) -> Vec<(u32, u64)> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(64))
    }

    pub(crate) fn on_packet(&mut self, packet: u64, frame: u64, contents: Vec<(u32, u64)>) {
        self.in_flight.push_back(InFlight { packet, frame, contents, is_news: false });
        if self.in_flight.len() > IN_FLIGHT_MAX
            && let Some(oldest) = self.in_flight.pop_front()
        {
            self.reuse(oldest.contents);
        }
    }

    fn reuse(&mut self, mut contents: Vec<(u32, u64)>) {
        contents.clear();
        self.spare.push(contents);
    }

    /// Notes the fate of a packet. Returns the contents of a delivered packet, to be given back to [`Replica::done`].
    pub(crate) fn on_fate(&mut self, packet: u64, delivered: bool) -> Option<InFlight> {
        let at = self.in_flight.binary_search_by_key(&packet, |flight| flight.packet).ok()?;
        let mut flight = self.in_flight.remove(at)?;
        if !delivered {
            // The contents need no resending: later frames hold them until one arrives.
            self.reuse(flight.contents);
            return None;
        }
        let at = self.acked.iter().rposition(|&acked| acked <= flight.frame).map_or(0, |before| before + 1);
        flight.is_news = at == 0 || self.acked[at - 1] != flight.frame;
        if flight.is_news {
            self.acked.insert(at, flight.frame);
        }
        if self.acked.len() > ACKED_MAX {
            self.acked.pop_front();
        }
        for &(slot, texts) in &flight.contents {
            // The slot may hold another object or another ownership by now.
            if let Some(known) = self.known.get_mut(slot as usize).and_then(Option::as_mut)
                && flight.frame > known.ahead
            {
                known.on_delivered(flight.frame, texts);
            }
        }
        Some(flight)
    }

    pub(crate) fn done(&mut self, flight: InFlight) {
        self.reuse(flight.contents);
    }
}
