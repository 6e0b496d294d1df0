//! This peer's words to the others, and which words of theirs it may believe.
//!
//! Shots and hits of the feed are messages in causal order: the host that decides a hit has been told of the shot, so
//! no peer hears of the hit first. They survive the host: all remaining members have heard the same, and the next
//! host tells hits that no member has heard. A session whose rules do not name the order uses the order of each
//! sender, which is not enough.
//!
//! Words of a peer that has just gone, or hosted until now, are delivered under the next view. So for a moment this
//! remembers which peers could speak for which players.

use std::collections::VecDeque;

use samovar_session::{Delivery, Lane, SendError, Session, Target};
use samovar_wire::{PeerId, SortedMap, SortedSet};

use super::kinds::seat_number;
use super::teapots::speaks_for;
use crate::cube::{CLOCK_TOLERANCE, COOLDOWN, COOLDOWN_TOLERANCE, Launch, Shot};
use crate::player::PlayerKey;
use crate::word::Word;

/// Words that may wait for room; the oldest are dropped beyond it.
const WAITING_MAX: usize = 256;

/// Hits that are remembered as told: more than rows can have in the time that they are remembered.
const TOLD_MAX: usize = 1_024;

/// How long told hits are remembered, so that none comes twice, in microseconds.
pub(super) const REMEMBERED_FOR: u64 = 20_000_000;

/// How long a peer that is gone, or hosted before, may still be heard, in microseconds.
const HEARD_FOR: u64 = 10_000_000;

/// Words sent and heard; bounded by members and the time that they are remembered.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The seat of each peer, and when it last had that, in session time.
    seats: SortedMap<PeerId, (u16, u64)>,
    /// The hosts, and when each last hosted.
    hosts: SortedMap<PeerId, u64>,
    outbox: VecDeque<Vec<u8>>,
    fired: SortedSet<Shot>,
    struck: SortedSet<Shot>,
    /// Since when this peer listens, in session time.
    pub(super) since: Option<u64>,
}

impl Talk {
    /// Notes the present members, and forgets old ones.
    pub(super) fn refresh(&mut self, session: &Session, time: u64) {
        self.since.get_or_insert(time);
        for member in session.view().members() {
            if let Some(seat) = seat_number(session, member.peer) {
                self.seats.insert(member.peer, (seat, time));
            }
        }
        self.hosts.insert(session.host(), time);
        self.seats.retain(|_, &mut (_, at)| at.saturating_add(HEARD_FOR) >= time);
        self.hosts.retain(|_, &mut at| at.saturating_add(HEARD_FOR) >= time);
        let is_kept = |shot: &Shot| shot.launched_at.saturating_add(REMEMBERED_FOR) >= time;
        self.fired.retain(is_kept);
        self.struck.retain(is_kept);
    }

    /// Whether a peer is the host, or was a moment ago.
    pub(super) fn is_host(&self, session: &Session, peer: PeerId) -> bool {
        peer == session.host() || self.hosts.contains_key(&peer)
    }

    /// Whether a peer speaks for a player, or did a moment ago.
    pub(super) fn speaks_for(&self, session: &Session, peer: PeerId, player: PlayerKey) -> bool {
        let sat = self.seats.get(&peer).map(|&(seat, _)| PlayerKey::Seat(seat));
        speaks_for(session, peer, player) || self.hosts.contains_key(&peer) || sat == Some(player)
    }

    /// Sends a word to all in causal order, as soon as there is room.
    pub(super) fn say(&mut self, word: &Word) {
        if self.outbox.len() == WAITING_MAX {
            self.outbox.pop_front();
        }
        self.outbox.push_back(word.encode());
    }

    /// Sends the waiting words.
    pub(super) fn flush(&mut self, session: &mut Session) {
        while let Some(bytes) = self.outbox.front() {
            match session.send(Target::All, Delivery::Causal, bytes) {
                Err(SendError::WouldBlock) => return,
                Err(SendError::NotInTheRules) => {
                    // The next best is the order of each sender; a word without room there is lost.
                    let _ = session.send(Target::All, Lane::GAME, bytes);
                }
                _ => {}
            }
            self.outbox.pop_front();
        }
    }

    /// This peer fired.
    pub(super) fn add_fired(&mut self, launch: &Launch) {
        self.fired.insert(launch.shot());
        self.say(&Word::Fired(*launch));
    }

    /// Whether a shot was heard of.
    pub(super) fn knows_shot(&self, shot: Shot) -> bool {
        self.fired.contains(&shot)
    }

    /// A peer fired; whether that is news.
    pub(super) fn hear_fired(&mut self, launch: &Launch, time: u64) -> bool {
        let shot = launch.shot();
        let is_too_soon = |other: &Shot| {
            other.shooter == shot.shooter
                && other.launched_at.abs_diff(shot.launched_at) < COOLDOWN - COOLDOWN_TOLERANCE
        };
        is_recent(shot.launched_at, time) && !self.fired.iter().any(is_too_soon) && self.fired.insert(shot)
    }

    /// Whether a hit was told of.
    pub(super) fn knows_hit(&self, shot: Shot) -> bool {
        self.struck.contains(&shot)
    }

    /// A hit is told of; whether that is news.
    pub(super) fn hear_struck(&mut self, shot: Shot, time: u64) -> bool {
        is_recent(shot.launched_at, time) && self.struck.iter().len() < TOLD_MAX && self.struck.insert(shot)
    }
}

fn is_recent(at: u64, time: u64) -> bool {
    at.saturating_add(REMEMBERED_FOR) >= time && at <= time.saturating_add(CLOCK_TOLERANCE)
}
