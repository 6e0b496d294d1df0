//! What a game does with objects: it creates, changes, destroys and grants them.

use samovar_objects::{CreateError, Kinded, Object, ObjectError, Replicate, State};
use samovar_wire::claim::Denial;
use samovar_wire::object::Traits;
use samovar_wire::{Duration, ObjectId, PeerId, Time};

use crate::Session;
use crate::context::Context;

impl Session {
    /// All objects, by id; the session object is among them.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// One object.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(id)
    }

    /// Creates an object that this peer owns.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(&mut self, now: Time, traits: Traits, fields: &[&[u8]]) -> Result<ObjectId, CreateError> {
        self.core.stir();
        self.objects.create(self.core.time(now), traits, fields)
    }

    /// Creates an object of a kind with a schema that this peer owns.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_state(
        &mut self,
        now: Time,
        traits: Traits,
        state: &State,
    ) -> Result<ObjectId, CreateError> {
        self.core.stir();
        self.objects.create_state(self.core.time(now), traits, state)
    }

    /// Sets the state of an object that this peer owns. What is as it was costs nothing.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_state(&mut self, now: Time, id: ObjectId, state: &State) -> Result<(), ObjectError> {
        self.core.stir();
        self.core.net.wrote = now;
        self.objects.set_state(self.core.time(now), id, state)
    }

    /// How much an object counts where not all that changed fits into a packet; 16 unless set.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_priority(&mut self, id: ObjectId, priority: u8) -> Result<(), ObjectError> {
        self.core.stir();
        self.objects.set_priority(id, priority)
    }

    /// The least time between two updates of an object to each peer; zero unless set.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_interval(&mut self, id: ObjectId, interval: Duration) -> Result<(), ObjectError> {
        self.core.stir();
        self.objects.set_interval(id, interval)
    }

    /// Sets a text field of an object that this peer owns. Setting the value that it has costs nothing.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set(&mut self, now: Time, id: ObjectId, field: usize, value: &[u8]) -> Result<(), ObjectError> {
        self.core.stir();
        if id == ObjectId::SESSION {
            return Err(ObjectError::NotOwner);
        }
        self.core.net.wrote = now;
        self.objects.set(self.core.time(now), id, field, value)
    }

    /// Destroys an object that this peer owns.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn destroy(&mut self, id: ObjectId) -> Result<(), ObjectError> {
        self.core.stir();
        self.objects.destroy(id)?;
        let now = self.core.now;
        self.divergence.note_fate(&self.core, now, id);
        self.ownership.forget_object(id);
        let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
        self.ownership.deny_wish(&mut ctx, id, Denial::Unknown);
        Ok(())
    }

    /// The host gives an object to a member. The member announces itself as the owner; until then nothing changes.
    /// What was frozen is so no longer.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn grant(&mut self, id: ObjectId, to: PeerId) -> Result<(), ObjectError> {
        self.core.stir();
        if self.core.roster.is_host() && !self.is_host() {
            return Err(ObjectError::NotHost);
        }
        self.objects.grant(id, to)?;
        self.ownership.note_grant(&self.core, id, to);
        Ok(())
    }

    /// Whom the host has promised an object that its new owner has not announced yet.
    #[must_use]
    pub fn granted_to(&self, id: ObjectId) -> Option<PeerId> {
        self.objects.granted_to(id)
    }

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
        self.core.stir();
        self.core.net.wrote = now;
        self.objects.create_as(self.core.time(now), traits, value)
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
        self.core.stir();
        self.core.net.wrote = now;
        self.objects.write(self.core.time(now), id, value)
    }

    /// The value of an object.
    ///
    /// # Errors
    /// `Unknown`; `BadField` when the object is of another kind, or holds what this type cannot.
    pub fn read<T: Replicate + Kinded>(&self, id: ObjectId) -> Result<T, ObjectError> {
        self.objects.read(id)
    }
}
