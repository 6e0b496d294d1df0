//! Reliable messages between members and a new host: the frames that each has, and states.

use samovar_wire::limits::LOCKSTEP_STATE_MAX;
use samovar_wire::lockstep::{Loading, LockstepMessage, Told};
use samovar_wire::{Lane, PeerId, Time};

use super::checks::Checks;
use super::hosting::{COLLECTS_FOR, Hosting, Phase, STATE_AGAIN, Standing};
use super::log::Log;
use super::{Event, Lockstep, Players, Request, Role, StateError, TOLD_AGAIN};

impl Lockstep {
    /// Tells the host this member's frames. Until the host answers with frames the member sends nothing else.
    pub(super) fn say_told(&mut self, now: Time) {
        if let Role::Member { told_at, .. } = &mut self.role {
            *told_at = now + TOLD_AGAIN;
        }
        let told = if self.has_state {
            let last = self.log.last();
            let digest = self.log.digest_at(last).unwrap_or_default();
            Told { term: self.term, has_state: true, last, digest, frames: self.log.newest() }
        } else {
            Told { term: self.term, has_state: false, last: 0, digest: 0, frames: Vec::new() }
        };
        self.say(self.host, Lane::SESSION, &LockstepMessage::Told(told));
    }

    /// Takes a member's frames. A host with fewer appends the missing ones, as long as it has decided nothing.
    pub(super) fn on_told(&mut self, now: Time, from: PeerId, told: Told) {
        let Role::Host(hosting) = &mut self.role else { return };
        let Some(follower) = hosting.followers.get_mut(&from) else { return };
        let Told { has_state, last, digest, frames, .. } = told;
        let is_collecting = matches!(hosting.phase, Phase::Collecting { .. });
        if is_collecting && has_state && self.has_state {
            adopt(&mut self.log, (last, digest), frames);
        }
        follower.comparison = None;
        follower.newest = 0;
        follower.early.clear();
        follower.agreed = last;
        follower.standing = if has_state { Standing::Told { last, digest } } else { Standing::NeedsState };
        if let Phase::Collecting { awaited, .. } = &mut hosting.phase {
            awaited.remove(&from);
        } else {
            self.judge(now, from);
        }
    }

    /// Decides whether a member that told its frames can continue with this host's.
    fn judge(&mut self, now: Time, peer: PeerId) {
        let Role::Host(hosting) = &mut self.role else { return };
        let Some(follower) = hosting.followers.get_mut(&peer) else { return };
        if let Standing::Told { last, digest } = follower.standing {
            let is_same = self.log.digest_at(last) == Some(digest);
            follower.standing = if is_same { Standing::InStep { known: last } } else { Standing::NeedsState };
            follower.copies.begin_anew();
            // A member in step is sent its missing frames at once.
            hosting.has_news |= is_same;
        }
        if follower.standing == Standing::NeedsState {
            follower.state_at = follower.state_at.max(now);
        }
    }

    /// Begins to decide, at a new host that has heard all members or has waited long enough.
    pub(super) fn end_collecting(&mut self, now: Time) {
        let term = self.term;
        let Role::Host(hosting) = &mut self.role else { return };
        let longest = hosting.longest();
        let Phase::Collecting { awaited, until, asked } = &mut hosting.phase else { return };
        if !awaited.is_empty() && now < *until {
            return;
        }
        if !self.has_state {
            // This host was joining. The member with the most frames gives it a state; if that one leaves, another is
            // asked.
            if now >= *until || *asked != longest.map(|(_, peer)| peer) {
                *until = now + COLLECTS_FOR;
                *asked = longest.map(|(_, peer)| peer);
                match *asked {
                    Some(peer) => self.say(peer, Lane::SESSION, &LockstepMessage::Want(term)),
                    None => self.events.push(Event::NoState),
                }
            }
            return;
        }
        self.begin_deciding(now);
    }

    fn begin_deciding(&mut self, now: Time) {
        let own = self.log.last();
        let patience = self.config.patience();
        let players = self.log.players();
        let Role::Host(hosting) = &mut self.role else { return };
        hosting.phase = Phase::Deciding;
        hosting.due = now;
        for follower in hosting.followers.values_mut() {
            follower.heard = own;
            let has_told = matches!(follower.standing, Standing::Told { .. });
            if has_told && players.contains_key(&follower.seat) {
                // The player's inputs are in flight: a change of host makes no player late.
                (follower.is_late, follower.credit) = (false, patience);
            }
        }
        let followers: Vec<_> = hosting.followers.keys().copied().collect();
        followers.into_iter().for_each(|peer| self.judge(now, peer));
    }

    /// Asks the game for its state, because a host without one wants it.
    pub(super) fn on_want(&mut self) {
        if self.has_state && !core::mem::replace(&mut self.is_wanted, true) {
            self.requests.push(Request::Save);
        }
    }

    /// Takes the game's state after the frame that it has stepped last.
    ///
    /// # Errors
    /// See [`StateError`]; then no member gets the state, and the game is asked again when one needs it.
    pub fn answer_state(&mut self, now: Time, state: &[u8]) -> Result<(), StateError> {
        let receivers = self.take_receivers(now);
        if state.len() > LOCKSTEP_STATE_MAX {
            return Err(StateError::TooLarge);
        }
        let frame = self.given;
        if frame != self.checks.last() {
            return Err(StateError::NotStepped);
        }
        // The frames that the game was given are in the log, unless the game is further behind than the log reaches.
        let Some(digest) = self.log.digest_at(frame) else { return Err(StateError::NotStepped) };
        let players = self.given_players.iter().map(|(&seat, input)| (seat, input.clone())).collect();
        let chain = self.checks.chain();
        let loading = Loading { term: self.term, frame, digest, chain, players, state: state.to_vec() };
        let message = LockstepMessage::Loading(loading);
        for to in receivers {
            self.say(to, Lane::Bulk, &message);
            self.stats.states += 1;
            if let Role::Host(hosting) = &mut self.role
                && let Some(follower) = hosting.followers.get_mut(&to)
            {
                follower.standing = Standing::Loading;
                self.events.push(Event::Loads { peer: to });
            }
        }
        self.act(now);
        Ok(())
    }

    /// Takes the members that need the game's state. None of them is given another one within `STATE_AGAIN`.
    fn take_receivers(&mut self, now: Time) -> Vec<PeerId> {
        let is_wanted = core::mem::take(&mut self.is_wanted);
        let Role::Host(Hosting { followers, is_saving, .. }) = &mut self.role else {
            return if is_wanted { vec![self.host] } else { Vec::new() };
        };
        *is_saving = false;
        let needing =
            followers.iter_mut().filter(|(_, f)| f.standing == Standing::NeedsState && f.state_at <= now);
        let give = needing.map(|(&peer, follower)| {
            follower.state_at = now + STATE_AGAIN;
            peer
        });
        give.collect()
    }

    /// Takes a state: from the host, or as a host from the member that was asked.
    pub(super) fn on_loading(&mut self, now: Time, from: PeerId, loading: Loading) {
        let is_due = match &self.role {
            Role::Member { .. } => from == self.host,
            Role::Host(hosting) => {
                !self.has_state
                    && matches!(hosting.phase, Phase::Collecting { asked, .. } if asked == Some(from))
            }
        };
        if !is_due {
            return;
        }
        let Loading { frame, digest, chain, players, state, .. } = loading;
        let mut sorted = Players::new();
        players.into_iter().for_each(|(seat, input)| drop(sorted.insert(seat, input)));
        self.log = Log::resumed(frame, digest, sorted.clone(), self.config.input_size());
        self.checks = Checks::resumed(frame, chain);
        self.ahead.clear();
        self.given = frame;
        self.given_players = sorted.clone();
        self.has_state = true;
        self.compared = None;
        // The loaded state replaces requests that the game has not been given. Answers about older states are useless
        // now.
        self.requests.clear();
        self.requests.push(Request::Load { frame, players: sorted, state });
        if self.is_host() {
            self.end_collecting(now);
        } else {
            self.pace.resume(frame);
            self.say_told(now);
        }
    }
}

/// Appends the frames that a member has and this host lacks, if they follow this host's own.
fn adopt(log: &mut Log, (last, digest): (u64, u64), frames: Vec<samovar_wire::lockstep::FrameChanges>) {
    let own = log.last();
    let before = last.saturating_sub(frames.len() as u64);
    if last <= own || before > own {
        return;
    }
    let mut longer = log.clone();
    for (frame, changes) in (before + 1..).zip(frames) {
        if frame > own && !longer.push(changes) {
            return;
        }
    }
    // If the digests differ, the member followed another host, and has to load a state.
    if longer.digest_at(last) == Some(digest) {
        *log = longer;
    }
}
