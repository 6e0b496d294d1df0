//! The game, as this crate keeps it beside the session's state: the host's state, the tracks of others' objects, and what
//! the present program has made.

use std::collections::VecDeque;

use samovar_session::objects::pack::Pack;
use samovar_session::objects::{Schemas, State};
use samovar_session::{Object as Raw, Orphan, Session};
use samovar_wire::sorted::{SortedMap, SortedSet};
use samovar_wire::{Kind, ObjectId, SeatId, Time};

use crate::dynamic::Context;
use crate::error::RoomError;
use crate::game::Agreed;
use crate::hosted::{self, Hosted};
use crate::listing::Listing;
use crate::member::Member;
use crate::object::{Id, ObjectOf, Seen, read};
use crate::smooth::{self, Track};
use crate::stats::Meter;
use crate::waiting::Own;
use crate::world::Stepper;

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
    pub(crate) before: f64,
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

    pub(crate) fn see<T: ObjectOf<G>>(&self, session: &Session, object: &Raw) -> Option<Seen<T>> {
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
