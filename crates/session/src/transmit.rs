//! Outgoing packets: the receiver, the mode and the bytes.

use samovar_link::Source;
use samovar_objects::Place;
use samovar_wire::{Duration, Lane, Mode, PeerId, Time};

use crate::orders::{Beside, time_of};
use crate::{Session, Transmit};

impl Session {
    /// Sets the interval of this peer's object updates to each peer: 33 ms unless set, and at least 1 ms. Shorter
    /// intervals follow motion closer, and cost bytes in proportion.
    pub fn set_update_interval(&mut self, interval: Duration) {
        self.core.stir();
        self.core.net.update_interval = interval.max(Duration::from_millis(1));
        self.core.set_paces();
    }

    /// The next packet for a path; `None` when there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut bytes = Vec::new();
        let (to, mode) = self.poll_transmit_into(now, &mut bytes)?;
        Some(Transmit { to, mode, bytes })
    }

    /// Does the same as [`Session::poll_transmit`], into a buffer that the caller reuses; its former content is
    /// cleared.
    pub fn poll_transmit_into(&mut self, now: Time, out: &mut Vec<u8>) -> Option<(PeerId, Mode)> {
        out.clear();
        if let Some((to, bytes)) = self.core.net.poll_farewell() {
            out.extend_from_slice(&bytes);
            return Some((to, Mode::Unreliable));
        }
        // The loop begins with the peer that was served last, since there may be more for it. It ends when there is
        // nothing for any peer.
        for _ in 0..=self.core.net.links().count() {
            if let Some(peer) = self.core.net.serving()
                && let Some(mode) = self.transmit_to(now, peer, out)
            {
                return Some((peer, mode));
            }
            self.core.net.serve_next();
        }
        // Ends the links of peers that do not take the messages that they must get.
        self.settle_accused(now);
        None
    }

    fn transmit_to(&mut self, now: Time, to: PeerId, out: &mut Vec<u8>) -> Option<Mode> {
        // A debug build tries to send nevertheless, to check that the link is idle.
        if self.core.net.link(to)?.is_idle(now) && !cfg!(debug_assertions) {
            return None;
        }
        // The orders may have something to send by time alone, so they are asked each time.
        let has_orders = self.orders.is_any();
        if has_orders || !self.core.net.link(to)?.is_told {
            self.pump(now, to);
        } else if cfg!(debug_assertions) {
            let waiting = |session: &Self| session.link(to).map(|link| link.stats().unacked);
            let before = waiting(self);
            self.pump(now, to);
            debug_assert_eq!(before, waiting(self), "{to} was told everything");
        }
        let link = self.core.net.link(to)?;
        let idle = self.core.net.idle_to(to, link, &self.objects);
        debug_assert!(link.idle.is_none_or(|known| known == idle), "{to} was to be sent nothing");
        let sent =
            if idle.until > now && !cfg!(debug_assertions) { None } else { self.write_to(now, to, out) };
        debug_assert!(idle.until <= now || sent.is_none(), "nothing wanted to be sent to {to}");
        let link = self.core.net.link_mut(to)?;
        link.is_told = true;
        link.idle = (sent.is_none() && idle.until > now && !has_orders).then_some(idle);
        sent
    }

    fn write_to(&mut self, now: Time, to: PeerId, out: &mut Vec<u8>) -> Option<Mode> {
        // Before session time is known, updates state the time of this peer's own clock, and answers to pings state
        // none.
        let time = self.core.clock.time(now);
        let session = if self.core.clock.is_known() { time } else { Time::ZERO };
        let usual = self.core.net.update_interval;
        let hurries = now < self.core.net.hurries_until;
        let link = self.core.net.link_mut(to)?;
        let wanted = link.update_at(to, &self.objects, usual) <= now;
        // An update that the budget holds back is written when the budget allows, from the state at that time.
        let due = wanted && link.transport.budget_at() <= now;
        let mut more = false;
        let mut update = None;
        let (objects, deliveries) = (&mut self.objects, link.transport.deliveries());
        let mut compose = |packet, room, out: &mut Vec<u8>| {
            if due {
                let place = Place { now: time, peer: to, packet, room };
                let start = out.len();
                more = objects.write_datagram(place, &|receipt| deliveries.cover(receipt), out);
                update = out.get(start + 1..).and_then(time_of).map(|time| (packet, time));
            }
        };
        let sent = link.transport.poll_transmit(now, session, Source { wanted, compose: &mut compose }, out);
        if due && !more {
            let interval = if hurries { usual.half().half() } else { usual };
            // An eighth of the interval: a state that is newer by a game frame is not worth a longer wait.
            (link.next_update, link.patience) = (now + interval, interval.half().half().half());
            link.transport.expect_packet(link.next_update + link.patience);
        }
        if sent == Some(Mode::Unreliable) {
            self.orders.on_sent(time, to, update);
        }
        sent
    }

    /// Moves messages for a member into its lanes, as far as there is room: inputs, then objects, then ordered
    /// messages.
    fn pump(&mut self, now: Time, to: PeerId) {
        self.inputs.pump(&mut self.core, &self.objects, now, to);
        let time = self.core.time(now);
        let interval = self.core.net.update_interval;
        let Some(link) = self.core.net.member_mut(to) else { return };
        let mut scratch = core::mem::take(&mut self.scratch);
        scratch.clear();
        if let Some(pending) = self.objects.poll_snapshot(to, &mut scratch)
            && let Ok(receipt) = link.transport.send(Lane::Bulk, &scratch)
        {
            self.objects.on_sent(to, pending, receipt);
        }
        let deliveries = link.transport.deliveries();
        self.objects.settle_sights(to, &|receipt| deliveries.cover(receipt));
        let is_all_said = loop {
            scratch.clear();
            let Some(pending) = self.objects.poll_message(time, to, &mut scratch) else { break true };
            let Ok(receipt) = link.transport.send(Lane::SESSION, &scratch) else { break false };
            self.objects.on_sent(to, pending, receipt);
        };
        self.scratch = scratch;
        link.transport.set_behind(!is_all_said);
        if self.orders.is_any() {
            let at = link.update_at(to, &self.objects, interval).max(link.transport.budget_at());
            let beside = Beside { is_all_said, has_update: at <= now };
            self.orders.pump(&mut self.core, now, to, beside);
        }
    }
}
