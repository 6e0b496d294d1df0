//! Runs a plan: all players join, faults strike, everything heals, all members agree.

use samovar_peer::Peer;
use samovar_session::Session;
use samovar_wire::{Duration, Time};

use super::{Event, World};
use crate::check::{disagreement, out_of_step, picture};
use crate::fault::Fault;
use crate::game::{Game, ProcessId};
use crate::promise::{Broken, Promise};

/// How long it may take until all players are members.
const JOIN_WITHIN: Duration = Duration::from_millis(20_000);
/// How long it may take, once everything has healed, until all members have one host and one view.
const HEAL_WITHIN: Duration = Duration::from_millis(60_000);
/// How long it may take, if the relay restarted, until all members have one host and one view. The relay keeps the
/// code of a session without members for 60 s, and newcomers ask for that session again and again.
const HEAL_WITHIN_AFTER_START: Duration = Duration::from_millis(80_000);
/// How long it may take, once changes stop, until all members agree in everything.
const AGREE_WITHIN: Duration = Duration::from_millis(20_000);
/// How long it may take, once all members agree, until all pairs are on the best path. It is the sum of three times:
/// an attempt that had just begun in vain, the longest pause between attempts, and the longest time until a fallen
/// path is trusted again.
const CLIMB_WITHIN: Duration = Duration::from_millis(50_000);
/// How often members are compared.
const COMPARE_EVERY: Duration = Duration::from_millis(250);

impl<G: Game> World<G> {
    /// Runs the plan to its end, or to the first broken promise.
    pub(crate) fn play(&mut self) {
        self.gather();
        if self.judges.is_over() {
            return;
        }
        self.judges.founded = self.cast.members().first().map(|(_, session)| session.warrant().session);
        for player in &mut self.cast.players {
            let process = player.process.and_then(|process| self.cast.processes[process].peer.as_deref());
            player.first_seat = process.and_then(Peer::session).and_then(Session::seat);
        }
        let start = self.now();
        for (index, &(at, _)) in self.plan.faults.iter().enumerate() {
            self.queue.push(start + at.since(Time::ZERO), Event::Fault(index));
        }
        if let Some(from) = self.plan.standstills_from {
            self.queue.push(start + from.since(Time::ZERO), Event::Measure);
        }
        self.run_until(start + self.plan.lasts);
        if self.judges.is_over() {
            return;
        }
        self.judge_recovery();
        self.heal();
        self.settle();
        self.judge_survival();
        self.judge_seats();
        if self.plan.climbs {
            self.climb();
        }
        self.weigh_all();
    }

    /// Lets all players join.
    fn gather(&mut self) {
        for player in 0..self.plan.players {
            self.add_player();
            let patience = if player == 0 { 200 } else { 20 };
            let pause = self.chance.dice.millis(1, patience);
            self.run_until(self.now + pause);
        }
        self.run_until_all(JOIN_WITHIN, "not everybody joined");
    }

    /// Waits until all players are members of one session. Then it stops changes, and waits until all members agree.
    fn settle(&mut self) {
        let restarts = |(_, fault): &(_, Fault)| {
            matches!(fault, Fault::RelayCrash { .. } | Fault::RelayReset { .. } | Fault::RelayDrain { .. })
        };
        let has_started = self.plan.faults.iter().any(restarts);
        let within = if has_started { HEAL_WITHIN_AFTER_START } else { HEAL_WITHIN };
        self.run_until_all(within, "no single session after everything healed");
        self.resting = true;
        let deadline = self.now + AGREE_WITHIN;
        while !self.judges.is_over() {
            self.run_until(self.now + COMPARE_EVERY);
            match self.discord() {
                None => return,
                Some(broken) if self.now >= deadline => self.break_promise(broken),
                Some(_) => {}
            }
        }
    }

    /// Checks, before everything heals, that the survivors have gone on.
    fn judge_recovery(&mut self) {
        // Sessions over streams alone are exempt: a loss may delay a stream for seconds, and without the relay all
        // members wait for it.
        let within = self.plan.recovers_within.filter(|_| self.plan.has_direct || self.plan.has_endpoint);
        let Some((crisis, within)) = self.judges.recoveries.crisis.as_ref().zip(within) else { return };
        let since = crisis.since;
        let begun = since.max(self.relay.disturbed);
        // A member whose carrier is gone may have only its stream to the relay left. The time in which that stream
        // stalls does not count. If there are several such members, the shortest of their stalls is taken.
        let stalled = crisis.waiting().map(|process| self.stalled(process, begun)).min();
        if begun + within + stalled.unwrap_or(Duration::ZERO) <= self.now {
            let waiting = crisis.waiting().collect::<Vec<_>>();
            let what = format!("since {since:?} the beacon has not moved at the processes {waiting:?}");
            self.break_promise(Broken::new(Promise::GoesOn, what));
        }
    }

    /// docs/recovery.md, promise 10. If some member ran at all times, the session at the end must be the one that was
    /// founded. This is not checked if the game forbids a new host, because the session then ends with its host.
    fn judge_survival(&mut self) {
        let session = self.cast.members().first().map(|(_, session)| session.warrant().session);
        let goes_on = self.plan.rules.migrates && !self.judges.is_orphaned;
        if !self.judges.is_over() && goes_on && session != self.judges.founded {
            let what = format!("{:?} is over, and everybody plays in {session:?}", self.judges.founded);
            self.break_promise(Broken::new(Promise::GoesOn, what));
        }
    }

    /// docs/recovery.md, promise 13. A player keeps its seat. If its page was reloaded and kept the state for it, the
    /// player also keeps the seat in a session that is founded anew.
    fn judge_seats(&mut self) {
        let takes_seats = |(_, fault): &(_, Fault)| {
            matches!(fault, Fault::Lie { .. } | Fault::OldTicket { .. } | Fault::ForgedTicket { .. })
        };
        let rules = self.plan.rules;
        // A seat that was taken back on one side of a fork has another ticket on the other side.
        let keeps_seats = rules.migrates && !rules.forks && !self.plan.faults.iter().any(takes_seats);
        let founded = self.judges.founded.filter(|_| keeps_seats);
        let lost = self.cast.players.iter().enumerate().find_map(|(number, player)| {
            let session = self.cast.processes[player.process?].peer.as_ref()?.session()?;
            let is_same = founded == Some(session.warrant().session);
            let former = player.seat.or_else(|| player.first_seat.filter(|_| is_same))?;
            let seat = session.seat();
            (seat != Some(former)).then(|| format!("P{number} sat on {former:?}, and sits on {seat:?}"))
        });
        if let Some(what) = lost.filter(|_| !self.judges.is_over()) {
            self.break_promise(Broken::new(Promise::Tickets, what));
        }
    }

    /// Waits until all pairs are on the best path that the network allows.
    fn climb(&mut self) {
        let deadline = self.now + CLIMB_WITHIN;
        while !self.judges.is_over() {
            self.run_until(self.now + COMPARE_EVERY);
            match self.low_pair() {
                None => return,
                Some(broken) if self.now >= deadline => self.break_promise(broken),
                Some(_) => {}
            }
        }
    }

    fn run_until_all(&mut self, within: Duration, otherwise: &str) {
        let deadline = self.now + within;
        while !self.judges.is_over() {
            self.run_until(self.now + COMPARE_EVERY);
            match self.disunity() {
                None => return,
                Some(what) if self.now >= deadline => {
                    let what = format!("{otherwise}: {what}");
                    self.break_promise(Broken::new(Promise::Convergence, what));
                }
                Some(_) => {}
            }
        }
    }

    /// Returns why the players are not members of one session; `None` if they are.
    fn disunity(&self) -> Option<String> {
        let members = self.cast.members();
        for (number, player) in
            self.cast.players.iter().enumerate().filter(|(_, player)| !player.is_gone && !player.is_stranger)
        {
            let Some(process) = player.process else { return Some(format!("P{number} does not run")) };
            if !members.iter().any(|(id, _)| *id == process) {
                return Some(format!("P{number}, process {process}, is no member"));
            }
        }
        let (first, session) = members.first()?;
        for (id, other) in &members[1..] {
            if (other.host(), other.term()) != (session.host(), session.term()) {
                return Some(format!("processes {first} and {id} have different hosts"));
            }
        }
        let ids: Vec<_> = members.iter().map(|(_, session)| session.me()).collect();
        for (id, session) in &members {
            if !ids.contains(&session.host()) {
                return Some(format!("the host of process {id} is no member that runs"));
            }
            let view: Vec<_> = session.view().members().map(|member| member.peer).collect();
            if view.len() != ids.len() || !ids.iter().all(|peer| view.contains(peer)) {
                return Some(format!("the view of process {id} has {} members of {}", view.len(), ids.len()));
            }
        }
        None
    }

    /// Returns how the members differ; `None` if they agree.
    fn discord(&mut self) -> Option<Broken> {
        if let Some(what) = self.disunity() {
            return Some(Broken::new(Promise::Convergence, what));
        }
        let members = self.cast.members();
        let pictures: Vec<_> = members.iter().map(|(id, session)| (*id, picture(session))).collect();
        let (first, rest) = pictures.split_first()?;
        let differs = |other: &(ProcessId, _)| disagreement((first.0, &first.1), (other.0, &other.1));
        if let Some(what) = rest.iter().find_map(differs) {
            return Some(Broken::new(Promise::Convergence, what));
        }
        let times = members.iter().map(|(id, session)| {
            let local = self.cast.processes[*id].clock.local(self.now);
            (*id, session.session_time(local))
        });
        let has_datagrams = self.net.lets_direct() || self.plan.has_endpoint && self.net.has_udp;
        if let Some(broken) = out_of_step(times, has_datagrams).filter(|_| !self.plan.has_odd_clocks()) {
            return Some(broken);
        }
        drop(members);
        let running = self.cast.processes.iter().enumerate().filter(|(_, process)| process.is_awake());
        let sessions = running.filter_map(|(id, process)| Some((id, process.peer.as_ref()?.session()?)));
        let members: Vec<_> = sessions.filter(|(_, session)| session.is_member()).collect();
        self.game.check_settled(&members).err()
    }
}
