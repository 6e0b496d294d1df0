//! Coming back. When the others went on without this member, it leaves the session and takes its seat back as a new
//! peer, by its ticket (PROTOCOL §5.2).
//!
//! A peer that has voted must never vote differently under the same id, so it cannot return to a session that it has
//! left. A new id makes it safe to forget the vote. The new peer has another socket, too: packets of the previous peer
//! may still be in flight on the relay's data channels, and would count as the new one's.

use samovar_session::{EndReason, Event};
use samovar_wire::Time;
use samovar_wire::relay::Purpose;

use crate::driver::PeerEvent;
use crate::path::AttemptEnd;
use crate::peer::Peer;

impl Peer {
    /// Handles an event of the session. Returns whether this event ends the peer.
    pub(crate) fn note_session_event(&mut self, now: Time, event: &Event) -> bool {
        self.seat.note(now, event);
        match event {
            Event::Ended(EndReason::Removed) if self.seat.has_sat() && !self.leaving.hands_over() => {
                self.seat.leave();
                false
            }
            Event::Ended(reason) => {
                // A peer that the session removed may come back by joining again.
                if *reason == EndReason::Removed {
                    self.leaving.go_away();
                }
                true
            }
            _ => false,
        }
    }

    /// Leaves a session that has ended, and asks for the seat when that is due. Until then the driver sends the last
    /// messages on the previous socket.
    pub(crate) fn tend_seat(&mut self, now: Time) {
        if self.seat.takes_leave() {
            self.leave_session(now);
        } else if self.seat.takes_ask(now) {
            let config = self.config.client_config(&mut self.entropy);
            self.relay.client.start_over(now, config);
        }
    }

    /// Forgets the session and its state.
    fn leave_session(&mut self, now: Time) {
        self.route_session(now);
        self.end_paths();
        self.end_relay_path(AttemptEnd::Gone);
        let Some(session) = self.session.take() else { return };
        self.seat.keep(session.tickets());
        self.config.kept = session.kept(now).or(self.config.kept.take());
        if let (Some(code), Some(pass)) = (self.relay.code.clone(), self.relay.client.pass()) {
            self.config.purpose = Purpose::Rejoin(code, pass);
        }
        self.relay.leave_session();
        self.routes.leave_session();
        self.rest.end();
        self.relay.client.go_away(now);
        self.seat.ask_later(now);
        let has_diverged = self.seat.takes_divergence();
        self.out.tell(PeerEvent::Rejoining { has_diverged });
    }
}
