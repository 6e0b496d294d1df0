//! The room: what a game can see and do.

use std::collections::VecDeque;

#[cfg(feature = "ownership")]
use samovar_session::Access;
use samovar_session::objects::pack::{BitReader, BitWriter, Pack};
use samovar_session::objects::{Schemas, State};
use samovar_session::{Lane, Object as Raw, Orphan, Session, Target};
use samovar_wire::limits::FIELD_MAX;
use samovar_wire::sorted::{SortedMap, SortedSet};
use samovar_wire::{Kind, ObjectId, PeerId, SeatId, Time};

use crate::dynamic::Context;
use crate::error::RoomError;
use crate::game::Agreed;
use crate::hosted::{self, Hosted};
use crate::listing::Listing;
use crate::member::Member;
use crate::object::{Id, ObjectOf, Orphaned, Seen, read, write};
use crate::smooth::{self, Track};
use crate::stats::{Meter, RoomStats};
use crate::waiting::Own;
use crate::world::Stepper;

/// The receivers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum To {
    /// Every other member.
    All,
    /// The host, which may be this program.
    Host,
    /// The member on this seat.
    Seat(SeatId),
}

/// The game as this program sees it, and what it can do there.
pub struct Room<'a, G: Agreed> {
    pub(crate) now: Time,
    pub(crate) session: &'a mut Session,
    pub(crate) inner: &'a mut Inner<G>,
}

/// The room at the host, while it carries out what a member asked for.
#[non_exhaustive]
pub struct Hosting<'a, 'b, G: Agreed> {
    /// The room.
    pub room: Room<'a, G>,
    /// The state that the host keeps for all. All members get its changes.
    pub state: &'b mut G::State,
}

/// The most messages of a program to itself that may wait.
const TO_SELF_MAX: usize = 1_024;

/// The game, as this crate keeps it in addition to the session's state.
pub(crate) struct Inner<G: Agreed> {
    pub(crate) schemas: Schemas,
    pub(crate) name: String,
    /// The code by which others join, with the secret of a private game.
    pub(crate) invitation: String,
    /// Session time in seconds at the present frame, and at the one before.
    pub(crate) time: f64,
    before: f64,
    /// The state that the host keeps for all, as last heard of.
    pub(crate) hosted: Hosted<G::State>,
    /// The object that holds the state, and its revision when the state was read.
    held_by: Option<(ObjectId, u64)>,
    tracks: SortedMap<ObjectId, Track>,
    pub(crate) meter: Meter,
    pub(crate) stepper: Stepper<G::World>,
    /// The fields of which a debug build has told that a value goes beyond a limit.
    pub(crate) warned: SortedSet<&'static str>,
    pub(crate) own: Own,
    /// The objects of which this player has one each, as this program wrote them last.
    pub(crate) written: SortedMap<Kind, State>,
    /// Messages of this program to itself.
    pub(crate) to_self: VecDeque<G::Message>,
    pub(crate) leaves: bool,
    /// Whether this program had a seat before.
    pub(crate) is_back: bool,
    /// The data of a raw game.
    pub(crate) kept: Option<Vec<u8>>,
    /// The entry in the relay's list that a dynamic game wants and has not got yet.
    pub(crate) listing: Option<Listing>,
    /// The data that a dynamic game needs in each run.
    pub(crate) context: Option<Context>,
}

impl<G: Agreed> Inner<G> {
    pub(crate) fn new(name: String, seed: u64, schemas: Schemas, hosted: Hosted<G::State>) -> Self {
        Self {
            schemas,
            name,
            invitation: String::new(),
            time: 0.0,
            before: 0.0,
            hosted,
            held_by: None,
            tracks: SortedMap::new(),
            meter: Meter::default(),
            stepper: Stepper::new(seed),
            warned: SortedSet::default(),
            own: Own::default(),
            written: SortedMap::new(),
            to_self: VecDeque::new(),
            leaves: false,
            is_back: false,
            kept: None,
            listing: None,
            context: None,
        }
    }

    /// Begins a frame: takes the time, the state, and the objects' samples that have arrived.
    pub(crate) fn look(&mut self, session: &Session, now: Time) {
        self.before = self.time;
        let shown_at = session.session_time(now);
        self.time = shown_at.as_micros() as f64 / 1e6;
        if G::IS_RAW {
            return;
        }
        self.look_at_state(session);
        self.meter.note_host(session, self.time);
        let Self { schemas, tracks, time, meter, .. } = self;
        let others = |object: &&Raw| object.owner() != session.me() && !object.is_claimed();
        tracks.retain(|&id, _| session.object(id).as_ref().is_some_and(others));
        for object in session.objects().filter(others) {
            let Some(schema) = schemas.of(object.traits().kind).filter(|schema| smooth::moves(schema)) else {
                continue;
            };
            let is_new = match tracks.get_mut(&object.id()).filter(|track| track.is_of(object)) {
                Some(track) => track.accept(schema, object, *time),
                None => {
                    tracks.insert(object.id(), Track::new(schema, object, *time));
                    // The state may have been sampled long ago, so it does not count as new.
                    false
                }
            };
            meter.shown.note(shown_at, object.sampled(), is_new);
        }
    }

    /// Debug builds tell, once of each field, that a value goes beyond a limit. Others then get another value.
    pub(crate) fn warn_beyond(&mut self, value: &impl Pack) {
        if cfg!(debug_assertions) {
            value.tell_beyond(&mut |field, what| {
                if self.warned.insert(field) {
                    crate::log(&format!("samovar: {field}: {what} (told once, and in debug builds only)"));
                }
            });
        }
    }

    /// Notes what this program has written into an object, if it is one of which this player has one. If all members go
    /// at once, the player has it back from here.
    pub(crate) fn note_written(&mut self, kind: Kind, id: ObjectId, state: State) {
        if self.own.singles.get(&kind) == Some(&id) {
            self.written.insert(kind, state);
        }
    }

    pub(crate) fn tell_self(&mut self, message: G::Message) -> Result<(), RoomError> {
        if self.to_self.len() >= TO_SELF_MAX {
            return Err(RoomError::WouldBlock);
        }
        self.to_self.push_back(message);
        Ok(())
    }

    /// Forgets ids and revisions of objects, because another session begins, in which they mean nothing.
    pub(crate) fn forget_objects(&mut self) {
        self.held_by = None;
        self.tracks.clear();
        self.own = Own::default();
    }

    /// Whether the state is known.
    pub(crate) const fn knows_state(&self) -> bool {
        self.held_by.is_some()
    }

    /// The object that holds the state, and its revision when it was last read.
    pub(crate) const fn held_by(&self) -> Option<(ObjectId, u64)> {
        self.held_by
    }

    /// The object that holds the state, which the host owns. An object of that kind that another member owns does not
    /// count. If the host has two, the one that this program knows counts.
    pub(crate) fn holder<'s>(&self, session: &'s Session) -> Option<&'s Raw> {
        let of_host =
            |object: &&Raw| object.traits().kind == hosted::KIND && object.owner() == session.host();
        let known = self.held_by.and_then(|(id, _)| session.object(id)).filter(of_host);
        known.or_else(|| session.objects().find(of_host))
    }

    pub(crate) fn look_at_state(&mut self, session: &Session) {
        let Some(object) = self.holder(session).filter(|_| !G::IS_RAW) else { return };
        let found = Some((object.id(), object.revision()));
        if self.held_by != found
            && let Ok(hosted) = Hosted::read(&mut object.reader())
        {
            (self.hosted, self.held_by) = (hosted, found);
        }
    }

    /// All objects of a type.
    pub(crate) fn all<T: ObjectOf<G>>(&self, session: &Session) -> Vec<Seen<T>> {
        let of_type = session.objects().filter(|object| object.traits().kind.0 == T::KIND);
        of_type.filter_map(|object| self.see(session, object)).collect()
    }

    fn see<T: ObjectOf<G>>(&self, session: &Session, object: &Raw) -> Option<Seen<T>> {
        let (seat, value) = match self.shown(session, object) {
            Some(state) => read(&mut state.reader()),
            None => read(&mut object.reader()),
        }
        .ok()?;
        Some(Seen { id: Id::of(object.id()), owner: owner_of(session, object), seat, value })
    }

    /// The state of another member's object as it is shown at present; `None` for one that is shown as it is.
    pub(crate) fn shown(&self, session: &Session, object: &Raw) -> Option<State> {
        let is_others = object.owner() != session.me() && !object.is_claimed();
        let track = self.tracks.get(&object.id()).filter(|track| is_others && track.is_of(object))?;
        let schema = self.schemas.of(object.traits().kind)?;
        let mut state = State::default();
        track.steps(schema, self.time).for_each(|number| state.number(number));
        (0..object.field_count()).for_each(|text| state.text(object.field(text)));
        Some(state)
    }
}

/// The numbers and texts of an object.
pub(crate) fn state_of(object: &Raw) -> State {
    let mut state = State::default();
    object.numbers().iter().for_each(|&number| state.number(number));
    (0..object.field_count()).for_each(|text| state.text(object.field(text)));
    state
}

/// The member that counts as an object's owner.
pub(crate) fn owner_of(session: &Session, object: &Raw) -> Member {
    // Only the host holds objects for players. Otherwise any member could pass its own objects off as theirs.
    match waits_for(session, object).filter(|_| object.owner() == session.host()) {
        Some(away) => Member::of_seat(session, away),
        None => Member::of_peer(session, object.owner()),
    }
}

/// The seat whose player an object waits for; `None` if its owner may change it.
fn waits_for(session: &Session, object: &Raw) -> Option<SeatId> {
    let seat = object.numbers().first().and_then(|&seat| u16::try_from(seat).ok()).map(SeatId)?;
    let of_owner = session.seat_of(object.owner()).map(|record| record.seat);
    (object.traits().orphan == Orphan::Freeze && of_owner != Some(seat)).then_some(seat)
}

/// Whether this program owns an object, and does not only hold it for a player who is away.
pub(crate) fn is_own(session: &Session, object: &Raw) -> bool {
    object.owner() == session.me() && waits_for(session, object).is_none()
}

impl<G: Agreed> Room<'_, G> {
    /// The session's time in seconds: nearly the same at all members, and it goes on under each new host.
    #[must_use]
    pub const fn time(&self) -> f64 {
        self.inner.time
    }

    /// Whether the session's time has passed a multiple of `seconds` since the last frame. It passes one at all
    /// members at about the same time.
    #[must_use]
    pub fn every(&self, seconds: f64) -> bool {
        (self.inner.time / seconds).floor() > (self.inner.before / seconds).floor()
    }

    /// The code by which others join; in a private game with the secret behind it.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.inner.invitation
    }

    /// The name of this player.
    #[must_use]
    pub fn my_name(&self) -> &str {
        &self.inner.name
    }

    /// This player.
    #[must_use]
    pub fn me(&self) -> Option<Member> {
        let session = self.session().ok()?;
        Some(Member::of_peer(session, session.me()))
    }

    /// All players that are here, this one included, without those that are away.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.session().map_or_else(
            |_| Vec::new(),
            |session| session.view().members().map(|member| Member::of(session, member.record)).collect(),
        )
    }

    /// The player on a seat, who may be away or have left; `None` when the seat is kept no longer.
    #[must_use]
    pub fn member(&self, seat: SeatId) -> Option<Member> {
        let session = self.session().ok()?;
        session.view().seats().find(|record| record.seat == seat).map(|record| Member::of(session, record))
    }

    /// The player that hosts; `None` when it is not known.
    #[must_use]
    pub fn host(&self) -> Option<Member> {
        let session = self.session().ok()?;
        session.seat_of(session.host()).map(|record| Member::of(session, record))
    }

    /// Whether this program hosts now.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.session().is_ok_and(Session::is_host)
    }

    /// The number of the host's term. The number grows with each change of host.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.session().map_or(0, |session| session.term().0)
    }

    /// The round trip to a member, in seconds, without the time that either end was busy; `None` before the first.
    #[must_use]
    pub fn round_trip(&self, seat: SeatId) -> Option<f64> {
        let session = self.session().ok()?;
        let peer = Member::of_seat(session, seat).peer?;
        Some(session.link(peer)?.round_trip()?.as_micros() as f64 / 1e6)
    }

    /// The quality of the connections, and the ages of the others' data. The ages are those of objects with a field
    /// that is `smooth` or has a `rate`.
    #[must_use]
    pub fn stats(&self) -> RoomStats {
        self.inner.meter.stats(self.session, self.session.session_time(self.now))
    }

    /// The state that the host keeps for all, as last heard of.
    #[must_use]
    pub const fn state(&self) -> &G::State {
        &self.inner.hosted.value
    }

    /// Makes an object that this program owns. Values out of range become the nearest possible, and texts are cut to
    /// their bounds, here as in [`Room::edit`] and in messages. A debug build tells of such a value at the terminal
    /// or the browser's console, once of each field.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`; `TooManyObjects` when this program owns some thousands.
    pub fn create<T: ObjectOf<G>>(&mut self, value: &T) -> Result<Id<T>, RoomError> {
        let seat = self.playing()?.seat().ok_or(RoomError::NotJoined)?;
        let now = self.now;
        self.inner.warn_beyond(value);
        let state = write(seat, value);
        let id = self.session_mut()?.edit(now).create_state(T::SHARING.traits(T::KIND), &state)?;
        if T::SHARING.orphan == Orphaned::WithSeat {
            self.inner.own.made.insert(id);
        }
        Ok(Id::of(id))
    }

    /// The object of this type that this player had before a reload, or else the one that `make` describes.
    ///
    /// Use it for types of which a player has one object. If another object of the player from before the reload
    /// turns up later, that object ends. If all members went at once and the object is gone, it is made again as this
    /// player had it, unless its type says `orphan = "end"` or another. The function always returns a name. If the object could not be made, each
    /// change of it is an error.
    pub fn own_or<T: ObjectOf<G>>(&mut self, make: impl FnOnce(&Self) -> T) -> Id<T> {
        let seat = self.me().map(|me| me.seat);
        let had = self.mine::<T>().into_iter().find(|own| Some(own.seat) == seat).map(|own| own.id);
        let waits = T::SHARING.orphan == Orphaned::WithSeat;
        let id = had.unwrap_or_else(|| {
            let before = self.inner.written.get(&Kind(T::KIND)).filter(|_| waits);
            let before = before.and_then(|state| read::<T>(&mut state.reader()).ok());
            let value = before.map_or_else(|| make(self), |(_, value)| value);
            self.create(&value).unwrap_or(Id::of(ObjectId::SESSION))
        });
        self.inner.own.singles.insert(Kind(T::KIND), id.0);
        if let Some(object) = self.session.object(id.0).filter(|_| waits) {
            self.inner.note_written(Kind(T::KIND), id.0, state_of(object));
        }
        id
    }

    /// Changes an object that this program owns, or has asked for. Only what differs is sent.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchObject`, `NotYours`.
    pub fn edit<T: ObjectOf<G>>(&mut self, id: Id<T>, change: impl FnOnce(&mut T)) -> Result<(), RoomError> {
        let now = self.now;
        let session = self.session_mut()?;
        let object = session.object(id.0).ok_or(RoomError::NoSuchObject)?;
        if object.traits().kind.0 != T::KIND {
            return Err(RoomError::NoSuchObject);
        }
        if !is_own(session, object) && !object.is_claimed() {
            return Err(RoomError::NotYours);
        }
        let (seat, mut value) = read::<T>(&mut object.reader()).map_err(|_| RoomError::NoSuchObject)?;
        change(&mut value);
        self.inner.warn_beyond(&value);
        let state = write(seat, &value);
        self.session.edit(now).set_state(id.0, &state)?;
        self.inner.note_written(Kind(T::KIND), id.0, state);
        Ok(())
    }

    /// Ends an object that this program owns.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchObject`, `NotYours`.
    pub fn destroy<T>(&mut self, id: Id<T>) -> Result<(), RoomError> {
        let now = self.now;
        self.session_mut()?.edit(now).destroy(id.0)?;
        let Own { singles, .. } = &self.inner.own;
        self.inner.written.retain(|kind, _| singles.get(kind) != Some(&id.0));
        Ok(())
    }

    /// One object; `None` if it does not exist any more.
    #[must_use]
    pub fn get<T: ObjectOf<G>>(&self, id: Id<T>) -> Option<Seen<T>> {
        let session = self.session().ok()?;
        let object = session.object(id.0).filter(|object| object.traits().kind.0 == T::KIND)?;
        self.inner.see(session, object)
    }

    /// All objects of a type.
    #[must_use]
    pub fn all<T: ObjectOf<G>>(&self) -> Vec<Seen<T>> {
        self.session().map_or_else(|_| Vec::new(), |session| self.inner.all(session))
    }

    /// The object of a type that a player has made, if it still exists: what the player shows of itself, such as its
    /// colour. If there are several, one of them.
    #[must_use]
    pub fn of<T: ObjectOf<G>>(&self, seat: SeatId) -> Option<Seen<T>> {
        self.all().into_iter().find(|seen| seen.seat == seat && seen.owner.seat == seat)
    }

    /// The objects of a type that this program owns.
    #[must_use]
    pub fn mine<T: ObjectOf<G>>(&self) -> Vec<Seen<T>> {
        let Ok(session) = self.session() else { return Vec::new() };
        let own = |seen: &Seen<T>| session.object(seen.id.0).is_some_and(|object| is_own(session, object));
        self.all::<T>().into_iter().filter(own).collect()
    }

    /// Asks for an object that this player touches. This program may change it at once; the others see the change
    /// when this program has the object. Of all members that touch it at about the same time, the first gets it. A
    /// game may call this for as long as the touch lasts.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`, `NotAvailable`.
    #[cfg(feature = "ownership")]
    pub fn touch<T: ObjectOf<G>>(&mut self, id: Id<T>) -> Result<(), RoomError> {
        let now = self.now;
        self.playing()?;
        if T::SHARING.access == Access::Exclusive {
            return Err(RoomError::NotAvailable);
        }
        Ok(self.session_mut()?.ownership(now).touch(id.0)?)
    }

    /// Asks the host for an object, as [`Room::touch`] does, for as long as this program wants it.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`, `NotAvailable`.
    #[cfg(feature = "ownership")]
    pub fn request<T: ObjectOf<G>>(&mut self, id: Id<T>) -> Result<(), RoomError> {
        let now = self.now;
        self.playing()?;
        Ok(self.session_mut()?.ownership(now).request(id.0)?)
    }

    /// Gives an object to the host.
    ///
    /// # Errors
    /// `NotJoined`; `NotAvailable`, also for an object that waits for its player (`orphan = "seat"`).
    #[cfg(feature = "ownership")]
    pub fn release<T: ObjectOf<G>>(&mut self, id: Id<T>) -> Result<(), RoomError> {
        let now = self.now;
        if T::SHARING.orphan == Orphaned::WithSeat {
            return Err(RoomError::NotAvailable);
        }
        Ok(self.session_mut()?.ownership(now).release(id.0)?)
    }

    /// Gives an object to another player.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchMember`; `NotAvailable`, also for an object that waits for its player (`orphan = "seat"`).
    #[cfg(feature = "ownership")]
    pub fn give<T: ObjectOf<G>>(&mut self, id: Id<T>, to: SeatId) -> Result<(), RoomError> {
        let now = self.now;
        if T::SHARING.orphan == Orphaned::WithSeat {
            return Err(RoomError::NotAvailable);
        }
        let to = Member::of_seat(self.session()?, to).peer.ok_or(RoomError::NoSuchMember)?;
        Ok(self.session_mut()?.ownership(now).transfer(id.0, to)?)
    }

    /// Tells others something. The messages of a member arrive in order, none twice. Messages under way are lost with
    /// their sender. Some hundreds may wait to be sent at a time. A message takes at most 255 bytes: a type that may
    /// take more does not compile.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchMember`, `WouldBlock`.
    pub fn tell(&mut self, to: To, message: G::Message) -> Result<(), RoomError> {
        self.send(to, Lane::GAME, message)
    }

    /// Tells others something that is not worth sending twice: it may be lost.
    ///
    /// # Errors
    /// `NotJoined`, `NoSuchMember`; `TooLarge` when it does not fit a packet.
    pub fn cast(&mut self, to: To, message: G::Message) -> Result<(), RoomError> {
        self.send(to, Lane::Unreliable, message)
    }

    fn send(&mut self, to: To, lane: Lane, message: G::Message) -> Result<(), RoomError> {
        let Some(target) = self.target(to)? else { return self.inner.tell_self(message) };
        self.inner.warn_beyond(&message);
        let bytes = pack(&message);
        Ok(self.session_mut()?.send(target, lane, &bytes)?)
    }

    /// The receivers of a message; `None` for this program alone.
    pub(crate) fn target(&self, to: To) -> Result<Option<Target>, RoomError> {
        let session = self.session()?;
        Ok(match to {
            To::All => Some(Target::All),
            To::Host => (session.host() != session.me()).then_some(Target::Host),
            To::Seat(seat) if session.seat() == Some(seat) => None,
            To::Seat(seat) => {
                Some(Target::Peer(Member::of_seat(session, seat).peer.ok_or(RoomError::NoSuchMember)?))
            }
        })
    }

    /// Asks the host for something. The host's game carries it out exactly once, even if the host changes
    /// ([`Game::decide`](crate::Game::decide)). Asks of one player are carried out in order. At most 256 asks in ten
    /// seconds are taken.
    ///
    /// # Errors
    /// `NotJoined`, `Watching`; `WouldBlock` when there are too many.
    #[cfg(feature = "extras")]
    pub fn ask(&mut self, ask: G::Ask) -> Result<(), RoomError> {
        let now = self.now;
        self.playing()?;
        self.inner.warn_beyond(&ask);
        self.session_mut()?.submit(now, &pack(&ask))?;
        Ok(())
    }

    /// Leaves the game for good. A host hands over first; frames go on until it has.
    pub const fn leave(&mut self) {
        self.inner.leaves = true;
    }

    /// As the host, puts a player out of the game. The player cannot take the seat back, but may join as a new
    /// player.
    ///
    /// # Errors
    /// `NotJoined`, `NotHost`, `NoSuchMember`.
    pub fn put_out(&mut self, seat: SeatId) -> Result<(), RoomError> {
        self.part_with(seat, Session::put_out)
    }

    /// As the host, puts a player out and keeps it out: the relay refuses the player, and newcomers from its address,
    /// until the game ends. From another address the player may join as a new one.
    ///
    /// # Errors
    /// `NotJoined`, `NotHost`, `NoSuchMember`.
    pub fn bar(&mut self, seat: SeatId) -> Result<(), RoomError> {
        self.part_with(seat, Session::bar)
    }

    fn part_with(
        &mut self,
        seat: SeatId,
        how: impl FnOnce(&mut Session, Time, PeerId) -> bool,
    ) -> Result<(), RoomError> {
        let now = self.now;
        let session = self.session_mut()?;
        if !session.is_host() {
            return Err(RoomError::NotHost);
        }
        let peer = Member::of_seat(session, seat).peer.ok_or(RoomError::NoSuchMember)?;
        if how(session, now, peer) { Ok(()) } else { Err(RoomError::NoSuchMember) }
    }

    /// As the host, lets another member host.
    ///
    /// # Errors
    /// `NotJoined`; `NotHost` when this program is not the host, or nobody else can be.
    pub fn hand_over(&mut self) -> Result<(), RoomError> {
        let now = self.now;
        if self.session_mut()?.hand_over(now) { Ok(()) } else { Err(RoomError::NotHost) }
    }

    /// The session, unless this program only watches. A host may do what a player may.
    pub(crate) fn playing(&self) -> Result<&Session, RoomError> {
        let session = self.session()?;
        let watches = !session.is_host() && Member::of_peer(session, session.me()).watches;
        if watches { Err(RoomError::Watching) } else { Ok(session) }
    }

    pub(crate) fn session(&self) -> Result<&Session, RoomError> {
        if self.session.is_member() { Ok(self.session) } else { Err(RoomError::NotJoined) }
    }

    pub(crate) fn session_mut(&mut self) -> Result<&mut Session, RoomError> {
        if self.session.is_member() { Ok(self.session) } else { Err(RoomError::NotJoined) }
    }
}

pub(crate) fn pack<T: Pack>(value: &T) -> Vec<u8> {
    // The buffer of the bits holds no more bytes than this.
    const { assert!(T::BITS_MAX.div_ceil(8) <= FIELD_MAX, "a message takes at most 255 bytes: lower its bounds") };
    let mut bits = BitWriter::default();
    value.pack(&mut bits);
    bits.bytes().to_vec()
}

/// `None` for bytes that [`pack`] does not write.
pub(crate) fn unpack<T: Pack>(bytes: &[u8]) -> Option<T> {
    let mut bits = BitReader::new(bytes);
    let value = T::unpack(&mut bits).ok()?;
    bits.finish().ok()?;
    Some(value)
}
