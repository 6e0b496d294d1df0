//! The path to a peer, as its driver reports it.

use samovar_wire::{PeerId, Time};

use crate::core::peer_link::PeerLink;

/// The path to a peer, by [`crate::Session::path`]. Without a link to that peer nothing changes.
#[derive(Debug)]
pub struct PathTo<'a> {
    pub(super) link: Option<&'a mut PeerLink>,
    pub(super) now: Time,
}

impl PathTo<'_> {
    /// Notes that the path changed, so that packets under way on the old one may be lost.
    pub fn handle_changed(&mut self) {
        if let Some(link) = &mut self.link {
            link.idle = None;
            link.transport.handle_path_changed(self.now);
        }
    }

    /// Notes that a connection to the peer closed. This is a hint, and no proof, that the peer is gone. The hint is
    /// void once the peer is heard again.
    pub fn handle_closed(&mut self) {
        if let Some(link) = &mut self.link {
            link.hint = Some(self.now);
        }
    }

    /// Takes the number of bytes that the path still holds; see [`samovar_link::Link::handle_backlog`].
    pub fn handle_backlog(&mut self, bytes: u64) {
        if let Some(link) = &mut self.link {
            link.idle = None;
            link.transport.handle_backlog(self.now, bytes);
        }
    }

    /// Sets the carrier: the member that forwards the packets between this peer and the other. It is `None` when
    /// their packets take a path of their own, or the relay's.
    pub fn set_carrier(&mut self, carrier: Option<PeerId>) {
        if let Some(link) = self.link.as_mut().filter(|link| link.carrier.0 != carrier) {
            link.carrier = (carrier, self.now);
        }
    }

    /// Sets whether only the relay brings the peer's packets.
    pub fn set_relayed(&mut self, is_relayed: bool) {
        if let Some(link) = &mut self.link {
            link.is_relayed = is_relayed;
        }
    }

    /// Sets whether the path keeps order and loses nothing; see [`samovar_link::Link::set_lossless`].
    pub fn set_lossless(&mut self, lossless: bool) {
        if let Some(link) = self.link.as_mut().filter(|link| link.transport.is_lossless() != lossless) {
            link.idle = None;
            link.transport.set_lossless(self.now, lossless);
        }
    }
}
