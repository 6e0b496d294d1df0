//! The links to all other peers, and the messages that go by them. A peer may have several links in succession.

use samovar_objects::Objects;
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, Duration, Generation, Lane, PeerId, Receipt, SortedMap, Time, Writer};

use super::peer_link::{Idle, PeerLink};
use crate::SendError;

/// How many peers this peer remembers as not to be linked again.
const CLOSED_MAX: usize = 128;
/// How many peers' generations are remembered: more than a peer can have links to.
const REMEMBERED_MAX: usize = 256;
/// If a peer asks for a new link, the least time since its last link began. Each new link sends that peer everything
/// anew.
const RESTART_INTERVAL: Duration = Duration::from_millis(500);
/// The least time between two packets that tell a stranger that it is no member.
const REBUFF_INTERVAL: Duration = Duration::from_millis(100);
/// How many CLOSE packets may wait to be sent.
const FAREWELLS_MAX: usize = 64;
/// The interval of updates to a peer unless the game sets another: 30 a second.
const UPDATE_INTERVAL: Duration = Duration::from_micros(33_333);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Net {
    /// Boxed, since links are large and are looked up all the time.
    links: SortedMap<PeerId, Box<PeerLink>>,
    /// For each peer: the generation of its newest link, and when that link began.
    associations: SortedMap<PeerId, (Generation, Time)>,
    /// Peers that were members, or broke the rules. They are not linked again, and are told why when they speak.
    closed: Vec<(PeerId, CloseCode)>,
    /// When a stranger was last told that it is no member.
    last_rebuff: Time,
    /// Packets that close links whose state is gone.
    farewells: Vec<(PeerId, Vec<u8>)>,
    /// Peers that broke the rules and are still linked.
    accused: Vec<(PeerId, CloseCode)>,
    /// The peer that [`crate::Session::poll_transmit`] served last.
    serving: Option<PeerId>,
    pub(crate) update_interval: Duration,
    /// Until this time, this peer sends updates more often: it has just become the host, or is about to hand over.
    pub(crate) hurries_until: Time,
    /// When the game last changed something.
    pub(crate) wrote: Time,
}

impl Net {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            links: SortedMap::new(),
            associations: SortedMap::new(),
            closed: Vec::new(),
            last_rebuff: Time::ZERO,
            farewells: Vec::new(),
            accused: Vec::new(),
            serving: None,
            update_interval: UPDATE_INTERVAL,
            hurries_until: now,
            wrote: Time::ZERO,
        }
    }

    pub(crate) fn link(&self, peer: PeerId) -> Option<&PeerLink> {
        self.links.get(&peer).map(|link| &**link)
    }

    pub(crate) fn link_mut(&mut self, peer: PeerId) -> Option<&mut PeerLink> {
        self.links.get_mut(&peer).map(|link| &mut **link)
    }

    /// The link to a member.
    pub(crate) fn member_mut(&mut self, peer: PeerId) -> Option<&mut PeerLink> {
        self.link_mut(peer).filter(|link| link.admitted)
    }

    pub(crate) fn is_linked(&self, peer: PeerId) -> bool {
        self.links.contains_key(&peer)
    }

    pub(crate) fn is_admitted(&self, peer: PeerId) -> bool {
        self.link(peer).is_some_and(|link| link.admitted)
    }

    /// All links.
    pub(crate) fn links(&self) -> impl Iterator<Item = (PeerId, &PeerLink)> {
        self.links.iter().map(|(&peer, link)| (peer, &**link))
    }

    pub(crate) fn links_mut(&mut self) -> impl Iterator<Item = (PeerId, &mut PeerLink)> {
        self.links.iter_mut().map(|(&peer, link)| (peer, &mut **link))
    }

    /// All peers that there is a link to.
    pub(crate) fn peers(&self) -> Vec<PeerId> {
        self.links.keys().copied().collect()
    }

    /// All linked members.
    pub(crate) fn admitted(&self) -> Vec<PeerId> {
        self.links().filter(|(_, link)| link.admitted).map(|(peer, _)| peer).collect()
    }

    /// Begins a link. `before` is the time up to which this peer's messages had reached the other peer before this
    /// link.
    pub(super) fn begin(&mut self, now: Time, peer: PeerId, before: Time) {
        let generation = self.next_generation(now, peer);
        self.links.insert(peer, Box::new(PeerLink::new(now, generation, before)));
    }

    fn next_generation(&mut self, now: Time, peer: PeerId) -> Generation {
        let former = self.associations.get(&peer).map(|&(generation, _)| generation);
        if former.is_none() && self.associations.len() >= REMEMBERED_MAX {
            let unlinked = self.associations.iter().filter(|(peer, _)| !self.links.contains_key(peer));
            if let Some(oldest) = unlinked.min_by_key(|(_, (_, began))| *began).map(|(&peer, _)| peer) {
                self.associations.remove(&oldest);
            }
        }
        let generation = former.map_or(Generation::FIRST, Generation::next);
        self.associations.insert(peer, (generation, now));
        generation
    }

    /// Whether a peer's last link began long enough ago that the peer may have a new one.
    pub(crate) fn may_restart(&self, now: Time, peer: PeerId) -> bool {
        self.associations.get(&peer).is_none_or(|&(_, began)| began + RESTART_INTERVAL <= now)
    }

    /// Removes a link and returns its state.
    pub(crate) fn take(&mut self, peer: PeerId) -> Option<PeerLink> {
        self.links.remove(&peer).map(|link| *link)
    }

    /// Notes that a peer is not to be linked again, and why. A peer that drops off the full list gets no answer when
    /// it speaks, so it waits for a time-out.
    pub(crate) fn close_to(&mut self, peer: PeerId, code: CloseCode) {
        if self.closed_to(peer).is_some() {
            return;
        }
        if self.closed.len() == CLOSED_MAX {
            self.closed.remove(0);
        }
        self.closed.push((peer, code));
    }

    /// Why a peer is not to be linked again.
    pub(crate) fn closed_to(&self, peer: PeerId) -> Option<CloseCode> {
        self.closed.iter().find(|closed| closed.0 == peer).map(|closed| closed.1)
    }

    /// Lets the peers that `whom` selects be linked again.
    pub(crate) fn reopen_to(&mut self, whom: impl Fn(PeerId) -> bool) {
        self.closed.retain(|&(peer, _)| !whom(peer));
    }

    /// Sends a CLOSE with the reason to a peer that is not to be linked again, unless such a packet was just sent.
    pub(crate) fn rebuff(&mut self, now: Time, peer: PeerId, code: CloseCode) {
        if self.last_rebuff + REBUFF_INTERVAL <= now {
            self.last_rebuff = now;
            self.bid_farewell(peer, samovar_link::close_packet(code));
        }
    }

    pub(crate) fn bid_farewell(&mut self, peer: PeerId, packet: Vec<u8>) {
        // Drops the oldest packet, since the latest matter most. A peer that misses its packet notices this peer's
        // silence.
        if self.farewells.len() >= FAREWELLS_MAX {
            self.farewells.remove(0);
        }
        self.farewells.push((peer, packet));
    }

    pub(crate) fn poll_farewell(&mut self) -> Option<(PeerId, Vec<u8>)> {
        (!self.farewells.is_empty()).then(|| self.farewells.remove(0))
    }

    /// Notes that a peer broke the rules. Its link ends when the current work is done.
    pub(crate) fn accuse(&mut self, peer: PeerId, code: CloseCode) {
        self.accused.push((peer, code));
    }

    pub(crate) fn poll_accused(&mut self) -> Option<(PeerId, CloseCode)> {
        (!self.accused.is_empty()).then(|| self.accused.remove(0))
    }

    /// Marks every link as one that may have something to send.
    pub(super) fn wake(&mut self) {
        self.links.values_mut().for_each(|link| (link.is_told, link.idle) = (false, None));
    }

    /// Gives a buffer back to the link of a peer.
    pub(crate) fn recycle(&mut self, peer: PeerId, bytes: Vec<u8>) {
        if let Some(link) = self.link_mut(peer) {
            link.transport.recycle(bytes);
        }
    }

    /// Sends a message of a kind to a member. The error is `None` when there is no link.
    pub(crate) fn send(
        &mut self,
        to: PeerId,
        lane: Lane,
        kind: MessageKind,
        encode: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Receipt, Option<SendError>> {
        let mut bytes = vec![kind as u8];
        encode(&mut Writer::new(&mut bytes));
        let link = self.member_mut(to).ok_or(None)?;
        link.transport.send(lane, &bytes).map_err(|error| Some(error.into()))
    }

    /// Sends a message in the session's lane. Returns whether the link took it.
    pub(crate) fn send_about(
        &mut self,
        to: PeerId,
        kind: MessageKind,
        encode: impl FnOnce(&mut Writer<'_>),
    ) -> bool {
        self.send(to, Lane::SESSION, kind, encode).is_ok()
    }

    /// For how long there is nothing to send to a peer that has been told everything.
    pub(crate) fn idle_to(&self, peer: PeerId, link: &PeerLink, objects: &Objects) -> Idle {
        link.idle_to(peer, objects, self.update_interval, self.wrote)
    }

    /// The peer that is served now.
    pub(crate) const fn serving(&self) -> Option<PeerId> {
        self.serving
    }

    /// Goes on to the next peer; to none after the last.
    pub(crate) fn serve_next(&mut self) {
        let next = match self.serving {
            Some(peer) => self.links.next_after(&peer),
            None => self.links.first_key_value(),
        };
        self.serving = next.map(|(&peer, _)| peer);
    }
}
