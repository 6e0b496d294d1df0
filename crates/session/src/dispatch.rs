//! Incoming messages: from a link to the service that they are for.

use samovar_link::{Fate, LinkEvent};
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, Lane, Mode, PeerId, Reader, Time};

use crate::context::{Context, Incoming};
use crate::core::Phase;
use crate::settle::News;
use crate::{EndReason, Session};

/// How many messages and datagrams of one peer may wait until this peer lives under the term in which they were sent.
const HELD_MAX: usize = 1_024;

impl Session {
    /// Takes bytes that came from `from`, by the path's mode `mode`.
    pub fn handle_packet(&mut self, now: Time, from: PeerId, mode: Mode, bytes: &[u8]) {
        self.pass(now);
        // Packets of a host that this peer voted against must not be acknowledged (PROTOCOL §4.10).
        let listens =
            self.core.phase != Phase::Over && from != self.me() && self.core.roster.listens_to(from);
        if listens && (self.core.net.is_linked(from) || self.admits_stranger(now, from)) {
            match self.receive(now, from, mode, bytes) {
                Ok(()) => self.hear(now, from),
                Err(code) => {
                    self.expel(now, from, code);
                    self.settle_accused(now);
                }
            }
        }
    }

    fn receive(&mut self, now: Time, from: PeerId, mode: Mode, bytes: &[u8]) -> Result<(), CloseCode> {
        let Some(link) = self.core.net.link_mut(from) else { return Ok(()) };
        link.idle = None;
        if link.transport.is_quiet(now) {
            link.resumed = now;
        }
        let delivered = link.transport.deliveries();
        let result = link.transport.handle(now, mode, bytes);
        link.is_told &= link.transport.deliveries() == delivered;
        result?;
        if self.desk.appointment.is_some_and(|(heir, _)| heir == from) {
            self.core.stir();
            self.watch(now);
        }
        Ok(())
    }

    /// Handles what has come from a peer, as far as the game's queue has room.
    pub(crate) fn hear(&mut self, now: Time, from: PeerId) {
        if self.core.phase == Phase::Over {
            return;
        }
        let former = self.core.out.events.set_speaker(Some(from));
        match self.hear_link(now, from) {
            Ok(()) => {
                self.settle(now, News::OBJECTS);
                self.desk.welcome(&mut self.core, &self.objects);
            }
            Err(code) => {
                self.expel(now, from, code);
                self.settle_accused(now);
            }
        }
        self.core.out.events.set_speaker(former);
    }

    fn hear_link(&mut self, now: Time, from: PeerId) -> Result<(), CloseCode> {
        while self.core.out.events.has_room(from)
            && let Some(event) = self.core.net.link_mut(from).and_then(|link| link.transport.poll_event())
        {
            if !is_theirs_alone(&event) {
                self.core.stir();
            }
            self.on_link_event(now, from, event)?;
        }
        Ok(())
    }

    /// Holds back messages that a peer sends under a voted term, while this peer has not counted all votes of that
    /// term (PROTOCOL §4.10 rule 7). Control messages are not held back, since they bring the votes.
    fn hold(&mut self, from: PeerId, event: LinkEvent) -> Result<Option<LinkEvent>, CloseCode> {
        let host = self.host();
        let Some(link) = self.core.net.link_mut(from) else { return Ok(Some(event)) };
        let waits = match &event {
            LinkEvent::Message(_, bytes) => match bytes.split_first() {
                Some((&kind, _)) if kind == MessageKind::Control as u8 => false,
                _ => link.ahead.is_some(),
            },
            LinkEvent::Datagram(..) => link.ahead.is_some(),
            _ => false,
        };
        if !waits {
            return Ok(Some(event));
        }
        if link.held.len() >= HELD_MAX {
            if from == host {
                // The host may be honest, and so may the members whose votes this peer lacks. So this peer blames
                // none of them: it ends its session, and comes back by its ticket.
                self.end(EndReason::Removed);
                return Ok(None);
            }
            return Err(CloseCode::NotAMember);
        }
        link.held.push_back(event);
        Ok(None)
    }

    /// Handles the messages that were held back, since the term has changed.
    pub(crate) fn release_held(&mut self, now: Time) {
        for peer in self.core.net.peers() {
            let ahead = self.core.net.link(peer).and_then(|link| link.ahead);
            let is_heard = ahead.is_none_or(|(reign, _)| !self.core.is_elsewhere(peer, reign));
            let Some(link) = self.core.net.link_mut(peer) else { continue };
            if is_heard {
                link.note_ahead(None);
            }
            // Events of later terms are held back again, in their order.
            let held = core::mem::take(&mut link.held);
            let former = self.core.out.events.set_speaker(Some(peer));
            for event in held {
                if let Err(code) = self.on_link_event(now, peer, event) {
                    self.expel(now, peer, code);
                    break;
                }
            }
            self.core.out.events.set_speaker(former);
        }
        self.settle(now, News::OBJECTS);
    }

    fn on_link_event(&mut self, now: Time, from: PeerId, event: LinkEvent) -> Result<(), CloseCode> {
        let Some(event) = self.hold(from, event)? else { return Ok(()) };
        match event {
            LinkEvent::Message(lane, bytes) => {
                let result = self.on_message(now, from, lane, &bytes);
                self.core.net.recycle(from, bytes);
                self.settle(now, result?);
            }
            LinkEvent::Datagram(_, bytes) => {
                let result = self.on_datagram(now, from, &bytes);
                self.core.net.recycle(from, bytes);
                self.settle(now, result?);
            }
            LinkEvent::Fate(packet, fate) => {
                self.objects.on_fate(from, packet, fate == Fate::Delivered);
                self.orders.on_fate(from, packet, fate == Fate::Delivered);
            }
            LinkEvent::Clock { session, received, round_trip } => {
                if from == self.host() {
                    self.core.clock.on_sample(session, received, round_trip);
                } else if self.core.roster.is_host() && self.core.view().has(from) {
                    // This host may be a newcomer that had to become the host at once. It learns session time from
                    // the members.
                    self.core.clock.on_word(session, received, round_trip, self.core.members.heard);
                }
            }
            LinkEvent::Closed(code) => self.on_closed(now, from, code),
            LinkEvent::Restarted => self.on_restarted(now, from),
            _ => {}
        }
        Ok(())
    }

    fn on_datagram(&mut self, now: Time, from: PeerId, bytes: &[u8]) -> Result<News, CloseCode> {
        use MessageKind::{App, Call, Cancel, Frame, Lockstep, Promise, Reply};
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        let body = reader.rest();
        let incoming = Incoming { from, lane: Lane::Unreliable, kind, body };
        match kind {
            Frame | App | Call | Reply | Cancel | Promise | Lockstep if !self.core.takes_part(from) => {
                // A datagram may overtake the view that makes its sender a member. So it is dropped, and is no fault.
                Ok(News::NONE)
            }
            Frame => {
                self.objects.handle_datagram(from, body)?;
                self.ages.note(self.core.time(now), &self.objects);
                // In time-stamp order, an update also promises that its sender sends no message with an earlier time.
                let is_promise = self.orders.handle_update(self.core.time(now), from, body);
                Ok(if is_promise { News::ORDERS } else { News::NONE })
            }
            App => self.core.on_app(from, Lane::Unreliable, body).map(|()| News::NONE),
            Call | Reply | Cancel => self.calls.handle(&mut self.core, incoming),
            Promise | Lockstep => self.orders.handle_datagram(&self.core, now, incoming),
            _ => Err(CloseCode::Malformed),
        }
    }

    fn on_message(&mut self, now: Time, from: PeerId, lane: Lane, bytes: &[u8]) -> Result<News, CloseCode> {
        use MessageKind::{
            Answer, App, Call, Cancel, Causal, Control, Focus, Held, Input, Lockstep, Promise, Reply,
            Request, Timed, Told, Total,
        };
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        let body = reader.rest();
        let incoming = Incoming { from, lane, kind, body };
        let core = &mut self.core;
        match kind {
            // These kinds rely on the order of the session's lane, so no other lane may carry them.
            kind if !has_any_lane(kind) && lane != Lane::SESSION && lane != Lane::Bulk => {
                Err(CloseCode::Unexpected)
            }
            Control => self.handle_control(now, from, body).map(|()| News::NONE),
            // A message in a sequenced lane may overtake the view, too, so it is dropped.
            _ if matches!(lane, Lane::Sequenced(_)) && !core.takes_part(from) => Ok(News::NONE),
            _ if !core.takes_part(from) => self.refuse(from).map(|()| News::NONE),
            App => core.on_app(from, lane, body).map(|()| News::NONE),
            Call | Reply | Cancel => self.calls.handle(core, incoming),
            Request | Answer => {
                let mut ctx = Context { core, objects: &mut self.objects, now };
                self.ownership.handle(&mut ctx, incoming)
            }
            Input => self.inputs.handle(core, now, from, body),
            Held => self.inputs.handle_held(core, from, body),
            Told => self.inputs.handle_told(core, from, body),
            Causal | Total | Timed | Lockstep => self.orders.handle_message(core, now, incoming),
            Promise => Err(CloseCode::Unexpected),
            Focus if !cfg!(feature = "inputs") => Err(CloseCode::Unexpected),
            _ => self.objects.handle_message(from, kind, body).map(|()| News::OBJECTS),
        }
    }
}

/// Whether an event gives this peer nothing to tell to other peers: object states, clock samples, and fates of
/// packets.
fn is_theirs_alone(event: &LinkEvent) -> bool {
    match event {
        LinkEvent::Fate(..) | LinkEvent::Clock { .. } => true,
        LinkEvent::Datagram(_, bytes) => bytes.first() == Some(&(MessageKind::Frame as u8)),
        _ => false,
    }
}

/// Whether a message of this kind may come by any lane. All other kinds rely on the order of the session's lane.
const fn has_any_lane(kind: MessageKind) -> bool {
    use MessageKind::{App, Call, Cancel, Reply};
    matches!(kind, App | Call | Reply | Cancel)
}
