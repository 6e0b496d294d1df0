//! What goes out: to whom, in which mode, which bytes.

use samovar_link::{Dues, Source};
use samovar_objects::{Objects, Place};
use samovar_wire::{Duration, Lane, Mode, PeerId, Time};

use super::orders::time_of;
use super::{Idle, Peering, Session, Transmit};

/// The interval of updates to a peer unless the game sets another: 30 a second.
pub(super) const UPDATE_INTERVAL: Duration = Duration::from_micros(33_333);

impl Peering {
    /// Whether the link is known to have nothing to send.
    fn is_idle(&self, now: Time) -> bool {
        self.idle.is_some_and(|idle| idle.until > now)
    }

    /// When to send the next update; never to who is no member yet, or no longer, or lacks nothing. What is said again lets
    /// what is new come first: a game whose frames are as long as the interval would else be heard a frame later.
    pub(super) fn update_at(&self, peer: PeerId, objects: &Objects, interval: Duration) -> Time {
        if !self.admitted || !objects.wants_datagram(peer) {
            Time::FAR
        } else if objects.has_news(peer) {
            self.next_update
        } else {
            self.next_update + interval.half().half()
        }
    }
}

/// For so long a new host sends updates four times as often, since everybody waits for the first that arrives; and twice as
/// long a host that hands over, so that hardly any is lost before.
pub(super) const HURRY: Duration = Duration::from_millis(120);

impl Session {
    /// How often each peer is sent what it lacks of this peer's objects; 33 ms unless set. Shorter intervals follow
    /// motion closer, and cost bytes in proportion. At least a millisecond.
    pub fn set_update_interval(&mut self, interval: Duration) {
        self.stir();
        self.update_interval = interval.max(Duration::from_millis(1));
        self.set_paces();
    }

    /// The next bytes for a path, `None` when there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut bytes = Vec::new();
        let (to, mode) = self.poll_transmit_into(now, &mut bytes)?;
        Some(Transmit { to, mode, bytes })
    }

    /// As [`Session::poll_transmit`], into a buffer that is used again and again; what it held before is gone.
    pub fn poll_transmit_into(&mut self, now: Time, out: &mut Vec<u8>) -> Option<(PeerId, Mode)> {
        out.clear();
        if !self.farewells.is_empty() {
            let (to, bytes) = self.farewells.remove(0);
            out.extend_from_slice(&bytes);
            return Some((to, Mode::Unreliable));
        }
        // Begins with who was served last, who may have more, and ends when nobody has had anything.
        for _ in 0..=self.links.len() {
            if let Some(peer) = self.serving
                && let Some(mode) = self.transmit_to(now, peer, out)
            {
                return Some((peer, mode));
            }
            let next = match self.serving {
                Some(peer) => self.links.next_after(&peer),
                None => self.links.first_key_value(),
            };
            self.serving = next.map(|(&peer, _)| peer);
        }
        None
    }

    /// Something happened that others may have to be told of.
    pub(super) fn stir(&mut self) {
        self.stirs += 1;
        self.links.values_mut().for_each(|peering| (peering.is_told, peering.idle) = (false, None));
    }

    /// Grows with whatever happens here but the arrival of objects' states and of acks: while it stays, so do the view, the
    /// host, and what this peer is.
    #[must_use]
    pub const fn stirs(&self) -> u64 {
        self.stirs
    }

    /// For how long there is nothing to send to a peer that is told everything.
    pub(super) fn idle_to(&self, peer: PeerId, peering: &Peering) -> Idle {
        let update = peering.update_at(peer, &self.objects, self.update_interval);
        let Dues { wanted, allowed, timeout } = peering.link.dues();
        // The frame in which the game changes something again may be due at the same moment, and what it says is newer; what
        // has just been changed waits for nothing.
        let is_old = peering.next_update.since(self.wrote) > peering.patience;
        let patience = if is_old { peering.patience } else { Duration::ZERO };
        Idle { until: wanted.min(update), due: timeout.min((update + patience).max(allowed)) }
    }

    fn transmit_to(&mut self, now: Time, to: PeerId, out: &mut Vec<u8>) -> Option<Mode> {
        // Where assertions are checked, it is tried all the same.
        if self.links.get(&to)?.is_idle(now) && !cfg!(debug_assertions) {
            return None;
        }
        // Ordered messages have times of their own.
        let has_orders = self.orders.is_any();
        if has_orders || !self.links.get(&to)?.is_told {
            self.pump(now, to);
        } else if cfg!(debug_assertions) {
            let waiting = |session: &Self| session.link_stats(to).map(|stats| stats.unacked);
            let before = waiting(self);
            self.pump(now, to);
            debug_assert_eq!(before, waiting(self), "{to} was told everything");
        }
        let peering = self.links.get(&to)?;
        let idle = self.idle_to(to, peering);
        debug_assert!(peering.idle.is_none_or(|known| known == idle), "{to} was to be sent nothing");
        let sent =
            if idle.until > now && !cfg!(debug_assertions) { None } else { self.write_to(now, to, out) };
        debug_assert!(idle.until <= now || sent.is_none(), "nothing wanted to be sent to {to}");
        let peering = self.links.get_mut(&to)?;
        peering.is_told = true;
        peering.idle = (sent.is_none() && idle.until > now && !has_orders).then_some(idle);
        sent
    }

    fn write_to(&mut self, now: Time, to: PeerId, out: &mut Vec<u8>) -> Option<Mode> {
        // What is sampled before the session's time is known is sampled by this peer's own, and so are its frames.
        let time = self.clock.time(now);
        let session = if self.clock.is_known() { time } else { Time::ZERO };
        let peering = self.links.get_mut(&to)?;
        let wanted = peering.update_at(to, &self.objects, self.update_interval) <= now;
        // What the budget holds back now is written when it allows, from what is true then.
        let due = wanted && peering.link.budget_at() <= now;
        let mut more = false;
        let mut update = None;
        let (objects, deliveries) = (&mut self.objects, peering.link.deliveries());
        let mut compose = |packet, room, out: &mut Vec<u8>| {
            if due {
                let place = Place { now: time, peer: to, packet, room };
                let start = out.len();
                more = objects.write_datagram(place, &|receipt| deliveries.cover(receipt), out);
                update = out.get(start + 1..).and_then(time_of).map(|time| (packet, time));
            }
        };
        let sent = peering.link.poll_transmit(now, session, Source { wanted, compose: &mut compose }, out);
        if due && !more {
            let hurries = now < self.hurries_until;
            let interval = if hurries { self.update_interval.half().half() } else { self.update_interval };
            // An eighth: what is newer by a frame is worth no more.
            (peering.next_update, peering.patience) = (now + interval, interval.half().half().half());
            peering.link.expect_packet(peering.next_update + peering.patience);
        }
        if sent == Some(Mode::Unreliable) {
            self.orders.on_sent(time, to, update);
        }
        sent
    }

    /// Moves what a member lacks of the objects into its reliable lane, as far as there is room.
    fn pump(&mut self, now: Time, to: PeerId) {
        self.pump_inputs(now, to);
        let time = self.clock.time(now);
        let Some(peering) = self.links.get_mut(&to).filter(|peering| peering.admitted) else { return };
        self.scratch.clear();
        if let Some(pending) = self.objects.poll_snapshot(to, &mut self.scratch)
            && let Ok(receipt) = peering.link.send(Lane::Bulk, &self.scratch)
        {
            self.objects.on_sent(to, pending, receipt);
        }
        let deliveries = peering.link.deliveries();
        self.objects.settle_sights(to, &|receipt| deliveries.cover(receipt));
        let is_all_said = loop {
            self.scratch.clear();
            let Some(pending) = self.objects.poll_message(time, to, &mut self.scratch) else { break true };
            let Ok(receipt) = peering.link.send(Lane::SESSION, &self.scratch) else { break false };
            self.objects.on_sent(to, pending, receipt);
        };
        peering.link.set_behind(!is_all_said);
        self.pump_orders(now, to, is_all_said);
    }

    /// The path to a peer changed: what was under way on the old one may be lost.
    pub fn handle_path_changed(&mut self, now: Time, peer: PeerId) {
        if let Some(peering) = self.links.get_mut(&peer) {
            peering.idle = None;
            peering.link.handle_path_changed(now);
        }
    }

    /// Which member carries what this peer and another say to each other; `None` when they have a path of their own, or
    /// the relay's.
    pub fn set_carrier(&mut self, now: Time, peer: PeerId, carrier: Option<PeerId>) {
        if let Some(peering) = self.links.get_mut(&peer).filter(|peering| peering.carrier.0 != carrier) {
            peering.carrier = (carrier, now);
        }
    }

    /// Whether the path to a peer keeps order and loses nothing; see [`samovar_link::Link::set_lossless`].
    pub fn set_lossless(&mut self, now: Time, peer: PeerId, lossless: bool) {
        if let Some(peering) =
            self.links.get_mut(&peer).filter(|peering| peering.link.is_lossless() != lossless)
        {
            peering.idle = None;
            peering.link.set_lossless(now, lossless);
        }
    }

    /// Bytes that the path to a peer still holds; see [`samovar_link::Link::handle_backlog`].
    pub fn handle_backlog(&mut self, now: Time, peer: PeerId, bytes: u64) {
        if let Some(peering) = self.links.get_mut(&peer) {
            peering.idle = None;
            peering.link.handle_backlog(now, bytes);
        }
    }
}
