//! The room: what a game can see and do.

#[cfg(feature = "ownership")]
use samovar_session::Access;
use samovar_session::objects::pack::{BitReader, BitWriter, Pack};
use samovar_session::{Lane, Session, Target};
use samovar_wire::limits::FIELD_MAX;
use samovar_wire::{Kind, ObjectId, PeerId, SeatId, Time};

use crate::error::RoomError;
use crate::game::Agreed;
use crate::inner::{Inner, is_own, state_of};
use crate::member::Member;
use crate::object::{Id, ObjectOf, Orphaned, Seen, read, write};
use crate::stats::RoomStats;
use crate::waiting::Own;

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
