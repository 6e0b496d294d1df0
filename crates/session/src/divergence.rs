//! What this peer did while others, of whom it did not hear, went on under another host (docs/recovery.md, "In short").

use samovar_objects::{Object, Objects};
use samovar_wire::{Duration, ObjectId, PeerId, SortedMap, SortedSet, Time};

use crate::Event;
use crate::core::Core;
use crate::core::peer_link::PeerLink;
use crate::desk::REMOVED_AFTER;

/// Who lost its host has not been left behind when what it said so long after that has reached everybody.
const TOGETHER_AFTER: Duration = Duration::from_millis(5_000);
/// A host has removed whom it does not hear for so long.
const UNHEARD_FOR: Duration = REMOVED_AFTER.times(2);
/// Ends and changes of owner that are remembered.
const FATES_MAX: usize = 512;
/// Peers that are linked no longer and remembered.
const PARTED_MAX: usize = 128;

/// What is known of that.
#[derive(Debug, Default)]
pub(crate) struct Divergence {
    /// Session time from which on others may have gone on without this peer: it lost its host, or lives under one that was
    /// voted for.
    split_at: Option<Time>,
    /// The latest objects that ended or changed owners, and when, in session time.
    fates: Vec<(Time, ObjectId)>,
    /// This peer's own objects of which somebody lacked something when it was parted from, and when.
    lacked: Vec<(Time, ObjectId)>,
    /// Up to when what this peer said had reached peers that are linked no longer.
    parted: SortedMap<PeerId, Time>,
}

impl Divergence {
    /// An object ended, or has another owner: nothing that is there says when.
    pub(crate) fn note_fate(&mut self, core: &Core, now: Time, id: ObjectId) {
        if self.fates.len() == FATES_MAX {
            self.fates.remove(0);
        }
        self.fates.push((core.time(now), id));
    }

    /// A peer is linked no longer, or lost without that: up to when what this peer said had reached it.
    fn note_parted(&mut self, peer: PeerId, reached: Time) {
        if self.parted.len() == PARTED_MAX
            && let Some((&oldest, _)) = self.parted.iter().min_by_key(|(_, at)| **at)
        {
            self.parted.remove(&oldest);
        }
        self.parted.insert(peer, reached);
    }

    /// The state of a link to a peer is gone.
    pub(crate) fn on_unlinked(&mut self, core: &Core, objects: &Objects, peer: PeerId, link: &PeerLink) {
        if link.is_lasting() {
            self.note_parted(peer, link.shared());
            self.note_lacked(core, objects, &lacked_by(core, objects, peer, link));
        }
    }

    /// A member is in the view no longer. One that there was no link to has not heard this peer for as long as it takes a
    /// host to remove somebody, and again.
    pub(crate) fn on_removed(&mut self, now: Time, peer: PeerId) {
        if !self.parted.contains_key(&peer) {
            self.note_parted(peer, now - UNHEARD_FOR);
        }
    }

    /// A peer left of its own will: it goes on nowhere.
    pub(crate) fn on_farewell(&mut self, peer: PeerId) {
        self.parted.remove(&peer);
    }

    /// Somebody may never have what it is not known to have by now.
    fn note_lacked(&mut self, core: &Core, objects: &Objects, ids: &SortedSet<ObjectId>) {
        let now = core.time(core.now);
        self.lacked.retain(|&(_, id)| objects.get(id).is_some() && !ids.contains(&id));
        self.lacked.extend(ids.iter().map(|&id| (now, id)));
    }

    /// From a moment on others may have gone on without this peer.
    pub(crate) fn note_split(&mut self, core: &Core, since: Time) {
        let since = core.time(since);
        self.split_at = Some(self.split_at.map_or(since, |at| at.min(since)));
    }

    /// The same, from when on what this peer said has not reached its host, if that was parted from.
    pub(crate) fn note_split_from_host(&mut self, core: &Core) {
        if let Some(&at) = self.parted.get(&core.host()).filter(|_| !core.takes_part(core.host())) {
            self.note_split(core, at);
        }
    }

    /// While this peer misses its host others may go on without it. They have not, when under a witnessed term all are
    /// reached again for a while: whoever lives under a later one says so.
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

    /// What this peer said up to then had reached another before there was a link.
    pub(crate) fn reached_before(&self, core: &Core, now: Time, peer: PeerId) -> Time {
        // Of a member that this peer was not linked to nothing is known of what reached it.
        let unknown = if core.view().has(peer) { Time::ZERO } else { now };
        self.parted.get(&peer).copied().unwrap_or(unknown)
    }

    /// What changed here since this peer last reached those who went on; `accepted_since` finds the first of its inputs
    /// that was accepted since a moment of session time.
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
            // Whoever was lost may have gone on, under one whom this peer has not met.
            let lost = self.parted.iter().filter(|(peer, _)| !core.view().has(**peer));
            if let Some(first) = lost.map(|(_, &reached)| reached).min() {
                self.note_split(core, first);
            }
        }
        let since = self.split_at?;
        // A state may have been lost again and again.
        let lasting = core.net.links().filter(|(_, link)| link.is_lasting());
        let mut ids: SortedSet<_> =
            lasting.flat_map(|(peer, link)| lacked_by(core, objects, peer, link)).collect();
        // What is this peer's own nobody else tells a host that it has not met.
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

/// What a peer knows of this peer's own objects and is not known to have the state of.
fn lacked_by(core: &Core, objects: &Objects, peer: PeerId, link: &PeerLink) -> SortedSet<ObjectId> {
    let deliveries = link.transport.deliveries();
    let covers = |receipt| deliveries.cover(receipt);
    let own = objects.iter().filter(|object| object.owner() == core.me()).map(Object::id);
    own.filter(|&id| id != ObjectId::SESSION && objects.may_lag(peer, id, &covers)).collect()
}

/// From when on what this peer said has not reached all whom it is linked to.
pub(crate) fn unreached_since(core: &Core, now: Time) -> Time {
    core.net.links().filter(|(_, link)| !link.left).map(|(_, link)| link.shared()).min().unwrap_or(now)
}
