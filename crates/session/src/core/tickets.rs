//! The tickets of this peer: those that may open the seat that it had, and the one that it has drawn for the time to come.

use samovar_wire::limits::RESUME_MAX;
use samovar_wire::{Entropy, SessionId, ShownTicket, Ticket, TicketHash};

/// A host that is asked for admission may be gone before it answers, and nobody knows whether the seat went by its answer.
/// So the next host is shown all tickets that the seat may be open to, and is sent the hash of another.
#[derive(Debug)]
pub(crate) struct Tickets {
    session: SessionId,
    /// The last that a host said is good, if this peer came with one; then those that were drawn since for hosts that did
    /// not answer.
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

    /// Draws another, since the one before is shown or will be.
    pub(crate) fn draw(&mut self, entropy: &mut Entropy) {
        self.earlier = self.candidates();
        self.forget_some();
        self.drawn.secret = entropy.half();
        self.is_good = false;
    }

    /// Of too many, that which opened the seat in the end is most likely the first or one of the last.
    fn forget_some(&mut self) {
        while self.earlier.len() > RESUME_MAX {
            self.earlier.remove(1);
        }
    }

    /// Of the ticket that was drawn last.
    pub(crate) fn hash(&self) -> TicketHash {
        self.drawn.hash()
    }

    /// What a host is shown that is asked for admission.
    pub(crate) fn shown(&self) -> [Option<ShownTicket>; RESUME_MAX] {
        std::array::from_fn(|index| Some(self.earlier.get(index)?.shown_to(self.session)))
    }

    /// The host says that the ticket of this hash opens the seat; `false` when it was drawn for another host.
    pub(crate) fn confirm(&mut self, hash: TicketHash) -> bool {
        let is_last = hash == self.hash();
        self.is_good |= is_last;
        is_last
    }

    /// The one that opens the seat, as far as the host has said.
    pub(crate) fn good(&self) -> Option<Ticket> {
        self.is_good.then_some(self.drawn)
    }

    /// Those of which one opens the seat, whatever the hosts have done with what they were asked.
    pub(crate) fn candidates(&self) -> Vec<Ticket> {
        let earlier = self.earlier.iter().filter(|_| !self.is_good);
        earlier.chain([&self.drawn]).copied().collect()
    }
}
