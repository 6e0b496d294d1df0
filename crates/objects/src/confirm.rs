//! How the host confirms each change of owner, and how members hold back announcements until it does (PROTOCOL §4.2,
//! rules 13 to 16).
//!
//! A host checks each change of owner against its own grants, and tells all others of a grant by GRANTED. Until
//! GRANTED comes, a member holds back an announcement or an end under a newer stamp. The new owner's states already
//! apply to a held announcement, so that it is up to date when it takes effect.

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::object::{Announcement, Granted};
use samovar_wire::{CloseCode, ObjectId, PeerId, Reader, SortedMap, Stamp};

use crate::confirmations::{Confirmations, Held};
use crate::objects::Objects;
use crate::receive::{OBJECTS_OF_OTHERS_MAX, malformed};

/// The most grants that a member stores before the new owners announce themselves: all members together cannot own
/// more objects.
const GRANTS_MAX: usize = MEMBERS_MAX * OBJECTS_OF_OTHERS_MAX;

impl Objects {
    /// Whether another peer's ownership is new here and the host has not confirmed it.
    pub(crate) fn is_unconfirmed(&self, from: PeerId, id: ObjectId, stamp: Stamp) -> bool {
        let known = self.slots.get(id).map(|o| o.stamp).max(self.tombstones.stamp(id));
        let is_first = known.is_none() && from == id.creator && stamp.counter == 0;
        let is_new = known.is_none_or(|known| stamp > known) && !is_first;
        let is_for_the_host = !self.is_host() && from != self.host;
        is_new && is_for_the_host && self.confirmations.granted.get(&(id, stamp)) != Some(&from)
    }

    /// Holds an announcement back. It replaces an older one of the same peer about the same object.
    pub(crate) fn hold(&mut self, new: &Announcement<'_>) -> Result<(), CloseCode> {
        let key = (new.owner, new.id);
        if let Some(held) = self.confirmations.held.get(&key) {
            let frame = held.object.as_ref().map_or(u64::MAX, |object| object.frame);
            if (held.stamp, frame) > (new.stamp, new.frame) {
                return Ok(());
            }
        } else if self.confirmations.held_of(new.owner) >= OBJECTS_OF_OTHERS_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        let object = Some(Box::new(self.read_announcement(new)?));
        self.confirmations.held.insert(key, Held { stamp: new.stamp, object });
        Ok(())
    }

    /// Holds an end back. Beyond the bound an end is ignored: the host passes on every end that counts.
    pub(crate) fn hold_end(&mut self, from: PeerId, id: ObjectId, stamp: Stamp) {
        let held = self.confirmations.held.get(&(from, id));
        let has_room = held.is_some() || self.confirmations.held_of(from) < OBJECTS_OF_OTHERS_MAX;
        if has_room && held.is_none_or(|held| held.stamp <= stamp) {
            self.confirmations.held.insert((from, id), Held { stamp, object: None });
        }
    }

    pub(crate) fn handle_granted(&mut self, from: PeerId, reader: &mut Reader<'_>) -> Result<(), CloseCode> {
        while !reader.is_empty() {
            let word = Granted::decode(reader).map_err(malformed)?;
            if from != self.host && word.stamp.term == self.term {
                return Err(CloseCode::BadWarrant);
            }
            self.check_term(word.stamp)?;
            if word.id == ObjectId::SESSION {
                return Err(CloseCode::NotYours);
            }
            if from == self.host && word.owner != self.me {
                self.confirm(word)?;
            }
        }
        Ok(())
    }

    /// Handles the host's report of a grant. If the receiver's announcement or end under that stamp is held back, it
    /// takes effect now. Otherwise it will take effect when it comes.
    fn confirm(&mut self, Granted { id, stamp, owner }: Granted) -> Result<(), CloseCode> {
        if !self.is_unconfirmed(owner, id, stamp) {
            return Ok(());
        }
        let key = (owner, id);
        if self.confirmations.held.get(&key).is_some_and(|held| held.stamp == stamp) {
            let held = self.confirmations.held.remove(&key);
            held.into_iter().for_each(|held| self.release(key, held));
            return Ok(());
        }
        if self.confirmations.granted.len() >= GRANTS_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        self.confirmations.granted.insert((id, stamp), owner);
        Ok(())
    }

    /// Applies an announcement or an end that was held back, unless its stamp is old by now.
    fn release(&mut self, (from, id): (PeerId, ObjectId), held: Held) {
        let known = self.slots.get(id).map(|o| o.stamp).max(self.tombstones.stamp(id));
        match held.object {
            _ if known.is_some_and(|known| known >= held.stamp) => {}
            None => self.end_by(from, id, held.stamp),
            // The sender owns as many objects as it may, so this one is dropped.
            Some(object) if self.check_room(from).is_err() => drop(object),
            Some(object) => self.install(*object),
        }
    }

    /// Applies all that is held back, because this peer became the host: the former host may have died before it told
    /// of a grant. An announcement is dropped if the former host named another receiver.
    pub(crate) fn release_all(&mut self) {
        let Confirmations { granted, held } = core::mem::take(&mut self.confirmations);
        for ((from, id), held) in held {
            if granted.get(&(id, held.stamp)).is_none_or(|&owner| owner == from) {
                self.release((from, id), held);
            }
        }
    }

    /// Applies what a new host had announced before: a host's announcements need no confirmation.
    pub(crate) fn release_from(&mut self, host: PeerId) {
        for (key, held) in self.confirmations.held.extract_if(|&(from, _), _| from == host) {
            self.release(key, held);
        }
    }

    /// Forgets grants and held announcements of objects that have ended meanwhile.
    pub(crate) fn settle_ends(&mut self) {
        let tombstones = &self.tombstones;
        let lives = |id, stamp| tombstones.stamp(id).is_none_or(|end| end < stamp);
        self.confirmations.granted.retain(|&(id, stamp), _| lives(id, stamp));
        self.confirmations.held.retain(|&(_, id), held| lives(id, held.stamp));
    }

    /// At the host: queues a change of owner, to report it to all peers but the owner.
    pub(crate) fn vouch(&mut self, id: ObjectId, stamp: Stamp, owner: PeerId) {
        for (_, replica) in self.replicas.iter_mut().filter(|(peer, _)| **peer != owner) {
            let word = replica.granted.entry(id).or_insert((stamp, owner));
            *word = (stamp, owner).max(*word);
        }
    }

    /// Queues all present owners for all peers, because this peer hosts a new term: a peer that missed the former
    /// host's report waits for this one's. A grant of the former term that nobody took up counts no more, so a peer that
    /// heard of it hears of the present owner.
    pub(crate) fn vouch_for_all(&mut self) {
        for peer in self.replicas.keys().copied().collect::<Vec<_>>() {
            let granted = self.grants_for(peer);
            if let Some(replica) = self.replicas.get_mut(&peer) {
                replica.granted = granted;
            }
        }
    }

    /// At the host: the owners by grants, to report them to one peer. While a grant's receiver has not announced
    /// itself, it counts as the owner already: the peer need not hear of the former ownership.
    pub(crate) fn grants_for(&self, peer: PeerId) -> SortedMap<ObjectId, (Stamp, PeerId)> {
        let mut all = SortedMap::new();
        if !self.is_host() {
            return all;
        }
        let is_others = |owner: PeerId| owner != self.me && owner != peer;
        for object in self.slots.iter().filter(|object| object.stamp.counter > 0 && is_others(object.owner)) {
            all.insert(object.id, (object.stamp, object.owner));
        }
        for (&id, promise) in &self.granted {
            let Some(heir) = promise.heir.filter(|&heir| is_others(heir)) else { continue };
            let untold = self.replicas.get(&heir).and_then(|replica| replica.grants.get(&id).copied());
            let told = promise.told.iter().filter(|told| told.1 == heir).map(|told| told.0).max();
            if let Some(stamp) = untold.or(told) {
                all.insert(id, (stamp, heir));
            }
        }
        all
    }
}
