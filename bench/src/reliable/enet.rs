//! ENet with its defaults: reliable packets on one channel.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use rusty_enet::{Event, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};

use super::{Carrier, End};

pub(super) const CARRIER: Carrier = Carrier {
    name: "rusty_enet 0.4.1 reliable",
    start: |seed| {
        let (mut sender, receiver) = (Enet::new(seed), Enet::new(seed + 1_000));
        sender.host.connect(address(), 1, 0).expect("there is a free peer");
        (Box::new(sender), Box::new(receiver))
    },
};

/// The address of the other end. Each end knows only one.
fn address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 9).into()
}

#[derive(Clone, Default)]
struct Queues {
    arrived: Rc<RefCell<VecDeque<Vec<u8>>>>,
    sent: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Socket for Queues {
    type Address = SocketAddr;
    type Error = Error;

    fn send(&mut self, _address: SocketAddr, buffer: &[u8]) -> Result<usize, Error> {
        self.sent.borrow_mut().push(buffer.to_vec());
        Ok(buffer.len())
    }

    fn receive(&mut self, buffer: &mut [u8; MTU_MAX]) -> Result<Option<(SocketAddr, PacketReceived)>, Error> {
        let Some(datagram) = self.arrived.borrow_mut().pop_front() else { return Ok(None) };
        buffer[..datagram.len()].copy_from_slice(&datagram);
        Ok(Some((address(), PacketReceived::Complete(datagram.len()))))
    }
}

type Error = Infallible;

struct Enet {
    queues: Queues,
    clock: Rc<Cell<u64>>,
    host: Host<Queues>,
    peer: Option<PeerID>,
    messages: VecDeque<Vec<u8>>,
}

impl Enet {
    fn new(seed: u64) -> Self {
        let (queues, clock) = (Queues::default(), Rc::new(Cell::new(0)));
        let time = Rc::clone(&clock);
        let settings = HostSettings {
            peer_limit: 1,
            channel_limit: 1,
            time: Box::new(move || Duration::from_millis(time.get())),
            seed: Some(seed as u32),
            ..Default::default()
        };
        let host = Host::new(queues.clone(), settings).expect("the settings are valid");
        Self { queues, clock, host, peer: None, messages: VecDeque::new() }
    }
}

impl End for Enet {
    fn is_ready(&self) -> bool {
        self.peer.is_some()
    }

    fn send(&mut self, message: &[u8]) {
        let peer = self.host.peer_mut(self.peer.expect("sent when ready"));
        peer.send(0, &Packet::reliable(message)).expect("the peer is connected");
    }

    fn receive(&mut self, _now: u64, datagram: &[u8]) {
        self.queues.arrived.borrow_mut().push_back(datagram.to_vec());
    }

    fn step(&mut self, now: u64, out: &mut Vec<Vec<u8>>) {
        self.clock.set(now);
        while let Ok(Some(event)) = self.host.service() {
            match event {
                Event::Connect { peer, .. } => self.peer = Some(peer.id()),
                Event::Disconnect { .. } => panic!("enet gave up"),
                Event::Receive { packet, .. } => self.messages.push_back(packet.data().to_vec()),
            }
        }
        out.append(&mut self.queues.sent.borrow_mut());
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }
}
