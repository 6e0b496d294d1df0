//! What this peer did while others, of whom it did not hear, went on under another host (DESIGN §4 "Partition").

use samovar_objects::Object;
use samovar_wire::control::Vote;
use samovar_wire::{Duration, ObjectId, PeerId, SortedSet, Time};

use super::host::REMOVED_AFTER;
use super::{CLOSED_MAX, Event, Peering, Session};

/// A state that changed is sent within this time.
const UPDATED_WITHIN: Duration = Duration::from_millis(50);
/// Who lost its host has not been left behind when what it said so long after that has reached everybody.
const TOGETHER_AFTER: Duration = Duration::from_millis(5_000);
/// A host has removed whom it does not hear for so long.
pub(super) const UNHEARD_FOR: Duration = REMOVED_AFTER.times(2);
/// Ends and changes of owner that are remembered.
const FATES_MAX: usize = 512;

impl Peering {
    /// It says under whom it lives, if that is another host: what reaches it then is of no account.
    pub(super) fn note_ahead(&mut self, ahead: Option<Vote>) {
        let reached = self.reached();
        self.ahead = ahead.map(|vote| (vote, reached));
    }

    /// What is said to it is of account: it is a member, and stays.
    pub(super) const fn is_lasting(&self) -> bool {
        self.admitted && !self.left
    }

    /// What was said before has reached the peer while it lived, for all that is known, under the same host.
    fn reached(&self) -> Time {
        match self.ahead {
            Some((_, reached)) => reached,
            None if self.admitted => self.link.reached_at().max(self.before),
            None => self.before,
        }
    }

    /// The same of states: those that were lost shortly before were not sent again yet, or wait to be sent.
    pub(super) fn shared(&self) -> Time {
        self.reached() - self.link.round_trip().unwrap_or_default().times(2) - UPDATED_WITHIN
    }
}

impl Session {
    /// An object ended, or has another owner: nothing that is there says when.
    pub(super) fn note_fate(&mut self, now: Time, id: ObjectId) {
        if self.fates.len() == FATES_MAX {
            self.fates.remove(0);
        }
        self.fates.push((self.clock.time(now), id));
    }

    /// A peer is linked no longer, or lost without that: up to when what this peer said had reached it.
    pub(super) fn note_parted(&mut self, peer: PeerId, reached: Time) {
        if self.parted.len() == CLOSED_MAX
            && let Some((&oldest, _)) = self.parted.iter().min_by_key(|(_, at)| **at)
        {
            self.parted.remove(&oldest);
        }
        self.parted.insert(peer, reached);
    }

    /// Somebody may never have what it is not known to have by now.
    pub(super) fn note_lacked(&mut self, ids: &SortedSet<ObjectId>) {
        let now = self.clock.time(self.last_now);
        self.lacked.retain(|&(_, id)| self.objects.get(id).is_some() && !ids.contains(&id));
        self.lacked.extend(ids.iter().map(|&id| (now, id)));
    }

    fn lacked_by_any(&self) -> SortedSet<ObjectId> {
        let lasting = self.links.iter().filter(|(_, peering)| peering.is_lasting());
        lasting.flat_map(|(&peer, peering)| self.lacked_by(peer, peering)).collect()
    }

    /// What a peer knows of this peer's own objects and is not known to have the state of.
    pub(super) fn lacked_by(&self, peer: PeerId, peering: &Peering) -> SortedSet<ObjectId> {
        let deliveries = peering.link.deliveries();
        let covers = |receipt| deliveries.cover(receipt);
        let own = self.objects.iter().filter(|object| object.owner() == self.config.me).map(Object::id);
        own.filter(|&id| id != ObjectId::SESSION && self.objects.may_lag(peer, id, &covers)).collect()
    }

    /// From a moment on others may have gone on without this peer.
    pub(super) fn note_split(&mut self, since: Time) {
        let since = self.clock.time(since);
        self.split_at = Some(self.split_at.map_or(since, |at| at.min(since)));
    }

    /// From when on what this peer said has not reached all whom it is linked to.
    pub(super) fn unreached_since(&self, now: Time) -> Time {
        self.links
            .values()
            .filter(|peering| !peering.left)
            .map(|peering| peering.shared())
            .min()
            .unwrap_or(now)
    }

    /// While this peer misses its host others may go on without it. They have not, when under a witnessed term all are
    /// reached again for a while: whoever lives under a later one says so.
    pub(super) fn review_split(&mut self, now: Time) {
        if self.roster.missed_since().is_some() {
            self.note_split(self.unreached_since(now));
        } else if let Some(since) = self.split_at
            && self.term().is_witnessed()
            && self.clock.time(self.unreached_since(now)) > since + TOGETHER_AFTER
        {
            self.split_at = None;
        }
    }

    /// What this peer said up to then had reached another before there was a link.
    pub(super) fn reached_before(&self, now: Time, peer: PeerId) -> Time {
        // Of a member that this peer was not linked to nothing is known of what reached it.
        let unknown = if self.view.has(peer) { Time::ZERO } else { now };
        self.parted.get(&peer).copied().unwrap_or(unknown)
    }

    /// Tells the game what changed here since this peer last reached those who went on.
    pub(super) fn report_divergence(&mut self) {
        self.note_split(self.unreached_since(self.last_now));
        let (me, host) = (self.config.me, self.host());
        let is_stranger = !self.view.has(host) && !self.parted.contains_key(&host);
        if self.config.rules.forks || is_stranger {
            // Whoever was lost may have gone on, under one whom this peer has not met.
            let lost = self.parted.iter().filter(|(peer, _)| !self.view.has(**peer));
            if let Some(first) = lost.map(|(_, &reached)| reached).min() {
                self.note_split(first);
            }
        }
        let Some(since) = self.split_at else { return };
        // A state may have been lost again and again.
        let mut objects = self.lacked_by_any();
        // What is this peer's own nobody else tells a host that it has not met.
        let is_new = |object: &&Object| object.sampled() >= since || is_stranger && object.owner() == me;
        objects.extend(self.objects.iter().filter(is_new).map(Object::id));
        let noted = self.fates.iter().chain(&self.lacked).filter(|(at, _)| *at >= since);
        objects.extend(noted.map(|&(_, id)| id));
        objects.remove(&ObjectId::SESSION);
        let accepted = self.accepted_since(since);
        if !objects.is_empty() || accepted.is_some() {
            self.push_event(Event::Diverged { objects: objects.into_iter().collect(), accepted });
        }
    }
}
