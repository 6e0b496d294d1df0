//! The objects of a game: how a type is shared, and the handles of objects.

use core::marker::PhantomData;

use samovar_session::objects::{
    Coding, Motion, Pack, Replicate, Schema, SchemaBuilder, State, StateError, StateReader,
};
use samovar_session::{Access, Orphan};
use samovar_wire::object::Traits;
use samovar_wire::{Kind, ObjectId, SeatId};

use crate::member::Member;

/// The fate of an object whose owner goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphaned {
    /// The object stays as it is and waits for its player, who gets it back after a reload. It ends when the player
    /// has left for good, or when the player's seat is given up.
    #[default]
    WithSeat,
    /// The host takes the object over.
    ToHost,
    /// The member that is nearest to the object takes it over, judged by the objects that have a `place`.
    ToNearest,
    /// The object ends at once.
    Ends,
}

/// How the objects of a type are shared. The derive of [`Object`] fills it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The fate of an object whose owner goes.
    pub orphan: Orphaned,
    /// Which members may ask for an object.
    pub access: Access,
    /// Whether all changes of an object arrive, in order. Otherwise only the newest change is sure to arrive, which
    /// costs fewer bytes.
    pub reliable: bool,
}

impl Sharing {
    pub(crate) fn traits(self, kind: u8) -> Traits {
        let orphan = match self.orphan {
            Orphaned::WithSeat => Orphan::Freeze,
            Orphaned::ToHost => Orphan::ToHost,
            Orphaned::ToNearest => Orphan::ToNearest,
            Orphaned::Ends => Orphan::Destroy,
        };
        Traits { reliable: self.reliable, orphan, access: self.access, ..Traits::of(Kind(kind)) }
    }
}

/// A struct whose values are objects of a game. Derive it with `#[derive(Object)]`.
pub trait Object: Replicate + Pack {
    /// How the objects of this type are shared.
    const SHARING: Sharing;
}

/// An object type that a game names in [`game!`](crate::game).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not among the objects of `{G}`",
    label = "the game does not know this object",
    note = "name it in `samovar::game!`, as in `objects = ({Self})`"
)]
pub trait ObjectOf<G>: Object {
    /// The number of the object's kind: the type's place in the list of `game!`, from 1.
    const KIND: u8;
}

/// The name of an object of type `T`.
pub struct Id<T>(pub(crate) ObjectId, pub(crate) PhantomData<fn() -> T>);

impl<T> Id<T> {
    pub(crate) const fn of(id: ObjectId) -> Self {
        Self(id, PhantomData)
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Id<T> {}

impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T> core::hash::Hash for Id<T> {
    fn hash<H: core::hash::Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

impl<T> core::fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Id({})", self.0)
    }
}

/// An object as this program sees it now. It dereferences to its value, so `cursor.position` is the field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seen<T> {
    /// The object's name.
    pub id: Id<T>,
    /// The member that owns the object; if the object waits for a player who is away, that player.
    pub owner: Member,
    /// The seat of the player that made the object, who gets it back after a reload.
    pub seat: SeatId,
    /// The object's value. If another member owns the object, fields that are `smooth` or have a `rate` are computed
    /// for the present frame.
    pub value: T,
}

impl<T> core::ops::Deref for Seen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The schema of a type's objects: the seat of the player that made the object, and the type's fields.
#[must_use]
pub fn schema_of<G, T: ObjectOf<G>>() -> Schema {
    let mut fields = labelled_fields();
    T::describe(&mut fields, "value");
    fields.build(Kind(T::KIND))
}

/// The first field of each object: the seat of the player that made it.
pub(crate) fn labelled_fields() -> SchemaBuilder {
    let mut fields = SchemaBuilder::default();
    fields.field("seat", Coding::Grid { width: 1, min: 0, max: 0xffff, step: 1.0, motion: Motion::Held });
    fields
}

/// How a game's objects of a type are shared, as the wire protocol encodes it.
#[doc(hidden)]
#[must_use]
pub fn traits_of<G, T: ObjectOf<G>>() -> Traits {
    T::SHARING.traits(T::KIND)
}

pub(crate) fn write<T: Replicate>(seat: SeatId, value: &T) -> State {
    let mut state = State::default();
    state.number(i32::from(seat.0));
    value.write(&mut state);
    state
}

/// # Errors
/// The state is of another type, or its owner broke the rules.
pub(crate) fn read<T: Replicate>(reader: &mut StateReader<'_>) -> Result<(SeatId, T), StateError> {
    let seat = u16::try_from(reader.number()?).map_err(|_| StateError::Invalid)?;
    Ok((SeatId(seat), T::read(reader)?))
}
