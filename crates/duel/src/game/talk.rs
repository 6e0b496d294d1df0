//! Sends this peer's messages to the other members ([`Word`]), and decides which of the others' messages to accept.
//!
//! Shots and hits in the feed are messages in causal order: the host that decides a hit has been told of the shot, so
//! no peer hears of the hit first. The order survives the loss of the host: all remaining members have received the
//! same messages, and the next host announces the hits that no member has heard of. If a session's rules lack causal
//! order, the messages are in order per sender only, so a hit may come before its shot.
//!
//! Messages of a peer that has just gone, or that hosted until now, are delivered under the next view. So this module
//! remembers for a moment which peers could speak for which players.

use std::collections::VecDeque;

use samovar_session::{Delivery, Lane, SendError, Session, Target};
use samovar_wire::{PeerId, SortedMap, SortedSet};

use super::kinds::seat_number;
use super::teapots::driver_of;
use crate::cube::{CLOCK_TOLERANCE, COOLDOWN, COOLDOWN_TOLERANCE, Launch, Shot};
use crate::named::Named;
use crate::player::PlayerKey;
use crate::word::Word;

/// The most messages that may wait for room; beyond this the oldest are dropped.
const WAITING_MAX: usize = 256;

/// The most hits remembered as announced: more than all rows can have in [`REMEMBERED_FOR`].
const TOLD_MAX: usize = 1_024;

/// How long shots and announced hits are remembered, so that none is announced twice, in microseconds.
pub(super) const REMEMBERED_FOR: u64 = 20_000_000;

/// How long this peer accepts messages of a peer that is gone or no longer hosts, in microseconds.
const HEARD_FOR: u64 = 10_000_000;

/// The messages sent and received; bounded by the numbers of members and robots, and the time that they are
/// remembered.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The seat of each peer, and the session time at which the peer last had it.
    seats: SortedMap<PeerId, (u16, u64)>,
    /// The present and former hosts, and the session time at which each last hosted.
    hosts: SortedMap<PeerId, u64>,
    /// The drivers of each robot, the seat of each, and the session time at which it last drove the robot.
    drivers: SortedMap<(PeerId, u8), (u16, u64)>,
    outbox: VecDeque<Vec<u8>>,
    fired: SortedSet<Shot>,
    struck: SortedSet<Shot>,
    /// The session time since which this peer receives messages.
    pub(super) since: Option<u64>,
}

impl Talk {
    /// Notes the present members, and forgets old members and old shots.
    pub(super) fn refresh(&mut self, session: &Session, robots: &Named, time: u64) {
        self.since.get_or_insert(time);
        for member in session.view().members() {
            if let Some(seat) = seat_number(session, member.peer) {
                self.seats.insert(member.peer, (seat, time));
            }
        }
        self.hosts.insert(session.host(), time);
        for (number, _) in robots.iter() {
            if let Some(driver) = driver_of(session, robots, number)
                && let Some(seat) = session.seat_of(driver)
            {
                self.drivers.insert((driver, number), (seat.seat.0, time));
            }
        }
        self.drivers.retain(|_, &mut (_, at)| at.saturating_add(HEARD_FOR) >= time);
        self.seats.retain(|_, &mut (_, at)| at.saturating_add(HEARD_FOR) >= time);
        self.hosts.retain(|_, &mut at| at.saturating_add(HEARD_FOR) >= time);
        let is_kept = |shot: &Shot| shot.launched_at.saturating_add(REMEMBERED_FOR) >= time;
        self.fired.retain(is_kept);
        self.struck.retain(is_kept);
    }

    /// Whether a peer is the host, or was in the last 10 seconds.
    pub(super) fn is_host(&self, session: &Session, peer: PeerId) -> bool {
        peer == session.host() || self.hosts.contains_key(&peer)
    }

    /// Whether a peer speaks for a player, or did in the last 10 seconds.
    pub(super) fn speaks_for(&self, session: &Session, peer: PeerId, player: PlayerKey) -> bool {
        let did = match player {
            PlayerKey::Seat(seat) => self.seats.get(&peer).is_some_and(|&(sat, _)| sat == seat),
            PlayerKey::Robot(number) => self.has_driven(peer, number),
        };
        did || self.is_host(session, peer)
    }

    /// Whether a peer drives a robot, or did in the last 10 seconds.
    pub(super) fn has_driven(&self, peer: PeerId, number: u8) -> bool {
        self.drivers.contains_key(&(peer, number))
    }

    /// Whether a player of this seat, or a robot that was driven from it in the last 10 seconds, may have fired.
    pub(super) fn fires_from(&self, seat: u16, shooter: PlayerKey) -> bool {
        match shooter {
            PlayerKey::Seat(own) => own == seat,
            PlayerKey::Robot(robot) => {
                self.drivers.iter().any(|(&(_, number), &(from, _))| number == robot && from == seat)
            }
        }
    }

    /// Queues a message for all members in causal order; [`flush`](Self::flush) sends it once there is room.
    pub(super) fn say(&mut self, word: &Word) {
        if self.outbox.len() == WAITING_MAX {
            self.outbox.pop_front();
        }
        self.outbox.push_back(word.encode());
    }

    /// Sends the waiting messages, as far as there is room.
    pub(super) fn flush(&mut self, session: &mut Session) {
        while let Some(bytes) = self.outbox.front() {
            match session.send(Target::All, Delivery::Causal, bytes) {
                Err(SendError::WouldBlock) => return,
                Err(SendError::NotInTheRules) => {
                    // Without causal order, use the order of each sender. A message that finds no room there is lost.
                    let _ = session.send(Target::All, Lane::GAME, bytes);
                }
                _ => {}
            }
            self.outbox.pop_front();
        }
    }

    /// Notes and announces a shot of this peer.
    pub(super) fn add_fired(&mut self, launch: &Launch) {
        self.fired.insert(launch.shot());
        self.say(&Word::Fired(*launch));
    }

    /// Whether this peer has heard of a shot.
    pub(super) fn knows_shot(&self, shot: Shot) -> bool {
        self.fired.contains(&shot)
    }

    /// Notes another peer's shot. Returns whether it is new, recent, and keeps the cooldown.
    pub(super) fn hear_fired(&mut self, launch: &Launch, time: u64) -> bool {
        let shot = launch.shot();
        let is_too_soon = |other: &Shot| {
            other.shooter == shot.shooter
                && other.launched_at.abs_diff(shot.launched_at) < COOLDOWN - COOLDOWN_TOLERANCE
        };
        is_recent(shot.launched_at, time) && !self.fired.iter().any(is_too_soon) && self.fired.insert(shot)
    }

    /// Whether a hit has been announced.
    pub(super) fn knows_hit(&self, shot: Shot) -> bool {
        self.struck.contains(&shot)
    }

    /// Notes an announced hit. Returns whether it is new and recent.
    pub(super) fn hear_struck(&mut self, shot: Shot, time: u64) -> bool {
        is_recent(shot.launched_at, time) && self.struck.iter().len() < TOLD_MAX && self.struck.insert(shot)
    }
}

fn is_recent(at: u64, time: u64) -> bool {
    at.saturating_add(REMEMBERED_FOR) >= time && at <= time.saturating_add(CLOCK_TOLERANCE)
}
