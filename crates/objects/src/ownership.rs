//! Members and ownership: who is there, who hosts, who gets what the gone have left.

use samovar_wire::limits::OBJECTS_AT_HOST_MAX;
use samovar_wire::object::Orphan;
use samovar_wire::{ObjectId, PeerId, SortedSet, Stamp, Term};

use crate::objects::{ObjectError, ObjectEvent, Objects, Promise};
use crate::replica::Replica;
use crate::tombstones::Tombstones;

/// Peers that are remembered after they left.
const DEPARTED_MAX: usize = 128;

impl Objects {
    /// A peer is linked: it is told of everything that this peer owns. Linked peers stay until removed.
    pub fn add_peer(&mut self, peer: PeerId) {
        self.departed.retain(|&departed| departed != peer);
        let objects = self.slots.iter().filter(|object| object.owner == self.me);
        let told: SortedSet<_> = objects.map(|o| o.id).collect();
        // A newcomer may hear late of what ended before it came.
        let deaths_due = self.is_host();
        let begun = self.frame + 1;
        self.replicas.entry(peer).or_insert_with(|| Replica::of(told, deaths_due, begun));
    }

    /// The link to a peer began anew: what was under way is lost, so the peer is told everything again.
    pub fn restart_peer(&mut self, peer: PeerId) {
        let Some(former) = self.replicas.remove(&peer) else { return };
        self.add_peer(peer);
        self.unsettled |= peer == self.host;
        let Some(replica) = self.replicas.get_mut(&peer) else { return };
        replica.reports = former.reports.saturating_add(1);
        replica.grants = former.grants;
        for (&id, promise) in self.granted.iter().filter(|(_, promise)| promise.heir == Some(peer)) {
            let told = promise.told.iter().filter(|&&(_, heir)| heir == peer).map(|&(stamp, _)| stamp).max();
            if let Some(stamp) = told {
                replica.grants.entry(id).or_insert(stamp);
            }
        }
    }

    /// A peer is no longer linked: nothing is sent to it.
    pub fn remove_peer(&mut self, peer: PeerId) {
        if self.replicas.remove(&peer).is_some() {
            self.departed.push(peer);
        }
        self.interest.forget(peer);
        self.settle_anew();
        let mut hopeless = Vec::new();
        for (&id, promise) in &mut self.granted {
            promise.told.retain(|&(_, heir)| heir != peer);
            // Of an object that is there the host's own share-out has to know whom it was promised.
            if promise.heir == Some(peer) && self.slots.get(id).is_none() {
                promise.fall_back();
                hopeless.push(id);
            }
        }
        hopeless.into_iter().for_each(|id| self.forget_promise(id));
        // Of who left longest ago nothing is under way any more: what it created and destroyed needs no memory.
        if self.departed.len() > DEPARTED_MAX {
            let creator = self.departed.remove(0);
            if self.slots.of_creator(creator).next().is_none() {
                self.tombstones.forget(creator);
            }
        }
    }

    /// Who is gone may have told some of an end and others not: all that members know of ends comes together at the
    /// host (PROTOCOL §4.2 "DEATHS").
    fn settle_anew(&mut self) {
        self.unsettled = !self.is_host();
        self.replicas.values_mut().for_each(|replica| replica.reports = replica.reports.saturating_add(1));
    }

    /// Who hosts now, and in which term, which is a new one.
    pub fn set_host(&mut self, host: PeerId, term: Term) {
        (self.host, self.term) = (host, term);
        self.settle_anew();
        self.reported = Tombstones::default();
        // What a former host granted is announced by the receivers under the former term, or never.
        self.granted.clear();
        let is_host = self.is_host();
        self.replicas.values_mut().for_each(|replica| {
            replica.grants.clear();
            replica.deaths_due = is_host;
        });
    }

    /// The host gives an object to a member, itself included. The member announces itself; until then the host's
    /// own picture is unchanged.
    ///
    /// # Errors
    /// `NotHost`, `Unknown`, `NotAMember`.
    pub fn grant(&mut self, id: ObjectId, to: PeerId) -> Result<(), ObjectError> {
        if !self.is_host() {
            return Err(ObjectError::NotHost);
        }
        if id == ObjectId::SESSION {
            return Err(ObjectError::NotOwner);
        }
        let stamp = self.next_stamp(id)?;
        if to == self.me {
            self.take(id, stamp);
            return Ok(());
        }
        if !self.replicas.contains_key(&to) {
            return Err(ObjectError::NotAMember);
        }
        for (&peer, replica) in &mut self.replicas {
            replica.grants.remove(&id);
            if peer == to {
                replica.grants.insert(id, stamp);
            }
        }
        let promise = self.granted.entry(id).or_insert(Promise { stamp, heir: Some(to), told: Vec::new() });
        (promise.stamp, promise.heir) = (stamp, Some(to));
        Ok(())
    }

    /// The new host takes the session object: host migration is object migration (ARCHITECTURE.md, "One idea").
    pub fn take_session(&mut self) {
        if self.is_host()
            && let Ok(stamp) = self.next_stamp(ObjectId::SESSION)
        {
            self.take(ObjectId::SESSION, stamp);
        }
    }

    /// Whom the host has promised an object that has not been announced by its new owner yet.
    #[must_use]
    pub fn granted_to(&self, id: ObjectId) -> Option<PeerId> {
        self.granted.get(&id)?.heir
    }

    /// Whether the heir of an object does not announce itself, since it may have seen this stamp, which was drawn after the
    /// one that it was told of.
    pub(crate) fn is_passed_over(&self, id: ObjectId, stamp: Stamp) -> bool {
        self.granted.get(&id).is_some_and(|promise| {
            let heir = promise.heir.and_then(|heir| self.replicas.get(&heir));
            let is_told = heir.is_some_and(|replica| !replica.grants.contains_key(&id));
            // Above what was drawn nobody honest has seen anything.
            is_told && stamp <= promise.stamp && promise.told.iter().all(|&(told, _)| told < stamp)
        })
    }

    /// The host takes over, or ends, everything that belongs to peers for which `is_gone` says so, and takes over what
    /// goes with the host whoever owns it.
    pub fn adopt(&mut self, is_gone: impl Fn(PeerId) -> bool) {
        if !self.is_host() {
            return;
        }
        let (mut orphans, mut regalia) = (Vec::new(), Vec::new());
        for object in self.slots.iter() {
            let heir = self.granted_to(object.id).unwrap_or(object.owner);
            if heir != self.me && is_gone(heir) {
                orphans.push(object.id);
            } else if heir != self.me && object.traits.with_host {
                regalia.push(object.id);
            }
        }
        orphans.into_iter().for_each(|id| self.adopt_one(id));
        for id in regalia {
            // What exceeds the host's share stays where it is.
            if self.slots.owned_by(self.me) < OBJECTS_AT_HOST_MAX
                && let Ok(stamp) = self.next_stamp(id)
            {
                self.take(id, stamp);
            }
        }
    }

    pub(crate) fn adopt_one(&mut self, id: ObjectId) {
        let Ok(stamp) = self.next_stamp(id) else { return };
        let Some(object) = self.slots.get(id) else { return };
        if object.traits.orphan != Orphan::Destroy && self.slots.owned_by(self.me) < OBJECTS_AT_HOST_MAX {
            self.take(id, stamp);
            return;
        }
        let kind = object.traits.kind;
        self.end(id, stamp);
        self.replicas.values_mut().for_each(|replica| replica.tell_end(id, stamp));
        self.events.push_back(ObjectEvent::Destroyed { id, kind });
    }

    /// Shows the host everything that a gone peer owned as far as this peer knows: the host may not have seen it.
    pub fn report_orphans(&mut self, is_gone: impl Fn(PeerId) -> bool) {
        if self.is_host() {
            return;
        }
        let orphans = self.slots.iter().filter(|o| o.owner != self.me && is_gone(o.owner)).map(|o| o.id);
        if let Some(replica) = self.replicas.get_mut(&self.host) {
            replica.deaths_due |= core::mem::take(&mut self.unsettled);
            replica.orphans.extend(orphans.filter(|&id| id != ObjectId::SESSION));
        }
    }

    fn next_stamp(&self, id: ObjectId) -> Result<Stamp, ObjectError> {
        Ok(self.highest_stamp(id).ok_or(ObjectError::Unknown)?.granted(self.term))
    }

    /// The highest stamp known or granted of an object that is there.
    pub(crate) fn highest_stamp(&self, id: ObjectId) -> Option<Stamp> {
        let known = self.slots.get(id)?.stamp;
        let granted = self.granted.get(&id).map_or(known, |promise| promise.stamp);
        let ended = self.tombstones.stamp(id).max(self.reported.stamp(id)).unwrap_or(known);
        Some(known.max(granted).max(ended))
    }

    /// This peer owns the object from now on, and says so.
    pub(crate) fn take(&mut self, id: ObjectId, stamp: Stamp) {
        let Some(from) = self.slots.set_owner(id, self.me) else { return };
        let frame = self.frame;
        if let Some(object) = self.slots.get_mut(id) {
            object.stamp = stamp;
            object.since = frame + 1;
            object.revision += 1;
            object.current = true;
        }
        self.granted.remove(&id);
        self.settle_claim(id);
        self.own(id);
        if from != self.me {
            self.events.push_back(ObjectEvent::OwnerChanged { id, from, to: self.me });
        }
    }
}
