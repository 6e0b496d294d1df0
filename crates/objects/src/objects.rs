//! All objects: the application's operations, and the state that the protocol needs.

use std::collections::VecDeque;

use samovar_wire::limits::{FIELD_MAX, FIELDS_MAX, OBJECTS_AT_HOST_MAX, OBJECTS_PER_PEER_MAX, STATE_MAX};
use samovar_wire::object::Traits;
use samovar_wire::{Duration, Kind, ObjectId, PeerId, SortedMap, Stamp, Term, Time};

use crate::confirmations::Confirmations;
use crate::interest::Interest;
use crate::object::Object;
use crate::past::Past;
use crate::replica::Replica;
use crate::schema::{Coding, Schema, Schemas};
use crate::scratch::Scratch;
use crate::slots::Slots;
use crate::state::State;
use crate::text::Text;
use crate::tombstones::Tombstones;

/// Objects that this peer claims, each with this peer's changes if there are any.
pub(crate) type Claims = SortedMap<ObjectId, Option<Object>>;

/// A change to an object by another peer, or a change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectEvent {
    /// An object of another peer appeared.
    Created(ObjectId),
    /// An object has another owner.
    OwnerChanged {
        /// The object.
        id: ObjectId,
        /// The owner before.
        from: PeerId,
        /// The owner now.
        to: PeerId,
    },
    /// An object of another peer is gone.
    Destroyed {
        /// The object.
        id: ObjectId,
        /// The object's kind.
        kind: Kind,
    },
    /// The object entered this peer's focus: its owner sends changes from now on.
    Entered(ObjectId),
    /// The object left this peer's focus: its owner sends no more changes.
    Left(ObjectId),
}

/// Why an object was not created: a fault of the caller, or a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreateError {
    /// This peer owns `OBJECTS_PER_PEER_MAX` objects already, or `OBJECTS_AT_HOST_MAX` if it hosts.
    TooMany,
    /// More than `FIELDS_MAX` fields, a field over `FIELD_MAX` bytes, or a state over `STATE_MAX`.
    TooLarge,
    /// The kind is reserved.
    Reserved,
    /// The state does not match the schema of its kind.
    WrongShape,
    /// The game's [`Schemas`] declare traits, but other ones for this kind or none.
    OtherTraits,
    /// The traits need code that this build leaves out: [`Orphan`](samovar_wire::object::Orphan)'s `Freeze` and
    /// `ToNearest` need the feature `ownership` of the session.
    LeftOut,
}

/// Why a change to an object was refused. The caller is at fault, unless another peer was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// No such object (any more).
    Unknown,
    /// Another peer owns it.
    NotOwner,
    /// Only the host may grant an object.
    NotHost,
    /// The receiver of the grant is no member.
    NotAMember,
    /// No such field, the value is over `FIELD_MAX` bytes, the state would be over `STATE_MAX`, or it does not match
    /// the schema of its kind.
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

/// The priority of an object whose owner has set none.
pub(crate) const PRIORITY: u8 = 16;

/// All objects of the session as this peer sees them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Objects {
    pub(crate) me: PeerId,
    pub(crate) host: PeerId,
    pub(crate) term: Term,
    pub(crate) schemas: SchemasOf,
    pub(crate) slots: Slots,
    pub(crate) tombstones: Tombstones,
    pub(crate) replicas: SortedMap<PeerId, Replica>,
    /// At the host: the ends that members reported, of objects that this host does not know.
    pub(crate) reported: Tombstones,
    /// At the host: grants whose receivers have not announced themselves as the owners yet.
    pub(crate) granted: SortedMap<ObjectId, Promise>,
    /// At members: grants that the host confirmed before the new owner's announcement came; and announcements and
    /// ends that wait for the host's confirmation.
    pub(crate) confirmations: Confirmations,
    /// Peers that were linked and are no longer linked. An object that such a peer still owns is an orphan.
    pub(crate) departed: Vec<PeerId>,
    /// Whether this peer must tell the host all ends that it knows, because a peer left or the host changed.
    pub(crate) unsettled: bool,
    pub(crate) last_number: u32,
    pub(crate) version: u64,
    /// The number of the newest frame, and when it began.
    pub(crate) frame: u64,
    pub(crate) frame_time: Time,
    /// The newest frame that brought a change.
    pub(crate) news: u64,
    /// The slots of objects that changed since the newest frame began.
    pub(crate) touched: Vec<u32>,
    pub(crate) events: VecDeque<ObjectEvent>,
    pub(crate) claims: Claims,
    pub(crate) interest: Interest,
    pub(crate) scratch: Scratch,
}

/// A grant whose receiver has not announced itself as the owner yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Promise {
    /// The highest stamp that this host drew for the object. No later grant uses it again.
    pub(crate) stamp: Stamp,
    /// The receiver that should announce itself next. `None` when no receiver can any more: then only the stamp is
    /// remembered.
    pub(crate) heir: Option<PeerId>,
    /// The stamps that receivers were told, each with its receiver. Any of these peers may still announce itself.
    pub(crate) told: Vec<(Stamp, PeerId)>,
}

impl Promise {
    /// Names again the receiver that was told the highest stamp, or none if no receiver was told.
    pub(crate) fn fall_back(&mut self) {
        self.heir = self.told.iter().max().map(|&(_, heir)| heir);
    }
}

/// The schemas. All peers have the same, so comparisons and hashes leave them out.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemasOf(pub(crate) Schemas);

impl PartialEq for SchemasOf {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SchemasOf {}

impl core::hash::Hash for SchemasOf {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

impl Objects {
    /// The objects of a peer that knows of none yet. All peers of a session have the same schemas.
    #[must_use]
    pub fn new(me: PeerId, host: PeerId, term: Term, schemas: Schemas) -> Self {
        Self {
            me,
            host,
            term,
            schemas: SchemasOf(schemas),
            slots: Slots::default(),
            tombstones: Tombstones::default(),
            replicas: SortedMap::new(),
            reported: Tombstones::default(),
            granted: SortedMap::new(),
            confirmations: Confirmations::default(),
            departed: Vec::new(),
            unsettled: false,
            last_number: 0,
            version: 0,
            frame: 0,
            frame_time: Time::ZERO,
            news: 0,
            touched: Vec::new(),
            events: VecDeque::new(),
            claims: Claims::default(),
            interest: Interest::default(),
            scratch: Scratch::default(),
        }
    }

    /// All objects, by id; claimed objects with this peer's changes.
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.slots.iter().map(|object| self.shown(object))
    }

    /// One object; a claimed object with this peer's changes.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> Option<&Object> {
        self.slots.get(id).map(|object| self.shown(object))
    }

    /// The schema of a kind, if it has one.
    #[must_use]
    pub fn schema(&self, kind: Kind) -> Option<&Schema> {
        self.schemas.0.of(kind)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ObjectEvent> {
        self.events.pop_front()
    }

    /// Creates an object that this peer owns, of a kind without a schema. Its state is sampled at session time `now`.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(&mut self, now: Time, traits: Traits, fields: &[&[u8]]) -> Result<ObjectId, CreateError> {
        let mut state = State::default();
        if fields.iter().any(|field| field.len() > FIELD_MAX) {
            return Err(CreateError::TooLarge);
        }
        fields.iter().for_each(|field| state.text(field));
        self.create_state(now, traits, &state)
    }

    /// Creates an object that this peer owns, with this state, sampled at session time `now`.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_state(
        &mut self,
        now: Time,
        traits: Traits,
        state: &State,
    ) -> Result<ObjectId, CreateError> {
        if traits.kind == Kind::SESSION {
            return Err(CreateError::Reserved);
        }
        if !self.schemas.0.permits(traits) {
            return Err(CreateError::OtherTraits);
        }
        let most = if self.is_host() { OBJECTS_AT_HOST_MAX } else { OBJECTS_PER_PEER_MAX };
        if self.slots.owned_by(self.me) >= most {
            return Err(CreateError::TooMany);
        }
        let id = ObjectId { creator: self.me, number: self.last_number + 1 };
        self.insert_own(now, id, traits, state)?;
        self.last_number += 1;
        Ok(id)
    }

    /// Creates the session object. Only the host that founds a session does this.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn create_session(&mut self, now: Time, fields: &[&[u8]]) -> Result<(), CreateError> {
        let traits = Traits { reliable: true, ..Traits::of(Kind::SESSION) };
        let mut state = State::default();
        fields.iter().for_each(|field| state.text(field));
        self.insert_own(now, ObjectId::SESSION, traits, &state)
    }

    fn insert_own(
        &mut self,
        now: Time,
        id: ObjectId,
        traits: Traits,
        state: &State,
    ) -> Result<(), CreateError> {
        if let Some(schema) = self.schema(traits.kind)
            && !fits(schema, state)
        {
            return Err(CreateError::WrongShape);
        }
        let total: usize = state.texts().map(<[u8]>::len).sum();
        if state.texts().len() > FIELDS_MAX || total > STATE_MAX {
            return Err(CreateError::TooLarge);
        }
        let fields = self.schema(traits.kind).map_or(state.texts().len(), |schema| schema.fields().len());
        let texts = state.texts().map(|bytes| Text { bytes: bytes.to_vec(), frame: 0 }).collect();
        self.slots.insert(Object {
            id,
            owner: self.me,
            stamp: Stamp::created(self.term),
            traits,
            sampled: now,
            revision: 0,
            numbers: state.numbers().to_vec(),
            texts,
            frame: 0,
            since: 0,
            past: Past::default(),
            touched: false,
            versions: if traits.reliable { vec![0; fields] } else { Vec::new() },
            priority: PRIORITY,
            interval: Duration::ZERO,
            current: true,
            claimed: false,
        });
        self.own(id);
        Ok(())
    }

    /// Begins this peer's ownership of an object: drops grants of it that wait to be sent, and announces it.
    pub(crate) fn own(&mut self, id: ObjectId) {
        self.replicas.values_mut().for_each(|replica| {
            replica.grants.remove(&id);
            replica.granted.remove(&id);
        });
        self.begin_to_tell(id);
    }

    /// Makes this peer announce an object to every peer but its owner, as if none knew it.
    pub(crate) fn begin_to_tell(&mut self, id: ObjectId) {
        self.version += 1;
        let (version, next) = (self.version, self.frame + 1);
        let Some(slot) = self.slots.slot(id) else { return };
        let mut owner = self.me;
        if let Some(object) = self.slots.at_mut(slot) {
            owner = object.owner;
            object.versions.fill(version);
            object.texts.iter_mut().for_each(|text| text.frame = next);
            object.past.clear();
            object.frame = next;
            if !core::mem::replace(&mut object.touched, true) {
                self.touched.push(slot);
            }
        }
        // Every peer but the owner must hear who owns the object.
        self.replicas.iter_mut().for_each(|(&peer, replica)| {
            replica.forget(Some(slot), id);
            replica.destroys.remove(&id);
            if peer != owner {
                replica.unannounced.insert(id);
            }
        });
        self.look(slot);
    }

    /// Sets a text field of an object that this peer owns or claims, sampled at session time `now`. An unchanged
    /// value causes no update.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`, `BadField`.
    pub fn set(&mut self, now: Time, id: ObjectId, index: usize, value: &[u8]) -> Result<(), ObjectError> {
        if self.is_claimed(id) {
            return self.set_claimed(now, id, index, value);
        }
        let slot = self.own_slot(id)?;
        let object = self.slots.at_mut(slot).ok_or(ObjectError::Unknown)?;
        let size = object.size();
        let max = self.schemas.0.of(object.traits.kind).map_or(FIELD_MAX, |schema| schema.text_max(index));
        let text = object.texts.get_mut(index).filter(|_| value.len() <= max).ok_or(ObjectError::BadField)?;
        if text.bytes == value {
            return Ok(());
        }
        // A state that this peer took over may exceed the limit for its own states. Its texts may shrink, not grow.
        if value.len() > text.bytes.len() && size - text.bytes.len() + value.len() > STATE_MAX {
            return Err(ObjectError::BadField);
        }
        text.bytes.clear();
        text.bytes.extend_from_slice(value);
        text.frame = self.frame + 1;
        let kind = object.traits.kind;
        let is_text =
            |field: &crate::schema::Field| field.at == index && matches!(field.coding, Coding::Text { .. });
        let field = self.schema(kind).map_or(Some(index), |schema| schema.fields().iter().position(is_text));
        self.touch(now, slot, field.map_or(0, |field| 1 << field));
        Ok(())
    }

    /// Sets the whole state of an object that this peer owns or claims, sampled at session time `now`. Unchanged
    /// fields cost nothing.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`, `BadField`.
    pub fn set_state(&mut self, now: Time, id: ObjectId, state: &State) -> Result<(), ObjectError> {
        if self.is_claimed(id) {
            return self.set_state_claimed(now, id, state);
        }
        let slot = self.own_slot(id)?;
        let next = self.frame + 1;
        let object = self.slots.at_mut(slot).ok_or(ObjectError::Unknown)?;
        let schema = self.schemas.0.of(object.traits.kind).ok_or(ObjectError::BadField)?;
        let size = state.texts().map(<[u8]>::len).sum::<usize>();
        if !fits(schema, state) || size > STATE_MAX.max(object.size()) {
            return Err(ObjectError::BadField);
        }
        let mut changed = 0_u64;
        if object.numbers != state.numbers() {
            // Only reliable updates need to know which fields changed.
            let versioned = if object.versions.is_empty() { &[] } else { schema.fields() };
            changed = u64::from(versioned.is_empty());
            for (index, field) in versioned.iter().enumerate() {
                let part = field.at..field.at + field.coding.width();
                let is_number = !matches!(field.coding, Coding::Text { .. });
                if is_number && object.numbers[part.clone()] != state.numbers()[part] {
                    changed |= 1 << index;
                }
            }
            object.numbers.copy_from_slice(state.numbers());
            object.frame = next;
        }
        if schema.texts() > 0 {
            let texts = schema.fields().iter().enumerate();
            let texts = texts.filter(|(_, field)| matches!(field.coding, Coding::Text { .. }));
            for ((index, _), (text, value)) in texts.zip(object.texts.iter_mut().zip(state.texts())) {
                if text.bytes != value {
                    text.bytes.clear();
                    text.bytes.extend_from_slice(value);
                    text.frame = next;
                    changed |= 1 << index;
                }
            }
        }
        if changed != 0 {
            self.touch(now, slot, changed);
        }
        Ok(())
    }

    pub(crate) fn own_slot(&self, id: ObjectId) -> Result<u32, ObjectError> {
        let slot = self.slots.slot(id).ok_or(ObjectError::Unknown)?;
        let object = self.slots.at(slot).ok_or(ObjectError::Unknown)?;
        if object.owner == self.me { Ok(slot) } else { Err(ObjectError::NotOwner) }
    }

    /// Notes that this peer changed an object. `fields` is a bit mask of the changed fields.
    pub(crate) fn touch(&mut self, now: Time, slot: u32, fields: u64) {
        let Some(object) = self.slots.at_mut(slot) else { return };
        object.revision += 1;
        object.sampled = now;
        self.spread(slot, fields);
    }

    /// Marks these fields as changed, in an object that this peer announces.
    pub(crate) fn spread(&mut self, slot: u32, fields: u64) {
        self.version += 1;
        let Some(object) = self.slots.at_mut(slot) else { return };
        for (index, version) in object.versions.iter_mut().enumerate() {
            if fields >> index & 1 == 1 {
                *version = self.version;
            }
        }
        if !core::mem::replace(&mut object.touched, true) {
            self.touched.push(slot);
        }
        let (id, owner, is_reliable) = (object.id, object.owner, object.traits.reliable);
        self.replicas.iter_mut().filter(|(peer, _)| **peer != owner).for_each(|(_, replica)| {
            if is_reliable {
                replica.dirty.insert(id);
            } else if replica.known(slot).is_none_or(|known| known.relevant) {
                replica.behind.insert(slot);
            }
        });
        self.look(slot);
    }

    /// Sets the weight of an object that this peer owns, for packets that cannot hold all changes. An object with
    /// twice the priority is sent twice as often. The priority is 16 unless set; 0 counts as 1.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`.
    pub fn set_priority(&mut self, id: ObjectId, priority: u8) -> Result<(), ObjectError> {
        let slot = self.own_slot(id)?;
        if let Some(object) = self.slots.at_mut(slot) {
            object.priority = priority.max(1);
        }
        Ok(())
    }

    /// Sets the least time between two updates of an object that this peer owns, to one peer. It is zero unless set,
    /// so that each packet may hold an update. A longer time costs fewer bytes and shows others an older state.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`.
    pub fn set_interval(&mut self, id: ObjectId, interval: Duration) -> Result<(), ObjectError> {
        let slot = self.own_slot(id)?;
        if let Some(object) = self.slots.at_mut(slot) {
            object.interval = interval;
        }
        Ok(())
    }

    /// Destroys an object that this peer owns.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`.
    pub fn destroy(&mut self, id: ObjectId) -> Result<(), ObjectError> {
        let object = self.slots.get(id).ok_or(ObjectError::Unknown)?;
        if object.owner != self.me || id == ObjectId::SESSION {
            return Err(ObjectError::NotOwner);
        }
        let stamp = object.stamp;
        self.end(id, stamp);
        self.replicas.values_mut().for_each(|replica| replica.tell_end(id, stamp));
        Ok(())
    }

    /// How many intervals of object numbers this peer remembers as destroyed. The number of intervals is bounded per
    /// creator.
    #[must_use]
    pub fn remembered_deaths(&self) -> usize {
        self.tombstones.len()
    }

    pub(crate) fn is_host(&self) -> bool {
        self.me == self.host
    }

    /// Handles an object that has ended and that no receiver of a grant can bring back. Replaces its grant by an end
    /// under the grant's stamp, and tells all peers. A peer that knew only a lower stamp for the end would believe a
    /// former host's grant with a stamp between the two.
    pub(crate) fn forget_promise(&mut self, id: ObjectId) {
        if self.slots.get(id).is_none()
            && let Some(promise) = self.granted.get(&id).filter(|promise| promise.heir.is_none())
        {
            let stamp = promise.stamp;
            self.granted.remove(&id);
            if self.tombstones.stamp(id) < Some(stamp) {
                self.tombstones.bury(id, stamp);
                self.pass_on_end(id, stamp, None);
            }
        }
    }

    /// Whether a peer can own objects here, or could until it left.
    pub(crate) fn is_known(&self, peer: PeerId) -> bool {
        peer == self.me || self.replicas.contains_key(&peer) || self.departed.contains(&peer)
    }

    /// Ends an object under this stamp. A grant in flight with a higher stamp can bring the object back, so such a
    /// grant is kept.
    pub(crate) fn end(&mut self, id: ObjectId, stamp: Stamp) {
        let slot = self.slots.slot(id);
        if let Some(object) = self.slots.remove(id)
            && object.touched
        {
            self.touched.retain(|&touched| Some(touched) != slot);
        }
        self.tombstones.bury(id, stamp);
        if let Some(promise) = self.granted.get_mut(&id) {
            promise.told.retain(|&(told, _)| told > stamp);
            promise.fall_back();
        }
        self.forget_promise(id);
        self.replicas.values_mut().for_each(|replica| {
            replica.forget(slot, id);
            replica.grants.remove(&id);
        });
        self.confirmations.settle(id, stamp);
    }
}

/// Whether a state has the form of this schema, with all numbers and texts within their bounds.
pub(crate) fn fits(schema: &Schema, state: &State) -> bool {
    state.numbers().len() == schema.numbers()
        && state.texts().len() == schema.texts()
        && schema.fields().iter().all(|field| match field.coding {
            Coding::Text { max } => {
                state.texts().nth(field.at).is_some_and(|text| text.len() <= usize::from(max))
            }
            Coding::Exact { .. } => true,
            Coding::Rotation { .. } => (0..4).all(|place| {
                let (min, max) = field.coding.range(place);
                (min..=max).contains(&state.numbers()[field.at + place])
            }),
            _ => {
                let (min, max) = field.coding.range(0);
                let numbers = &state.numbers()[field.at..field.at + field.coding.width()];
                numbers.iter().all(|number| (min..=max).contains(number))
            }
        })
}
