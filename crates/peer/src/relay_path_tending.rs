//! Keeps up the connection to the relay, and handles its packets.

use samovar_wire::relay::Addressed;
use samovar_wire::{Mode, PeerId, Time};

use crate::driver::Request;
use crate::path::{AttemptEnd, PathState};
use crate::peer::Peer;

impl Peer {
    /// Ends the connection to the relay. The relay ends its side when it loses this peer's WebSocket, and a peer that
    /// leaves or is over needs no connection.
    pub(crate) fn end_relay_path(&mut self, end: AttemptEnd) {
        for closed in self.routes.relay_path.end(end) {
            self.give_up(PeerId::RELAY, closed);
        }
    }

    /// Keeps up the connection to the relay: offers it, and asks for echoes.
    pub(crate) fn tend_relay_path(&mut self, now: Time) {
        if self.offers_to_relay() && self.routes.relay_path.wants_offer(now) {
            let attempt = self.routes.open(now, PeerId::RELAY, None);
            self.out.ask(Request::Offer { peer: PeerId::RELAY, attempt });
        }
        if self.routes.relay_path.path.complains(now, true) {
            // The direction from the relay may be cut, so this asks the relay to use the WebSocket as well.
            self.send_socket(PeerId::RELAY, Mode::Unreliable, &[]);
        }
        let doubted = self.routes.paths.values().filter(|path| path.is_doubted(now, true));
        let silent = doubted.filter_map(PathState::heard).max();
        self.routes.relay_path.hurry(now, silent);
        if let Some(me) = self.relay.client.peer()
            && let Some(attempt) = self.routes.relay_path.asks(now)
        {
            self.send_relay_path(attempt, Mode::Unreliable, Addressed { peer: me, payload: &[] });
        }
    }

    /// Whether this peer can make offers to the relay at all now.
    pub(crate) fn offers_to_relay(&self) -> bool {
        !self.is_over() && self.config.paths.has_channels_to_relay() && self.relay.client.is_settled()
    }

    /// Handles bytes on the connection to the relay.
    pub(crate) fn on_relay_path_packet(&mut self, now: Time, attempt: u32, mode: Mode, bytes: &[u8]) {
        let Ok(Addressed { peer, payload }) = Addressed::decode(mode, bytes) else {
            if let Some(closed) = self.routes.relay_path.path.on_closed(now, attempt) {
                self.give_up(PeerId::RELAY, closed);
            }
            return;
        };
        // A packet of another member proves only the direction from the relay.
        if self.relay.client.peer() == Some(peer) {
            if let Some(replaced) = self.routes.relay_path.on_echo(now, attempt) {
                self.give_up(PeerId::RELAY, replaced);
            }
        } else {
            self.routes.relay_path.on_traffic(now);
            self.on_relayed(now, peer, (mode, payload), false);
        }
    }
}
