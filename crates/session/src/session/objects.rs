//! What a game does with objects: it creates, changes, destroys and grants them.

use samovar_objects::{CreateError, Object, ObjectError, State};
use samovar_wire::claim::Denial;
use samovar_wire::object::Traits;
use samovar_wire::{Duration, ObjectId, PeerId, Time};

use super::Session;

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
        self.stir();
        self.objects.create(self.clock.time(now), traits, fields)
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
        self.stir();
        self.objects.create_state(self.clock.time(now), traits, state)
    }

    /// Sets the state of an object that this peer owns. What is as it was costs nothing.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_state(&mut self, now: Time, id: ObjectId, state: &State) -> Result<(), ObjectError> {
        self.stir();
        self.wrote = now;
        self.objects.set_state(self.clock.time(now), id, state)
    }

    /// How much an object counts where not all that changed fits into a packet; 16 unless set.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_priority(&mut self, id: ObjectId, priority: u8) -> Result<(), ObjectError> {
        self.stir();
        self.objects.set_priority(id, priority)
    }

    /// The least time between two updates of an object to each peer; zero unless set.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_interval(&mut self, id: ObjectId, interval: Duration) -> Result<(), ObjectError> {
        self.stir();
        self.objects.set_interval(id, interval)
    }

    /// Sets a text field of an object that this peer owns. Setting the value that it has costs nothing.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set(&mut self, now: Time, id: ObjectId, field: usize, value: &[u8]) -> Result<(), ObjectError> {
        self.stir();
        if id == ObjectId::SESSION {
            return Err(ObjectError::NotOwner);
        }
        self.wrote = now;
        self.objects.set(self.clock.time(now), id, field, value)
    }

    /// Destroys an object that this peer owns.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn destroy(&mut self, id: ObjectId) -> Result<(), ObjectError> {
        self.stir();
        self.objects.destroy(id)?;
        self.note_fate(self.last_now, id);
        self.forget_object(id);
        self.deny_wish(id, Denial::Unknown);
        Ok(())
    }

    /// The host gives an object to a member. The member announces itself as the owner; until then nothing changes.
    /// What was frozen is so no longer.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn grant(&mut self, id: ObjectId, to: PeerId) -> Result<(), ObjectError> {
        self.stir();
        if self.roster.is_host() && !self.is_host() {
            return Err(ObjectError::NotHost);
        }
        self.objects.grant(id, to)?;
        self.note_grant(id, to);
        Ok(())
    }

    /// Whom the host has promised an object that its new owner has not announced yet.
    #[must_use]
    pub fn granted_to(&self, id: ObjectId) -> Option<PeerId> {
        self.objects.granted_to(id)
    }
}
