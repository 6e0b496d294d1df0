//! The seat of a peer in its game, and when to take it back.

use samovar_session::Event;
use samovar_wire::{Duration, Ticket, Time};

/// A member that sat for this long comes back at once.
const SETTLED_AFTER: Duration = Duration::from_millis(5_000);
/// The pause before a peer that came back a short time ago comes back again. It doubles with each time in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest such pause.
const LAST_PAUSE: Duration = Duration::from_millis(8_000);

/// The state of a peer's seat.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    /// The tickets, one of which takes the seat back.
    tickets: Vec<Ticket>,
    /// Whether a ticket of this peer is known to have a seat.
    has_sat: bool,
    /// When the session last seated this peer.
    since: Option<Time>,
    /// Whether objects changed here while the others went on without this peer.
    has_diverged: bool,
    /// Whether the session has ended. The peer leaves it at the next timeout, after the driver has heard of the end.
    leaves: bool,
    pause: Duration,
    /// When to ask the relay for the seat.
    asks_at: Time,
}

impl Seat {
    pub(crate) fn new(ticket: Option<Ticket>) -> Self {
        let (since, pause) = (None, Duration::ZERO);
        let has_sat = ticket.is_some();
        Self {
            tickets: ticket.into_iter().collect(),
            has_sat,
            since,
            has_diverged: false,
            leaves: false,
            pause,
            asks_at: Time::FAR,
        }
    }

    /// Notes an event of the session.
    pub(crate) fn note(&mut self, now: Time, event: &Event) {
        match event {
            Event::Joined => self.since = Some(now),
            Event::Ticket(_) => self.has_sat = true,
            Event::Diverged { .. } => self.has_diverged = true,
            _ => {}
        }
    }

    /// The tickets that may take the seat back.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        self.tickets.clone()
    }

    /// Whether this peer had a seat that it can take back.
    pub(crate) const fn has_sat(&self) -> bool {
        self.has_sat
    }

    /// Keeps the tickets of a session that is over: they may take the seat back in the next.
    pub(crate) fn keep(&mut self, tickets: Vec<Ticket>) {
        self.tickets = tickets;
    }

    /// Leaves the session at the next timeout.
    pub(crate) const fn leave(&mut self) {
        self.leaves = true;
    }

    /// Whether the session is to be left now; true once.
    pub(crate) const fn takes_leave(&mut self) -> bool {
        core::mem::replace(&mut self.leaves, false)
    }

    /// Sets the time to ask the relay for the seat, after the session is left and a pause.
    pub(crate) fn ask_later(&mut self, now: Time) {
        self.asks_at = now + self.next_pause(now);
    }

    /// Whether to ask the relay for the seat now; true once.
    pub(crate) fn takes_ask(&mut self, now: Time) -> bool {
        let is_due = self.asks_at <= now;
        if is_due {
            self.asks_at = Time::FAR;
        }
        is_due
    }

    /// Whether objects changed here while the others went on without this peer; true once.
    pub(crate) const fn takes_divergence(&mut self) -> bool {
        core::mem::replace(&mut self.has_diverged, false)
    }

    /// When a timer of the seat is due.
    pub(crate) const fn due(&self) -> Time {
        // The peer leaves at the next timeout, because the driver has to hear of the session's end before.
        if self.leaves { Time::ZERO } else { self.asks_at }
    }

    /// The pause before this peer comes back. Without the pause two peers that exclude each other would remove each
    /// other for ever.
    fn next_pause(&mut self, now: Time) -> Duration {
        let is_settled = self.since.take().is_some_and(|since| since + SETTLED_AFTER <= now);
        let pause = if is_settled { Duration::ZERO } else { self.pause };
        self.pause = pause.times(2).max(FIRST_PAUSE).min(LAST_PAUSE);
        pause
    }
}
