//! What a driver says of a path.

use samovar_wire::{PeerId, Time};

use crate::core::peer_link::PeerLink;

/// The path to a peer, by [`crate::Session::path`]. Where there is no link to that peer nothing changes.
#[derive(Debug)]
pub struct PathTo<'a> {
    pub(super) link: Option<&'a mut PeerLink>,
    pub(super) now: Time,
}

impl PathTo<'_> {
    /// The path changed: what was under way on the old one may be lost.
    pub fn handle_changed(&mut self) {
        if let Some(link) = &mut self.link {
            link.idle = None;
            link.transport.handle_path_changed(self.now);
        }
    }

    /// A connection to the peer closed: a hint, not a proof, and none any more when the peer is heard after that.
    pub fn handle_closed(&mut self) {
        if let Some(link) = &mut self.link {
            link.hint = Some(self.now);
        }
    }

    /// Bytes that the path still holds; see [`samovar_link::Link::handle_backlog`].
    pub fn handle_backlog(&mut self, bytes: u64) {
        if let Some(link) = &mut self.link {
            link.idle = None;
            link.transport.handle_backlog(self.now, bytes);
        }
    }

    /// Which member carries what this peer and the other say to each other; `None` when they have a path of their own, or
    /// the relay's.
    pub fn set_carrier(&mut self, carrier: Option<PeerId>) {
        if let Some(link) = self.link.as_mut().filter(|link| link.carrier.0 != carrier) {
            link.carrier = (carrier, self.now);
        }
    }

    /// Whether the path goes through the relay: by its connection, or not at all.
    pub fn set_relayed(&mut self, is_relayed: bool) {
        if let Some(link) = &mut self.link {
            link.is_relayed = is_relayed;
        }
    }

    /// Whether the path keeps order and loses nothing; see [`samovar_link::Link::set_lossless`].
    pub fn set_lossless(&mut self, lossless: bool) {
        if let Some(link) = self.link.as_mut().filter(|link| link.transport.is_lossless() != lossless) {
            link.idle = None;
            link.transport.set_lossless(self.now, lossless);
        }
    }
}
