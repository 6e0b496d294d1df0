//! Frames that arrived before a missing one. They are appended to the log when that arrives.

use samovar_wire::SortedMap;
use samovar_wire::limits::LOCKSTEP_RUN_MAX;
use samovar_wire::lockstep::{Change, FrameChanges, Frames, SeatChange};

use super::Players;
use super::log::Log;

/// A frame as it was sent.
#[derive(Clone, Debug)]
enum Told {
    Changes(FrameChanges),
    /// The inputs of all players.
    Inputs(Vec<u8>),
}

/// Frames of a host after the last known one, less than a run ahead.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead(SortedMap<u64, Told>);

impl Ahead {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a run that ends with the frame `last`, and appends to the log the frames that follow there. Returns
    /// `false` if a host cannot have decided them.
    pub(super) fn take(&mut self, log: &mut Log, last: u64, frames: Frames) -> bool {
        let Some(before) = last.checked_sub(frames.count() as u64) else { return false };
        let known = log.last();
        if last <= known {
            return true;
        }
        let told: Vec<_> = match frames {
            Frames::Changes(frames) => frames.into_iter().map(Told::Changes).collect(),
            Frames::Inputs(count, bytes) => {
                let size: usize = log.players().values().map(Vec::len).sum();
                if size == 0 || bytes.len() != size * count {
                    return false;
                }
                bytes.chunks_exact(size).map(|inputs| Told::Inputs(inputs.to_vec())).collect()
            }
        };
        for (frame, told) in (before + 1..=known + LOCKSTEP_RUN_MAX as u64).zip(told) {
            if frame > known {
                self.0.insert(frame, told);
            }
        }
        while let Some(told) = self.0.remove(&(log.last() + 1)) {
            let changes = match told {
                Told::Changes(changes) => changes,
                Told::Inputs(inputs) => changes_to(log.players(), &inputs),
            };
            if !log.push(changes) {
                return false;
            }
        }
        true
    }
}

/// The changes that give all players these inputs, each as long as the player's last one.
fn changes_to(players: &Players, mut inputs: &[u8]) -> FrameChanges {
    let mut changes = FrameChanges::new();
    for (&seat, before) in players.iter() {
        let Some((input, rest)) = inputs.split_at_checked(before.len()) else { break };
        if input != before {
            changes.push(SeatChange { seat, change: Change::Input(input.to_vec()) });
        }
        inputs = rest;
    }
    changes
}
