//! The possible next events, and their effects.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use samovar_roster::{Roster, View};
use samovar_wire::{PeerId, Time};

use crate::bounds::{Bounds, Rules};
use crate::member::hello;
use crate::relay::{Socket, new_relay};
use crate::seed::Seed;
use crate::world::{Member, Mind, RELAY, World};

/// One step of a history. Peers are numbered from 0, the founder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Crash(usize),
    /// A process comes back, as a peer that is no member yet.
    Restart(usize),
    RelayCrash,
    RelayStart,
    /// Some peers are parted from the others.
    Part,
    Heal,
    /// A link breaks and begins anew.
    Lose(usize, usize),
    /// A peer notices which peers are silent.
    Notice(usize),
    /// A peer takes a living one for dead.
    Suspect(usize, usize),
    /// By DirectPlay 4's rules: eight pings in a row were not answered.
    TimeOut(usize),
    Resign(usize),
    /// The host drops a member that it misses.
    Remove(usize, PeerId),
    /// The first letter of a lane arrives.
    Deliver {
        from: usize,
        to: usize,
    },
    /// The first message of a peer reaches the relay.
    Up(usize),
    /// The first message of the relay reaches a peer.
    Down(usize),
    /// The relay notices that a socket ended.
    NoticeEnd(usize),
    /// A peer comes back to the relay.
    Resume(usize),
    /// A term reaches the relay's disk.
    Write,
    /// Time passes.
    Tick,
}

impl Step {
    /// Whether this step comes from outside: a fault, the end of a fault, or a tick. Other steps follow by
    /// themselves.
    pub(crate) const fn is_fault(self) -> bool {
        !matches!(
            self,
            Self::Notice(_)
                | Self::Deliver { .. }
                | Self::Up(_)
                | Self::Down(_)
                | Self::NoticeEnd(_)
                | Self::Resume(_)
                | Self::Write
        )
    }
}

impl World {
    /// A session that all peers have joined. The first one is the host, and there was no election yet.
    pub(crate) fn new(bounds: Bounds) -> Self {
        let (directory, desk) = new_relay();
        let slots = bounds.peers;
        let mut world = Self {
            left: bounds,
            now: Time::from_micros(1_000_000),
            members: vec![None; slots],
            senders: vec![None; slots],
            lanes: vec![vec![VecDeque::new(); slots]; slots],
            sockets: vec![Socket::default(); slots],
            relay: Some(Arc::new(directory)),
            desk: Arc::new(desk),
            parted: 0,
            hosts: BTreeMap::new(),
            founders: Arc::default(),
            broken: None,
        };
        let entered: Vec<_> = (0..slots).map(|slot| world.enter_first(slot, slot == 0)).collect();
        let founders: Vec<_> = entered.iter().map(|entered| entered.pass.peer).collect();
        let mut view = View::founding(8);
        for &peer in &founders {
            view.admit(Time::ZERO, peer, &hello(peer)).unwrap();
        }
        view.name_backup(founders[0], None, |_| true);
        view.begin_electorate(|_| true);
        let view = Arc::new(view);
        for (slot, entered) in entered.into_iter().enumerate() {
            let peer = founders[slot];
            let mind = match bounds.rules {
                Rules::Samovar => Mind::Samovar(Roster::new(peer, world.desk.key, entered.warrant).unwrap()),
                Rules::Seed => Mind::Seed(Seed::new(peer, founders[0])),
            };
            world.members[slot] =
                Some(Arc::new(Member::founder(peer, mind, Arc::clone(&view), entered.pass)));
            world.senders[slot] = Some(peer);
            let host = world.members[0].as_mut().map(Arc::make_mut).unwrap();
            host.holding.insert(peer, view.number());
        }
        world.founders = Arc::new(founders);
        world.publish_members(0);
        world.read_up(0);
        if !bounds.has_relay {
            world.crash_relay();
        }
        world
    }

    /// All possible next steps.
    pub(crate) fn steps(&self, steps: &mut Vec<Step>) {
        if self.broken.is_some() {
            return;
        }
        self.faults(steps);
        for (slot, member) in self.living() {
            match &member.mind {
                Mind::Samovar(_) if member.joins_under.is_none() => self.judgements(slot, member, steps),
                Mind::Samovar(_) => {}
                Mind::Seed(seed) => {
                    let pinged = seed.candidate(&member.view).map(|candidate| self.slot_of(candidate));
                    let answers =
                        pinged.is_some_and(|other| other.is_some_and(|other| self.reaches(slot, other)));
                    if pinged.is_some() && (!answers || self.left.suspicions > 0) {
                        steps.push(Step::TimeOut(slot));
                    }
                }
            }
        }
        self.network_steps(steps);
    }

    fn faults(&self, steps: &mut Vec<Step>) {
        let slots = 0..self.members.len();
        for slot in slots.clone() {
            let is_free =
                self.lanes[slot].iter().all(VecDeque::is_empty) && self.sockets[slot].dead.is_none();
            if self.members[slot].is_some() && self.left.crashes > 0 {
                steps.push(Step::Crash(slot));
            }
            if self.members[slot].is_none()
                && self.left.restarts > 0
                && is_free
                && self.relay.is_some()
                && self.reaches(slot, RELAY)
                && self.has_live_game()
            {
                steps.push(Step::Restart(slot));
            }
            let others = slots.clone().filter(|&other| other > slot && self.members[other].is_some());
            if self.left.losses > 0 && self.members[slot].is_some() {
                let is_full = |&other: &usize| {
                    !self.lanes[slot][other].is_empty() || !self.lanes[other][slot].is_empty()
                };
                steps.extend(others.filter(is_full).map(|other| Step::Lose(slot, other)));
            }
        }
        if self.relay.is_some() && self.left.relay_crashes > 0 {
            steps.push(Step::RelayCrash);
        }
        if self.relay.is_none() && self.left.relay_starts > 0 {
            steps.push(Step::RelayStart);
        }
        if self.parted != 0 {
            steps.push(Step::Heal);
        } else if self.left.cut != 0 {
            steps.push(Step::Part);
        }
        // Time passes only while no letter is on its way to a peer. Messages to the relay may still be.
        if self.left.ticks > 0 && self.is_quiet() {
            steps.push(Step::Tick);
        }
    }

    fn judgements(&self, slot: usize, member: &Member, steps: &mut Vec<Step>) {
        if member.missed != self.silent_for(slot) {
            steps.push(Step::Notice(slot));
        }
        let others = || member.view.members().map(|other| other.peer).filter(|&peer| peer != member.peer);
        if self.left.suspicions > 0 {
            let suspects = others().filter(|peer| !member.missed.contains(peer));
            steps.extend(suspects.filter_map(|peer| Some(Step::Suspect(slot, self.slot_of(peer)?))));
        }
        if self.left.resignations > 0 && member.acts_as_host() && member.view.backup().is_some() {
            steps.push(Step::Resign(slot));
        }
        if self.left.removals > 0 && member.acts_as_host() {
            let missed = others().filter(|peer| member.missed.contains(peer));
            steps.extend(missed.map(|peer| Step::Remove(slot, peer)));
        }
    }

    fn network_steps(&self, steps: &mut Vec<Step>) {
        let slots = 0..self.members.len();
        for from in slots.clone() {
            let lanes = slots.clone().filter(|&to| self.arrives(from, to));
            steps.extend(lanes.map(|to| Step::Deliver { from, to }));
            let socket = &self.sockets[from];
            if !socket.up.is_empty() {
                steps.push(Step::Up(from));
            }
            if !socket.down.is_empty() {
                steps.push(Step::Down(from));
            }
            if socket.dead.is_some() {
                steps.push(Step::NoticeEnd(from));
            }
            if self.can_resume(from) {
                steps.push(Step::Resume(from));
            }
        }
        if self.can_write() {
            steps.push(Step::Write);
        }
    }

    pub(crate) fn take(&mut self, step: Step) {
        self.apply(step);
        self.settle();
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Crash(slot) => {
                self.left.crashes -= 1;
                self.end(slot);
            }
            Step::Restart(slot) => self.restart(slot),
            Step::RelayCrash => {
                self.left.relay_crashes -= 1;
                self.crash_relay();
                self.look_all();
            }
            Step::RelayStart => {
                self.left.relay_starts -= 1;
                self.start_relay();
            }
            Step::Part => self.part(),
            Step::Heal => self.parted = 0,
            Step::Lose(one, other) => {
                self.left.losses -= 1;
                self.lose(one, other);
            }
            Step::Notice(slot) => {
                let silent = self.silent_for(slot);
                self.member_mut(slot).unwrap().missed = silent;
                self.look(slot);
            }
            Step::Suspect(slot, other) => {
                self.left.suspicions -= 1;
                let peer = self.member(other).unwrap().peer;
                self.member_mut(slot).unwrap().missed.insert(peer);
                self.look(slot);
            }
            Step::TimeOut(slot) => {
                self.count_false_alarm(slot);
                self.time_out(slot);
            }
            Step::Resign(slot) => {
                self.left.resignations -= 1;
                self.resign(slot);
            }
            Step::Remove(slot, peer) => {
                self.left.removals -= 1;
                self.remove(slot, peer);
                self.look(slot);
            }
            Step::Deliver { from, to } => self.deliver(from, to),
            Step::Up(slot) => self.read_up(slot),
            Step::Down(slot) => self.read_down(slot),
            Step::NoticeEnd(slot) => self.notice_end(slot),
            Step::Resume(slot) => self.resume(slot),
            Step::Write => self.write(),
            Step::Tick => {
                self.left.ticks -= 1;
                self.now += self.left.span();
                self.pass_time_at_relay();
                self.look_all();
            }
        }
    }

    fn look_all(&mut self) {
        (0..self.members.len()).for_each(|slot| self.look(slot));
    }

    fn restart(&mut self, slot: usize) {
        self.left.restarts -= 1;
        let entered = self.enter_first(slot, false);
        let (view, peer) = (Arc::new(View::founding(8)), entered.pass.peer);
        let roster = Roster::new(peer, self.desk.key, entered.warrant).unwrap();
        let member = Member::founder(peer, Mind::Samovar(roster), view, entered.pass);
        self.members[slot] = Some(Arc::new(Member { joins_under: Some(entered.warrant), ..member }));
        self.senders[slot] = Some(peer);
        self.knock(slot);
    }

    fn part(&mut self) {
        self.parted = std::mem::take(&mut self.left.cut);
        for slot in (0..self.members.len()).filter(|&slot| !self.reaches(slot, RELAY)).collect::<Vec<_>>() {
            if self.sockets[slot].conn.is_some() {
                self.hang_up(slot);
                self.look(slot);
            }
        }
    }

    fn resign(&mut self, slot: usize) {
        let now = self.now;
        let member = self.member_mut(slot).unwrap();
        let heir = member.view.backup().unwrap();
        let roster = member.roster().unwrap();
        roster.resign(now, heir);
        // The host goes on as if the time for the heir's answer were over. So the heir may become host before it
        // knows that this peer stays.
        roster.handle_heir_knows(now);
        self.look(slot);
    }

    /// Lost pings to a living peer count as a false alarm.
    fn count_false_alarm(&mut self, slot: usize) {
        let Some(Mind::Seed(seed)) = self.member(slot).map(|member| &member.mind) else { return };
        let candidate = seed.candidate(&self.member(slot).unwrap().view).unwrap();
        let answers = self.slot_of(candidate).is_some_and(|other| self.reaches(slot, other));
        self.left.suspicions -= u8::from(answers);
    }
}
