//! The seat of a peer in its game, and when to take it back.

use samovar_session::Event;
use samovar_wire::{Duration, Ticket, Time};

/// A member that sat for so long comes back at once.
const SETTLED_AFTER: Duration = Duration::from_millis(5_000);
/// How long one waits that has come back a moment ago. It doubles with each time in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_millis(8_000);

/// How a peer stands to its seat.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    /// Of which one takes it back.
    tickets: Vec<Ticket>,
    /// Whether a host has said so of one.
    has_sat: bool,
    /// When the session let it sit last.
    since: Option<Time>,
    /// Objects changed here while the others went on.
    has_diverged: bool,
    /// The session has ended: it is to be left at the next timeout, when the driver has heard of its end.
    leaves: bool,
    pause: Duration,
    /// When the relay is asked for the seat.
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

    /// An event of the session.
    pub(crate) fn note(&mut self, now: Time, event: &Event) {
        match event {
            Event::Joined => self.since = Some(now),
            Event::Ticket(_) => self.has_sat = true,
            Event::Diverged { .. } => self.has_diverged = true,
            _ => {}
        }
    }

    /// What takes the seat back.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        self.tickets.clone()
    }

    /// Whether this peer had a seat that it can take back.
    pub(crate) const fn has_sat(&self) -> bool {
        self.has_sat
    }

    /// A session is over: these may take the seat back in the next.
    pub(crate) fn keep(&mut self, tickets: Vec<Ticket>) {
        self.tickets = tickets;
    }

    /// The session is to be left at the next timeout.
    pub(crate) const fn leave(&mut self) {
        self.leaves = true;
    }

    /// Whether the session is to be left now; once.
    pub(crate) const fn takes_leave(&mut self) -> bool {
        core::mem::replace(&mut self.leaves, false)
    }

    /// The session is left: the relay is asked for the seat in a while.
    pub(crate) fn ask_later(&mut self, now: Time) {
        self.asks_at = now + self.next_pause(now);
    }

    /// Whether to ask the relay for the seat now; once.
    pub(crate) fn takes_ask(&mut self, now: Time) -> bool {
        let is_due = self.asks_at <= now;
        if is_due {
            self.asks_at = Time::FAR;
        }
        is_due
    }

    /// Whether objects changed here while the others went on; once.
    pub(crate) const fn takes_divergence(&mut self) -> bool {
        core::mem::replace(&mut self.has_diverged, false)
    }

    /// When there is something to do about the seat.
    pub(crate) const fn due(&self) -> Time {
        // The driver hears of the session's end first.
        if self.leaves { Time::ZERO } else { self.asks_at }
    }

    /// How long to wait before coming back: two that cannot live with each other would turn each other out for ever.
    fn next_pause(&mut self, now: Time) -> Duration {
        let is_settled = self.since.take().is_some_and(|since| since + SETTLED_AFTER <= now);
        let pause = if is_settled { Duration::ZERO } else { self.pause };
        self.pause = pause.times(2).max(FIRST_PAUSE).min(LAST_PAUSE);
        pause
    }
}
