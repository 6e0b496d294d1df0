//! One direction between two peers: a reliable lane, the bulk stream, and datagrams with their fates. Time is in
//! ticks.

use std::collections::VecDeque;

use samovar_wire::{PeerId, Receipt};

use samovar_wire::Rng;

/// A message of the reliable lane.
#[derive(Clone, Debug)]
pub(crate) enum Letter {
    /// A term and its host.
    Warrant(u64, PeerId),
    /// The host's list of members in this term.
    View(u64, Vec<PeerId>),
    Object(Vec<u8>),
}

/// A snapshot. It is delivered after the earlier messages of the lane (PROTOCOL §3.2).
#[derive(Clone, Debug)]
struct Bulk {
    due: u64,
    after: u64,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Datagram {
    due: u64,
    bytes: Vec<u8>,
}

/// The quality of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// Datagrams lost, of a thousand.
    pub(crate) loss: u64,
    pub(crate) doubled: u64,
    /// The greatest delay, in ticks.
    pub(crate) delay: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    lane: VecDeque<(u64, Letter)>,
    bulk: VecDeque<Bulk>,
    air: Vec<Datagram>,
    fates: Vec<(u64, u64, bool)>,
    sent: u64,
    delivered: u64,
    bulk_sent: u64,
    bulk_delivered: u64,
    pub(crate) packet: u64,
    last_due: u64,
}

/// Something that arrives.
#[derive(Debug)]
pub(crate) enum Arrival {
    Letter(Letter),
    Snapshot(Vec<u8>),
    Datagram(Vec<u8>),
}

impl Link {
    pub(crate) fn post(&mut self, now: u64, weather: Weather, dice: &mut Rng, letter: Letter) -> Receipt {
        // A lost segment delays all segments behind it.
        let late = if dice.chance(weather.loss, 1_000) { weather.delay } else { 0 };
        self.last_due = self.last_due.max(now + 1 + dice.roll(weather.delay) + late);
        self.lane.push_back((self.last_due, letter));
        self.sent += 1;
        Receipt::Lane(self.sent - 1)
    }

    pub(crate) fn post_bulk(
        &mut self,
        now: u64,
        weather: Weather,
        dice: &mut Rng,
        bytes: Vec<u8>,
    ) -> Receipt {
        let due = now + 1 + dice.roll(4 * weather.delay);
        self.bulk.push_back(Bulk { due, after: self.sent, bytes });
        self.bulk_sent += 1;
        Receipt::Bulk(self.bulk_sent)
    }

    /// Sends a datagram in the next packet and decides its fate. The sender learns the fate correctly, but for one
    /// case: a packet that was declared lost may arrive.
    pub(crate) fn throw(&mut self, now: u64, weather: Weather, dice: &mut Rng, bytes: Vec<u8>) {
        let packet = self.packet;
        self.packet += 1;
        let told = now + 2 + dice.roll(2 * weather.delay);
        if dice.chance(weather.loss, 1_000) {
            self.fates.push((told, packet, false));
            return;
        }
        let due = now + 1 + dice.roll(weather.delay);
        if dice.chance(weather.doubled, 1_000) {
            self.air.push(Datagram { due: due + dice.roll(weather.delay), bytes: bytes.clone() });
        }
        self.air.push(Datagram { due, bytes });
        if dice.chance(weather.loss / 2, 1_000) {
            self.fates.push((told, packet, false));
        } else {
            self.fates.push((due + 1 + dice.roll(weather.delay), packet, true));
        }
    }

    pub(crate) fn is_delivered(&self, receipt: Receipt) -> bool {
        match receipt {
            Receipt::Lane(number) => number < self.delivered,
            Receipt::Bulk(number) => number <= self.bulk_delivered,
            Receipt::Game(..) | Receipt::Untracked => false,
        }
    }

    /// The fates that the sender learns now.
    pub(crate) fn fates(&mut self, now: u64) -> Vec<(u64, bool)> {
        self.fates.extract_if(.., |(due, ..)| *due <= now).map(|(_, packet, fate)| (packet, fate)).collect()
    }

    /// The next thing that arrives now.
    pub(crate) fn arrival(&mut self, now: u64) -> Option<Arrival> {
        if self.lane.front().is_some_and(|(due, _)| *due <= now) {
            self.delivered += 1;
            return self.lane.pop_front().map(|(_, letter)| Arrival::Letter(letter));
        }
        if self.bulk.front().is_some_and(|bulk| bulk.due <= now && bulk.after <= self.delivered) {
            self.bulk_delivered += 1;
            return self.bulk.pop_front().map(|bulk| Arrival::Snapshot(bulk.bytes));
        }
        let index = self.air.iter().position(|datagram| datagram.due <= now)?;
        let datagram = self.air.swap_remove(index);
        Some(Arrival::Datagram(datagram.bytes))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lane.is_empty() && self.bulk.is_empty() && self.air.is_empty() && self.fates.is_empty()
    }
}
