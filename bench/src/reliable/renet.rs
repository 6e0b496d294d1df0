//! renet's channel that is reliable and ordered, with its defaults: it sends again after 300 ms.

use std::time::Duration;

use renet::{ConnectionConfig, DefaultChannel, RenetClient};

use super::{Carrier, End};

pub(super) const CARRIER: Carrier = Carrier {
    name: "renet 2.0.1 reliable ordered",
    start: |_| (Box::new(Renet::new()), Box::new(Renet::new())),
};

struct Renet(RenetClient);

impl Renet {
    /// One end of a connection. A server's end would have the same type, with the channels of the two directions
    /// exchanged. By default both directions have the same channels, so the receiver can be a client as well.
    fn new() -> Self {
        let mut connection = RenetClient::new(ConnectionConfig::default());
        connection.set_connected();
        Self(connection)
    }
}

impl End for Renet {
    fn is_ready(&self) -> bool {
        self.0.is_connected()
    }

    fn send(&mut self, message: &[u8]) {
        self.0.send_message(DefaultChannel::ReliableOrdered, message.to_vec());
    }

    fn receive(&mut self, _now: u64, datagram: &[u8]) {
        self.0.process_packet(datagram);
    }

    fn step(&mut self, _now: u64, out: &mut Vec<Vec<u8>>) {
        self.0.update(Duration::from_millis(1));
        out.extend(self.0.get_packets_to_send());
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.0.receive_message(DefaultChannel::ReliableOrdered).map(Into::into)
    }
}
