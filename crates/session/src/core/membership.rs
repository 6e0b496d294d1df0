//! The membership of this peer: the view that it has read, and its tickets.

use samovar_objects::Objects;
use samovar_roster::View;
use samovar_wire::{CloseCode, ObjectId, PeerId, SeatId, SortedMap, Stamp, Term, Time};

use super::tickets::Tickets;
use crate::{Delivery, Kept, MemberInfo};

/// How many messages of one member's game, and how many bytes of them, may wait until this peer is a member itself.
const EARLY_MAX: usize = 1_024;
const EARLY_BYTES_MAX: usize = 1_024 * 1_024;

/// A message of the game that came before this peer was a member.
#[derive(Debug)]
pub(crate) struct Early {
    pub(crate) from: PeerId,
    pub(crate) delivery: Delivery,
    pub(crate) bytes: Vec<u8>,
}

/// The session's members, and this peer's own membership, as far as this peer knows.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) view: View,
    /// The revision of the session object that `view` was read from.
    pub(crate) view_revision: Option<(Stamp, u64)>,
    /// The seats and time that the session begins with, if this peer founds it.
    pub(crate) kept: Option<Kept>,
    /// The session time at which the host last sampled the session object, as far as this peer has read it.
    pub(crate) heard: Time,
    /// The members that the game knows of.
    pub(crate) members: SortedMap<PeerId, MemberInfo>,
    /// The seats of the previous view, taken or not. They show whether a member that joins is new or comes back.
    pub(crate) seats: Vec<SeatId>,
    pub(crate) backup: Option<PeerId>,
    pub(crate) tickets: Tickets,
    /// The term in which this peer asked for a ticket last.
    pub(crate) asked: Option<Term>,
    /// When this peer gives up the host that it asks for admission.
    pub(crate) abandoned_at: Time,
    /// Messages of the game that came before this peer was a member.
    early: Vec<Early>,
}

impl Membership {
    pub(super) fn new(capacity: u8, kept: Option<Kept>, tickets: Tickets) -> Self {
        Self {
            view: View::founding(capacity),
            view_revision: None,
            kept,
            heard: Time::ZERO,
            members: SortedMap::new(),
            seats: Vec::new(),
            backup: None,
            tickets,
            asked: None,
            abandoned_at: Time::FAR,
            early: Vec::new(),
        }
    }

    /// Keeps a message of the game until this peer is a member.
    ///
    /// # Errors
    /// `LimitExceeded` when its sender has sent more than a member sends while a newcomer is admitted.
    pub(crate) fn keep_early(&mut self, message: Early) -> Result<(), CloseCode> {
        let of_sender = || self.early.iter().filter(|early| early.from == message.from);
        let bytes = of_sender().map(|early| early.bytes.len()).sum::<usize>();
        if of_sender().count() == EARLY_MAX || bytes + message.bytes.len() > EARLY_BYTES_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        self.early.push(message);
        Ok(())
    }

    pub(crate) fn take_early(&mut self) -> Vec<Early> {
        core::mem::take(&mut self.early)
    }

    /// Notes the revision of the session object, which this peer wrote itself.
    pub(crate) fn note_view(&mut self, objects: &Objects) {
        let object = objects.get(ObjectId::SESSION);
        self.view_revision = object.map(|object| (object.stamp(), object.revision()));
    }
}

/// The view in the session object; `None` when there is no such object. A broken view is the host's fault.
pub(crate) fn decode_view(objects: &Objects) -> Option<Result<View, CloseCode>> {
    let object = objects.get(ObjectId::SESSION)?;
    let fields = (0..object.field_count()).map(|i| object.field(i));
    Some(View::from_fields(fields).map_err(|_| CloseCode::Malformed))
}
