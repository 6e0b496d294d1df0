//! renet: one message of plain floats per object and tick.
//!
//! renet is a transport; a game on top of it decides what to send. This one sends every object in every tick,
//! unreliably (the next tick repairs a loss) or in the channel that is reliable and unordered.

use std::time::Duration;

use renet::{ConnectionConfig, DefaultChannel, RenetClient, RenetServer};

use super::{Replicator, Setup, Subject};
use crate::network::Outbox;
use crate::state::{Key, PLAIN_LEN, State, read_plain, write_plain};

/// Messages may be lost.
pub const UNRELIABLE: Subject = Subject {
    name: "renet 2.0.1 unreliable",
    start: |setup| Box::new(Renet::new(setup, || DefaultChannel::Unreliable.into())),
};

/// A message without an ack is sent again after 300 ms, renet's default.
pub const RELIABLE: Subject = Subject {
    name: "renet 2.0.1 reliable",
    start: |setup| Box::new(Renet::new(setup, || DefaultChannel::ReliableUnordered.into())),
};

const TICK: Duration = Duration::from_nanos(16_666_667);
/// Bytes of a message's head before the floats: the number of the object, and the tick.
const HEAD_LEN: usize = 6;

struct Renet {
    channel: u8,
    server: RenetServer,
    clients: Vec<Client>,
    states: Vec<State>,
}

struct Client {
    connection: RenetClient,
    /// The newest tick of each object, and what it showed.
    shown: Vec<(u32, Option<Key>)>,
}

impl Renet {
    fn new(setup: Setup<'_>, channel: fn() -> u8) -> Self {
        let mut server = RenetServer::new(ConnectionConfig::default());
        let clients = (0..setup.observers).map(|observer| {
            server.add_connection(observer as u64);
            let mut connection = RenetClient::new(ConnectionConfig::default());
            connection.set_connected();
            Client { connection, shown: vec![(0, None); setup.states.len()] }
        });
        let clients = clients.collect();
        Self { channel: channel(), server, clients, states: setup.states.to_vec() }
    }
}

impl Replicator for Renet {
    fn receive_at_owner(&mut self, observer: usize, datagram: &[u8]) {
        self.server.process_packet_from(datagram, observer as u64).expect("the observer is connected");
    }

    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox) {
        self.states[..states.len()].copy_from_slice(states);
        self.server.update(TICK);
        for (object, state) in self.states.iter().enumerate() {
            let mut message = Vec::with_capacity(HEAD_LEN + PLAIN_LEN);
            message.extend_from_slice(&(object as u16).to_le_bytes());
            message.extend_from_slice(&(tick as u32).to_le_bytes());
            write_plain(state, &mut message);
            self.server.broadcast_message(self.channel, message);
        }
        for observer in 0..self.clients.len() {
            let packets = self.server.get_packets_to_send(observer as u64);
            for packet in packets.expect("the observer is connected") {
                out.push(observer, &packet);
            }
        }
    }

    fn tick_observer(&mut self, _tick: u64, observer: usize, arrived: &[Vec<u8>], out: &mut Outbox) {
        let Client { connection, shown } = &mut self.clients[observer];
        connection.update(TICK);
        arrived.iter().for_each(|datagram| connection.process_packet(datagram));
        while let Some(message) = connection.receive_message(self.channel) {
            let object = u16::from_le_bytes([message[0], message[1]]);
            let tick = u32::from_le_bytes([message[2], message[3], message[4], message[5]]);
            let newest = &mut shown[usize::from(object)];
            if tick >= newest.0 {
                *newest = (tick, read_plain(&message[HEAD_LEN..]));
            }
        }
        for packet in connection.get_packets_to_send() {
            out.push(observer, &packet);
        }
    }

    fn shown(&self, observer: usize, object: usize) -> Option<Key> {
        self.clients[observer].shown[object].1
    }
}
