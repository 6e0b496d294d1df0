//! What this peer did while others, of whom it did not hear, went on under another host (DESIGN §4 "Partition").

use samovar_wire::control::Vote;
use samovar_wire::{Duration, ObjectId, PeerId, SortedSet, Time};

use super::{CLOSED_MAX, Event, Peering, Session};

/// Ends and changes of owner that are remembered.
const FATES_MAX: usize = 512;
/// Whom nothing reached for so long may live under another host when it is reached again.
const GAP: Duration = Duration::from_millis(150);
/// It says so within this time.
const GAP_TOLD_WITHIN: Duration = Duration::from_millis(1_000);

impl Peering {
    /// More may have reached the peer than what was said before `reached`: notes for how long nothing had.
    pub(super) fn note_gap(&mut self, now: Time, reached: Time) {
        let reached = reached.max(self.gap.0);
        if reached + GAP <= self.link.reached_at() && self.gap.1 <= now {
            self.gap = (reached, now + GAP_TOLD_WITHIN);
        }
    }

    /// It says under whom it lives, if that is another host: what reaches it then is of no account.
    pub(super) fn note_ahead(&mut self, now: Time, ahead: Option<Vote>) {
        match (self.ahead, ahead) {
            (None, Some(_)) => self.gap = (self.reached(now), Time::FAR),
            (Some(_), None) => self.gap.1 = now,
            _ => {}
        }
        self.ahead = ahead;
    }

    fn reached(&self, now: Time) -> Time {
        if self.gap.1 > now { self.gap.0 } else { self.link.reached_at().max(self.gap.0) }
    }

    /// What was said before has reached the peer while it lived, for all that is known, under the same host.
    pub(super) fn shared(&self, now: Time) -> Time {
        // Of states that were lost shortly before nothing was sent again yet.
        self.reached(now) - self.link.round_trip().unwrap_or_default().times(2)
    }
}

impl Session {
    /// The silence that a link to a peer begins behind.
    pub(super) fn gap_to(&self, now: Time, peer: PeerId) -> (Time, Time) {
        (self.parted.get(&peer).copied().unwrap_or(now), now)
    }

    /// An object ended, or has another owner: nothing that is there says when.
    pub(super) fn note_fate(&mut self, now: Time, id: ObjectId) {
        if self.fates.len() == FATES_MAX {
            self.fates.remove(0);
        }
        self.fates.push((self.clock.time(now), id));
    }

    /// A peer is linked no longer, or lost without that: up to when what this peer said had reached it.
    pub(super) fn note_parted(&mut self, peer: PeerId, reached: Time) {
        if self.parted.len() == CLOSED_MAX
            && let Some((&oldest, _)) = self.parted.iter().min_by_key(|(_, at)| **at)
        {
            self.parted.remove(&oldest);
        }
        self.parted.insert(peer, reached);
    }

    /// From a moment on others may have gone on without this peer.
    pub(super) fn note_split(&mut self, since: Time) {
        let since = self.clock.time(since);
        self.split_at = Some(self.split_at.map_or(since, |at| at.min(since)));
    }

    /// Others may have gone on without this peer from when on nothing reached one of them.
    pub(super) fn note_unreached(&mut self, now: Time) {
        let since =
            self.links.values().filter(|peering| !peering.left).map(|peering| peering.shared(now)).min();
        self.note_split(since.unwrap_or(now));
    }

    /// Tells the game what changed here since this peer last reached those who went on.
    pub(super) fn report_divergence(&mut self) {
        self.note_unreached(self.last_now);
        if self.config.rules.forks {
            // Who was lost long ago may have gone on as well.
            let lost = self.parted.iter().filter(|(peer, _)| !self.view.has(**peer));
            if let Some(first) = lost.map(|(_, &reached)| reached).min() {
                self.note_split(first);
            }
        }
        let Some(since) = self.split_at else { return };
        let mut objects = SortedSet::new();
        let changed = self.objects.iter().map(|object| (object.sampled(), object.id()));
        for (at, id) in changed.chain(self.fates.iter().copied()) {
            if at >= since && id != ObjectId::SESSION {
                objects.insert(id);
            }
        }
        let accepted = self.accepted_since(since);
        if !objects.is_empty() || accepted.is_some() {
            self.push_event(Event::Diverged { objects: objects.into_iter().collect(), accepted });
        }
    }
}
