//! One object as this peer sees it.

use samovar_wire::{ObjectId, PeerId, Stamp, Time, object::Traits};

/// One object as this peer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    pub(crate) id: ObjectId,
    pub(crate) owner: PeerId,
    pub(crate) stamp: Stamp,
    pub(crate) traits: Traits,
    pub(crate) sampled: Time,
    pub(crate) revision: u64,
    pub(crate) fields: Vec<Field>,
}

/// One field: its value and how new it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Field {
    pub(crate) bytes: Vec<u8>,
    /// At the owner: counts changes over all its objects, so that versions compare.
    pub(crate) version: u64,
    /// Elsewhere: the packet of this owner that brought the value, so that an older one changes nothing.
    pub(crate) packet: u64,
}

impl Object {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> ObjectId {
        self.id
    }

    /// The one peer that may change it.
    #[must_use]
    pub const fn owner(&self) -> PeerId {
        self.owner
    }

    /// How new that ownership is.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// What its creator decided.
    #[must_use]
    pub const fn traits(&self) -> Traits {
        self.traits
    }

    /// Session time at which the newest value was sampled by the owner.
    #[must_use]
    pub const fn sampled(&self) -> Time {
        self.sampled
    }

    /// Grows with every change that this peer makes or hears of.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The value of a field, empty when the object has no such field.
    #[must_use]
    pub fn field(&self, index: usize) -> &[u8] {
        self.fields.get(index).map_or(&[], |field| &field.bytes)
    }

    /// How many fields it has.
    #[must_use]
    pub const fn field_count(&self) -> usize {
        self.fields.len()
    }
}
