//! The core of a session: this peer's identity, the clock, the failure detector, and the links to the other peers.
//!
//! A service reaches its session through a [`Core`]. The service's functions take a `Core`, and return
//! [`News`](crate::settle::News) for other services to act on.

pub(crate) mod events;
pub(crate) mod linking;
pub(crate) mod membership;
pub(crate) mod net;
pub(crate) mod outbox;
pub(crate) mod peer_link;
pub(crate) mod reach;
pub(crate) mod tickets;
pub(crate) mod watch;

use samovar_objects::Objects;
use samovar_roster::{Roster, View};
use samovar_wire::control::{Hello, PeerControl, encode};
use samovar_wire::limits::APP_MESSAGE_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::view::SeatRecord;
use samovar_wire::{
    CloseCode, Lane, ObjectId, PROTOCOL_VERSION, PeerId, Receipt, SeatId, Term, TicketHash, Time,
};

use crate::clock::SessionClock;
use crate::{Event, Kept, SessionConfig, Target};
use membership::{Early, Membership};
use net::Net;
use outbox::Outbox;
use tickets::Tickets;
use watch::Watch;

/// Whether this peer waits for admission, is a member, or has ended its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The peer waits for the host to admit it.
    Joining,
    /// The peer is a member.
    Member,
    /// The peer's session is over.
    Over,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: SessionConfig,
    pub(crate) phase: Phase,
    /// The latest time that the driver has passed in.
    pub(crate) now: Time,
    pub(crate) clock: SessionClock,
    pub(crate) roster: Roster,
    pub(crate) members: Membership,
    pub(crate) watch: Watch,
    pub(crate) net: Net,
    pub(crate) out: Outbox,
    /// See [`crate::Session::stirs`].
    pub(crate) stirs: u64,
}

impl Core {
    pub(crate) fn new(
        now: Time,
        config: SessionConfig,
        roster: Roster,
        (kept, tickets): (Option<Kept>, Tickets),
    ) -> Self {
        Self {
            phase: Phase::Joining,
            now,
            clock: SessionClock::unknown(now),
            roster,
            members: Membership::new(config.capacity, kept, tickets),
            watch: Watch::new(now),
            net: Net::new(now),
            out: Outbox::default(),
            stirs: 0,
            config,
        }
    }

    pub(crate) const fn me(&self) -> PeerId {
        self.config.me
    }

    pub(crate) const fn host(&self) -> PeerId {
        self.roster.host()
    }

    pub(crate) const fn term(&self) -> Term {
        self.roster.term()
    }

    pub(crate) const fn view(&self) -> &View {
        &self.members.view
    }

    /// Whether this peer hosts, and may act as the host now.
    pub(crate) fn is_host(&self) -> bool {
        self.roster.acts_as_host() && self.phase == Phase::Member
    }

    pub(crate) fn seat_of(&self, peer: PeerId) -> Option<&SeatRecord> {
        self.view().member(peer).map(|member| member.record)
    }

    /// This peer's seat; `None` before admission.
    pub(crate) fn seat(&self) -> Option<SeatId> {
        self.seat_of(self.me()).map(|record| record.seat)
    }

    /// Session time.
    pub(crate) fn time(&self, now: Time) -> Time {
        self.clock.time(now)
    }

    /// Session time, but at least the time of the last view. A new host may have had no answer about the time yet.
    pub(crate) fn known_time(&self, now: Time) -> Time {
        self.clock.time(now).max(self.members.heard)
    }

    pub(crate) fn push_event(&mut self, event: Event) {
        self.out.events.push(event);
    }

    /// Notes that something happened that this peer may have to tell other peers.
    pub(crate) fn stir(&mut self) {
        self.stirs += 1;
        self.net.wake();
    }

    /// Whether another peer takes part in the session. A linked member does; for an entrant, the host does, too.
    pub(crate) fn takes_part(&self, peer: PeerId) -> bool {
        self.net.is_admitted(peer) || (self.phase == Phase::Joining && peer == self.host())
    }

    /// The one member that a target names; `None` for all members, and for the owner of an unknown object.
    pub(crate) fn receiver(&self, objects: &Objects, target: Target) -> Option<PeerId> {
        match target {
            Target::Peer(peer) => Some(peer),
            Target::Host => Some(self.host()),
            Target::Owner(object) => objects.get(object).map(samovar_objects::Object::owner),
            Target::All => None,
        }
    }

    /// Whether a member is known to have the session object as it is now.
    pub(crate) fn holds_view(&self, objects: &Objects, peer: PeerId) -> bool {
        peer == self.me()
            || self.net.link(peer).is_some_and(|link| {
                let deliveries = link.transport.deliveries();
                objects.is_synced(peer, ObjectId::SESSION, &|receipt| deliveries.cover(receipt))
            })
    }

    /// Sends a control message. A peer whose queue is full does not read, so its link is closed.
    pub(crate) fn send_control(&mut self, to: PeerId, message: &PeerControl) -> Option<Receipt> {
        let mut bytes = vec![MessageKind::Control as u8];
        encode(message, &mut bytes);
        let sent = self.net.link_mut(to)?.transport.send_control(&bytes);
        if sent.is_err() {
            self.net.accuse(to, CloseCode::LimitExceeded);
        }
        sent.ok()
    }

    /// Sends a control message to all members.
    pub(crate) fn tell_all(&mut self, news: &PeerControl) {
        for peer in self.net.admitted() {
            self.send_control(peer, news);
        }
    }

    /// Sends a peer the warrant and this peer's opinion. They come before any message under the present term
    /// (PROTOCOL §4.3).
    pub(crate) fn greet(&mut self, peer: PeerId) {
        self.send_control(peer, &PeerControl::Warrant(*self.roster.warrant()));
        self.send_control(peer, &PeerControl::Opinion(self.roster.opinion()));
    }

    /// The HELLO by which this peer asks a host for a seat, or for another ticket.
    pub(crate) fn hello(&self) -> Hello {
        Hello {
            version: PROTOCOL_VERSION,
            params: self.config.params,
            name: self.config.name.clone(),
            attributes: self.config.attributes,
            ticket: self.members.tickets.hash(),
            resume: self.members.tickets.shown(),
            voucher: self.config.voucher.clone(),
        }
    }

    /// Asks the host for a ticket, once in a term. A member does so while the host has not confirmed its ticket, or
    /// while another ticket opens its seat.
    pub(crate) fn ask_for_ticket(&mut self) {
        let hash = self.members.tickets.hash();
        let opens = self.seat_of(self.me()).is_some_and(|record| record.ticket == hash);
        let is_good = self.members.tickets.good().is_some() && opens;
        if self.phase == Phase::Member && !is_good && self.members.asked != Some(self.term()) {
            self.members.asked = Some(self.term());
            self.send_control(self.host(), &PeerControl::Hello(self.hello()));
        }
    }

    /// Takes the host's word that the ticket with this hash opens this peer's seat.
    pub(crate) fn take_ticket(&mut self, hash: TicketHash) {
        // An entrant reports the ticket to its game once the view admits the entrant, which may be later.
        if self.members.tickets.confirm(hash) && self.phase == Phase::Member {
            self.push_ticket();
        }
    }

    fn push_ticket(&mut self) {
        if let Some(ticket) = self.members.tickets.good() {
            self.push_event(Event::Ticket(ticket));
        }
    }

    /// Tells the game of a change of host, once the new host's session object has arrived.
    pub(crate) fn on_resumed(&mut self, now: Time) {
        if let Some(mut migration) = self.out.migration.take() {
            migration.resumed = self.clock.time(now);
            self.push_event(Event::HostChanged(migration));
        }
    }

    /// Whether a member under this voted term and host is ahead of this peer, or on another side of a partition. The
    /// member's messages wait until both live under the same host.
    pub(crate) fn is_elsewhere(&self, from: PeerId, (term, host): (Term, PeerId)) -> bool {
        let is_other = ![from, host].contains(&self.host());
        term > self.term() || self.config.rules.forks && is_other
    }

    /// Writes into the view which paths this peer, as the host, wants members to open.
    pub(crate) fn shape_view(&mut self) {
        if self.config.rules.by_host {
            self.members.view.set_by_host();
        }
    }

    /// Takes over how the session survives from its view, as the founder decided it.
    pub(crate) fn learn_survival(&mut self) {
        let view = &self.members.view;
        let (migrates, forks) = (view.migrates(), view.forks());
        (self.config.rules.migrates, self.config.rules.forks) = (migrates, forks);
        self.roster.set_survival(migrates, forks);
    }

    /// Makes this peer a member, since the view names it.
    pub(crate) fn become_member(&mut self, now: Time) {
        if self.phase == Phase::Joining {
            self.phase = Phase::Member;
            self.learn_survival();
            self.clock.show(now);
            self.push_event(Event::Joined);
            self.push_ticket();
        }
    }

    /// Takes a message of the game. The message may overtake the view that admits this peer, since it comes by a lane
    /// of its own. Such a message waits for that view, unless it is unreliable.
    pub(crate) fn on_app(&mut self, from: PeerId, lane: Lane, bytes: &[u8]) -> Result<(), CloseCode> {
        if bytes.len() > APP_MESSAGE_MAX {
            return Err(CloseCode::TooLarge);
        }
        let (delivery, bytes) = (lane.into(), bytes.to_vec());
        if self.phase != Phase::Joining {
            self.push_event(Event::Message { from, delivery, bytes });
        } else if lane != Lane::Unreliable {
            self.members.keep_early(Early { from, delivery, bytes })?;
        }
        Ok(())
    }
}
