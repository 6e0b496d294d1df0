//! A game in lockstep. Its state is a hash of all inputs that it was stepped by, and all members must have the same
//! states.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_session::lockstep::{FieldHash, Request};
use samovar_wire::{PeerId, Time};

use crate::game::{ProcessId, Turn};
use crate::promise::{Broken, Promise};

/// The number of states that are kept to be compared.
const PAST: u64 = 255;
/// The most frames that members may be apart in the end.
const APART: u64 = 90;

#[derive(Debug, Default)]
struct State {
    me: Option<PeerId>,
    frame: u64,
    hash: u64,
    past: BTreeMap<u64, u64>,
    next_input: Time,
    /// The frame at the last check.
    looked_at: u64,
}

impl State {
    fn keep(&mut self) {
        self.past.insert(self.frame, self.hash);
        let first = self.frame.saturating_sub(PAST);
        while self.past.first_key_value().is_some_and(|(&frame, _)| frame < first) {
            self.past.pop_first();
        }
    }
}

/// All games of a world.
#[derive(Debug, Default)]
pub(super) struct Steps(BTreeMap<ProcessId, State>);

impl Steps {
    pub(super) fn tick(&mut self, turn: &mut Turn<'_>) {
        let (now, me) = (turn.now, turn.session.me());
        let Some(mut lockstep) = turn.session.lockstep(now) else { return };
        let state = self.0.entry(turn.process).or_default();
        if state.me != Some(me) {
            *state = State { me: Some(me), ..State::default() };
        }
        if state.next_input <= now {
            state.next_input = now + turn.dice.millis(50, 300);
            let input = [turn.dice.number() as u8];
            lockstep.set_input(&input).expect("it has the size of the rules");
        }
        while let Some(request) = lockstep.poll_request() {
            match request {
                Request::Step(frame) => {
                    for (seat, input) in &frame.inputs {
                        let read = u64::from(seat.0) << 8 | u64::from(input[0]);
                        state.hash = (state.hash ^ read).wrapping_mul(0x0100_0000_01b3).rotate_left(9);
                    }
                    (state.frame, state.hash) = (frame.number, state.hash ^ frame.number);
                    state.keep();
                    lockstep.stepped(state.frame, state.hash);
                }
                Request::Load { frame, state: bytes, .. } => {
                    let bytes = bytes.try_into().unwrap_or_default();
                    (state.frame, state.hash) = (frame, u64::from_le_bytes(bytes));
                    state.past.clear();
                    state.keep();
                }
                Request::Save => {
                    let _ = lockstep.answer_state(&state.hash.to_le_bytes());
                }
                Request::Fields { frame } => {
                    let hash = state.past.get(&frame).copied().unwrap_or_default();
                    lockstep.answer_fields(frame, vec![FieldHash { name: "hash".to_owned(), hash }]);
                }
            }
        }
        while let Some(event) = lockstep.poll_event() {
            // If the host hears no member that has a state, the game begins anew.
            if event == samovar_session::lockstep::Event::NoState {
                lockstep.begin_anew();
            }
        }
    }

    /// Checks that all members go on, are close together, and have the same states.
    pub(super) fn look_settled(&mut self, members: &[(ProcessId, &Session)]) -> Result<(), Broken> {
        if members.iter().any(|(_, session)| session.rules().orders.lockstep.is_none()) {
            return Ok(());
        }
        let broken = |what: String| Err(Broken::new(Promise::Ordered, format!("lockstep: {what}")));
        let mut states: BTreeMap<u64, (u64, ProcessId)> = BTreeMap::new();
        let mut stands = None;
        for &(process, _) in members {
            let Some(state) = self.0.get_mut(&process) else {
                return broken(format!("{process} has no state"));
            };
            for (&frame, &hash) in &state.past {
                let (known, by) = *states.entry(frame).or_insert((hash, process));
                if known != hash {
                    return broken(format!("frame {frame} is {known:x} at {by}, {hash:x} at {process}"));
                }
            }
            if state.frame <= core::mem::replace(&mut state.looked_at, state.frame) {
                stands = Some(process);
            }
        }
        let frames = members.iter().map(|(process, _)| self.0[process].frame);
        let (least, most) = (frames.clone().min().unwrap_or(0), frames.max().unwrap_or(0));
        match stands {
            Some(process) => broken(format!("{process} stands still")),
            None if most > least + APART => {
                broken(format!("members are apart, from frame {least} to {most}"))
            }
            None => Ok(()),
        }
    }
}
