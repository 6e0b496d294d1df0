//! Mutated packets and a clock that jumps cause no panic, no endless loop and no growth of memory.

use samovar_link::{Link, LinkConfig, LinkEvent, Source};
use samovar_wire::lane::{RELIABLE_LANES, SEQUENCED_CHANNELS};
use samovar_wire::{Duration, Entropy, Generation, Lane, Mode, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

struct Madness {
    dice: Entropy,
    /// Random bytes from the dice that are not used yet.
    drawn: Vec<u8>,
    now: Time,
    ends: [Link; 2],
    old: Vec<(Mode, Vec<u8>)>,
}

impl Madness {
    fn new(seed: u8) -> Self {
        let ends = [Time::ZERO; 2].map(|now| Link::new(now, LinkConfig::default(), Generation::FIRST));
        Self { dice: Entropy::new([seed; 32]), drawn: Vec::new(), now: Time::ZERO, ends, old: Vec::new() }
    }

    fn byte(&mut self) -> u8 {
        if self.drawn.is_empty() {
            self.drawn.extend(self.dice.bytes());
        }
        self.drawn.pop().unwrap()
    }

    fn roll(&mut self, sides: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % sides
    }

    /// Mutates the bytes in one call of three.
    fn mutated(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.roll(3) > 0 {
            return bytes;
        }
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len().clamp(1, 24));
            match self.roll(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.insert(at.min(bytes.len()), self.byte()),
                _ => {
                    let byte = self.byte();
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
            }
        }
        bytes
    }

    fn queue(&mut self, end: usize) {
        let lane = match self.roll(12) {
            0 => Lane::Bulk,
            1 => Lane::Unreliable,
            2 => Lane::Sequenced(self.byte() % SEQUENCED_CHANNELS),
            3..6 => Lane::Reliable(self.byte() % RELIABLE_LANES),
            _ => return,
        };
        let message = vec![1; self.roll(1_100)];
        // The queue may be full: that is no fault.
        let _ = self.ends[end].send(lane, &message);
    }

    fn pass_time(&mut self) {
        let jump = match self.roll(400) {
            0 => 3_000_000,
            1 => 1 << 40,
            2 => {
                self.now = Time::from_micros(self.now.as_micros() / 2);
                0
            }
            n => n as u64 * 50,
        };
        self.now += Duration::from_micros(jump);
    }

    fn step(&mut self) {
        self.pass_time();
        for end in 0..2 {
            let now = self.now;
            self.queue(end);
            self.ends[end].handle_timeout(now);
            let backlog = self.roll(3) == 0;
            if backlog {
                let bytes = [0, 5_000, u64::MAX][self.roll(3)];
                self.ends[end].handle_backlog(now, bytes);
            }
            let mut wanted = self.roll(2) == 0;
            for round in 0.. {
                assert!(round < 1_000, "there is always something to send");
                let (mut bytes, mut compose) = (Vec::new(), |_, _, out: &mut Vec<u8>| out.extend([1; 200]));
                let source = Source { wanted, compose: &mut compose };
                let Some(mode) = self.ends[end].poll_transmit(now, now, source, &mut bytes) else { break };
                wanted = false;
                assert!(bytes.len() <= if mode == Mode::Unreliable { 1_200 } else { 16_384 });
                self.old.push((mode, bytes));
            }
            let at = self.roll(self.old.len().max(1));
            if self.old.len() > 20 {
                let (mode, bytes) = self.old.swap_remove(at);
                let bytes = self.mutated(bytes);
                if self.ends[1 - end].handle(now, mode, &bytes).is_err() {
                    self.ends[1 - end] = Link::new(now, LinkConfig::default(), Generation::FIRST);
                }
            }
            let link = &mut self.ends[end];
            let events =
                core::iter::from_fn(|| link.poll_event()).filter(|e| !matches!(e, LinkEvent::Fate(..)));
            assert!(events.count() < 2_000);
            assert!(link.stats().unacked <= 1_024 + 3 * 256);
            assert!(link.suspicion(now) >= 0.0 && link.suspect_at(samovar_link::SUSPECTED) >= Time::ZERO);
        }
    }
}

#[test]
fn mutated_packets_and_clock_jumps_leave_links_bounded() {
    for seed in 0..24 {
        let mut madness = Madness::new(seed);
        (0..4_000).for_each(|_| madness.step());
    }
}
