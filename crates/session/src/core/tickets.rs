//! The tickets of this peer: those that may open the seat that it had, and the one that it has drawn last.

use samovar_wire::limits::RESUME_MAX;
use samovar_wire::{Entropy, SessionId, ShownTicket, Ticket, TicketHash};

/// This peer's tickets for a session. A host may be lost before it answers a join request. Then this peer does not
/// know whether its seat has another ticket by now. So it shows the next host all tickets that may open the seat, and
/// sends the hash of a new ticket.
#[derive(Debug)]
pub(crate) struct Tickets {
    session: SessionId,
    /// The last ticket before `drawn` that a host confirmed, if there is one; then others that may open the seat.
    earlier: Vec<Ticket>,
    drawn: Ticket,
    /// Whether the host said that `drawn` opens the seat.
    is_good: bool,
}

impl Tickets {
    pub(crate) fn new(session: SessionId, earlier: Vec<Ticket>, entropy: &mut Entropy) -> Self {
        let drawn = Ticket { session, secret: entropy.half() };
        let mut tickets = Self { session, earlier, drawn, is_good: false };
        tickets.forget_some();
        tickets
    }

    /// Draws a new ticket, since this peer has shown the one before to a host, or will.
    pub(crate) fn draw(&mut self, entropy: &mut Entropy) {
        self.earlier = self.candidates();
        self.forget_some();
        self.drawn.secret = entropy.half();
        self.is_good = false;
    }

    /// Drops tickets when there are too many. The one that opens the seat is most likely the first or one of the last.
    fn forget_some(&mut self) {
        while self.earlier.len() > RESUME_MAX {
            self.earlier.remove(1);
        }
    }

    /// The hash of the ticket that was drawn last.
    pub(crate) fn hash(&self) -> TicketHash {
        self.drawn.hash()
    }

    /// The tickets that this peer shows to a host when it asks for admission.
    pub(crate) fn shown(&self) -> [Option<ShownTicket>; RESUME_MAX] {
        std::array::from_fn(|index| Some(self.earlier.get(index)?.shown_to(self.session)))
    }

    /// Takes the host's word that the ticket with this hash opens the seat. Returns `false` when that ticket was
    /// drawn for another host.
    pub(crate) fn confirm(&mut self, hash: TicketHash) -> bool {
        let is_last = hash == self.hash();
        if is_last {
            self.is_good = true;
            self.earlier.truncate(RESUME_MAX - 1);
        }
        is_last
    }

    /// The ticket that opens the seat; `None` until the host has confirmed it.
    pub(crate) fn good(&self) -> Option<Ticket> {
        self.is_good.then_some(self.drawn)
    }

    /// The tickets that may open the seat, at most [`RESUME_MAX`] and one more. An unconfirmed ticket comes with all that
    /// a host may know instead. A confirmed one comes with those before it: if the host that confirmed it was replaced by
    /// then, its successor knows one of them.
    pub(crate) fn candidates(&self) -> Vec<Ticket> {
        let mut all = self.earlier.clone();
        all.insert(if self.is_good { 0 } else { all.len() }, self.drawn);
        all
    }
}
