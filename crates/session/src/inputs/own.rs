//! A member's own inputs, from their submission until no holder needs them any more.

use std::collections::VecDeque;

use samovar_wire::Time;
use samovar_wire::input::INPUT_KEPT_FOR;
use samovar_wire::limits::{INPUTS_BYTES_MAX, INPUTS_MAX};

#[derive(Clone, Debug)]
pub(super) struct OwnInput {
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// When the input was accepted.
    accepted: Option<Time>,
}

impl OwnInput {
    /// For how many milliseconds the receiver has to keep this input.
    pub(super) fn left(&self, now: Time) -> u16 {
        let age = self.accepted.map_or(0, |at| now.since(at).as_micros());
        // At most 10,000, so it fits.
        (INPUT_KEPT_FOR.as_micros().saturating_sub(age) / 1_000) as u16
    }
}

/// A member keeps its own inputs for as long as others do, so that it can itself tell a new host of those that were
/// accepted.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnInputs {
    inputs: VecDeque<OwnInput>,
    bytes: usize,
    /// The number of the last input.
    pub(super) last: u64,
    /// The number of the last input that was accepted.
    pub(super) accepted: u64,
}

impl OwnInputs {
    /// Whether there is room for another input.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.inputs.len() < INPUTS_MAX && self.bytes + bytes <= INPUTS_BYTES_MAX
    }

    pub(super) fn push(&mut self, number: u64, bytes: &[u8]) {
        self.last = number;
        self.bytes += bytes.len();
        self.inputs.push_back(OwnInput { number, bytes: bytes.to_vec(), accepted: None });
    }

    /// The inputs with higher numbers than `number`.
    pub(super) fn behind(&self, number: u64) -> impl Iterator<Item = &OwnInput> {
        let start = self.inputs.partition_point(|input| input.number <= number);
        self.inputs.range(start..)
    }

    /// Accepts all inputs up to a number. Returns the numbers of those that were not accepted before.
    pub(super) fn accept(&mut self, now: Time, number: u64) -> Vec<u64> {
        let before = self.accepted;
        self.accepted = number.min(self.last).max(before);
        let start = self.inputs.partition_point(|input| input.number <= before);
        let news = self.inputs.range_mut(start..).take_while(|input| input.number <= number);
        news.map(|input| {
            input.accepted = Some(now);
            input.number
        })
        .collect()
    }

    /// The number of the last input that was accepted and is still kept; zero for none. Once this peer no longer
    /// keeps an input, no other peer has to hold it.
    pub(super) fn last_kept(&self) -> u64 {
        self.inputs.iter().rev().find(|input| input.accepted.is_some()).map_or(0, |input| input.number)
    }

    /// The number of the first kept input whose time of acceptance `when` selects.
    pub(super) fn first_accepted(&self, when: impl Fn(Time) -> bool) -> Option<u64> {
        self.inputs.iter().find(|input| input.accepted.is_some_and(&when)).map(|input| input.number)
    }

    /// Drops inputs that were accepted so long ago that no peer holds them any more.
    pub(super) fn expire(&mut self, now: Time) {
        let is_over = |input: &OwnInput| input.accepted.is_some_and(|at| at + INPUT_KEPT_FOR <= now);
        while let Some(input) = self.inputs.pop_front_if(|input| is_over(input)) {
            self.bytes -= input.bytes.len();
        }
    }
}
