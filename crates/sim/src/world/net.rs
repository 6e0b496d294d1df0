//! The network of the world, and the faults in it.

use samovar_directory::ConnId;
use samovar_wire::{SortedMap, Time};

use super::relay_path::RelayPath;
use super::sockets::Socket;
use crate::network::{Cuts, Place, Weather};

/// The network: WebSockets, data channels to the relay, cuts and weather.
#[derive(Debug)]
pub(super) struct Net {
    pub(super) sockets: SortedMap<ConnId, Socket>,
    next_conn: u64,
    /// The relay's ends of data channels, each under the socket of its member.
    pub(super) relay_paths: SortedMap<ConnId, RelayPath>,
    pub(super) cuts: Cuts,
    pub(super) storm: Option<Weather>,
    /// The bytes per second of the players whose direct paths are clogged.
    pub(super) clogs: SortedMap<usize, u64>,
    pub(super) has_direct: bool,
    /// Whether datagrams get through anywhere.
    pub(super) has_udp: bool,
    /// The last time at which a fault of the network struck or ended.
    pub(super) disturbed: Time,
}

impl Net {
    pub(super) fn new(has_direct: bool) -> Self {
        Self {
            sockets: SortedMap::new(),
            next_conn: 0,
            relay_paths: SortedMap::new(),
            cuts: Cuts::default(),
            storm: None,
            clogs: SortedMap::new(),
            has_direct,
            has_udp: true,
            disturbed: Time::ZERO,
        }
    }

    /// A name for a new socket.
    pub(super) const fn next_conn(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        conn
    }

    /// Ends all faults of the network.
    pub(super) fn heal(&mut self, has_direct: bool) {
        self.cuts.clear();
        self.clogs.clear();
        self.storm = None;
        (self.has_direct, self.has_udp) = (has_direct, true);
    }

    /// Whether no path is cut or clogged, and there is no storm.
    pub(super) fn is_fair(&self) -> bool {
        self.cuts.is_empty() && self.storm.is_none() && self.clogs.is_empty()
    }

    /// The weather of direct paths from a place.
    pub(super) fn weather(&self, from: Place, usual: Weather) -> Weather {
        let mut weather = self.storm.unwrap_or(usual);
        if let Place::Player(player) = from
            && let Some(&rate) = self.clogs.get(&player)
        {
            weather.bandwidth = Some(rate);
        }
        weather
    }

    /// Whether direct connections can be opened, and carry packets.
    pub(super) const fn lets_direct(&self) -> bool {
        self.has_direct && self.has_udp
    }
}
