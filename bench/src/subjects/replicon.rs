//! `bevy_replicon` over renet, connected as `bevy_replicon_renet` does it, but without sockets. The bench sets its
//! time.

use std::time::Duration;

use bevy::prelude::*;
use bevy::state::app::StatesPlugin;
use bevy::time::TimeUpdateStrategy;
use bevy_replicon::prelude::*;
use bevy_replicon::shared::backend::channels::Channel as RepliconChannel;
use renet::{ChannelConfig, ConnectionConfig, RenetClient, RenetServer, SendType};
use serde::{Deserialize, Serialize};

use super::{Replicator, Setup, Subject};
use crate::network::Outbox;
use crate::state::{Key, State};

/// Plain floats in three components.
pub const SUBJECT: Subject =
    Subject { name: "bevy_replicon 0.42.3 over renet 2.0.1", start: |setup| Box::new(Replicon::new(setup)) };

const TICK: Duration = Duration::from_nanos(16_666_667);

/// The number of an entity's object. It never changes, so it costs nothing after the set-up.
#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Number(u16);

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Position([f32; 3]);

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Velocity([f32; 3]);

#[derive(Component, Clone, Copy, Serialize, Deserialize)]
struct Rotation([f32; 4]);

struct Replicon {
    app: App,
    server: RenetServer,
    objects: Vec<Entity>,
    observers: Vec<Observer>,
}

struct Observer {
    /// The owner's entity for this observer.
    entity: Entity,
    app: App,
    connection: RenetClient,
    query: QueryState<(&'static Number, &'static Position, &'static Velocity, &'static Rotation)>,
    shown: Vec<Option<Key>>,
}

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, StatesPlugin, RepliconPlugins.set(ServerPlugin::new(PostUpdate))))
        .insert_resource(TimeUpdateStrategy::ManualDuration(TICK))
        .replicate::<Number>()
        .replicate::<Position>()
        .replicate::<Velocity>()
        .replicate::<Rotation>();
    app.finish();
    app
}

/// The channels as `bevy_replicon_renet` makes them.
fn connection_config(channels: &RepliconChannels) -> ConnectionConfig {
    let configs = |channels: &[RepliconChannel]| {
        let config = |(id, channel): (usize, &RepliconChannel)| ChannelConfig {
            channel_id: id as u8,
            max_memory_usage_bytes: 5 * 1024 * 1024,
            send_type: match channel {
                RepliconChannel::Unreliable => SendType::Unreliable,
                RepliconChannel::Unordered => {
                    SendType::ReliableUnordered { resend_time: Duration::from_millis(300) }
                }
                RepliconChannel::Ordered => {
                    SendType::ReliableOrdered { resend_time: Duration::from_millis(300) }
                }
            },
        };
        channels.iter().enumerate().map(config).collect()
    };
    ConnectionConfig {
        server_channels_config: configs(channels.server_channels()),
        client_channels_config: configs(channels.client_channels()),
        ..Default::default()
    }
}

impl Replicon {
    fn new(setup: Setup<'_>) -> Self {
        let mut app = app();
        let config = connection_config(app.world().resource::<RepliconChannels>());
        let mut server = RenetServer::new(config.clone());
        app.world_mut().resource_mut::<NextState<ServerState>>().set(ServerState::Running);
        app.update();
        let observers = (0..setup.observers as u64).map(|id| {
            server.add_connection(id);
            let entity = app.world_mut().spawn(ConnectedClient { max_size: 1_200 }).id();
            Observer::new(entity, config.clone(), setup.states.len())
        });
        let observers = observers.collect();
        let spawn = |(number, state): (usize, &State)| {
            let parts = (Position(state.position), Velocity(state.velocity), Rotation(state.rotation));
            app.world_mut().spawn((Replicated, Number(number as u16), parts)).id()
        };
        let objects = setup.states.iter().enumerate().map(spawn).collect();
        Self { app, server, objects, observers }
    }
}

impl Observer {
    fn new(entity: Entity, config: ConnectionConfig, objects: usize) -> Self {
        let mut app = app();
        app.world_mut().resource_mut::<NextState<ClientState>>().set(ClientState::Connected);
        app.update();
        let mut connection = RenetClient::new(config);
        connection.set_connected();
        let query = app.world_mut().query();
        Self { entity, app, connection, query, shown: vec![None; objects] }
    }

    fn read(&mut self) {
        for (number, position, velocity, rotation) in self.query.iter(self.app.world()) {
            self.shown[usize::from(number.0)] = Some(Key::exact(position.0, velocity.0, rotation.0));
        }
    }
}

impl Replicator for Replicon {
    fn receive_at_owner(&mut self, observer: usize, datagram: &[u8]) {
        self.server.process_packet_from(datagram, observer as u64).expect("the observer is connected");
    }

    fn tick_owner(&mut self, _tick: u64, states: &[State], out: &mut Outbox) {
        let Self { app, server, objects, observers } = self;
        server.update(TICK);
        let channels = app.world().resource::<RepliconChannels>().client_channels().len();
        let mut messages = app.world_mut().resource_mut::<ServerMessages>();
        for (id, observer) in observers.iter().enumerate() {
            for channel in 0..channels {
                while let Some(message) = server.receive_message(id as u64, channel as u8) {
                    messages.insert_received(observer.entity, channel, message);
                }
            }
        }
        for (object, state) in objects.iter().zip(states) {
            let mut entity = app.world_mut().entity_mut(*object);
            let mut parts = entity
                .get_components_mut::<(&mut Position, &mut Velocity, &mut Rotation)>()
                .expect("all objects have these");
            if parts.0.0 != state.position {
                parts.0.0 = state.position;
            }
            if parts.1.0 != state.velocity {
                parts.1.0 = state.velocity;
            }
            if parts.2.0 != state.rotation {
                parts.2.0 = state.rotation;
            }
        }
        app.update();
        for (client, channel, message) in app.world_mut().resource_mut::<ServerMessages>().drain_sent() {
            let id = observers.iter().position(|observer| observer.entity == client);
            server.send_message(id.expect("every client is an observer") as u64, channel as u8, message);
        }
        for id in 0..observers.len() {
            for packet in server.get_packets_to_send(id as u64).expect("the observer is connected") {
                out.push(id, &packet);
            }
        }
    }

    fn tick_observer(&mut self, _tick: u64, id: usize, arrived: &[Vec<u8>], out: &mut Outbox) {
        let observer = &mut self.observers[id];
        let Observer { app, connection, .. } = observer;
        connection.update(TICK);
        arrived.iter().for_each(|datagram| connection.process_packet(datagram));
        let channels = app.world().resource::<RepliconChannels>().server_channels().len();
        let mut messages = app.world_mut().resource_mut::<ClientMessages>();
        for channel in 0..channels {
            while let Some(message) = connection.receive_message(channel as u8) {
                messages.insert_received(channel, message);
            }
        }
        app.update();
        for (channel, message) in app.world_mut().resource_mut::<ClientMessages>().drain_sent() {
            connection.send_message(channel as u8, message);
        }
        for packet in connection.get_packets_to_send() {
            out.push(id, &packet);
        }
        observer.read();
    }

    fn shown(&self, observer: usize, object: usize) -> Option<Key> {
        self.observers[observer].shown[object]
    }
}
