//! Objects, as a game creates, changes, destroys and grants them.

use samovar_objects::{CreateError, Kinded, ObjectError, Objects, Replicate, State};
use samovar_wire::claim::Denial;
use samovar_wire::object::Traits;
use samovar_wire::{Duration, ObjectId, PeerId, Time};

use crate::context::Context;
use crate::core::Core;
use crate::divergence::Divergence;
use crate::ownership::OwnershipState;

/// Changes objects; [`crate::Session::edit`] returns it. The session sends the changes to the other members by
/// itself.
#[derive(Debug)]
pub struct Edit<'a> {
    pub(super) core: &'a mut Core,
    pub(super) objects: &'a mut Objects,
    pub(super) ownership: &'a mut OwnershipState,
    pub(super) divergence: &'a mut Divergence,
    pub(super) now: Time,
}

impl Edit<'_> {
    /// Creates an object that this peer owns.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(&mut self, traits: Traits, fields: &[&[u8]]) -> Result<ObjectId, CreateError> {
        let time = self.changes_at();
        can_be(traits)?;
        self.objects.create(time, traits, fields)
    }

    /// Creates an object with this value that this peer owns. The object is of the type's kind, whatever kind
    /// `traits` name. The session's schemas must include the schema of the type: `Schemas::new().with(T::schema())`.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_as<T: Replicate + Kinded>(
        &mut self,
        traits: Traits,
        value: &T,
    ) -> Result<ObjectId, CreateError> {
        let time = self.changes_at();
        can_be(traits)?;
        self.objects.create_as(time, traits, value)
    }

    /// Creates an object that this peer owns, of a kind with a schema.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create_state(&mut self, traits: Traits, state: &State) -> Result<ObjectId, CreateError> {
        let time = self.changes_at();
        can_be(traits)?;
        self.objects.create_state(time, traits, state)
    }

    /// Sets a text field of an object that this peer owns. Setting the same value again costs nothing.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set(&mut self, id: ObjectId, field: usize, value: &[u8]) -> Result<(), ObjectError> {
        if id == ObjectId::SESSION {
            self.core.stir();
            return Err(ObjectError::NotOwner);
        }
        let time = self.changes_at();
        self.objects.set(time, id, field, value)
    }

    /// Sets the value of an object that this peer owns, or has requested. Fields that stay the same cost nothing.
    ///
    /// # Errors
    /// `Unknown`, `NotOwner`; `BadField` when the object is of another kind.
    pub fn write<T: Replicate + Kinded>(&mut self, id: ObjectId, value: &T) -> Result<(), ObjectError> {
        let time = self.changes_at();
        self.objects.write(time, id, value)
    }

    /// Sets the state of an object that this peer owns. Fields that stay the same cost nothing.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_state(&mut self, id: ObjectId, state: &State) -> Result<(), ObjectError> {
        let time = self.changes_at();
        self.objects.set_state(time, id, state)
    }

    /// Sets the priority of an object, for packets that cannot hold all changes; 16 unless set.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_priority(&mut self, id: ObjectId, priority: u8) -> Result<(), ObjectError> {
        self.core.stir();
        self.objects.set_priority(id, priority)
    }

    /// Sets the least time between two updates of an object to each peer; zero unless set.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn set_interval(&mut self, id: ObjectId, interval: Duration) -> Result<(), ObjectError> {
        self.core.stir();
        self.objects.set_interval(id, interval)
    }

    /// Destroys an object that this peer owns.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn destroy(&mut self, id: ObjectId) -> Result<(), ObjectError> {
        self.core.stir();
        self.objects.destroy(id)?;
        let now = self.core.now;
        self.divergence.note_fate(self.core, now, id);
        self.ownership.forget_object(id);
        let mut ctx = Context { core: self.core, objects: self.objects, now };
        self.ownership.deny_wish(&mut ctx, id, Denial::Unknown);
        Ok(())
    }

    /// As the host, gives an object to a member. Nothing changes until that member announces itself as the owner. A
    /// frozen object is no longer frozen then.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn grant(&mut self, id: ObjectId, to: PeerId) -> Result<(), ObjectError> {
        self.core.stir();
        if self.core.roster.is_host() && !self.core.is_host() {
            return Err(ObjectError::NotHost);
        }
        self.objects.grant(id, to)?;
        self.ownership.note_grant(self.core, id, to);
        Ok(())
    }

    /// Notes that the game changes something now. Returns the session time of the change.
    fn changes_at(&mut self) -> Time {
        self.core.stir();
        self.core.net.wrote = self.now;
        self.core.time(self.now)
    }
}

/// Whether this build has what the traits of an object ask for.
fn can_be(traits: Traits) -> Result<(), CreateError> {
    if OwnershipState::has(traits) { Ok(()) } else { Err(CreateError::LeftOut) }
}
