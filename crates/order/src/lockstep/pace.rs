//! Pacing of a player's own inputs: which frames they are for, so that the host has them in time and not much
//! earlier.
//!
//! Each tick gives one more frame its input. The host reports with each packet the lead: how far a player's inputs
//! are ahead of the decided frames. The recent least lead is held at one frame: below it the player gives further
//! inputs in a tick, above it the player skips ticks. So the delay follows the round trip, its jitter and losses,
//! whatever the clocks do.

use std::collections::VecDeque;

use samovar_wire::SeatId;
use samovar_wire::limits::LOCKSTEP_RUN_MAX;
use samovar_wire::lockstep::{Change, Run, SeatChange};

use super::copies::{CHEAP, Copies};

/// The most frames by which inputs are ahead of the last decided frame: one datagram can hold all of them.
const AHEAD_MAX: u64 = LOCKSTEP_RUN_MAX as u64 - 3;
/// How many frames inputs are ahead before the host has reported: enough for a round trip of 50 ms at 60 Hz.
const AHEAD_FIRST: u64 = 4;
/// The least lead wanted at the host: one packet may be lost.
const LEAD: i32 = 1;
/// How many packets of the host must agree that less delay suffices.
const WINDOW: u32 = 90;
/// The most bytes of inputs in a packet.
const RUN_BYTES: usize = 1_000;

/// Inputs that a player has given and the host may not have.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The newest frame that has an input.
    newest: u64,
    /// Inputs of the frames up to the newest.
    inputs: VecDeque<Vec<u8>>,
    /// The newest frame of which the host of this term has this player's input.
    heard: u64,
    /// Frames to be given an input at the next tick besides the usual one; and ticks to be skipped.
    more: u32,
    skip: u32,
    /// The recent least lead, and the number of packets over which it was taken.
    least: i32,
    seen: u32,
    /// Until the host has this frame, its reports are from before the last correction.
    settled: u64,
    /// How far ahead inputs were given when the host was heard last.
    usual: u64,
    has_begun: bool,
    /// Whether the host of this term was sent some inputs.
    is_told: bool,
    /// The frames in the last packets to the host.
    pub(super) copies: Copies,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self {
            newest: 0,
            inputs: VecDeque::new(),
            heard: 0,
            more: 0,
            skip: 0,
            least: i32::MAX,
            seen: 0,
            settled: 0,
            usual: AHEAD_FIRST,
            has_begun: false,
            is_told: false,
            copies: Copies::new(),
        }
    }

    /// Gives the inputs for frames after `last` anew, as far ahead as usual, because a new host has none yet. If more
    /// inputs piled up meanwhile, repeats of an input are dropped. No change of the input is lost.
    pub(super) fn begin_anew(&mut self, last: u64) {
        let usual = if self.has_begun { self.usual } else { AHEAD_FIRST };
        let mut inputs = core::mem::take(&mut self.inputs);
        while inputs.len() as u64 > self.newest.saturating_sub(last) {
            inputs.pop_front();
        }
        let mut surplus = (inputs.len() as u64).saturating_sub(usual);
        for input in core::mem::take(&mut inputs) {
            if surplus > 0 && inputs.back() == Some(&input) {
                surplus -= 1;
            } else {
                inputs.push_back(input);
            }
        }
        let newest = last + inputs.len() as u64;
        let more = usual.saturating_sub(inputs.len() as u64).min(AHEAD_MAX) as u32;
        let settled = newest + u64::from(more);
        let mut copies = self.copies.clone();
        copies.begin_anew();
        *self =
            Self { newest, inputs, more, settled, usual, has_begun: self.has_begun, copies, ..Self::new() };
    }

    /// Goes on when the host does so after `last`, or when a state was loaded. Inputs that were sent keep their
    /// frames. Otherwise the host could take an old packet in flight for one with the newer numbering.
    pub(super) fn resume(&mut self, last: u64) {
        if self.is_told {
            self.heard = 0;
            self.copies.begin_anew();
        } else {
            self.begin_anew(last);
        }
    }

    /// How many frames this player's newest input is ahead of `last`, the last known frame.
    pub(super) const fn delay(&self, last: u64) -> u64 {
        self.newest.saturating_sub(last)
    }

    pub(super) const fn newest(&self) -> u64 {
        self.newest
    }

    /// Gives the input of one tick: usually to one more frame.
    pub(super) fn tick(&mut self, last: u64, input: &[u8]) {
        self.has_begun = true;
        if self.newest < last {
            // The host decided without this player.
            self.newest = last;
            self.inputs.clear();
        }
        let frames = if self.skip > 0 { 0 } else { 1 + self.more };
        self.skip = self.skip.saturating_sub(1);
        self.more = 0;
        for _ in 0..frames {
            if self.newest < last + AHEAD_MAX {
                self.newest += 1;
                self.inputs.push_back(input.to_vec());
            }
        }
        self.forget(last);
    }

    /// A host's own input for the next frame, if it gave one before it became the host. A host gives no inputs ahead.
    pub(super) fn take(&mut self, frame: u64) -> Option<Vec<u8>> {
        while self.inputs.len() as u64 > (self.newest + 1).saturating_sub(frame) {
            self.inputs.pop_front();
        }
        self.newest = self.newest.max(frame);
        self.inputs.pop_front()
    }

    fn forget(&mut self, last: u64) {
        let open = self.newest - last.max(self.heard).min(self.newest);
        while self.inputs.len() as u64 > open {
            self.inputs.pop_front();
        }
    }

    /// Takes the host's report on which inputs it has, and on their lead over the decided frames.
    pub(super) fn on_heard(&mut self, last: u64, heard: u64, lead: i32) {
        self.usual = self.delay(last);
        self.heard = self.heard.max(heard.min(self.newest));
        self.copies.on_ack(self.newest - self.heard);
        if heard < self.settled {
            return;
        }
        self.least = self.least.min(lead);
        self.seen += 1;
        if self.least < LEAD {
            self.more = LEAD.saturating_sub(self.least).clamp(1, AHEAD_MAX as i32).cast_unsigned();
            self.settled = self.newest + u64::from(self.more);
        } else if self.seen >= WINDOW && self.least > LEAD {
            self.skip = (self.least - LEAD).clamp(1, AHEAD_MAX as i32).cast_unsigned();
            self.settled = self.newest + 1;
        } else if self.seen < WINDOW {
            return;
        }
        (self.least, self.seen) = (i32::MAX, 0);
    }

    /// The inputs of a seat that the host may not have. Returns also the newest frame whose input has room.
    pub(super) fn run(&mut self, seat: SeatId) -> (Run, u64) {
        self.is_told = true;
        let mut run = Run::new();
        let behind = self.newest - self.inputs.len() as u64;
        let needed = self.copies.first(behind, self.newest) - behind - 1;
        let mut skipped = (needed as usize).min(self.inputs.len());
        // The first input is always stated, so that the receiver need not know the frame before.
        let size = self.inputs.front().map_or(0, |input| 1 + input.len());
        let changes =
            |at: usize| self.inputs.get(at).is_some() && self.inputs.get(at) != self.inputs.get(at - 1);
        let mut bytes = size + (skipped + 1..self.inputs.len()).filter(|&at| changes(at)).count() * size;
        while skipped > 0 && bytes + if changes(skipped) { size } else { 0 } <= CHEAP {
            bytes += if changes(skipped) { size } else { 0 };
            skipped -= 1;
        }
        let first = behind + skipped as u64;
        let mut before = None;
        for input in self.inputs.iter().skip(skipped) {
            let changes =
                (before != Some(input)).then(|| SeatChange { seat, change: Change::Input(input.clone()) });
            if !run.push(changes.as_slice(), RUN_BYTES) {
                break;
            }
            before = Some(input);
        }
        let newest = first + run.frames() as u64;
        (run, newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Simulates a host that decides a frame per tick, with a one-way delay of `way` ticks. Returns the delay at the
    /// end, and the least lead after the first 300 ticks.
    fn steer(ticks: u64, way: impl Fn(u64) -> u64) -> (u64, i32) {
        let mut pace = Pace::new();
        let (mut to_host, mut to_player) = (Vec::new(), Vec::new());
        let (mut heard, mut last, mut least) = (0, 0, i32::MAX);
        for now in 1..=ticks {
            pace.tick(last, &[1]);
            to_host.push((now + way(now), pace.newest()));
            let arrived = to_host.iter().filter(|(at, _)| *at <= now).map(|(_, newest)| *newest);
            heard = arrived.max().unwrap_or(heard).max(heard);
            to_host.retain(|(at, _)| *at > now);
            let lead = heard as i32 - now as i32;
            if now > 300 {
                least = least.min(lead);
            }
            to_player.push((now + way(now), now, heard, lead));
            for &(_, frame, heard, lead) in to_player.iter().filter(|(at, ..)| *at <= now) {
                last = last.max(frame);
                pace.on_heard(last, heard, lead);
            }
            to_player.retain(|(at, ..)| *at > now);
        }
        (pace.delay(last), least)
    }

    #[test]
    fn input_delay_is_the_round_trip_and_a_frame() {
        for way in 0..15 {
            let (delay, least) = steer(1_000, |_| way);
            assert!(least >= LEAD, "at {way} ticks one way the lead was {least}");
            assert!(delay <= 2 * way + 2, "at {way} ticks one way the delay is {delay}");
        }
    }

    #[test]
    fn input_delay_follows_a_change_of_the_one_way_delay() {
        assert!(steer(2_000, |now| if now < 600 { 12 } else { 2 }).0 <= 6);
        assert!(steer(2_000, |now| if now < 600 { 2 } else { 12 }).0 >= 24);
    }

    #[test]
    fn inputs_without_a_host_are_kept_in_their_order() {
        let mut pace = Pace::new();
        for tick in 0..40_u8 {
            // A button is pressed for a moment, twice.
            pace.tick(10, &[u8::from(tick == 20 || tick == 30)]);
        }
        pace.begin_anew(12);
        assert_eq!(pace.delay(12), 5);
        let given: Vec<_> = pace.inputs.iter().map(|input| input[0]).collect();
        assert_eq!(given, [0, 1, 0, 1, 0]);
    }
}
