//! Coming back: a member that the others went on without is done with that session, and takes its seat back as another peer
//! (PROTOCOL §5.2), by its ticket.
//!
//! A peer that has cast its vote must never vote otherwise under the same name, so there is no way back into the session
//! that it has left; the new name is what makes it safe to forget. It has another socket, too: what the former peer said on
//! the relay's data channels may still be under way, and would be taken for the new one's.

use samovar_session::{EndReason, Event};
use samovar_wire::relay::Purpose;
use samovar_wire::{Duration, Ticket, Time};

use super::relay::client_config;
use super::{Peer, PeerEvent};
use crate::path::AttemptEnd;

/// A member that sat for so long comes back at once.
const SETTLED_AFTER: Duration = Duration::from_millis(5_000);
/// How long one waits that has come back a moment ago. It doubles with each time in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_millis(8_000);

/// How a peer stands to its seat.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    /// Takes it back.
    ticket: Option<Ticket>,
    /// When the session let it sit last.
    since: Option<Time>,
    /// Objects changed here while the others went on.
    has_diverged: bool,
    /// The session has ended: it is to be left at the next timeout, when the driver has heard of its end.
    leaves: bool,
    pause: Duration,
    /// When the relay is asked for the seat.
    pub(super) asks_at: Time,
}

impl Seat {
    pub(super) const fn new(ticket: Option<Ticket>) -> Self {
        let (since, pause) = (None, Duration::ZERO);
        Self { ticket, since, has_diverged: false, leaves: false, pause, asks_at: Time::FAR }
    }

    fn note(&mut self, now: Time, event: &Event) {
        match event {
            Event::Joined => self.since = Some(now),
            Event::Ticket(ticket) => self.ticket = Some(*ticket),
            Event::Diverged { .. } => self.has_diverged = true,
            _ => {}
        }
    }

    /// How long to wait before coming back: two that cannot live with each other would turn each other out for ever.
    fn next_pause(&mut self, now: Time) -> Duration {
        let is_settled = self.since.take().is_some_and(|since| since + SETTLED_AFTER <= now);
        let pause = if is_settled { Duration::ZERO } else { self.pause };
        self.pause = pause.times(2).max(FIRST_PAUSE).min(LAST_PAUSE);
        pause
    }
}

impl Peer {
    /// An event of the session; whether the peer is over with it.
    pub(super) fn note_session_event(&mut self, now: Time, event: &Event) -> bool {
        self.seat.note(now, event);
        match event {
            Event::Ended(EndReason::Removed) if self.seat.ticket.is_some() && self.leaves_at == Time::FAR => {
                self.seat.leaves = true;
                false
            }
            Event::Ended(reason) => {
                // It may come back by joining.
                self.is_away |= *reason == EndReason::Removed;
                true
            }
            _ => false,
        }
    }

    /// When there is something to do about the seat.
    pub(super) fn seat_due(&self) -> Time {
        // The driver hears of the session's end first.
        if self.over {
            Time::FAR
        } else if self.seat.leaves {
            Time::ZERO
        } else {
            self.seat.asks_at
        }
    }

    /// Comes back when it is time to: not before the driver has said farewell on the former socket.
    pub(super) fn tend_seat(&mut self, now: Time) {
        if core::mem::take(&mut self.seat.leaves) {
            self.leave_session(now);
        } else if self.seat.asks_at <= now {
            self.seat.asks_at = Time::FAR;
            let config = client_config(&self.config, &mut self.entropy);
            self.client.start_over(now, config);
        }
    }

    /// Forgets the session and all that belonged to it.
    fn leave_session(&mut self, now: Time) {
        self.route_session(now);
        for (peer, mut path) in core::mem::take(&mut self.paths) {
            path.end(AttemptEnd::Gone).for_each(|closed| self.give_up(peer, closed));
        }
        self.end_ferry(AttemptEnd::Gone);
        let Some(session) = self.session.take() else { return };
        self.config.ticket = self.seat.ticket;
        self.config.kept = session.kept(now).or(self.config.kept.take());
        if let (Some(code), Some(pass)) = (self.code.clone(), self.client.pass()) {
            self.config.purpose = Purpose::Rejoin(code, pass);
        }
        (self.shown_warrant, self.shown_view, self.told_client) = (None, None, None);
        (self.wanted_since, self.tended, self.settled) = (None, None, None);
        self.wanted.clear();
        self.shown_paths = samovar_wire::SortedMap::new();
        self.client.go_away(now);
        self.seat.asks_at = now + self.seat.next_pause(now);
        let has_diverged = core::mem::take(&mut self.seat.has_diverged);
        self.push_event(PeerEvent::Rejoining { has_diverged });
    }
}
