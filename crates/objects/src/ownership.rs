//! Members and ownership: which peers are linked, which one hosts, and which one gets an orphan.

use samovar_wire::limits::OBJECTS_AT_HOST_MAX;
use samovar_wire::object::Orphan;
use samovar_wire::{ObjectId, PeerId, SortedSet, Stamp, Term};

use crate::objects::{ObjectError, ObjectEvent, Objects, Promise};
use crate::replica::Replica;
use crate::tombstones::Tombstones;

/// The most peers that are remembered after they left.
const DEPARTED_MAX: usize = 128;

impl Objects {
    /// Adds a linked peer, to be told of everything that this peer owns. The peer stays until
    /// [`Objects::remove_peer`].
    pub fn add_peer(&mut self, peer: PeerId) {
        self.departed.retain(|&departed| departed != peer);
        let objects = self.slots.iter().filter(|object| object.owner == self.me);
        let told: SortedSet<_> = objects.map(|o| o.id).collect();
        // The host tells a newcomer all ends: messages about objects that ended before may still reach the newcomer.
        let deaths_due = self.is_host();
        let begun = self.frame + 1;
        if !self.replicas.contains_key(&peer) {
            let mut replica = Replica::of(told, deaths_due, begun);
            replica.granted = self.grants_for(peer);
            self.replicas.insert(peer, replica);
        }
    }

    /// Starts again with a peer whose link began anew. Everything in flight is lost, so the peer is told everything
    /// again.
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

    /// Removes a peer that is no longer linked. Messages to it end.
    pub fn remove_peer(&mut self, peer: PeerId) {
        if self.replicas.remove(&peer).is_some() {
            self.departed.push(peer);
        }
        self.interest.forget(peer);
        self.confirmations.forget(peer);
        self.settle_anew();
        let mut hopeless = Vec::new();
        for (&id, promise) in &mut self.granted {
            promise.told.retain(|&(_, heir)| heir != peer);
            // While the object exists its receiver is kept: `adopt` takes the object over when that receiver is gone.
            if promise.heir == Some(peer) && self.slots.get(id).is_none() {
                promise.fall_back();
                hopeless.push(id);
            }
        }
        hopeless.into_iter().for_each(|id| self.forget_promise(id));
        // No message of the peer that left longest ago is still in flight, so the ends of its objects need no memory.
        if self.departed.len() > DEPARTED_MAX {
            let creator = self.departed.remove(0);
            if self.slots.of_creator(creator).next().is_none() {
                self.tombstones.forget(creator);
            }
        }
    }

    /// Makes a member report to the host all ends that it knows, and makes the host accept one more such report of
    /// each member. A peer that left may have told only some members of an end (PROTOCOL §4.2 "DEATHS").
    fn settle_anew(&mut self) {
        self.unsettled = !self.is_host();
        self.replicas.values_mut().for_each(|replica| replica.reports = replica.reports.saturating_add(1));
    }

    /// Sets the host and its term, which must be a new one.
    pub fn set_host(&mut self, host: PeerId, term: Term) {
        let was_host = self.is_host();
        (self.host, self.term) = (host, term);
        self.settle_anew();
        self.reported = Tombstones::default();
        // Grants of the former host are not needed: their receivers announce them under the former term, or never.
        self.granted.clear();
        let is_host = self.is_host();
        self.replicas.values_mut().for_each(|replica| {
            replica.grants.clear();
            replica.deaths_due = is_host;
        });
        if is_host {
            if !was_host {
                self.release_all();
            }
            self.vouch_for_all();
        } else {
            self.replicas.values_mut().for_each(|replica| replica.granted.clear());
            self.release_from(host);
        }
    }

    /// Gives an object to a member, or to the host itself. Only the host may do this. The host's own copy keeps its
    /// owner until the member announces itself.
    ///
    /// # Errors
    /// `NotHost`, `Unknown`, `NotAMember`; `NotOwner` for the session object.
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
        self.vouch(id, stamp, to);
        Ok(())
    }

    /// Gives the session object to this peer, if it hosts: host migration is object migration (ARCHITECTURE.md, "One
    /// idea").
    pub fn take_session(&mut self) {
        if self.is_host()
            && let Ok(stamp) = self.next_stamp(ObjectId::SESSION)
        {
            self.take(ObjectId::SESSION, stamp);
        }
    }

    /// The member to which the host has granted an object and which has not announced itself yet.
    #[must_use]
    pub fn granted_to(&self, id: ObjectId) -> Option<PeerId> {
        self.granted.get(&id)?.heir
    }

    /// Whether the receiver of a grant may ignore it because it has seen `stamp`, which is above all stamps that were
    /// told. Such a receiver never announces itself.
    pub(crate) fn is_passed_over(&self, id: ObjectId, stamp: Stamp) -> bool {
        self.granted.get(&id).is_some_and(|promise| {
            let heir = promise.heir.and_then(|heir| self.replicas.get(&heir));
            let is_told = heir.is_some_and(|replica| !replica.grants.contains_key(&id));
            // A stamp above the drawn ones is invented: no honest peer has seen one.
            is_told && stamp <= promise.stamp && promise.told.iter().all(|&(told, _)| told < stamp)
        })
    }

    /// Takes over, or ends, each object of a peer for which `is_gone` is true. Also takes over the objects that are
    /// bound to the host, whichever peer owns them. Only the host does this.
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
            // Objects beyond the host's limit stay with their owners.
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

    /// Reports to the host each object whose owner is gone, as far as this peer knows. The host may not know the
    /// object.
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

    /// The highest stamp that this peer knows for an existing object: of its ownership, of a grant, or of a reported
    /// end.
    pub(crate) fn highest_stamp(&self, id: ObjectId) -> Option<Stamp> {
        let known = self.slots.get(id)?.stamp;
        let granted = self.granted.get(&id).map_or(known, |promise| promise.stamp);
        let ended = self.tombstones.stamp(id).max(self.reported.stamp(id)).unwrap_or(known);
        Some(known.max(granted).max(ended))
    }

    /// Makes this peer the owner of an object, which it then announces.
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
        self.confirmations.settle(id, stamp);
        self.settle_claim(id);
        self.own(id);
        if from != self.me {
            self.events.push_back(ObjectEvent::OwnerChanged { id, from, to: self.me });
        }
    }
}
