//! naia, with its millisecond clock in virtual time, and with queues as sockets.

mod bodies;
mod sockets;
mod world;

use std::time::Duration;

use naia_client::{Client, ClientConfig};
use naia_server::{ConnectEvent, RoomKey, Server, ServerConfig};
use naia_shared::{BandwidthConfig, ConnectionConfig, Instant, Protocol, TestClock};

use super::{Replicator, Setup, Subject};
use crate::network::Outbox;
use crate::state::{Key, State};
use bodies::{Body, Exact, Quantised};
use sockets::{ClientSocket, Queue, ServerSocket};
use world::{Lent, World};

/// naia with fields of fixed bits, at the precision of the workload.
pub const QUANTISED: Subject =
    Subject { name: "naia 0.25.0 quantised", start: |setup| Box::new(Naia::<Quantised>::new(setup)) };

/// naia with plain floats.
pub const EXACT: Subject =
    Subject { name: "naia 0.25.0 floats", start: |setup| Box::new(Naia::<Exact>::new(setup)) };

const TICK: Duration = Duration::from_nanos(16_666_667);

struct Naia<B> {
    server: Server<usize>,
    socket: ServerSocket,
    world: World,
    room: RoomKey,
    objects: Vec<usize>,
    observers: Vec<Observer>,
    body: std::marker::PhantomData<B>,
}

struct Observer {
    client: Client<usize>,
    arrived: Queue,
    sent: Queue,
    world: World,
    shown: Vec<Option<Key>>,
}

fn protocol<B: Body>() -> Protocol {
    let mut protocol = Protocol::builder();
    protocol.tick_interval(TICK).add_default_channels().add_component::<B>();
    protocol.build()
}

/// The settings of a connection. naia's default of 64 kB/s for each connection is less than this workload takes.
fn connection() -> ConnectionConfig {
    let bandwidth = BandwidthConfig { target_bytes_per_sec: 10_000_000 };
    ConnectionConfig { bandwidth, ..Default::default() }
}

impl<B: Body> Naia<B> {
    fn new(setup: Setup<'_>) -> Self {
        TestClock::init(0);
        let config = ServerConfig { require_auth: false, connection: connection(), ..Default::default() };
        let mut server = Server::new(config, protocol::<B>());
        let socket = ServerSocket::new(setup.observers);
        server.listen(socket.clone());
        let mut world = World::default();
        let room = server.create_room().key();
        let spawn = |(number, state): (usize, &State)| {
            let object =
                server.spawn_entity(Lent(&mut world)).insert_component(B::new(number as u16, state)).id();
            server.room_mut(&room).add_entity(&object);
            object
        };
        let objects = setup.states.iter().enumerate().map(spawn).collect();
        let observers = (0..setup.observers).map(|id| Observer::new::<B>(&socket, id, setup.states.len()));
        let observers = observers.collect();
        Self { server, socket, world, room, objects, observers, body: std::marker::PhantomData }
    }

    /// Lets in the clients that have connected, and puts all objects in their scope.
    fn admit(&mut self) {
        let mut events = self.server.take_world_events();
        for user in events.read::<ConnectEvent>() {
            self.server.room_mut(&self.room).add_user(&user);
        }
        let pending = self.server.scope_checks_pending();
        if !pending.is_empty() {
            for (_, user, object) in pending {
                self.server.user_scope_mut(&user).include(&object);
            }
            self.server.mark_scope_checks_pending_handled();
        }
    }
}

impl Observer {
    fn new<B: Body>(server: &ServerSocket, id: usize, objects: usize) -> Self {
        let config = ClientConfig { connection: connection(), ..Default::default() };
        let mut client = Client::new(config, protocol::<B>());
        let socket = ClientSocket::new(server, id);
        let (arrived, sent) = (socket.arrived.clone(), socket.sent.clone());
        client.connect(socket);
        Self { client, arrived, sent, world: World::default(), shown: vec![None; objects] }
    }
}

impl<B: Body> Replicator for Naia<B> {
    fn receive_at_owner(&mut self, observer: usize, datagram: &[u8]) {
        self.socket.arrived.push(observer, datagram);
    }

    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox) {
        TestClock::init(tick * 1_000 / 60);
        let now = Instant::now();
        self.server.receive_all_packets();
        self.server.process_all_packets(Lent(&mut self.world), &now);
        self.admit();
        self.server.take_tick_events(&now);
        for (object, state) in self.objects.iter().zip(states) {
            self.world.body_mut::<B>(*object).write(state);
        }
        self.server.send_all_packets(Lent(&self.world));
        self.socket.sent.drain(|observer, datagram| out.push(observer, datagram));
    }

    fn tick_observer(&mut self, _tick: u64, id: usize, arrived: &[Vec<u8>], out: &mut Outbox) {
        let observer = &mut self.observers[id];
        arrived.iter().for_each(|datagram| observer.arrived.push(id, datagram));
        let now = Instant::now();
        observer.client.receive_all_packets();
        observer.client.process_all_packets(Lent(&mut observer.world), &now);
        observer.client.take_world_events();
        observer.client.take_tick_events(&now);
        observer.client.send_all_packets(Lent(&observer.world));
        observer.sent.drain(|_, datagram| out.push(id, datagram));
        for body in observer.world.bodies::<B>() {
            observer.shown[usize::from(body.number())] = Some(body.shown());
        }
    }

    fn shown(&self, observer: usize, object: usize) -> Option<Key> {
        self.observers[observer].shown[object]
    }

    fn key(&self, state: &State) -> Key {
        B::key(state)
    }
}
