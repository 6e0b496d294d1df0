//! Claims: objects that this peer has asked for and changes before it owns them.
//!
//! The claimant's changes lie over the owner's state and no other peer sees them. A grant makes them the state.
//! Without a grant they are dropped and handed to the game, which blends what it shows back to the owner's state.

use samovar_wire::limits::{FIELD_MAX, STATE_MAX};
use samovar_wire::{ObjectId, PeerId, Time};

use crate::object::Object;
use crate::objects::{ObjectError, Objects, fits};
use crate::past::Past;
use crate::state::State;

impl Objects {
    /// Lets this peer change another peer's object from now on. Only this peer sees the changes.
    ///
    /// # Errors
    /// `Unknown`; `NotOwner` for the session object. An object that this peer owns needs no claim and gets none.
    pub fn claim(&mut self, id: ObjectId) -> Result<(), ObjectError> {
        if id == ObjectId::SESSION {
            return Err(ObjectError::NotOwner);
        }
        let me = self.me;
        let object = self.slots.get_mut(id).ok_or(ObjectError::Unknown)?;
        if object.owner != me {
            object.claimed = true;
            self.claims.entry(id).or_insert(None);
        }
        Ok(())
    }

    /// Whether this peer claims an object.
    #[must_use]
    pub fn is_claimed(&self, id: ObjectId) -> bool {
        !self.claims.is_empty() && self.claims.contains_key(&id)
    }

    /// Ends a claim that was not granted. Returns the object with this peer's changes, if there were any.
    pub fn end_claim(&mut self, id: ObjectId) -> Option<Object> {
        let changed = self.claims.remove(&id)?;
        if let Some(object) = self.slots.get_mut(id) {
            object.claimed = false;
            // If the changes were shown, dropping them is a change for the game.
            object.revision =
                changed.as_ref().map_or(object.revision, |c| c.revision.max(object.revision) + 1);
        }
        changed
    }

    /// How many objects a peer owns.
    #[must_use]
    pub fn owned_by(&self, peer: PeerId) -> usize {
        self.slots.owned_by(peer)
    }

    /// Makes this peer's changes the state of an object that this peer is about to own.
    pub(crate) fn settle_claim(&mut self, id: ObjectId) {
        let Some(changed) = self.claims.remove(&id) else { return };
        let Some(object) = self.slots.get_mut(id) else { return };
        object.claimed = false;
        // Changes that do not fit any more are dropped: the owner may have changed the number of fields meanwhile.
        if let Some(changed) = changed.filter(|changed| {
            changed.traits == object.traits
                && changed.numbers.len() == object.numbers.len()
                && changed.texts.len() == object.texts.len()
        }) {
            object.revision = object.revision.max(changed.revision) + 1;
            object.sampled = object.sampled.max(changed.sampled);
            object.numbers = changed.numbers;
            object.texts = changed.texts;
        }
    }

    /// Adapts a claim to an object that was announced anew: this peer's changes lie over a different state now.
    pub(crate) fn refresh_claim(&mut self, id: ObjectId) {
        let (Some(changed), Some(object)) = (self.claims.get_mut(&id), self.slots.get(id)) else { return };
        if let Some(overlay) = changed {
            (overlay.owner, overlay.stamp, overlay.current) = (object.owner, object.stamp, object.current);
            if overlay.traits != object.traits || overlay.texts.len() != object.texts.len() {
                *changed = None;
            }
        }
    }

    /// An object as this peer shows it: with this peer's changes, if it claims the object.
    pub(crate) fn shown<'a>(&'a self, object: &'a Object) -> &'a Object {
        if !object.claimed {
            return object;
        }
        self.claims.get(&object.id).and_then(Option::as_ref).unwrap_or(object)
    }

    /// The copy of a claimed object that takes this peer's changes.
    fn overlay(&mut self, now: Time, id: ObjectId) -> Result<&mut Object, ObjectError> {
        let object = self.slots.get(id).ok_or(ObjectError::Unknown)?;
        let overlay = self.claims.get_mut(&id).ok_or(ObjectError::NotOwner)?;
        let overlay = overlay.get_or_insert_with(|| Object { past: Past::default(), ..object.clone() });
        overlay.sampled = now;
        overlay.revision += 1;
        Ok(overlay)
    }

    pub(crate) fn set_claimed(
        &mut self,
        now: Time,
        id: ObjectId,
        index: usize,
        value: &[u8],
    ) -> Result<(), ObjectError> {
        let object = self.get(id).ok_or(ObjectError::Unknown)?;
        let text =
            object.texts.get(index).filter(|_| value.len() <= FIELD_MAX).ok_or(ObjectError::BadField)?;
        if object.size() - text.bytes.len() + value.len() > STATE_MAX {
            return Err(ObjectError::BadField);
        }
        let text = &mut self.overlay(now, id)?.texts[index].bytes;
        text.clear();
        text.extend_from_slice(value);
        Ok(())
    }

    pub(crate) fn set_state_claimed(
        &mut self,
        now: Time,
        id: ObjectId,
        state: &State,
    ) -> Result<(), ObjectError> {
        let object = self.slots.get(id).ok_or(ObjectError::Unknown)?;
        let schema = self.schema(object.traits.kind).ok_or(ObjectError::BadField)?;
        if !fits(schema, state) {
            return Err(ObjectError::BadField);
        }
        let overlay = self.overlay(now, id)?;
        overlay.numbers.clear();
        overlay.numbers.extend_from_slice(state.numbers());
        for (text, value) in overlay.texts.iter_mut().zip(state.texts()) {
            text.bytes.clear();
            text.bytes.extend_from_slice(value);
        }
        Ok(())
    }
}
