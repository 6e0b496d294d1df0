//! View synchrony, the base of the orders: streams of items that all members of a view get alike.
//!
//! A *stream* is the sequence of one member's items. In a mesh each member owns one; with a sequencer or dispatcher
//! there is one, the host's. Time is divided into *epochs*, one for each view on which the members agree. Within an
//! epoch the members are fixed, streams begin with item 1, and a [`Rule`] decides when it is an item's turn to be
//! delivered. This is the closed group that the algorithms assume (docs/sources.md, "Fujimoto"). At the end of an
//! epoch the same items have had their turn at all members:
//!
//! ```text
//! member   told of a view: delivers and sends nothing more ---> REPORT: how far it has each stream
//!  host     has all reports: the cut of a stream is the most items that any member has
//!           gets what it lacks itself (WANT, FILL), sends each member what the member lacks (FILL), and INSTALL
//!  member   on INSTALL it has everything up to the cut: delivers that, and begins the next epoch
//! ```
//!
//! Only the host of the newest view decides. If it is lost midway, some members are in the new epoch and others are
//! not. The next host learns that from the reports. It brings members that are one epoch behind to the epoch of the
//! others; for this all members keep the former epoch. Then it ends the epoch that all are in. Newcomers are let in
//! last, after all other members, so that the knowledge of the former epoch is not lost.
//!
//! Items are kept until their owner knows, and announces, that all members have them. The group reads no clock: the
//! session's roster removes a member that never reports.

mod early;
mod flush;
mod receive;
mod stream;
mod transmit;

use core::ops::{Deref, DerefMut};
use std::collections::VecDeque;

use samovar_wire::order::{Frame, Install, Report};
use samovar_wire::{DecodeError, PeerId, SortedMap, SortedSet};

use crate::order::{Delivery, Event, SendError, Transmit, UNSTABLE_BYTES_MAX, UNSTABLE_MAX, View, ViewId};
use early::Early;
use flush::{Admission, Flush};
pub(crate) use receive::blame;
use stream::Stream;

/// Decides when an item's turn has come. Owners are named by their index among the owners of the epoch.
pub(crate) trait Rule {
    /// Whether only the host has a stream.
    fn has_one_stream(&self) -> bool {
        false
    }

    /// Begins an epoch with these owners. `me` is this peer's index among them, if it is one.
    fn begin(&mut self, owners: &[PeerId], me: Option<usize>);

    /// Makes the item of this peer's stream for a payload.
    fn compose(&mut self, payload: &[u8]) -> Vec<u8> {
        payload.to_vec()
    }

    /// Checks an item when it arrives.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    fn check(&self, owner: usize, item: &[u8]) -> Result<(), DecodeError>;

    /// Notes that an item has arrived, after all earlier ones of its stream.
    fn note(&mut self, _owner: usize, _item: &[u8]) {}

    /// Whether it is an item's turn. At the end of an epoch no further items come.
    fn is_due(&self, owner: usize, item: &[u8], turn: Turn) -> bool;

    /// Gives an item its turn. Returns the message to deliver, if there is one.
    fn take(&mut self, owner: usize, item: &[u8]) -> Option<Delivery>;

    /// Ends the epoch for an owner. `_stays` says whether the owner is in the next epoch; `_rest` are its remaining
    /// items, after which none come.
    fn close(&mut self, _owner: usize, _stays: bool, _rest: &mut dyn Iterator<Item = &[u8]>) {}

    /// Called when no item is due. Returns whether other items have become due.
    fn advance(&mut self, _is_ending: bool) -> bool {
        false
    }

    /// How many items of this peer's stream an owner had when it sent its last item; `None` when its items do not
    /// say.
    fn heard_of_mine(&self, _owner: usize) -> Option<u64> {
        None
    }

    /// Whether this item is delivered only once the host's backups hold it.
    fn is_urgent(&self, _item: &[u8]) -> bool {
        false
    }
}

/// The circumstances that decide, besides the items themselves, whether it is an item's turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// The item's number in its stream.
    pub(crate) number: u64,
    /// The number of the last item that all backups of the host hold.
    pub(crate) safe: u64,
    /// Whether the epoch ends.
    pub(crate) is_ending: bool,
}

/// The present epoch.
#[derive(Clone, Debug, Default)]
struct Epoch {
    /// The number of the epoch, from 1; 0 while this peer is in no epoch.
    number: u64,
    view: ViewId,
    host: Option<PeerId>,
    members: Vec<PeerId>,
    /// The owners of streams, in ascending order.
    owners: Vec<PeerId>,
    streams: Vec<Stream>,
    /// Whether this peer was not in the epoch, and holds it only to end it for the others.
    is_shell: bool,
}

/// The former epoch, for members that have not heard yet of its end.
#[derive(Clone, Debug)]
struct Past {
    number: u64,
    owners: Vec<PeerId>,
    streams: Vec<Stream>,
    cut: Vec<u64>,
}

/// The state of another member in this epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Mate {
    /// The last item of this peer's stream that was sent to the member.
    sent: u64,
    /// The last item of this peer's stream that the member is known to have.
    known: u64,
    /// The last safe number that the member was told.
    told_safe: u64,
    /// The last stable number that the member was told, and the bytes freed by then.
    told_stable: u64,
    told_freed: usize,
    /// Whether the link is new, and the member has not reported yet what it lacks.
    is_paused: bool,
    /// Whether the member was told of this peer's present epoch on this link.
    is_opened: bool,
}

/// One member's part in the group.
///
/// The code is written for `dyn Rule`, so that it is compiled once and not once per rule: a web page downloads it.
#[derive(Clone, Debug)]
pub(crate) struct Group<R: ?Sized> {
    me: PeerId,
    /// The newest view.
    told: Option<View>,
    /// The members of all views, from the epoch's view to the newest one.
    known: SortedSet<PeerId>,
    epoch: Epoch,
    past: Option<Past>,
    mates: SortedMap<PeerId, Mate>,
    flush: Flush,
    admission: Admission,
    /// How the epoch ends, once that is certain.
    ending: Option<Install>,
    early: Early,
    /// How often each peer was told of the present epoch on its link.
    brought: SortedMap<PeerId, u8>,
    /// The epoch of each peer's messages on its link, as last announced.
    lanes: SortedMap<PeerId, u64>,
    /// Messages sent while no epoch is open.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    /// The last item of the host's stream that its backups hold.
    safe: u64,
    /// The last item that waits for the backups.
    last_urgent: u64,
    /// Items that had their turn since this peer last acked, and their bytes.
    unsaid: (usize, usize),
    is_report_due: bool,
    /// Bytes of this peer's stream that all members were found to have.
    freed: usize,
    outbox: VecDeque<Transmit>,
    events: VecDeque<Event>,
    /// This must be the last field. Only then does a reference to a group with some rule coerce to one to a group
    /// with `dyn Rule`.
    pub(crate) rule: R,
}

impl<R> Group<R> {
    pub(crate) fn new(me: PeerId, rule: R) -> Self {
        Self {
            me,
            told: None,
            known: SortedSet::new(),
            epoch: Epoch::default(),
            past: None,
            mates: SortedMap::new(),
            flush: Flush::default(),
            admission: Admission::default(),
            ending: None,
            early: Early::default(),
            brought: SortedMap::new(),
            lanes: SortedMap::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            safe: 0,
            last_urgent: 0,
            unsaid: (0, 0),
            is_report_due: false,
            freed: 0,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            rule,
        }
    }
}

impl<R: Rule + 'static> Deref for Group<R> {
    type Target = Group<dyn Rule>;

    fn deref(&self) -> &Self::Target {
        self
    }
}

impl<R: Rule + 'static> DerefMut for Group<R> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self
    }
}

impl Group<dyn Rule> {
    pub(crate) fn handle_view(&mut self, view: &View) {
        let is_new = self.told.as_ref().is_none_or(|told| told.id < view.id);
        if !is_new || view.members.binary_search(&self.me).is_err() {
            return;
        }
        if let Some(former) = self.told.replace(view.clone()) {
            self.known.extend(former.members);
        }
        let known = &self.known;
        self.early.retain(|peer| !known.contains(&peer) || view.members.binary_search(&peer).is_ok());
        self.brought.clear();
        self.flush = Flush::default();
        self.admission = Admission::default();
        self.begin_flush();
        self.settle();
    }

    pub(crate) fn handle_link(&mut self, peer: PeerId) {
        self.flush.forget_questions(peer);
        if let Some(at) = self.owner(peer) {
            self.epoch.streams[at].is_asked = false;
        }
        if let Some(mate) = self.mates.get_mut(&peer) {
            (mate.is_paused, mate.is_opened) = (true, false);
        }
        self.lanes.remove(&peer);
        self.brought.remove(&peer);
        // The peer sends again everything that may be lost.
        self.early.retain(|from| from != peer);
        // The report goes out even while this peer knows no view: the other peer may know one, and waits to hear what
        // this peer lacks.
        if peer != self.me {
            self.send_report(peer, true);
        }
    }

    /// Whether the epoch is about to end, or there is none: then nothing is delivered or sent.
    pub(crate) fn is_frozen(&self) -> bool {
        let told = self.told.as_ref().map(|told| told.id);
        self.epoch.number == 0 || self.epoch.is_shell || told != Some(self.epoch.view)
    }

    /// The host of the present epoch.
    pub(crate) const fn host(&self) -> Option<PeerId> {
        self.epoch.host
    }

    /// Whether a peer is a member in the present epoch.
    pub(crate) fn has_member(&self, peer: PeerId) -> bool {
        self.epoch.members.binary_search(&peer).is_ok()
    }

    /// The number of the present epoch.
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch.number
    }

    /// Whether this peer's stream takes another item.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < UNSTABLE_MAX
            && self.waiting_bytes < UNSTABLE_BYTES_MAX
            && self.own().is_none_or(Stream::has_room)
    }

    /// Sends an item on this peer's stream, now or when the next epoch begins.
    ///
    /// # Errors
    /// `WouldBlock` while there is no room.
    pub(crate) fn send(&mut self, payload: &[u8]) -> Result<(), SendError> {
        if !self.has_room() {
            return Err(SendError::WouldBlock);
        }
        if self.is_frozen() {
            self.waiting_bytes += payload.len();
            self.waiting.push_back(payload.to_vec());
        } else {
            let item = self.rule.compose(payload);
            self.append(item);
        }
        Ok(())
    }

    /// Adds an item to this peer's stream. The epoch must be open.
    pub(crate) fn append(&mut self, item: Vec<u8>) {
        let Some(at) = self.owner(self.me) else { return };
        self.rule.note(at, &item);
        if self.rule.is_urgent(&item) {
            self.last_urgent = self.epoch.streams[at].received() + 1;
        }
        if self.rule.heard_of_mine(at).is_some() {
            self.unsaid = (0, 0);
        }
        self.epoch.streams[at].push(item);
        self.update_stable();
        self.settle();
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn stored_bytes(&self) -> usize {
        let past = self.past.iter().flat_map(|past| &past.streams);
        let streams: usize = self.epoch.streams.iter().chain(past).map(Stream::bytes).sum();
        streams + self.waiting_bytes + self.early.bytes()
    }

    fn owner(&self, peer: PeerId) -> Option<usize> {
        self.epoch.owners.binary_search(&peer).ok()
    }

    fn own(&self) -> Option<&Stream> {
        self.owner(self.me).map(|at| &self.epoch.streams[at])
    }

    /// Gives all due items their turn, and ends the epoch when its end is certain, until nothing more is due.
    fn settle(&mut self) {
        loop {
            self.close();
            self.deliver();
            let Some(install) = self.ending.take() else { return };
            self.begin_epoch(install);
        }
    }

    /// Cuts the streams at the end of the epoch: items after the cuts do not count.
    fn close(&mut self) {
        let Some((install, cut)) = self.ending.as_ref().and_then(|end| Some((end, end.cut.as_ref()?))) else {
            return;
        };
        let Epoch { owners, streams, .. } = &mut self.epoch;
        for (at, (stream, &last)) in streams.iter_mut().zip(cut).enumerate() {
            stream.cut(last);
            let stays = install.members.binary_search(&owners[at]).is_ok();
            self.rule.close(at, stays, &mut stream.rest());
        }
    }

    fn deliver(&mut self) {
        let is_ending = self.ending.as_ref().is_some_and(|install| install.cut.is_some());
        if self.epoch.is_shell || (self.is_frozen() && !is_ending) {
            return;
        }
        loop {
            let mut is_any_due = false;
            for at in 0..self.epoch.owners.len() {
                while self.deliver_next(at, is_ending) {
                    is_any_due = true;
                }
            }
            if !is_any_due && !self.rule.advance(is_ending) {
                return;
            }
        }
    }

    /// Gives an owner's next item its turn if it is due.
    fn deliver_next(&mut self, at: usize, is_ending: bool) -> bool {
        let stream = &mut self.epoch.streams[at];
        let number = stream.taken() + 1;
        let Some(item) = stream.head() else { return false };
        if !self.rule.is_due(at, item, Turn { number, safe: self.safe, is_ending }) {
            return false;
        }
        let (bytes, delivery) = (item.len(), self.rule.take(at, item));
        stream.take();
        let owner = self.epoch.owners[at];
        if owner != self.me {
            self.unsaid = (self.unsaid.0 + 1, self.unsaid.1 + bytes);
        }
        if let Some((known, mate)) = self.rule.heard_of_mine(at).zip(self.mates.get_mut(&owner)) {
            mate.known = mate.known.max(known);
            self.update_stable();
        }
        self.events.extend(delivery.map(Event::Delivered));
        true
    }

    /// This peer's report of the streams that it has.
    fn report(&self, again: bool) -> Report {
        Report {
            view: self.told.as_ref().map(|told| told.id).unwrap_or_default(),
            epoch: self.epoch.number,
            again,
            stable: self.own_stable(),
            counts: self.epoch.streams.iter().map(Stream::received).collect(),
        }
    }

    fn send_report(&mut self, to: PeerId, again: bool) {
        let report = self.report(again);
        self.push(to, &Frame::Report(report));
    }
}
