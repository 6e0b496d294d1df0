//! Chromium's SCTP with its defaults: an ordered, reliable data channel as a page has it.

use std::time::Duration;

use dcsctp::api::{
    DcSctpSocket, Message, Options, PpId, SendOptions, SocketEvent, SocketState, SocketTime, StreamId,
};

use super::{Carrier, End};

pub(super) const CARRIER: Carrier = Carrier {
    name: "dcsctp 0.1.16 ordered",
    start: |_| {
        let (mut sender, receiver) = (Sctp::new("sender"), Sctp::new("receiver"));
        sender.0.connect();
        (Box::new(sender), Box::new(receiver))
    },
};

struct Sctp(Box<dyn DcSctpSocket>);

impl Sctp {
    fn new(name: &str) -> Self {
        Self(dcsctp::new_socket(name, &Options::default()))
    }

    fn advance(&mut self, now: u64) {
        self.0.advance_time(SocketTime::zero() + Duration::from_millis(now));
    }
}

impl End for Sctp {
    fn is_ready(&self) -> bool {
        self.0.state() == SocketState::Connected
    }

    fn send(&mut self, message: &[u8]) {
        let message = Message::new(StreamId(0), PpId(53), message.to_vec());
        self.0.send(message, &SendOptions::default()).expect("the queue has room");
    }

    fn receive(&mut self, now: u64, datagram: &[u8]) {
        self.advance(now);
        self.0.handle_input(datagram);
    }

    fn step(&mut self, now: u64, out: &mut Vec<Vec<u8>>) {
        self.advance(now);
        while let Some(event) = self.0.poll_event() {
            if let SocketEvent::SendPacket(packet) = event {
                out.push(packet);
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.0.get_next_message().map(|message| message.payload)
    }
}
