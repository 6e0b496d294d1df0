//! A game in lockstep over sessions: how evenly it steps, and how much traffic it takes.

use std::collections::BTreeMap;

use samovar_session::Rules;
use samovar_session::lockstep::Request;
use samovar_wire::{Duration, PeerId, Time};

use super::table::Table;
use crate::rng::Rng;

const SECONDS: u64 = 30;

/// The measured figures.
pub(super) struct Figures {
    pub(super) frames_per_second: f64,
    /// The longest time between two frames at any member, in milliseconds.
    pub(super) longest_freeze: f64,
    /// Bytes a second from one member to another, for the busiest pair.
    pub(super) bytes_per_second: f64,
    pub(super) packets_per_second: f64,
}

/// Plays with this many members. Each member's input changes every `changes` frames.
pub(super) fn run(members: u32, rules: Rules, way: Duration, loss: f64, changes: u64) -> Figures {
    let mut table = Table::new(members, rules, way, loss);
    let (mut frames, mut stepped): (BTreeMap<PeerId, u64>, BTreeMap<PeerId, Time>) = Default::default();
    let (mut rng, mut longest, mut is_counting) = (Rng::new(1, 2), Duration::ZERO, false);
    let mut games: BTreeMap<PeerId, u64> = BTreeMap::new();
    for seconds in [5, SECONDS] {
        if is_counting {
            table.traffic.clear();
        }
        table.run(seconds * 1_000, |now, session, _| {
            let me = session.me();
            let Some(mut lockstep) = session.lockstep(now) else { return };
            while let Some(request) = lockstep.poll_request() {
                match request {
                    Request::Step(frame) => {
                        lockstep.stepped(frame.number, frame.number);
                        games.insert(me, frame.number);
                        if frame.number.is_multiple_of(changes) {
                            lockstep.set_input(&[rng.next_u64() as u8]).expect("of the size of the rules");
                        }
                        if is_counting {
                            *frames.entry(me).or_default() += 1;
                            let last = stepped.insert(me, now);
                            longest = longest.max(last.map_or(Duration::ZERO, |last| now.since(last)));
                        }
                    }
                    Request::Load { frame, .. } => drop(games.insert(me, frame)),
                    Request::Save => lockstep.answer_state(&[]).expect("nothing is small"),
                    Request::Fields { frame } => lockstep.answer_fields(frame, Vec::new()),
                }
            }
        });
        is_counting = true;
    }
    let least = frames.values().copied().min().unwrap_or(0);
    // Members other than the host exchange only signs of life, so the busiest pair counts.
    let (bytes, packets) = table.traffic.values().copied().max().unwrap_or_default();
    Figures {
        frames_per_second: least as f64 / SECONDS as f64,
        longest_freeze: longest.as_micros() as f64 / 1_000.0,
        bytes_per_second: bytes as f64 / SECONDS as f64,
        packets_per_second: packets as f64 / SECONDS as f64,
    }
}
