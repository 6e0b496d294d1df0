//! The relay's own data channels.

use std::collections::BTreeMap;

use samovar_directory::{ConnId, Directory};
use samovar_wire::relay::{Addressed, RelayFrame};
use samovar_wire::{Duration, Mode, PeerId, Time};

use super::{Parcel, Process, World};

/// The relay's part of data channels.
pub(crate) struct Endpoint {
    /// Whether the relay offers data channels; set it before the relay starts.
    pub(crate) is_there: bool,
    /// Whether packets get through on the relay's channels.
    pub(crate) udp: bool,
    pub(crate) packets: u64,
    /// The opener of each connection, its attempt, and when the relay last heard it.
    channels: BTreeMap<ConnId, (Process, u32, Option<Time>)>,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { is_there: false, udp: true, packets: 0, channels: BTreeMap::new() }
    }
}

impl World {
    /// A world whose relay has data channels.
    pub(crate) fn with_endpoint(seed: u8) -> Self {
        let mut world = Self::new(seed);
        world.endpoint.is_there = true;
        world.start_relay();
        world
    }

    pub(super) fn answer_offers(&mut self) {
        while let Some(offer) = self.directory.as_mut().and_then(Directory::poll_offer) {
            let socket = self.sockets.iter().find(|(_, sockets)| sockets.find(offer.conn).is_some());
            let Some((&process, _)) = socket else { continue };
            self.endpoint.channels.insert(offer.conn, (process, offer.attempt, None));
            if let Some(directory) = &mut self.directory {
                directory.handle_answer(offer.conn, offer.attempt, "relay".to_owned());
            }
        }
    }

    pub(super) fn open_endpoint(&mut self, process: Process, attempt: u32) {
        let now = self.now;
        let peer = self.peers.get_mut(&process).unwrap();
        if self.endpoint.udp {
            peer.handle_direct_opened(now, PeerId::RELAY, attempt);
        } else {
            peer.handle_direct_closed(now, PeerId::RELAY, attempt);
        }
    }

    pub(super) fn close_endpoint(&mut self, process: Process, attempt: u32) {
        self.endpoint.channels.retain(|_, channel| (channel.0, channel.1) != (process, attempt));
    }

    pub(super) fn send_to_endpoint(&mut self, process: Process, attempt: u32, mode: Mode, bytes: Vec<u8>) {
        let is_it =
            |(_, channel): &(&ConnId, &(Process, u32, _))| (channel.0, channel.1) == (process, attempt);
        let Some((&conn, _)) = self.endpoint.channels.iter().find(is_it) else { return };
        if self.endpoint.udp {
            let at = self.delay(mode);
            self.wire.push((at, Parcel::ToEndpoint(conn, attempt, mode, bytes)));
        }
    }

    pub(super) fn on_endpoint(&mut self, conn: ConnId, attempt: u32, mode: Mode, mut bytes: Vec<u8>) {
        let (now, udp) = (self.now, self.endpoint.udp);
        let Some(channel) = self.endpoint.channels.get_mut(&conn) else { return };
        if channel.1 != attempt {
            return;
        }
        channel.2 = Some(now);
        let Some(directory) = &self.directory else { return };
        let to = Addressed::decode(mode, &bytes).unwrap().peer;
        let (Some(from), Some(to)) = (directory.peer_of(conn), directory.route(conn, to)) else { return };
        self.endpoint.packets += 1;
        Addressed::readdress(&mut bytes, from);
        match self.endpoint.channels.get(&to) {
            Some(&(process, attempt, Some(heard))) if heard + Duration::from_millis(700) > now => {
                if udp {
                    let at = self.delay(mode);
                    self.wire.push((at, Parcel::FromEndpoint(process, attempt, mode, bytes)));
                }
            }
            _ => {
                let payload = Addressed::decode(mode, &bytes).unwrap().payload;
                self.send_outputs();
                self.send_from_relay(to, RelayFrame::forward(from, mode, payload));
            }
        }
    }
}
