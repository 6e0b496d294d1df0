//! A host's knowledge of the others: their inputs, the frames they have, and its remaining patience with each.

use std::collections::VecDeque;

use samovar_wire::limits::LOCKSTEP_RUN_MAX;
use samovar_wire::lockstep::{Change, FieldHash, FrameChanges};
use samovar_wire::{Duration, PeerId, SeatId, SortedMap, SortedSet, Time};

use super::copies::Copies;
use super::{LockstepConfig, Player};

/// How long a new host waits for the members that it hears to tell their frames.
pub const COLLECTS_FOR: Duration = Duration::from_millis(1_000);
/// The most frames that a late host makes up for at once. In a longer pause the game's time stands still.
pub(super) const BEHIND_MAX: u64 = 4;
/// Ticks without a decision after which a packet goes anyway.
const SILENT_MAX: u64 = 3;
/// A member is given a state on one link no more often than this.
pub(super) const STATE_AGAIN: Duration = Duration::from_millis(5_000);

/// A host's knowledge of a member's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The member has sent nothing under this term.
    Silent,
    /// The member reports that it has the frames up to this one, with this digest.
    Told { last: u64, digest: u64 },
    /// The member has no frames, or other frames than this host.
    NeedsState,
    /// The member was sent a state.
    Loading,
    /// The member has the same frames as this host, at least up to this one.
    InStep { known: u64 },
}

/// A comparison of a member's states with the host's.
#[derive(Clone, Debug)]
pub(super) enum Comparison {
    /// The member was sent the host's checksums.
    Asked,
    /// The member has answered with its fields in this frame; the host's game is asked for its own.
    Answered { frame: u64, fields: Vec<FieldHash> },
}

/// A member other than the host.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    pub(super) seat: SeatId,
    pub(super) plays: bool,
    pub(super) standing: Standing,
    /// The newest frame for which this member has given an input. It tells which of the member's packets is the
    /// newest.
    pub(super) newest: u64,
    /// The newest frame for which this member's input arrived.
    pub(super) heard: u64,
    /// Inputs of the frames that are not decided yet.
    pub(super) inputs: VecDeque<Vec<u8>>,
    /// Inputs after a gap.
    pub(super) early: SortedMap<u64, Vec<u8>>,
    /// The frames in the last packets to this member.
    pub(super) copies: Copies,
    /// Whether this member's inputs come too late, so that no frame waits for them.
    pub(super) is_late: bool,
    /// Whether the present frame waits for this member's input.
    pub(super) is_holding: bool,
    /// How long frames may still wait for this member's inputs.
    pub(super) credit: Duration,
    /// The last frame after which this member's state was the same as the host's.
    pub(super) agreed: u64,
    pub(super) comparison: Option<Comparison>,
    /// When this member may be given a state.
    pub(super) state_at: Time,
}

impl Follower {
    fn new(player: &Player) -> Self {
        Self {
            seat: player.seat,
            plays: player.plays,
            standing: Standing::Silent,
            newest: 0,
            heard: 0,
            inputs: VecDeque::new(),
            early: SortedMap::new(),
            copies: Copies::new(),
            is_late: true,
            is_holding: false,
            credit: Duration::ZERO,
            agreed: 0,
            comparison: None,
            state_at: Time::ZERO,
        }
    }

    /// Takes inputs up to the frame `newest`, which is not far ahead. Inputs of decided or known frames are skipped.
    /// If an honest member cannot have sent these inputs, all are ignored.
    pub(super) fn take(&mut self, decided: u64, newest: u64, frames: Vec<FrameChanges>) {
        let first = newest + 1 - (frames.len() as u64).min(newest);
        if frames.is_empty() {
            return;
        }
        let mut input = None;
        let mut taken = Vec::new();
        for (frame, changes) in (first..).zip(frames) {
            if let Some(change) = changes.into_iter().next() {
                match change.change {
                    Change::Input(bytes) if change.seat == self.seat => input = Some(bytes),
                    _ => return,
                }
            }
            let Some(input) = &input else { return };
            taken.push((frame, input.clone()));
        }
        let known = self.heard.max(decided);
        let reach = known + 2 * LOCKSTEP_RUN_MAX as u64;
        for (frame, input) in taken.into_iter().filter(|&(frame, _)| frame > known && frame <= reach) {
            self.early.insert(frame, input);
        }
        self.early.retain(|&frame, _| frame > known);
        let mut last = known;
        while let Some(input) = self.early.remove(&(last + 1)) {
            self.inputs.push_back(input);
            last += 1;
        }
        // A member's inputs for frames that were decided without it tell how late the member is.
        let is_any_here = last > known || newest <= known;
        self.heard = self.heard.max(if is_any_here { last.min(newest) } else { 0 });
    }
}

/// The host's phase.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// The host collects the members' frames.
    Collecting {
        /// Members that have not told their frames.
        awaited: SortedSet<PeerId>,
        /// When the host goes on without them.
        until: Time,
        /// The member that was asked for a state, since this host has none.
        asked: Option<PeerId>,
    },
    /// The host decides frames.
    Deciding,
}

/// The state of a host only.
#[derive(Clone, Debug)]
pub(super) struct Hosting {
    pub(super) phase: Phase,
    pub(super) followers: SortedMap<PeerId, Follower>,
    /// When the next frame is to be decided.
    pub(super) due: Time,
    /// Since when that frame has waited for inputs; `None` when it does not wait.
    pub(super) held_since: Option<Time>,
    /// Whether something was decided that has not been sent.
    pub(super) has_news: bool,
    pub(super) sent_at: Time,
    /// Whether the game was asked for its state.
    pub(super) is_saving: bool,
}

impl Hosting {
    /// The state of a host that has heard nothing yet.
    pub(super) fn new(now: Time) -> Self {
        let (awaited, asked) = (SortedSet::new(), None);
        let until = now + COLLECTS_FOR;
        Self {
            phase: Phase::Collecting { awaited, until, asked },
            followers: SortedMap::new(),
            due: now,
            held_since: None,
            has_news: false,
            sent_at: now,
            is_saving: false,
        }
    }

    /// Waits for all members to tell their frames.
    pub(super) fn await_members(&mut self) {
        if let Phase::Collecting { awaited, .. } = &mut self.phase {
            self.followers.keys().for_each(|&peer| {
                awaited.insert(peer);
            });
        }
    }

    pub(super) fn set_members(&mut self, me: PeerId, members: &SortedMap<PeerId, Player>) {
        self.followers.retain(|peer, _| members.contains_key(peer));
        for (&peer, player) in members.iter().filter(|(peer, _)| **peer != me) {
            let follower = self.followers.entry(peer).or_insert_with(|| Follower::new(player));
            if follower.seat != player.seat {
                *follower = Follower { standing: follower.standing, ..Follower::new(player) };
            }
            follower.plays = player.plays;
        }
        if let Phase::Collecting { awaited, .. } = &mut self.phase {
            awaited.retain(|peer| members.contains_key(peer));
        }
    }

    /// Forgets a member's standing because its link began anew. The member tells its frames again.
    pub(super) fn begin_anew(&mut self, peer: PeerId) {
        if let Some(follower) = self.followers.get_mut(&peer) {
            follower.standing = Standing::Silent;
            follower.comparison = None;
            follower.newest = 0;
            follower.early.clear();
            follower.state_at = Time::ZERO;
        }
    }

    /// Stops waiting for a member that is missed.
    pub(super) fn give_up(&mut self, peer: PeerId) {
        if let Phase::Collecting { awaited, .. } = &mut self.phase {
            awaited.remove(&peer);
        }
        if let Some(follower) = self.followers.get_mut(&peer) {
            follower.credit = Duration::ZERO;
            if matches!(follower.standing, Standing::Told { .. }) {
                follower.standing = Standing::Silent;
            }
        }
    }

    /// When the host has something to do next. `last` is the last decided frame.
    pub(super) fn timeout(&self, config: &LockstepConfig, last: u64) -> Time {
        if let Phase::Collecting { until, .. } = &self.phase {
            return *until;
        }
        let decide = match self.held_since {
            None => self.due,
            Some(since) => {
                let mut waited_for: Vec<_> = self.followers.values().filter(|f| f.is_holding).collect();
                waited_for.retain(|follower| !follower.is_late && follower.heard <= last);
                waited_for.iter().map(|follower| since + follower.credit).min().unwrap_or(self.due)
            }
        };
        let needs_state = |follower: &&Follower| follower.standing == Standing::NeedsState && !self.is_saving;
        let state = self.followers.values().filter(needs_state).map(|follower| follower.state_at);
        state.chain([decide, self.send_at(config)]).min().unwrap_or(decide)
    }

    /// When the next packets go.
    pub(super) fn send_at(&self, config: &LockstepConfig) -> Time {
        if self.has_news {
            // `due` sets the pace of the frames. This delay only joins frames that are decided together.
            return self.sent_at + config.tick().half();
        }
        let ticks = if self.held_since.is_some() { SILENT_MAX } else { SILENT_MAX + 1 };
        self.sent_at + config.tick().times(ticks)
    }

    /// The member that told the most frames.
    pub(super) fn longest(&self) -> Option<(u64, PeerId)> {
        let told = self.followers.iter().filter_map(|(&peer, follower)| match follower.standing {
            Standing::Told { last, .. } => Some((last, peer)),
            _ => None,
        });
        told.max()
    }
}
