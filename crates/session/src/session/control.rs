//! Control messages between peers, and closed links.

use samovar_roster::Verdict;
use samovar_wire::control::{Hello, PeerControl, encode};
use samovar_wire::object::MessageKind;
use samovar_wire::{Blame, CloseCode, Duration, PROTOCOL_VERSION, PeerId, Receipt, Ticket, Time};

use super::{EndReason, Event, Phase, Session};

/// Who is not admitted for so long claims the term for itself: members would have found a host long before.
const ABANDONED_AFTER: Duration = Duration::from_millis(10_000);
/// And how often.
const CLAIM_AGAIN: Duration = Duration::from_millis(1_000);

impl Session {
    /// Sends a control message; a peer whose queue is full is not reading, and is closed.
    pub(super) fn send_control(&mut self, now: Time, to: PeerId, message: &PeerControl) -> Option<Receipt> {
        let mut bytes = vec![MessageKind::Control as u8];
        encode(message, &mut bytes);
        let sent = self.links.get_mut(&to)?.link.send_control(&bytes);
        if sent.is_err() {
            self.on_misbehaviour(now, to, CloseCode::LimitExceeded);
        }
        sent.ok()
    }

    /// Asks the host by the highest warrant for admission, with that warrant first.
    pub(super) fn ask_to_join(&mut self, now: Time) {
        let host = self.host();
        self.abandoned_at = now + ABANDONED_AFTER;
        self.asked = Some(self.term());
        self.open_link(now, host);
        self.send_control(now, host, &PeerControl::Warrant(*self.roster.warrant()));
        self.send_control(now, host, &PeerControl::Hello(self.hello()));
    }

    /// The reign in which this peer was admitted, or the link to the host, is another one now, and the ticket has not come.
    pub(super) fn ask_for_ticket(&mut self, now: Time) {
        if self.phase == Phase::Member && self.ticket.is_none() && self.asked != Some(self.term()) {
            self.asked = Some(self.term());
            self.send_control(now, self.host(), &PeerControl::Hello(self.hello()));
        }
    }

    pub(super) fn hello(&self) -> Hello {
        Hello {
            version: PROTOCOL_VERSION,
            params: self.config.params,
            name: self.config.name.clone(),
            attributes: self.config.attributes,
            resume: self.config.ticket,
        }
    }

    pub(super) fn take_ticket(&mut self, ticket: Ticket) {
        self.ticket = Some(ticket);
        // What admits this peer may have another lane.
        if self.phase == Phase::Member {
            self.push_event(Event::Ticket(ticket));
        }
    }

    /// Nobody answers who could admit this peer, nor takes over: there may be no member left. The relay knows.
    pub(super) fn claim_if_abandoned(&mut self, now: Time) {
        if self.phase == Phase::Joining && self.abandoned_at <= now {
            self.abandoned_at = now + CLAIM_AGAIN;
            self.claim = Some((self.term().next_witnessed(), self.me()));
        }
    }

    pub(super) fn handle_control(&mut self, now: Time, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let news = PeerControl::decode(body).map_err(|_| CloseCode::Malformed)?;
        match news {
            PeerControl::Hello(hello) => self.on_hello(now, from, &hello),
            PeerControl::Welcome(ticket) => {
                // What a former host gave may have died with its view.
                if from == self.host() {
                    self.take_ticket(ticket);
                }
                Ok(())
            }
            PeerControl::Warrant(warrant) => match self.handle_warrant(now, &warrant) {
                Verdict::Forged => Err(CloseCode::BadWarrant),
                Verdict::Newer | Verdict::Known => {
                    if warrant.term == self.term() {
                        self.listen(now, from, None);
                    }
                    Ok(())
                }
            },
            PeerControl::Standing(standing) => {
                if self.is_host() {
                    self.note_standing(now, from, standing);
                }
                Ok(())
            }
            // What a stranger thinks of the host concerns nobody.
            _ if !self.takes_part(from) => self.refuse(from),
            PeerControl::Missing(missing) => {
                self.roster.handle_missing(from, missing);
                self.watch_soon();
                Ok(())
            }
            PeerControl::Vote(vote) => {
                self.roster.handle_vote(from, vote);
                self.watch(now);
                Ok(())
            }
            PeerControl::Reign(vote) => {
                self.roster.handle_reign(from, vote);
                self.watch(now);
                let ahead = self.is_elsewhere(from, vote).then_some(vote);
                self.listen(now, from, ahead);
                Ok(())
            }
            PeerControl::Resign(heir) => {
                if self.view.has(heir) {
                    self.roster.handle_resignation(from, heir);
                    self.watch(now);
                }
                Ok(())
            }
        }
    }

    /// The other end closed the link.
    pub(super) fn on_closed(&mut self, now: Time, peer: PeerId, code: CloseCode) {
        let is_farewell = code.is_farewell();
        if is_farewell {
            self.roster.handle_farewell(peer);
        }
        if code == CloseCode::Left {
            self.view.note_left(peer);
        }
        if peer == self.host() && self.phase == Phase::Joining && is_farewell {
            // It goes while we knock; its successor will be asked.
            self.links.remove(&peer);
            return;
        }
        if peer == self.host() && !self.is_host() {
            match (code, code.blame()) {
                (CloseCode::Left | CloseCode::Away, _) => {
                    if let Some(peering) = self.links.get_mut(&peer) {
                        peering.left = true;
                    }
                    self.watch(now);
                }
                (CloseCode::SeatTaken, _) => self.end(EndReason::SeatTaken),
                (_, Blame::Incompatible) => self.end(EndReason::Refused(code)),
                (_, Blame::Misbehaviour) => self.end(EndReason::Misbehaviour(code)),
                _ => self.end(EndReason::Removed),
            }
            return;
        }
        self.remove_link(peer);
        self.objects.remove_peer(peer);
        if is_farewell {
            self.parted.remove(&peer);
            if self.view.has(peer) {
                self.leavers.insert(peer);
            }
        }
        // A member may have read of this peer in no view yet, and will when its host is further.
        let is_by_view = matches!(code, CloseCode::NotAMember | CloseCode::SeatTaken);
        if !is_by_view || self.is_host() || !self.view.has(peer) {
            self.close_to(peer, CloseCode::NotAMember);
        }
        if code.blame() == Blame::Misbehaviour {
            self.push_event(Event::LinkClosed { peer, code });
        }
        if self.is_host() {
            self.remove_member(now, peer);
        }
    }
}
