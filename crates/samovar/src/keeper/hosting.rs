//! The host's part of a game: it keeps the state, and carries out each ask once.

use samovar_session::{Object as Raw, Session};
use samovar_wire::{Duration, Time};

use super::Keeper;
use crate::game::Game;
use crate::hosted::{self, Hosted};
use crate::member::Member;
use crate::room::{Hosting, Room, unpack};

/// For how long a new host waits for the object of the state that the former host kept, before it makes one.
const STATE_WITHIN: Duration = Duration::from_millis(1_500);
/// How far the number of an honest ask may be ahead of session time. The numbers are below session time in
/// microseconds, and clocks differ by less than this.
const AHEAD_MAX: Duration = Duration::from_millis(60_000);

impl<G: Game> Keeper<G> {
    /// The host's duties: it keeps the state, and carries out asks.
    pub(super) fn host(&mut self, now: Time, session: &mut Session) {
        if session.host() != session.me() {
            self.hosts_since = None;
            // Another member hosts. It has these asks, too.
            self.asks.clear();
        }
        if !session.is_host() {
            return;
        }
        let since = *self.hosts_since.get_or_insert(now);
        let me = session.me();
        let is_alone = session.view().members().count() == 1;
        let holder = self.inner.holder(session);
        let is_damaged = holder.is_some_and(|object| Hosted::<G::State>::read(&mut object.reader()).is_err());
        match holder.map(Raw::id) {
            // A damaged state was written, so this host writes the state that it last read.
            Some(holder) if is_damaged => {
                let _ = session.edit(now).set_state(holder, &self.inner.hosted.write());
            }
            None if is_alone || since + STATE_WITHIN <= now => {
                let state = self.inner.hosted.write();
                if let Err(error) = session.edit(now).create_state(hosted::TRAITS, &state) {
                    crate::log(&format!("samovar: the game's state cannot be kept: {error}"));
                }
            }
            None => {}
            Some(holder) => {
                // Only one object may hold the state, so this host ends its others. A host may have made one before
                // it heard that it was replaced, or a member that broke the rules did and has gone.
                let is_other = |object: &&Raw| {
                    object.owner() == me && object.traits().kind == hosted::KIND && object.id() != holder
                };
                let others: Vec<_> = session.objects().filter(is_other).map(Raw::id).collect();
                for id in others {
                    let _ = session.edit(now).destroy(id);
                }
            }
        }
        self.decide(now, session);
    }

    /// Carries out what members asked for, each ask once.
    pub(super) fn decide(&mut self, now: Time, session: &mut Session) {
        while session.is_host()
            && let Some((seat, number, bytes)) = self.asks.pop_front()
        {
            let holder = self.inner.holder(session);
            let Some((id, Ok(mut hosted))) =
                holder.map(|object| (object.id(), Hosted::<G::State>::read(&mut object.reader())))
            else {
                // The state has not arrived yet, so the ask waits.
                self.asks.push_front((seat, number, bytes));
                return;
            };
            // A former host may have written any number for the seat. One that is far ahead of session time does not
            // count.
            let last = hosted.ledger.last(seat);
            let is_known = last <= session.session_time(now).as_micros() + AHEAD_MAX.as_micros();
            if number > hosted::NUMBER_MAX || (is_known && number <= last) {
                continue;
            }
            let from = Member::of_seat(session, seat);
            let seats: Vec<_> = session.view().seats().map(|record| record.seat).collect();
            // An honest spectator asks for nothing. Only a spectator that hosts may ask.
            let may_ask = !from.watches || from.is_me;
            if let Some(ask) = unpack::<G::Ask>(&bytes).filter(|_| may_ask) {
                let room = Room { now, session: &mut *session, inner: &mut self.inner };
                G::decide(&mut Hosting { room, state: &mut hosted.value }, &from, ask);
            }
            self.inner.warn_beyond(&hosted.value);
            hosted.ledger.note(seat, number, |seat| seats.contains(&seat));
            if let Err(error) = session.edit(now).set_state(id, &hosted.write()) {
                crate::log(&format!("samovar: the game's state cannot be kept: {error}"));
            }
            self.inner.look_at_state(session);
        }
    }
}
