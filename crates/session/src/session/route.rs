//! What arrives: from a link to the machine it is for.

use samovar_link::{Fate, LinkEvent};
use samovar_objects::ObjectEvent;
use samovar_wire::control::Vote;
use samovar_wire::limits::APP_MESSAGE_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, Duration, Lane, Mode, ObjectId, PeerId, Reader, Time};

use super::{Event, Phase, Session};

/// Strangers that may wait for admission at a host at a time.
const STRANGERS_MAX: usize = 16;
/// Messages of the game that may wait until this peer is a member; the oldest are dropped beyond it.
const EARLY_MAX: usize = 1_024;
/// Messages and datagrams of one peer that may wait until this peer knows the term they were said under.
const HELD_MAX: usize = 1_024;
/// How often at most a stranger is told that it is no member.
const REBUFF_INTERVAL: Duration = Duration::from_millis(100);

impl Session {
    pub(super) fn route(&mut self, now: Time, from: PeerId, mode: Mode, bytes: &[u8]) {
        if !self.links.contains_key(&from) && !self.admit_stranger(now, from) {
            return;
        }
        let Some(peering) = self.links.get_mut(&from) else { return };
        peering.idle = None;
        if peering.link.is_quiet(now) {
            peering.resumed = now;
        }
        let delivered = peering.link.deliveries();
        let result = peering.link.handle(now, mode, bytes);
        peering.is_told &= peering.link.deliveries() == delivered;
        if let Err(code) = result {
            self.on_misbehaviour(now, from, code);
            return;
        }
        if self.appointment.is_some_and(|(heir, _)| heir == from) {
            self.stir();
            self.watch(now);
        }
        while let Some(event) = self.links.get_mut(&from).and_then(|peering| peering.link.poll_event()) {
            if !Self::is_theirs_alone(&event) {
                self.stir();
            }
            if let Err(code) = self.on_link_event(now, from, event) {
                self.on_misbehaviour(now, from, code);
                return;
            }
        }
        self.after_objects(now);
        self.hand_out_tickets(now);
    }

    /// Whether an event changes nothing that anybody but its sender would be told of: states of objects, and what became
    /// of packets.
    fn is_theirs_alone(event: &LinkEvent) -> bool {
        match event {
            LinkEvent::Fate(..) | LinkEvent::Clock { .. } => true,
            LinkEvent::Datagram(_, bytes) => bytes.first() == Some(&(MessageKind::Frame as u8)),
            _ => false,
        }
    }

    /// Who speaks under a term that this peer has not counted to its end waits to be heard (PROTOCOL §4.10), but for
    /// its control messages: these bring the end about.
    fn hold(&mut self, from: PeerId, event: LinkEvent) -> Result<Option<LinkEvent>, CloseCode> {
        let Some(peering) = self.links.get_mut(&from) else { return Ok(Some(event)) };
        let waits = match &event {
            LinkEvent::Message(_, bytes) => match bytes.split_first() {
                Some((&kind, _)) if kind == MessageKind::Control as u8 => false,
                _ => peering.ahead.is_some(),
            },
            LinkEvent::Datagram(..) => peering.ahead.is_some(),
            _ => false,
        };
        if !waits {
            return Ok(Some(event));
        }
        if peering.held.len() >= HELD_MAX {
            if from == self.host() {
                // It is as honest as this peer, and so is the count that does not come here: the ticket leads to where the
                // session is by now.
                self.end(super::EndReason::Removed);
                return Ok(None);
            }
            return Err(CloseCode::NotAMember);
        }
        peering.held.push_back(event);
        Ok(None)
    }

    /// The present term is a newer one: hears those who were waiting under it.
    pub(super) fn release_held(&mut self, now: Time) {
        for peer in self.links.keys().copied().collect::<Vec<_>>() {
            let ahead = self.links.get(&peer).and_then(|peering| peering.ahead);
            let is_heard = ahead.is_none_or(|(vote, _)| !self.is_elsewhere(peer, vote));
            let Some(peering) = self.links.get_mut(&peer) else { continue };
            if is_heard {
                peering.note_ahead(None);
            }
            // What has to wait on does so, in its order.
            for event in core::mem::take(&mut peering.held) {
                if let Err(code) = self.on_link_event(now, peer, event) {
                    self.on_misbehaviour(now, peer, code);
                    break;
                }
            }
        }
        self.after_objects(now);
    }

    /// A member speaks under a host under whom this peer does not live, or does as well.
    pub(super) fn listen(&mut self, now: Time, from: PeerId, ahead: Option<Vote>) {
        let Some(peering) = self.links.get_mut(&from) else { return };
        let was = peering.ahead;
        peering.note_ahead(ahead);
        if was.is_some() && ahead.is_none() {
            self.release_held(now);
        }
    }

    /// Whether a member that lives under the host of a vote is ahead of this peer, or on another side of the session.
    /// What it says there waits until both live under the same host.
    pub(super) fn is_elsewhere(&self, from: PeerId, vote: Vote) -> bool {
        let is_other = ![from, vote.candidate].contains(&self.host());
        vote.term > self.term() || self.config.rules.forks && is_other
    }

    /// Whether to listen to a peer that there is no link to: a host does, until it has heard a hello, and so does
    /// everybody to a member.
    fn admit_stranger(&mut self, now: Time, from: PeerId) -> bool {
        if let Some(code) = self.closed_to(from) {
            if self.last_rebuff + REBUFF_INTERVAL <= now {
                self.last_rebuff = now;
                self.bid_farewell(from, samovar_link::close_packet(code));
            }
            return false;
        }
        if self.is_member_come_back(now, from) {
            self.link_member(now, from);
            return true;
        }
        let strangers = self.links.values().filter(|peering| !peering.admitted).count();
        if !self.is_host() || strangers >= STRANGERS_MAX {
            return false;
        }
        self.open_link(now, from);
        true
    }

    fn on_link_event(&mut self, now: Time, from: PeerId, event: LinkEvent) -> Result<(), CloseCode> {
        let Some(event) = self.hold(from, event)? else { return Ok(()) };
        match event {
            LinkEvent::Message(lane, bytes) => {
                let result = self.on_message(now, from, lane, &bytes);
                self.recycle(from, bytes);
                result
            }
            LinkEvent::Datagram(_, bytes) => {
                let result = self.on_datagram(now, from, &bytes);
                self.recycle(from, bytes);
                result
            }
            LinkEvent::Fate(packet, fate) => {
                self.objects.on_fate(from, packet, fate == Fate::Delivered);
                self.orders.on_fate(from, packet, fate == Fate::Delivered);
                Ok(())
            }
            LinkEvent::Clock { session, received, round_trip } => {
                if from == self.host() {
                    self.clock.on_sample(session, received, round_trip);
                } else if self.roster.is_host() && self.view.has(from) {
                    // A newcomer that had to take over at once learns from the others what time it is.
                    self.clock.on_word(session, received, round_trip, self.heard);
                }
                Ok(())
            }
            LinkEvent::Closed(code) => {
                self.on_closed(now, from, code);
                Ok(())
            }
            LinkEvent::Restarted => {
                self.on_restarted(now, from);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether a peer's word about objects counts: a member's does, and to a joiner its host's.
    pub(super) fn takes_part(&self, peer: PeerId) -> bool {
        let admitted = self.links.get(&peer).is_some_and(|peering| peering.admitted);
        admitted || (self.phase == Phase::Joining && peer == self.host())
    }

    /// The link of a peer gets a buffer back.
    fn recycle(&mut self, peer: PeerId, bytes: Vec<u8>) {
        if let Some(peering) = self.links.get_mut(&peer) {
            peering.link.recycle(bytes);
        }
    }

    fn on_datagram(&mut self, now: Time, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(bytes);
        match MessageKind::decode(&mut reader) {
            Ok(MessageKind::Frame) if self.takes_part(from) => {
                let body = reader.rest();
                self.objects.handle_datagram(from, body)?;
                self.handle_update(now, from, body);
                Ok(())
            }
            Ok(MessageKind::App) if self.takes_part(from) => {
                self.on_app(from, Lane::Unreliable, reader.rest())
            }
            Ok(kind @ (MessageKind::Call | MessageKind::Reply | MessageKind::Cancel)) => {
                if self.takes_part(from) {
                    self.handle_call(from, Lane::Unreliable, kind, reader.rest())?;
                }
                Ok(())
            }
            Ok(kind @ (MessageKind::Promise | MessageKind::Lockstep)) if self.takes_part(from) => {
                self.handle_order_datagram(now, from, kind, reader.rest())
            }
            // A datagram may overtake what makes its sender a member.
            Ok(MessageKind::Frame | MessageKind::App | MessageKind::Promise | MessageKind::Lockstep) => {
                Ok(())
            }
            _ => Err(CloseCode::Malformed),
        }
    }

    /// A message of the game. In a lane of its own it may overtake what admits this peer: then it waits for that.
    pub(super) fn on_app(&mut self, from: PeerId, lane: Lane, bytes: &[u8]) -> Result<(), CloseCode> {
        if bytes.len() > APP_MESSAGE_MAX {
            return Err(CloseCode::TooLarge);
        }
        let event = Event::Message { from, delivery: lane.into(), bytes: bytes.to_vec() };
        if self.phase != Phase::Joining {
            self.push_event(event);
        } else if lane != Lane::Unreliable {
            if self.early.len() == EARLY_MAX {
                self.early.pop_front();
            }
            self.early.push_back(event);
        }
        Ok(())
    }

    fn on_message(&mut self, now: Time, from: PeerId, lane: Lane, bytes: &[u8]) -> Result<(), CloseCode> {
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader).map_err(|_| CloseCode::Malformed)?;
        match kind {
            // Their order is that of the session's lane; no other can carry them.
            kind if !has_any_lane(kind) && lane != Lane::SESSION && lane != Lane::Bulk => {
                Err(CloseCode::Unexpected)
            }
            MessageKind::Control => self.handle_control(now, from, reader.rest()),
            // As with datagrams.
            _ if matches!(lane, Lane::Sequenced(_)) && !self.takes_part(from) => Ok(()),
            _ if !self.takes_part(from) => self.refuse(from),
            MessageKind::App => self.on_app(from, lane, reader.rest()),
            MessageKind::Call | MessageKind::Reply | MessageKind::Cancel => {
                self.handle_call(from, lane, kind, reader.rest())
            }
            MessageKind::Request => self.handle_request(now, from, reader.rest()),
            MessageKind::Answer => self.handle_answer(from, reader.rest()),
            MessageKind::Input => self.handle_inputs(now, from, reader.rest()),
            MessageKind::Held => self.handle_held(now, from, reader.rest()),
            MessageKind::Told => self.handle_told(now, from, reader.rest()),
            MessageKind::Causal | MessageKind::Total | MessageKind::Timed | MessageKind::Lockstep => {
                self.handle_order(now, from, kind, reader.rest())
            }
            MessageKind::Promise => Err(CloseCode::Unexpected),
            _ => {
                self.objects.handle_message(from, kind, reader.rest())?;
                self.after_objects(now);
                Ok(())
            }
        }
    }

    /// Who takes no part has said what members say. It may be honest: one that a former host admitted and did not live to
    /// announce; or the host, whom this peer cannot follow, and which is not gone (PROTOCOL §4.10).
    pub(super) fn refuse(&mut self, from: PeerId) -> Result<(), CloseCode> {
        if from != self.host() {
            return Err(CloseCode::NotAMember);
        }
        self.end_removed();
        Ok(())
    }

    /// Objects changed: tells the game, and reads the session object when it is a newer one.
    pub(super) fn after_objects(&mut self, now: Time) {
        while let Some(event) = self.objects.poll_event() {
            let (ObjectEvent::Created(id)
            | ObjectEvent::OwnerChanged { id, .. }
            | ObjectEvent::Destroyed { id, .. }
            | ObjectEvent::Entered(id)
            | ObjectEvent::Left(id)) = event
            else {
                continue;
            };
            self.stir();
            if id == ObjectId::SESSION {
                continue;
            }
            match event {
                ObjectEvent::Created(id) => {
                    self.push_event(Event::ObjectCreated(id));
                    // A former host may have created it before it heard that there is another (PROTOCOL §4.2).
                    if self.objects.get(id).is_some_and(|object| object.traits().with_host) {
                        self.adopt_objects();
                    }
                }
                ObjectEvent::OwnerChanged { id, from, to } => {
                    self.note_fate(now, id);
                    self.push_event(Event::OwnerChanged { id, from, to });
                }
                ObjectEvent::Destroyed { id, kind } => {
                    self.note_fate(now, id);
                    self.push_event(Event::ObjectDestroyed { id, kind });
                }
                ObjectEvent::Entered(id) => self.push_event(Event::ObjectEntered(id)),
                ObjectEvent::Left(id) => self.push_event(Event::ObjectLeft(id)),
                _ => {}
            }
            self.settle_wishes(&event);
            self.note_for_arbiter(now, &event);
        }
        self.read_session_object(now);
    }

    /// A peer broke the rules: its link ends with the reason, and nobody else notices.
    pub(super) fn on_misbehaviour(&mut self, now: Time, peer: PeerId, code: CloseCode) {
        self.stir();
        let was_admitted = self.links.get(&peer).is_some_and(|peering| peering.admitted);
        self.drop_link(peer, code);
        self.close_to(peer, code);
        self.push_event(Event::LinkClosed { peer, code });
        if peer == self.host() {
            self.end(super::EndReason::Misbehaviour(code));
        } else if was_admitted && self.is_host() {
            self.remove_member(now, peer);
        }
    }
}

/// Whether a message of this kind may come by any lane; what concerns objects keeps the order of the session's.
const fn has_any_lane(kind: MessageKind) -> bool {
    use MessageKind::{App, Call, Cancel, Reply};
    matches!(kind, App | Call | Reply | Cancel)
}
