//! The part of a driver that is the same in a page and in a native program: it carries out what the peer wants, and tells
//! the peer what the sockets report. Drivers differ in their sockets and in the way they wait.

use samovar_directory::SocketId;
use samovar_wire::{Mode, PeerId, Time};

use crate::direct::{ConnectionEvent, Side};
use crate::driver::{Buffer, ConnectionKey, Request, Transmit};
use crate::peer::Peer;

/// A driver: the methods without a body are about its sockets.
pub trait Drive {
    /// Calls the peer with the present time.
    fn tell<R>(&mut self, say: impl FnOnce(&mut Peer, Time) -> R) -> R;

    /// Opens a WebSocket to the relay under this name.
    fn open_relay(&mut self, socket: SocketId);

    /// Begins an attempt at a connection under this name.
    fn connect(&mut self, key: ConnectionKey, side: Side);

    /// Completes a connection that made an offer, with the untrusted answer, if that connection still exists.
    fn accept(&mut self, key: ConnectionKey, answer: String);

    /// Learns the relay's UDP ports from its untrusted answer to an offer; see [`stun_servers`](crate::stun_servers).
    fn learn_mirrors(&mut self, answer: &str);

    /// Sends bytes by a WebSocket, or by the channel of this mode of a connection. Returns `false` if the socket or
    /// connection is of no more use. Bytes for one that does not exist are lost.
    fn send(&mut self, by: Buffer, mode: Mode, bytes: Vec<u8>) -> bool;

    /// Closes a WebSocket or a connection, and ignores what it reports from now on. Returns whether it existed.
    fn close(&mut self, what: Buffer) -> bool;

    /// Tells the peer how many of its sent bytes still wait, for each WebSocket and connection
    /// ([`Peer::handle_backlog`]). A driver does so before it [carries out](Drive::carry_out).
    fn tell_backlogs(&mut self);

    /// Notes that a WebSocket was lost, before the peer hears of it. Default: does nothing.
    fn on_relay_lost(&mut self) {}

    /// Closes a WebSocket or a connection that has ended or is of no more use, and tells the peer.
    fn lose(&mut self, what: Buffer) {
        if !self.close(what) {
            return;
        }
        match what {
            Buffer::Relay(socket) => {
                self.on_relay_lost();
                self.tell(|peer, now| peer.handle_relay_closed(now, socket));
            }
            Buffer::Direct(ConnectionKey { peer: other, attempt }) => {
                self.tell(|peer, now| peer.handle_direct_closed(now, other, attempt));
            }
        }
    }

    /// Tells the peer an event of an existing connection.
    fn on_connection(&mut self, key: ConnectionKey, event: ConnectionEvent<impl AsRef<[u8]>>) {
        let ConnectionKey { peer: other, attempt } = key;
        match event {
            ConnectionEvent::Described(sdp) => {
                self.tell(|peer, now| peer.handle_local_description(now, other, attempt, sdp));
            }
            ConnectionEvent::Opened => self.tell(|peer, now| peer.handle_direct_opened(now, other, attempt)),
            ConnectionEvent::Packet(mode, bytes) => {
                self.tell(|peer, now| peer.handle_direct_packet(now, other, attempt, mode, bytes.as_ref()));
            }
            ConnectionEvent::Closed => self.lose(Buffer::Direct(key)),
        }
    }

    /// Sends the peer's bytes and obeys its requests, until there are none.
    fn carry_out(&mut self) {
        loop {
            // Bytes go before requests: a farewell must go out before its connection closes.
            while let Some(transmit) = self.tell(Peer::poll_transmit) {
                self.transmit(transmit);
            }
            let Some(request) = self.tell(|peer, _| peer.poll_request()) else { return };
            self.obey(request);
        }
    }

    /// Sends bytes of the peer.
    fn transmit(&mut self, transmit: Transmit) {
        let (by, mode, bytes) = match transmit {
            Transmit::Relay { socket, bytes } => (Buffer::Relay(socket), Mode::Reliable, bytes),
            Transmit::Direct { peer, attempt, mode, bytes } => {
                (Buffer::Direct(ConnectionKey { peer, attempt }), mode, bytes)
            }
        };
        if !self.send(by, mode, bytes) {
            self.lose(by);
        }
    }

    /// Obeys a request of the peer.
    fn obey(&mut self, request: Request) {
        match request {
            Request::OpenRelay(socket) => self.open_relay(socket),
            Request::CloseRelay(socket) => _ = self.close(Buffer::Relay(socket)),
            Request::Offer { peer, attempt } => self.connect(ConnectionKey { peer, attempt }, Side::Offer),
            Request::Answer { peer, attempt, offer } => {
                self.connect(ConnectionKey { peer, attempt }, Side::Answer(offer));
            }
            Request::Accept { peer, attempt, answer } => {
                if peer == PeerId::RELAY {
                    self.learn_mirrors(&answer);
                }
                self.accept(ConnectionKey { peer, attempt }, answer);
            }
            Request::CloseDirect { peer, attempt } => {
                self.close(Buffer::Direct(ConnectionKey { peer, attempt }));
            }
        }
    }
}
