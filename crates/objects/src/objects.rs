//! All objects: what the application does with them, and the state that the protocol needs.

mod owner;
mod receive;
mod send;

use std::collections::{BTreeMap, VecDeque};

use samovar_wire::limits::{FIELD_MAX, FIELDS_MAX, OBJECTS_PER_PEER_MAX, STATE_MAX};
use samovar_wire::object::Traits;
use samovar_wire::{Kind, ObjectId, PeerId, Stamp, Term, Time};

use crate::object::{Field, Object};
use crate::replica::Replica;
use crate::tombs::Tombs;

pub use send::{Pending, Place};

/// Something that happened to an object by somebody else's hand, or by a change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectEvent {
    /// An object of another peer is here.
    Created(ObjectId),
    /// An object has another owner.
    OwnerChanged {
        /// Which.
        id: ObjectId,
        /// The owner before.
        from: PeerId,
        /// The owner now.
        to: PeerId,
    },
    /// An object of another peer is gone.
    Destroyed {
        /// Which.
        id: ObjectId,
        /// What it was.
        kind: Kind,
    },
}

/// Why an object was not created. The caller is at fault, or its appetite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreateError {
    /// This peer has `OBJECTS_PER_PEER_MAX` already.
    TooMany,
    /// More than `FIELDS_MAX` fields, a field over `FIELD_MAX` bytes, or a state over `STATE_MAX`.
    TooLarge,
    /// The kind is reserved.
    Reserved,
}

/// Why a change to an object was refused. The caller is at fault, unless another peer was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// No such object (any more).
    Unknown,
    /// Another peer owns it.
    NotOwner,
    /// Only the host grants.
    NotHost,
    /// The receiver of the grant is no member.
    NotAMember,
    /// No such field, the value is over `FIELD_MAX` bytes, or the state would be over `STATE_MAX`.
    BadField,
}

macro_rules! display_as_debug {
    ($($name:ident),*) => { $(
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(self, f)
            }
        }
        impl core::error::Error for $name {}
    )* };
}
display_as_debug!(CreateError, ObjectError);

/// All objects of the session as this peer sees them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Objects {
    me: PeerId,
    host: PeerId,
    term: Term,
    objects: BTreeMap<ObjectId, Object>,
    tombs: Tombs,
    replicas: BTreeMap<PeerId, Replica>,
    /// At the host: grants whose receiver has not announced itself yet.
    granted: BTreeMap<ObjectId, (Stamp, PeerId)>,
    /// Peers that were linked and are no longer: theirs are the orphans.
    departed: VecDeque<PeerId>,
    last_number: u32,
    version: u64,
    events: VecDeque<ObjectEvent>,
}

impl Objects {
    /// The objects of a peer that knows of none yet.
    #[must_use]
    pub fn new(me: PeerId, host: PeerId, term: Term) -> Self {
        Self {
            me,
            host,
            term,
            objects: BTreeMap::new(),
            tombs: Tombs::default(),
            replicas: BTreeMap::new(),
            granted: BTreeMap::new(),
            departed: VecDeque::new(),
            last_number: 0,
            version: 0,
            events: VecDeque::new(),
        }
    }

    /// All objects, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// One object.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(&id)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ObjectEvent> {
        self.events.pop_front()
    }

    /// Creates an object that this peer owns, sampled at session time `now`.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(&mut self, now: Time, traits: Traits, fields: &[&[u8]]) -> Result<ObjectId, CreateError> {
        if traits.kind == Kind::SESSION {
            return Err(CreateError::Reserved);
        }
        if self.owned_by(self.me) >= OBJECTS_PER_PEER_MAX {
            return Err(CreateError::TooMany);
        }
        let id = ObjectId { creator: self.me, number: self.last_number + 1 };
        self.insert_own(now, id, traits, fields)?;
        self.last_number += 1;
        Ok(id)
    }

    /// Creates the session object; only a founding host does.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn create_session(&mut self, now: Time, fields: &[&[u8]]) -> Result<(), CreateError> {
        let traits = Traits { kind: Kind::SESSION, reliable: true, dies_with_owner: false };
        self.insert_own(now, ObjectId::SESSION, traits, fields)
    }

    fn insert_own(
        &mut self,
        now: Time,
        id: ObjectId,
        traits: Traits,
        fields: &[&[u8]],
    ) -> Result<(), CreateError> {
        let total: usize = fields.iter().map(|f| f.len()).sum();
        if fields.len() > FIELDS_MAX || total > STATE_MAX || fields.iter().any(|f| f.len() > FIELD_MAX) {
            return Err(CreateError::TooLarge);
        }
        self.version += 1;
        let version = self.version;
        let fields = fields.iter().map(|f| Field { bytes: f.to_vec(), version, packet: 0 }).collect();
        let stamp = Stamp::created(self.term);
        let object = Object { id, owner: self.me, stamp, traits, sampled: now, revision: 0, fields };
        self.objects.insert(id, object);
        self.announce(id);
        Ok(())
    }

    /// Sets a field of an object that this peer owns, sampled at session time `now`. A value that is the same as
    /// before costs nothing.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`, `BadField`.
    pub fn set(&mut self, now: Time, id: ObjectId, index: usize, value: &[u8]) -> Result<(), ObjectError> {
        let object = self.objects.get_mut(&id).ok_or(ObjectError::Unknown)?;
        if object.owner != self.me {
            return Err(ObjectError::NotOwner);
        }
        let size: usize = object.fields.iter().map(|field| field.bytes.len()).sum();
        let field =
            object.fields.get_mut(index).filter(|_| value.len() <= FIELD_MAX).ok_or(ObjectError::BadField)?;
        if field.bytes == value {
            return Ok(());
        }
        if size - field.bytes.len() + value.len() > STATE_MAX {
            return Err(ObjectError::BadField);
        }
        field.bytes.clear();
        field.bytes.extend_from_slice(value);
        self.version += 1;
        field.version = self.version;
        object.revision += 1;
        object.sampled = now;
        self.replicas.values_mut().for_each(|replica| {
            replica.dirty.insert(id);
        });
        Ok(())
    }

    /// Destroys an object that this peer owns.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`.
    pub fn destroy(&mut self, id: ObjectId) -> Result<(), ObjectError> {
        let object = self.objects.get(&id).ok_or(ObjectError::Unknown)?;
        if object.owner != self.me || id == ObjectId::SESSION {
            return Err(ObjectError::NotOwner);
        }
        let stamp = object.stamp;
        self.end(id, stamp);
        self.replicas.values_mut().for_each(|replica| {
            replica.destroys.insert(id, stamp);
        });
        Ok(())
    }

    /// Intervals of destroyed objects remembered; bounded per creator.
    #[must_use]
    pub fn remembered_deaths(&self) -> usize {
        self.tombs.len()
    }

    fn is_host(&self) -> bool {
        self.me == self.host
    }

    fn owned_by(&self, peer: PeerId) -> usize {
        self.objects.values().filter(|o| o.owner == peer).count()
    }

    /// Whether a peer is, or was, somebody whose objects there can be.
    fn is_known(&self, peer: PeerId) -> bool {
        peer == self.me || self.replicas.contains_key(&peer) || self.departed.contains(&peer)
    }

    /// Everybody is to hear that this peer owns the object.
    fn announce(&mut self, id: ObjectId) {
        self.replicas.values_mut().for_each(|replica| {
            replica.forget(id);
            replica.destroys.remove(&id);
            replica.unannounced.insert(id);
        });
    }

    /// An object is no longer there. A grant that is under way brings it back, so it is not forgotten.
    fn end(&mut self, id: ObjectId, stamp: Stamp) {
        self.objects.remove(&id);
        let replicas = &self.replicas;
        self.granted
            .extract_if(id..=id, |_, (promised, to)| {
                let told = replicas.get(to).is_some_and(|replica| !replica.grants.contains_key(&id));
                !(told && *promised > stamp)
            })
            .for_each(drop);
        self.tombs.bury(id, stamp);
        self.replicas.values_mut().for_each(|replica| replica.forget(id));
    }
}
