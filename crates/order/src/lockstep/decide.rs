//! The host decides the frames: which input of each player belongs to which frame.

use samovar_wire::limits::LOCKSTEP_RUN_MAX;
use samovar_wire::lockstep::{Change, Datagram, FrameChanges, SeatChange};
use samovar_wire::{Duration, Lane, PeerId, SeatId, SortedMap, Term, Time, Writer};

use super::copies::CHEAP;
use super::hosting::{BEHIND_MAX, Phase, Standing};
use super::{Event, Lockstep, Request, Role, Transmit};

/// The most bytes of frames in a packet.
const RUN_BYTES: usize = 1_000;
/// While a player is on time, it regains patience: the passing time divided by this.
const REGAINED: u64 = 8;

impl Lockstep {
    /// Does what is due at a host.
    pub(super) fn host_acts(&mut self, now: Time) {
        self.end_collecting(now);
        let Role::Host(hosting) = &mut self.role else { return };
        if !matches!(hosting.phase, Phase::Deciding) {
            return;
        }
        let behind = self.config.tick().times(BEHIND_MAX);
        if hosting.held_since.is_none() {
            hosting.due = hosting.due.max(now - behind);
        }
        while self.is_decidable(now) {
            self.decide(now);
        }
        self.send_frames(now);
        self.give_states(now);
    }

    /// Whether the next frame is due, and all inputs are here or were waited for long enough.
    fn is_decidable(&mut self, now: Time) -> bool {
        let next = self.log.last() + 1;
        let Role::Host(hosting) = &mut self.role else { return false };
        if now < hosting.due {
            return false;
        }
        let players = self.log.players();
        let since = hosting.held_since.unwrap_or(now);
        let mut is_held = false;
        for follower in hosting.followers.values_mut() {
            let plays = follower.plays && players.contains_key(&follower.seat);
            if !plays || follower.is_late || follower.heard >= next {
                continue;
            }
            if since + follower.credit > now {
                follower.is_holding = true;
                is_held = true;
            } else {
                follower.is_late = true;
                follower.is_holding = false;
                follower.credit = minus(follower.credit, now.since(since));
                self.events.push(Event::Late { seat: follower.seat, frame: next });
            }
        }
        if is_held {
            hosting.held_since = Some(since);
        }
        !is_held
    }

    /// Decides the next frame.
    fn decide(&mut self, now: Time) {
        let next = self.log.last() + 1;
        let changes = self.next_changes();
        let is_possible = self.log.push(changes);
        debug_assert!(is_possible, "a host changes only what is there");
        let Role::Host(hosting) = &mut self.role else { return };
        let waited = hosting.held_since.take().map_or(Duration::ZERO, |since| now.since(since));
        self.stats.waited = self.stats.waited + waited;
        self.stats.longest_wait = self.stats.longest_wait.max(waited);
        self.stats.decided += 1;
        let tick = self.config.tick();
        for follower in hosting.followers.values_mut().filter(|follower| follower.plays) {
            let is_here = follower.heard >= next;
            let was_holding = core::mem::take(&mut follower.is_holding);
            self.stats.predicted += u64::from(!is_here && self.log.players().contains_key(&follower.seat));
            if was_holding && is_here {
                follower.credit = minus(follower.credit, waited);
            } else if is_here {
                let regained = follower.credit + Duration::from_micros(tick.as_micros() / REGAINED);
                follower.credit = regained.min(self.config.patience());
            }
            if is_here && core::mem::take(&mut follower.is_late) {
                self.events.push(Event::OnTime { seat: follower.seat, frame: next });
            }
        }
        hosting.due += tick;
        hosting.has_news = true;
    }

    /// The changes of the next frame: its players, and the inputs that differ.
    fn next_changes(&mut self) -> FrameChanges {
        let own = self.pace.take(self.log.last() + 1).unwrap_or_else(|| self.input.clone());
        let Role::Host(hosting) = &mut self.role else { return Vec::new() };
        let players = self.log.players();
        let mut inputs: SortedMap<SeatId, Option<Vec<u8>>> = SortedMap::new();
        for (peer, player) in self.members.iter().filter(|(_, player)| player.plays) {
            let input = match hosting.followers.get_mut(peer) {
                None => Some(own.clone()),
                Some(follower) => {
                    let input = follower.inputs.pop_front();
                    // A member that is not in step yet does not begin to play.
                    let is_ready = matches!(follower.standing, Standing::InStep { .. });
                    if !is_ready && !players.contains_key(&player.seat) {
                        continue;
                    }
                    input
                }
            };
            inputs.insert(player.seat, input);
        }
        let change = |seat, change| SeatChange { seat, change };
        let left = players.keys().filter(|seat| !inputs.contains_key(seat));
        let mut changes: FrameChanges = left.map(|&seat| change(seat, Change::Leaves)).collect();
        let mut room = samovar_wire::limits::SEATS_MAX + changes.len() - players.len();
        for (&seat, input) in inputs.iter() {
            match (players.get(&seat), input) {
                (None, _) if room > 0 => {
                    room -= 1;
                    changes.push(change(seat, Change::Joins));
                }
                (Some(before), Some(input)) if before != input => {
                    changes.push(change(seat, Change::Input(input.clone())));
                }
                _ => (),
            }
        }
        samovar_wire::sorted::sort_by_key(&mut changes, |change| change.seat);
        changes
    }

    /// Tells each member the frames that it has not acked.
    fn send_frames(&mut self, now: Time) {
        let Role::Host(hosting) = &mut self.role else { return };
        if now < hosting.send_at(&self.config) {
            return;
        }
        (hosting.sent_at, hosting.has_news) = (now, false);
        self.out.retain(|transmit| transmit.lane != Lane::Unreliable);
        let (last, term) = (self.log.last(), self.term);
        for (&to, follower) in hosting.followers.iter_mut() {
            let Standing::InStep { known } = follower.standing else { continue };
            if known < self.log.base() {
                // The member is further behind than the kept frames.
                follower.standing = Standing::NeedsState;
                continue;
            }
            let needed = follower.copies.first(known, last);
            let (run, told) = self.log.run((known, needed, last), CHEAP, RUN_BYTES);
            let lead = (follower.heard.cast_signed() - last.cast_signed()) as i32;
            let datagram = Datagram::Frames { term, last: told as u16, lead };
            let mut bytes = Vec::new();
            datagram.encode(&run, &mut Writer::new(&mut bytes));
            self.out.push(Transmit { to, lane: Lane::Unreliable, bytes });
        }
    }

    /// Asks the game for its state when a member needs it and may have it.
    fn give_states(&mut self, now: Time) {
        let Role::Host(hosting) = &mut self.role else { return };
        let mut needs = hosting
            .followers
            .values()
            .filter(|follower| follower.standing == Standing::NeedsState && follower.state_at <= now);
        let is_ready = matches!(hosting.phase, Phase::Deciding) && !hosting.is_saving && self.has_state;
        if is_ready && needs.next().is_some() {
            hosting.is_saving = true;
            self.requests.push(Request::Save);
        }
    }

    /// Takes inputs of a member.
    pub(super) fn on_inputs(&mut self, from: PeerId, heard: Heard, frames: Vec<FrameChanges>) {
        let last = self.log.last();
        let Role::Host(hosting) = &mut self.role else { return };
        let Some(follower) = hosting.followers.get_mut(&from) else { return };
        let Standing::InStep { known } = &mut follower.standing else { return };
        let newest = samovar_wire::link_frame::expand(heard.newest, last);
        let has = newest.saturating_add_signed(-i64::from(heard.ahead));
        // Ignores a packet that a newer one overtook, and one that no honest member sends: it claims frames that were
        // not decided, or gives inputs too far ahead.
        let is_far = newest > last + 1 + LOCKSTEP_RUN_MAX as u64;
        if heard.term != self.term || newest < follower.newest || has > last || is_far {
            return;
        }
        follower.newest = newest;
        *known = has;
        follower.copies.on_ack(last - has);
        if follower.plays {
            follower.take(last, newest, frames);
        }
        if let Some(check) = heard.check {
            self.compare(from, has, check);
        }
    }
}

/// The head of a member's datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) term: Term,
    pub(super) newest: u16,
    pub(super) ahead: i32,
    pub(super) check: Option<u16>,
}

fn minus(span: Duration, less: Duration) -> Duration {
    Duration::from_micros(span.as_micros().saturating_sub(less.as_micros()))
}
