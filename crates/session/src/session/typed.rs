//! Objects as a game's own types.

use samovar_objects::{CreateError, Kinded, ObjectError, Replicate};
use samovar_wire::object::Traits;
use samovar_wire::{ObjectId, Time};

use super::Session;

impl Session {
    /// Creates an object with this value that this peer owns. `traits` are for the type's kind, whatever kind they
    /// name; its schema belongs into the session's: `Schemas::new().with(T::schema())`.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_as<T: Replicate + Kinded>(
        &mut self,
        now: Time,
        traits: Traits,
        value: &T,
    ) -> Result<ObjectId, CreateError> {
        self.stir();
        self.wrote = now;
        self.objects.create_as(self.clock.time(now), traits, value)
    }

    /// Sets the value of an object that this peer owns, or has requested. What is as it was costs nothing.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`; `BadField` when the object is of another kind.
    pub fn write<T: Replicate + Kinded>(
        &mut self,
        now: Time,
        id: ObjectId,
        value: &T,
    ) -> Result<(), ObjectError> {
        self.stir();
        self.wrote = now;
        self.objects.write(self.clock.time(now), id, value)
    }

    /// The value of an object.
    ///
    /// # Errors
    /// `Unknown`; `BadField` when the object is of another kind, or holds what this type cannot.
    pub fn read<T: Replicate + Kinded>(&self, id: ObjectId) -> Result<T, ObjectError> {
        self.objects.read(id)
    }
}
