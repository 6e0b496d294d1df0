//! A peer that connects to a session and is not a member.

use samovar_link::{Link, LinkConfig, Source};
use samovar_wire::control::{Hello, PeerControl, encode};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::{Generation, Lane, PROTOCOL_VERSION, PeerId, TicketHash, Time};

use crate::world::World;

/// A stranger that has a link to one peer of a session, and follows no rules of the session.
pub(crate) struct Stranger(Link);

impl Stranger {
    pub(crate) const ID: PeerId = PeerId(66);

    pub(crate) fn new(world: &World) -> Self {
        Self(Link::new(world.now, LinkConfig::default(), Generation::FIRST))
    }

    pub(crate) fn hello() -> PeerControl {
        Self::hello_with(TicketHash([9; 16]))
    }

    pub(crate) fn hello_with(ticket: TicketHash) -> PeerControl {
        let name = "M".into();
        PeerControl::Hello(Hello {
            version: PROTOCOL_VERSION,
            params: 1,
            name,
            attributes: 0,
            ticket,
            resume: [None; RESUME_MAX],
            voucher: None,
        })
    }

    /// Sends the peer a packet, with a message or without one.
    pub(crate) fn say(&mut self, world: &mut World, to: PeerId, message: Option<&PeerControl>) {
        if let Some(message) = message {
            let mut bytes = vec![1];
            encode(message, &mut bytes);
            self.0.send(Lane::SESSION, &bytes).unwrap();
        }
        let mut packet = Vec::new();
        let source = Source { wanted: true, compose: &mut |_, _, _| {} };
        let now = world.now;
        let mode = self.0.poll_transmit(now, Time::ZERO, source, &mut packet).unwrap();
        world.peer(to).handle_packet(now, Self::ID, mode, &packet);
        world.run(20);
    }
}
