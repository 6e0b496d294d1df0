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
    asks_at: Time,
}

impl Seat {
    pub(crate) const fn new(ticket: Option<Ticket>) -> Self {
        let (since, pause) = (None, Duration::ZERO);
        Self { ticket, since, has_diverged: false, leaves: false, pause, asks_at: Time::FAR }
    }

    /// An event of the session.
    pub(crate) fn note(&mut self, now: Time, event: &Event) {
        match event {
            Event::Joined => self.since = Some(now),
            Event::Ticket(ticket) => self.ticket = Some(*ticket),
            Event::Diverged { .. } => self.has_diverged = true,
            _ => {}
        }
    }

    /// What takes the seat back.
    pub(crate) const fn ticket(&self) -> Option<Ticket> {
        self.ticket
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
