//! What goes out: to whom, in which mode, which bytes.

use samovar_objects::Place;
use samovar_wire::{Duration, Mode, PeerId, Time};

use super::{Session, Transmit};

/// The interval of updates to a peer: 30 a second. More follow motion closer and cost bytes.
const UPDATE_INTERVAL: Duration = Duration::from_micros(33_333);

impl Session {
    /// The next bytes for a path, `None` when there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if let Some((to, bytes)) = self.farewells.pop_front() {
            return Some(Transmit { to, mode: Mode::Unreliable, bytes });
        }
        let peers: Vec<_> = self.links.keys().copied().collect();
        peers.into_iter().find_map(|peer| self.transmit_to(now, peer))
    }

    fn transmit_to(&mut self, now: Time, to: PeerId) -> Option<Transmit> {
        self.pump(now, to);
        let session = self.clock.time(now);
        let session = if self.clock.is_known() { session } else { Time::ZERO };
        let peering = self.links.get_mut(&to)?;
        let due = peering.admitted && peering.next_update <= now && self.objects.wants_datagram(to);
        let mut more = false;
        let (objects, deliveries) = (&mut self.objects, peering.link.deliveries());
        let outgoing = peering.link.poll_transmit(now, session, due, &mut |packet, room, out| {
            if due {
                let place = Place { now: session, peer: to, packet, room };
                more = objects.write_datagram(place, &|receipt| deliveries.cover(receipt), out);
            }
        })?;
        if due && !more {
            peering.next_update = now + UPDATE_INTERVAL;
        }
        Some(Transmit { to, mode: outgoing.mode, bytes: outgoing.bytes })
    }

    /// Moves what a member lacks of the objects into its reliable lane, as far as there is room.
    fn pump(&mut self, now: Time, to: PeerId) {
        let time = self.clock.time(now);
        let Some(peering) = self.links.get_mut(&to).filter(|peering| peering.admitted) else { return };
        self.scratch.clear();
        if let Some(pending) = self.objects.poll_snapshot(to, &mut self.scratch)
            && let Ok(receipt) = peering.link.send_bulk(&self.scratch)
        {
            self.objects.on_sent(to, pending, receipt);
        }
        loop {
            self.scratch.clear();
            let Some(pending) = self.objects.poll_message(time, to, &mut self.scratch) else { break };
            let Ok(receipt) = peering.link.send(&self.scratch) else { break };
            self.objects.on_sent(to, pending, receipt);
        }
    }

    /// The path to a peer changed: what was under way on the old one may be lost.
    pub fn handle_path_changed(&mut self, peer: PeerId) {
        if let Some(peering) = self.links.get_mut(&peer) {
            peering.link.on_path_changed();
        }
    }
}
