//! The replicated scoreboard: all read it, the host writes it.

use samovar_session::{Object, Session};
use samovar_wire::{ObjectId, Stamp, Time};

use super::kinds::{SCOREBOARD, SCOREBOARD_TRAITS};
use crate::scores::{FIELDS, Scoreboard};

/// The scoreboard as this peer knows it. The host's copy decides. Another member's copy is the last readable state of
/// the object. The copy outlives the object, so a new host that finds no scoreboard object continues with its own
/// copy.
#[derive(Debug, Default)]
pub(super) struct Board {
    pub(super) rows: Scoreboard,
    /// The object that the rows come from, with its stamp and revision.
    source: Option<(ObjectId, Stamp, u64)>,
    /// Whether this peer writes the scoreboard: it hosts, and has read its predecessor's.
    is_writer: bool,
    /// The scoreboard that this peer wrote last.
    written: Option<Scoreboard>,
}

impl Board {
    /// Whether this peer writes the scoreboard: it hosts, and has read its predecessor's.
    pub(super) fn is_written_here(&self) -> bool {
        self.is_writer
    }

    /// Whether this peer has seen a scoreboard, or made one.
    pub(super) fn is_known(&self) -> bool {
        self.source.is_some()
    }

    /// Reads the host's scoreboard if it changed.
    pub(super) fn read(&mut self, session: &Session) {
        let source = self.source.and_then(|(id, ..)| session.object(id));
        let is_mine = session.is_host() && source.is_some_and(|object| object.owner() == session.me());
        if is_mine && self.is_writer {
            return;
        }
        self.is_writer = false;
        let boards =
            || session.objects().filter(|object| is_board(object) && object.owner() == session.host());
        if boards().count() == 1 && boards().all(|object| self.source == Some(state(object))) {
            return;
        }
        // After a change of host there may briefly be two scoreboards. The one with more progress is newer.
        let Some((rows, source)) = best(boards()) else { return };
        self.source = Some(source);
        self.rows = rows;
    }

    /// Makes this host the writer of the one scoreboard, or returns what prevents it.
    pub(super) fn take_over(&mut self, now: Time, session: &mut Session) -> TakeOver {
        let me = session.me();
        if self.is_writer {
            self.settle_doubles(now, session);
            return TakeOver::Done;
        }
        let source = self.source.and_then(|(id, ..)| session.object(id));
        match source.map(|object| (object.id(), object.owner() == me)) {
            Some((_, true)) => {
                self.is_writer = true;
                self.written = None;
                TakeOver::Done
            }
            Some((id, false)) => {
                // A former host, still a member, owns the scoreboard. As the host, this peer grants it to itself.
                let _ = session.edit(now).grant(id, me);
                TakeOver::Waiting
            }
            None => TakeOver::NoneFound,
        }
    }

    /// Creates the scoreboard with the rows that this host knows.
    pub(super) fn create(&mut self, now: Time, session: &mut Session) {
        let fields = self.rows.to_fields();
        let fields: Vec<_> = fields.iter().map(|field| &field[..]).collect();
        let Ok(id) = session.edit(now).create(SCOREBOARD_TRAITS, &fields) else { return };
        self.source = session.object(id).map(state);
        self.is_writer = true;
        self.written = Some(self.rows.clone());
    }

    /// Publishes the rows that changed.
    pub(super) fn write(&mut self, now: Time, session: &mut Session) {
        let Some((id, ..)) = self.source.filter(|_| self.is_writer) else { return };
        if self.written.as_ref() == Some(&self.rows) {
            return;
        }
        for (index, field) in self.rows.to_fields().iter().enumerate() {
            if session.edit(now).set(id, index, field).is_err() {
                // The write fails if this peer no longer owns the object. The next step reads the scoreboard that
                // counts.
                self.is_writer = false;
                return;
            }
        }
        self.written = Some(self.rows.clone());
    }

    /// Destroys all but one of this host's scoreboards; the one with the most progress stays. There is a second one
    /// when a member reports late a predecessor's scoreboard that no other member had seen.
    fn settle_doubles(&mut self, now: Time, session: &mut Session) {
        let me = session.me();
        let own =
            || session.objects().filter(|object| object.owner() == me && object.traits().kind == SCOREBOARD);
        if own().count() < 2 {
            return;
        }
        if let Some((rows, source)) = best(own().filter(|object| is_board(object)))
            && rows.progress() > self.rows.progress()
        {
            self.rows = rows;
            self.source = Some(source);
            self.written = None;
        }
        let kept = self.source.map(|(id, ..)| id);
        let others: Vec<_> = own().map(Object::id).filter(|&id| Some(id) != kept).collect();
        for id in others {
            // This cannot fail: the lines above found only this peer's objects.
            let _ = session.edit(now).destroy(id);
        }
    }
}

/// The result of a new host's attempt to write the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakeOver {
    Done,
    Waiting,
    NoneFound,
}

fn is_board(object: &Object) -> bool {
    object.traits().kind == SCOREBOARD && object.field_count() == FIELDS
}

fn state(object: &Object) -> (ObjectId, Stamp, u64) {
    (object.id(), object.stamp(), object.revision())
}

fn rows(object: &Object) -> Option<Scoreboard> {
    let fields: Vec<_> = (0..object.field_count()).map(|index| object.field(index)).collect();
    Scoreboard::from_fields(&fields).ok()
}

/// The readable scoreboard with the most progress; among equals, the one with the lowest id.
fn best<'a>(boards: impl Iterator<Item = &'a Object>) -> Option<(Scoreboard, (ObjectId, Stamp, u64))> {
    let readable = boards.filter_map(|object| Some((rows(object)?, state(object))));
    readable.max_by_key(|(rows, (id, ..))| (rows.progress(), std::cmp::Reverse(*id)))
}
