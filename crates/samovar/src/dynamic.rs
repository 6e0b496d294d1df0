//! Games whose types are known at run time only, for languages other than Rust. The package for JavaScript stands on
//! this. A game in Rust has [`game!`](crate::game), which needs less and checks more.
//!
//! A dynamic game sets [`Agreed::IS_DYNAMIC`] and gives its [`Agreement`] to [`Entry::agree`]. It brings its own types of
//! the state, the messages and the asks, such as lists of bytes. Its objects have numbers and texts: see [`State`].

pub mod texts;

use std::sync::{Mutex, PoisonError};

use samovar_session::lockstep::LockstepConfig;
use samovar_session::objects::{Pack, Schema, SchemaBuilder, Schemas, Shape, State};
use samovar_session::{Access, Lane, Object, Orphan, Rules, Session, Target};
use samovar_wire::limits::LOCKSTEP_INPUT_MAX;
use samovar_wire::sorted::SortedMap;
use samovar_wire::{Duration, Kind, ObjectId, SeatId};

use crate::entry::Entry;
use crate::error::RoomError;
use crate::game::{Agreed, params_of};
use crate::hosted::{self, Hosted};
use crate::inner::{is_own, owner_of, state_of};
use crate::listing::Listing;
use crate::member::Member;
use crate::object::{Orphaned, Sharing};
use crate::order::{self, Order};
use crate::raw::Raw;
use crate::room::{Room, To};

pub use crate::stepping::Steps;

/// The data that a dynamic game needs in each run: see [`Entry::agree`].
#[cfg(not(target_arch = "wasm32"))]
pub type Context = std::sync::Arc<dyn core::any::Any + Send + Sync>;
/// The data that a dynamic game needs in each run: see [`Entry::agree`].
#[cfg(target_arch = "wasm32")]
pub type Context = std::rc::Rc<dyn core::any::Any>;

/// The most types of objects of a dynamic game.
pub const TYPES_MAX: usize = 200;
/// The most steps a second of a world.
const STEPS_MAX: u32 = 200;

/// The values that all members of a dynamic game have in common. Programs that differ in any of them refuse each other.
#[derive(Clone, Debug)]
pub struct Agreement {
    name: String,
    version: u32,
    /// The words of the game's types, which their encoding does not show.
    words: String,
    types: Vec<(Schema, Sharing)>,
    rules: Rules,
}

impl Agreement {
    /// The agreement of a game of this name and version, without objects and orders.
    #[must_use]
    pub fn new(name: &str, version: u32) -> Self {
        Self {
            name: name.to_owned(),
            version,
            words: String::new(),
            types: Vec::new(),
            rules: Rules::default(),
        }
    }

    /// Adds a type of objects. The first has kind 1, the next kind 2, and so on. Each object has the seat of the player
    /// that made it as its first number, before the type's own fields.
    ///
    /// # Errors
    /// A text for people when the fields are impossible, or there are more than [`TYPES_MAX`] types.
    pub fn with_type(mut self, fields: SchemaBuilder, sharing: Sharing) -> Result<Self, String> {
        if self.types.len() == TYPES_MAX {
            return Err(format!("a game has at most {TYPES_MAX} types of objects"));
        }
        self.types.push((fields.try_build(Kind(self.types.len() as u8 + 1))?, sharing));
        Ok(self)
    }

    /// Adds a description of the types in words: names of fields, words of a choice, the shapes of messages. It goes into
    /// what members agree on, and nowhere else.
    #[must_use]
    pub fn with_words(mut self, words: &str) -> Self {
        words.clone_into(&mut self.words);
        self
    }

    /// Sets how all members step the same world: see [`Steps`]. An input takes `input` bytes, 1 to 64.
    ///
    /// # Errors
    /// A text for people when `input` or `steps_per_second` (1 to 200) is impossible.
    pub fn with_world(mut self, input: usize, steps_per_second: u32) -> Result<Self, String> {
        if !(1..=LOCKSTEP_INPUT_MAX).contains(&input) {
            return Err(format!("an input has 1 to {LOCKSTEP_INPUT_MAX} bytes, and not {input}"));
        }
        if !(1..=STEPS_MAX).contains(&steps_per_second) {
            return Err(format!("a world makes 1 to {STEPS_MAX} steps a second, and not {steps_per_second}"));
        }
        let tick = Duration::from_micros(1_000_000 / u64::from(steps_per_second));
        self.rules.orders.lockstep = Some(LockstepConfig::new(input).with_tick(tick));
        Ok(self)
    }

    /// Adds orders of messages.
    #[must_use]
    pub fn with_orders(mut self, orders: &[Order]) -> Self {
        order::add(&mut self.rules, orders);
        self
    }

    /// Sets the most spectators.
    #[must_use]
    pub fn with_spectators(mut self, most: u8) -> Self {
        self.rules.spectators = most;
        self
    }

    fn schemas<G: Agreed>(&self) -> Schemas {
        let begin = Schemas::new().with(Hosted::<G::State>::schema()).with_traits(hosted::TRAITS);
        self.types.iter().fold(begin, |schemas, (schema, sharing)| {
            schemas.with(schema.clone()).with_traits(sharing.traits(schema.kind().0))
        })
    }
}

/// The fields of a type of objects, in order. Begins with the seat of the player that makes an object.
#[must_use]
pub fn fields() -> SchemaBuilder {
    crate::object::labelled_fields()
}

/// The same text for as long as the program runs. Each different text takes memory once, so use it for names of fields,
/// of which there are few.
#[must_use]
pub fn name(text: &str) -> &'static str {
    static NAMES: Mutex<SortedMap<&'static str, &'static str>> = Mutex::new(SortedMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get::<str>(text).copied().unwrap_or_else(|| {
        let name: &'static str = Box::leak(text.to_owned().into_boxed_str());
        names.insert(name, name);
        name
    })
}

impl Entry {
    /// Gives the values that the members of a dynamic game ([`Agreed::IS_DYNAMIC`]) agree on. Such a game needs them; for
    /// another game they are an error.
    ///
    /// [`Room::context`] returns `context` in each run. [`Game::decide`](crate::Game::decide), which has no game at hand,
    /// finds there what it needs.
    pub fn agree<G: Agreed>(mut self, agreement: &Agreement, context: Context) -> Self {
        let schemas = agreement.schemas::<G>();
        let mut shape = Shape::default();
        G::State::shape(&mut shape);
        G::Message::shape(&mut shape);
        G::Ask::shape(&mut shape);
        let name = [&*agreement.name, &*agreement.words].join("\0");
        let params = params_of((&name, agreement.version), [schemas.hash(), shape.hash()], agreement.rules);
        self.context = Some(context);
        self.raw(Raw::new(params, schemas, agreement.rules))
    }
}

/// An object of a dynamic game, as this program sees it now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeenState {
    /// The object.
    pub id: ObjectId,
    /// The member that owns the object; if the object waits for a player who is away, that player.
    pub owner: Member,
    /// Whether this program may change the object.
    pub is_mine: bool,
    /// The seat of the player that made the object.
    pub seat: SeatId,
    /// The numbers behind the seat, and the texts, in the order of the type's fields. If another member owns the object,
    /// the numbers are computed for the present frame, as in [`Seen`](crate::Seen).
    pub state: State,
}

/// Objects by their numbers and texts.
impl<G: Agreed> Room<'_, G> {
    /// The context that [`Entry::agree`] was given, if it is of this type.
    #[must_use]
    pub fn context<T: 'static>(&self) -> Option<&T> {
        self.inner.context.as_ref()?.downcast_ref()
    }

    /// Makes an object of a kind that this program owns.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`, `TooManyObjects`; `NotAvailable` for a kind that the game does not have, and for numbers
    /// or texts that do not fit it.
    pub fn create_state(&mut self, kind: u8, state: &State) -> Result<ObjectId, RoomError> {
        let seat = self.playing()?.seat().ok_or(RoomError::NotJoined)?;
        let traits = self.inner.schemas.traits_of(Kind(kind)).ok_or(RoomError::NotAvailable)?;
        let now = self.now;
        let id = self.session_mut()?.edit(now).create_state(traits, &labelled(seat, state))?;
        if traits.orphan == Orphan::Freeze {
            self.inner.own.made.insert(id);
        }
        Ok(id)
    }

    /// The object of this kind that this player had before a reload, or else a new one: see [`Room::own_or`].
    ///
    /// # Errors
    /// As [`Room::create_state`].
    pub fn own_state(&mut self, kind: u8, state: &State) -> Result<ObjectId, RoomError> {
        let seat = self.playing()?.seat();
        let had = self.all_states(kind).into_iter().find(|own| own.is_mine && Some(own.seat) == seat);
        let traits = self.inner.schemas.traits_of(Kind(kind)).ok_or(RoomError::NotAvailable)?;
        let before = self.inner.written.get(&Kind(kind)).filter(|_| traits.orphan == Orphan::Freeze);
        let state = before.map_or_else(|| state.clone(), unlabelled);
        let id = had.map_or_else(|| self.create_state(kind, &state), |own| Ok(own.id))?;
        self.inner.own.singles.insert(Kind(kind), id);
        if let Some(object) = self.session.object(id).filter(|_| traits.orphan == Orphan::Freeze) {
            self.inner.note_written(Kind(kind), id, state_of(object));
        }
        Ok(id)
    }

    /// Changes an object that this program owns, or has asked for, to these numbers and texts.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchObject`, `NotYours`; `NotAvailable` for numbers or texts that do not fit the object.
    pub fn edit_state(&mut self, id: ObjectId, state: &State) -> Result<(), RoomError> {
        let now = self.now;
        let session = self.session_mut()?;
        let object = session.object(id).ok_or(RoomError::NoSuchObject)?;
        if !is_own(session, object) && !object.is_claimed() {
            return Err(RoomError::NotYours);
        }
        let seat = seat_of(object).ok_or(RoomError::NoSuchObject)?;
        let (kind, state) = (object.traits().kind, labelled(seat, state));
        session.edit(now).set_state(id, &state)?;
        self.inner.note_written(kind, id, state);
        Ok(())
    }

    /// All objects of a kind.
    #[must_use]
    pub fn all_states(&self, kind: u8) -> Vec<SeenState> {
        let Ok(session) = self.session() else { return Vec::new() };
        let of_kind = session.objects().filter(|object| object.traits().kind == Kind(kind));
        of_kind.filter_map(|object| self.see_state(session, object)).collect()
    }

    /// An object of any kind; `None` when there is no such object any more.
    #[must_use]
    pub fn seen_state(&self, id: ObjectId) -> Option<SeenState> {
        let session = self.session().ok()?;
        self.see_state(session, session.object(id)?)
    }

    fn see_state(&self, session: &Session, object: &Object) -> Option<SeenState> {
        let seat = seat_of(object)?;
        let mut state = State::default();
        let shown = self.inner.shown(session, object);
        let numbers = shown.as_ref().map_or(object.numbers(), State::numbers);
        numbers.iter().skip(1).for_each(|&number| state.number(number));
        (0..object.field_count()).for_each(|text| state.text(object.field(text)));
        let is_mine = is_own(session, object) || object.is_claimed();
        Some(SeenState { id: object.id(), owner: owner_of(session, object), is_mine, seat, state })
    }

    /// Ends an object that this program owns.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchObject`, `NotYours`.
    pub fn destroy_state(&mut self, id: ObjectId) -> Result<(), RoomError> {
        self.destroy(crate::object::Id::<()>::of(id))
    }

    /// Tells others something in the game's own encoding, which [`Agreed::message_from`] reads: at most 16 KiB, and what
    /// fits a packet with `Lane::Unreliable`.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchMember`, `WouldBlock`, `TooLarge`.
    pub fn tell_bytes(&mut self, to: To, lane: Lane, bytes: &[u8]) -> Result<(), RoomError> {
        match self.target(to)? {
            Some(target) => Ok(self.session_mut()?.send(target, lane, bytes)?),
            None => G::message_from(bytes).map_or(Ok(()), |message| self.inner.tell_self(message)),
        }
    }

    /// Tells all members something in an order, in the game's own encoding.
    ///
    /// # Errors
    /// As [`Room::tell_in`], and `TooLarge`.
    pub fn tell_bytes_in(&mut self, order: Order, bytes: &[u8]) -> Result<(), RoomError> {
        let time = self.session()?.session_time(self.now);
        let delivery = order::delivery(order, time);
        Ok(self.session_mut()?.send(Target::All, delivery, bytes)?)
    }

    /// Sets the entry of the room in the relay's list. Each host's program sets it when the state has changed, in place of
    /// [`Game::listing`](crate::Game::listing).
    pub fn list_as(&mut self, listing: Listing) {
        self.inner.listing = Some(listing);
    }

    /// Asks the host for an object, as [`Room::request`] does.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`, `NotAvailable`.
    #[cfg(feature = "ownership")]
    pub fn request_state(&mut self, id: ObjectId) -> Result<(), RoomError> {
        let now = self.now;
        self.playing()?;
        Ok(self.session_mut()?.ownership(now).request(id)?)
    }

    /// Gives an object to the host, as [`Room::release`] does, or to another player, as [`Room::give`] does.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchMember`, `NoSuchObject`; `NotAvailable`, also for an object that waits for its player.
    #[cfg(feature = "ownership")]
    pub fn give_state(&mut self, id: ObjectId, to: Option<SeatId>) -> Result<(), RoomError> {
        let now = self.now;
        let session = self.session()?;
        let object = session.object(id).ok_or(RoomError::NoSuchObject)?;
        if object.traits().orphan == Orphan::Freeze {
            return Err(RoomError::NotAvailable);
        }
        let Some(seat) = to else { return Ok(self.session_mut()?.ownership(now).release(id)?) };
        let to = Member::of_seat(session, seat).peer.ok_or(RoomError::NoSuchMember)?;
        Ok(self.session_mut()?.ownership(now).transfer(id, to)?)
    }

    /// Asks for an object that this player touches, as [`Room::touch`] does.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`, `NoSuchObject`, `NotAvailable`.
    #[cfg(feature = "ownership")]
    pub fn touch_state(&mut self, id: ObjectId) -> Result<(), RoomError> {
        let now = self.now;
        let object = self.playing()?.object(id).ok_or(RoomError::NoSuchObject)?;
        if object.traits().access == Access::Exclusive {
            return Err(RoomError::NotAvailable);
        }
        Ok(self.session_mut()?.ownership(now).touch(id)?)
    }
}

/// How an object of a dynamic game is shared.
#[must_use]
pub const fn sharing(orphan: Orphaned, access: Access, reliable: bool) -> Sharing {
    Sharing { orphan, access, reliable }
}

fn seat_of(object: &Object) -> Option<SeatId> {
    object.numbers().first().and_then(|&seat| u16::try_from(seat).ok()).map(SeatId)
}

fn unlabelled(state: &State) -> State {
    let mut all = State::default();
    state.numbers().iter().skip(1).for_each(|&number| all.number(number));
    state.texts().for_each(|text| all.text(text));
    all
}

fn labelled(seat: SeatId, state: &State) -> State {
    let mut all = State::default();
    all.number(i32::from(seat.0));
    state.numbers().iter().for_each(|&number| all.number(number));
    state.texts().for_each(|text| all.text(text));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_session::objects::{Coding, Motion};

    fn grid(motion: Motion) -> Coding {
        Coding::Grid { width: 2, min: -100, max: 100, step: 0.1, motion }
    }

    #[test]
    fn impossible_types_are_errors_and_no_panics() {
        let with = |coding| {
            let mut fields = fields();
            fields.field("a", coding);
            Agreement::new("it", 1).with_type(fields, Sharing::default())
        };
        assert!(with(grid(Motion::Smooth)).is_ok());
        assert!(with(grid(Motion::Rated(9))).unwrap_err().contains("the rate of field a"));
        let nothing = Coding::Grid { width: 2, min: 5, max: 5, step: 0.1, motion: Motion::Held };
        assert!(with(nothing).unwrap_err().contains("field a cannot be coded so"));
        let full = (0..TYPES_MAX).try_fold(Agreement::new("it", 1), |agreement, _| {
            agreement.with_type(fields(), Sharing::default())
        });
        assert!(full.unwrap().with_type(fields(), Sharing::default()).is_err());
    }

    #[test]
    fn names_are_kept_once() {
        assert!(std::ptr::eq(name(&"po".repeat(3)), name("popopo")));
    }
}
