//! Received packets, and those that an ack must still describe to the other end (PROTOCOL §2.2, §2.3).
//!
//! An ack describes only the arrivals that no delivered packet has described yet. Usually these are the arrivals of
//! the last round trip, and take a byte of history. When acks are lost, the next ack covers their arrivals as well.

use samovar_wire::link_frame::{ACK_HISTORY, Ack, AckHistory, expand};

/// Places in the ring of arrivals: more than enough for the newest packet and its history.
const RING: usize = 2 * ACK_HISTORY as usize;
/// The loss rate is a running mean over about this many packets.
const LOSS_MEMORY: f32 = 128.0;
/// The length of a run of losses is a mean over about this many runs.
const RUN_MEMORY: f32 = 8.0;
/// A longer run of losses is an outage, which does not predict another.
const RUN_MAX: u64 = 32;

/// The packets that were received.
#[derive(Debug)]
pub(super) struct ReceivedPackets {
    /// The newest packet's number; `history` tells which packets before it were received.
    newest: Option<u64>,
    history: AckHistory,
    /// How many packets have arrived.
    arrivals: u64,
    /// By packet number modulo [`RING`]: the packet's place in the order of arrival.
    order: Vec<u64>,
    /// How many arrivals the other end knows of, counted from the first.
    described: u64,
    /// Packets before this one need no description.
    oldest: u64,
    /// The share of packets that were missing when a later one came.
    pub(super) loss: f32,
    /// The mean length of a run of missing packets.
    pub(super) run: f32,
}

impl Default for ReceivedPackets {
    fn default() -> Self {
        Self {
            newest: None,
            history: AckHistory::default(),
            arrivals: 0,
            order: vec![0; RING],
            described: 0,
            oldest: 0,
            loss: 0.0,
            run: 1.0,
        }
    }
}

impl ReceivedPackets {
    /// Notes a packet and returns its full number; `None` for a duplicate, or a packet too old to tell from one.
    pub(super) fn insert(&mut self, truncated: u16) -> Option<u64> {
        let number = expand(truncated, self.newest.unwrap_or(0));
        match self.newest {
            None => {
                self.newest = Some(number);
                self.oldest = number;
            }
            Some(newest) if number > newest => {
                self.history.age(number - newest);
                self.history.set(number - newest - 1);
                self.newest = Some(number);
                self.note_missing(number - newest - 1);
                self.oldest = self.oldest.max(number.saturating_sub(ACK_HISTORY));
            }
            Some(newest) => {
                let bit = newest.checked_sub(number + 1)?;
                if bit >= ACK_HISTORY || self.history.has(bit) {
                    return None;
                }
                self.history.set(bit);
                self.oldest = self.oldest.min(number);
                self.loss = (self.loss - 1.0 / LOSS_MEMORY).max(0.0);
            }
        }
        self.arrivals += 1;
        self.order[number as usize % RING] = self.arrivals;
        Some(number)
    }

    fn note_missing(&mut self, missing: u64) {
        if (1..=RUN_MAX).contains(&missing) {
            self.run += (missing as f32 - self.run) / RUN_MEMORY;
        }
        (0..missing.min(RUN_MAX)).for_each(|_| self.loss += (1.0 - self.loss) / LOSS_MEMORY);
        self.loss -= self.loss / LOSS_MEMORY;
    }

    /// The next packet's ack; `None` before the first arrival.
    pub(super) fn ack(&self) -> Option<Ack> {
        let newest = self.newest?;
        let history = self.history.truncated(newest.saturating_sub(self.oldest));
        Some(Ack { newest: newest as u16, history })
    }

    /// How many packets have arrived. A packet that is sent now describes all of them.
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Notes that the other end received a packet of this end that was written after `arrivals` arrivals here. The
    /// other end knows of these arrivals.
    pub(super) fn on_described(&mut self, arrivals: u64) {
        self.described = self.described.max(arrivals);
        let Some(newest) = self.newest else { return };
        while self.oldest <= newest {
            let received = self.oldest == newest || self.history.has(newest - 1 - self.oldest);
            if received && self.order[self.oldest as usize % RING] > self.described {
                return;
            }
            self.oldest += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn described(received: &ReceivedPackets) -> Vec<u64> {
        let ack = received.ack().unwrap();
        core::iter::once(0)
            .chain(ack.history.bits().map(|bit| bit + 1))
            .map(|b| u64::from(ack.newest) - b)
            .collect()
    }

    #[test]
    fn duplicates_and_ancient_packets_are_dropped() {
        let mut received = ReceivedPackets::default();
        assert_eq!(received.ack(), None);
        assert_eq!(received.insert(3), Some(3));
        assert_eq!(received.insert(1), Some(1));
        assert_eq!(received.insert(1), None);
        assert_eq!(received.insert(3), None);
        assert_eq!(described(&received), [3, 1]);
        assert_eq!(received.insert(300), Some(300));
        assert_eq!(received.insert(2), None);
        assert_eq!(received.insert(44), Some(44));
        assert_eq!(received.insert(43), None);
        assert_eq!(described(&received), [300, 44]);
    }

    #[test]
    fn mean_loss_run_follows_runs_and_ignores_outages() {
        let mut received = ReceivedPackets::default();
        let mut number = 0u16;
        let mut lose = |received: &mut ReceivedPackets, missing: u16| {
            number += missing + 1;
            received.insert(number).unwrap();
        };
        lose(&mut received, 0);
        lose(&mut received, 200);
        lose(&mut received, 33);
        assert_eq!(received.run, 1.0);
        (0..40).for_each(|_| lose(&mut received, 4));
        assert!((3.9..=4.0).contains(&received.run), "{}", received.run);
        lose(&mut received, 32);
        assert!(received.run > 7.0);
    }

    #[test]
    fn an_ack_omits_arrivals_that_the_other_end_knows() {
        let mut received = ReceivedPackets::default();
        (0..10).for_each(|n| _ = received.insert(n));
        let (sent, _) = (received.arrivals(), received.insert(11));
        received.on_described(sent);
        assert_eq!(described(&received), [11]);
        // Packet 10 comes late. The ack describes it, although the other end already knows of packet 11.
        received.insert(10);
        assert_eq!(described(&received), [11, 10]);
        received.on_described(received.arrivals());
        assert_eq!(described(&received), [11]);
    }

    #[test]
    fn an_ack_covers_all_lost_acks_before_it() {
        let mut received = ReceivedPackets::default();
        (0..30).for_each(|n| _ = received.insert(n));
        received.on_described(received.arrivals());
        // No ack of these packets arrives.
        (30..200).filter(|n| n % 7 != 0).for_each(|n| _ = received.insert(n));
        let expected: Vec<_> = (30..200).filter(|n| n % 7 != 0).rev().collect();
        assert_eq!(described(&received), expected);
    }
}
