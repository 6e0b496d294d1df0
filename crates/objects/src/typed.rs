//! Objects whose values are of a game's own types.

use samovar_wire::object::Traits;
use samovar_wire::{ObjectId, Time};

use crate::objects::{CreateError, ObjectError, Objects};
use crate::replicate::{Kinded, Replicate};

impl Objects {
    /// Creates an object that this peer owns, with this value, sampled at session time `now`. Its kind is that of the
    /// type, whatever kind `traits` names.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_as<T: Replicate + Kinded>(
        &mut self,
        now: Time,
        traits: Traits,
        value: &T,
    ) -> Result<ObjectId, CreateError> {
        let mut state = core::mem::take(&mut self.scratch.state);
        state.clear();
        value.write(&mut state);
        let result = self.create_state(now, Traits { kind: T::KIND, ..traits }, &state);
        self.scratch.state = state;
        result
    }

    /// Sets the value of an object that this peer owns or claims, sampled at session time `now`. Unchanged fields
    /// cost nothing.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`; `BadField` when the object is of another kind.
    pub fn write<T: Replicate + Kinded>(
        &mut self,
        now: Time,
        id: ObjectId,
        value: &T,
    ) -> Result<(), ObjectError> {
        if self.slots.get(id).ok_or(ObjectError::Unknown)?.traits.kind != T::KIND {
            return Err(ObjectError::BadField);
        }
        let mut state = core::mem::take(&mut self.scratch.state);
        state.clear();
        value.write(&mut state);
        let result = self.set_state(now, id, &state);
        self.scratch.state = state;
        result
    }

    /// The value of an object.
    ///
    /// # Errors
    /// `Unknown`; `BadField` when the object is of another kind, or holds a value that this type cannot have.
    pub fn read<T: Replicate + Kinded>(&self, id: ObjectId) -> Result<T, ObjectError> {
        let object = self.get(id).ok_or(ObjectError::Unknown)?;
        if object.traits.kind != T::KIND {
            return Err(ObjectError::BadField);
        }
        T::read(&mut object.reader()).map_err(|_| ObjectError::BadField)
    }
}
