//! Divergence: what this peer did while others went on under another host and this peer did not hear them
//! (docs/recovery.md, "In short").

use samovar_objects::{Object, Objects};
use samovar_wire::{Duration, ObjectId, PeerId, SortedMap, SortedSet, Time};

use crate::Event;
use crate::core::Core;
use crate::core::peer_link::PeerLink;
use crate::core::watch::REMOVED_AFTER;

/// A member did not diverge if all that it sent in this time after it lost its host has reached all members.
const TOGETHER_AFTER: Duration = Duration::from_millis(5_000);
/// After this time, a host has surely removed a member that it does not hear.
const UNHEARD_FOR: Duration = REMOVED_AFTER.times(2);
/// How many ends of objects, and changes of their owners, are remembered.
const FATES_MAX: usize = 512;
/// How many peers without a link are remembered.
const PARTED_MAX: usize = 128;

/// The facts that a report of divergence needs.
#[derive(Debug, Default)]
pub(crate) struct Divergence {
    /// The session time from which on others may have gone on without this peer: it lost its host, or lives under a
    /// voted host.
    split_at: Option<Time>,
    /// The latest objects that ended or changed owners, and when, in session time.
    fates: Vec<(Time, ObjectId)>,
    /// This peer's own objects whose newest state another peer lacked when their link ended, and the session time of
    /// that end.
    lacked: Vec<(Time, ObjectId)>,
    /// For each peer without a link: the local time up to which this peer's messages had reached it.
    parted: SortedMap<PeerId, Time>,
}

impl Divergence {
    /// Notes that an object ended or has another owner. The objects themselves do not record when that was.
    pub(crate) fn note_fate(&mut self, core: &Core, now: Time, id: ObjectId) {
        if self.fates.len() == FATES_MAX {
            self.fates.remove(0);
        }
        self.fates.push((core.time(now), id));
    }

    /// Notes that this peer's messages had reached `peer` up to the time `reached`. There is no link to `peer` any more.
    fn note_parted(&mut self, peer: PeerId, reached: Time) {
        if self.parted.len() == PARTED_MAX
            && let Some((&oldest, _)) = self.parted.iter().min_by_key(|(_, at)| **at)
        {
            self.parted.remove(&oldest);
        }
        self.parted.insert(peer, reached);
    }

    /// Notes what a peer may lack, since the link to it has ended. `link` is the former state of that link.
    pub(crate) fn on_unlinked(&mut self, core: &Core, objects: &Objects, peer: PeerId, link: &PeerLink) {
        if link.is_lasting() {
            self.note_parted(peer, link.shared());
            self.note_lacked(core, objects, &lacked_by(core, objects, peer, link));
        }
    }

    /// Handles that a member is no longer in the view. If this peer had no link to that member, the member counts as
    /// not having heard this peer for a time. That time is twice the silence after which a host removes a member.
    pub(crate) fn on_removed(&mut self, now: Time, peer: PeerId) {
        if !self.parted.contains_key(&peer) {
            self.note_parted(peer, now - UNHEARD_FOR);
        }
    }

    /// Forgets a peer that left of its own will, since it does not play on elsewhere.
    pub(crate) fn on_farewell(&mut self, peer: PeerId) {
        self.parted.remove(&peer);
    }

    /// Notes objects whose newest state a peer is not known to have, and may never get.
    fn note_lacked(&mut self, core: &Core, objects: &Objects, ids: &SortedSet<ObjectId>) {
        let now = core.time(core.now);
        self.lacked.retain(|&(_, id)| objects.get(id).is_some() && !ids.contains(&id));
        self.lacked.extend(ids.iter().map(|&id| (now, id)));
    }

    /// Notes that others may have gone on without this peer since a local time.
    pub(crate) fn note_split(&mut self, core: &Core, since: Time) {
        let since = core.time(since);
        self.split_at = Some(self.split_at.map_or(since, |at| at.min(since)));
    }

    /// If the link to the host has ended, notes that others may have gone on since this peer's messages last reached
    /// the host.
    pub(crate) fn note_split_from_host(&mut self, core: &Core) {
        if let Some(&at) = self.parted.get(&core.host()).filter(|_| !core.takes_part(core.host())) {
            self.note_split(core, at);
        }
    }

    /// Notes or clears a possible split. While this peer misses its host, others may go on without it. The split is
    /// cleared when this peer lives under a witnessed term, and its messages have again reached all members for a
    /// while. A member under a later term would have said so.
    pub(crate) fn review(&mut self, core: &Core, now: Time) {
        if core.roster.missed_since().is_some() {
            self.note_split(core, unreached_since(core, now));
        } else if let Some(since) = self.split_at
            && core.term().is_witnessed()
            && core.time(unreached_since(core, now)) > since + TOGETHER_AFTER
        {
            self.split_at = None;
        }
    }

    /// The local time up to which this peer's messages had reached another, before a link to it begins.
    pub(crate) fn reached_before(&self, core: &Core, now: Time, peer: PeerId) -> Time {
        // A member that this peer had no link to may have got none of its messages.
        let unknown = if core.view().has(peer) { Time::ZERO } else { now };
        self.parted.get(&peer).copied().unwrap_or(unknown)
    }

    /// The event for what changed here since this peer's messages last reached the others. `accepted_since` finds the
    /// first of this peer's inputs that was accepted since a session time.
    pub(crate) fn report(
        &mut self,
        core: &Core,
        objects: &Objects,
        accepted_since: impl FnOnce(Time) -> Option<u64>,
    ) -> Option<Event> {
        self.note_split(core, unreached_since(core, core.now));
        let (me, host) = (core.me(), core.host());
        let is_stranger = !core.view().has(host) && !self.parted.contains_key(&host);
        if core.config.rules.forks || is_stranger {
            // Any lost peer may have gone on, under a host that this peer has never met.
            let lost = self.parted.iter().filter(|(peer, _)| !core.view().has(**peer));
            if let Some(first) = lost.map(|(_, &reached)| reached).min() {
                self.note_split(core, first);
            }
        }
        let since = self.split_at?;
        // An object that a linked peer may lack counts whenever it changed, since its state may have been lost again
        // and again.
        let lasting = core.net.links().filter(|(_, link)| link.is_lasting());
        let mut ids: SortedSet<_> =
            lasting.flat_map(|(peer, link)| lacked_by(core, objects, peer, link)).collect();
        // If this peer has never met the host, all of its own objects count, since only this peer can tell of them.
        let is_new = |object: &&Object| object.sampled() >= since || is_stranger && object.owner() == me;
        ids.extend(objects.iter().filter(is_new).map(Object::id));
        let noted = self.fates.iter().chain(&self.lacked).filter(|(at, _)| *at >= since);
        ids.extend(noted.map(|&(_, id)| id));
        ids.remove(&ObjectId::SESSION);
        let accepted = accepted_since(since);
        (!ids.is_empty() || accepted.is_some())
            .then(|| Event::Diverged { objects: ids.into_iter().collect(), accepted })
    }
}

/// This peer's own objects that another peer knows, without being known to have their newest state.
fn lacked_by(core: &Core, objects: &Objects, peer: PeerId, link: &PeerLink) -> SortedSet<ObjectId> {
    let deliveries = link.transport.deliveries();
    let covers = |receipt| deliveries.cover(receipt);
    let own = objects.iter().filter(|object| object.owner() == core.me()).map(Object::id);
    own.filter(|&id| id != ObjectId::SESSION && objects.may_lag(peer, id, &covers)).collect()
}

/// The local time since which this peer's messages have not reached all peers that it is linked to.
pub(crate) fn unreached_since(core: &Core, now: Time) -> Time {
    core.net.links().filter(|(_, link)| !link.left).map(|(_, link)| link.shared()).min().unwrap_or(now)
}
