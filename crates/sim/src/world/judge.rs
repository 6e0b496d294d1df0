//! Calls the checkers. Some check a process each time that its driver has run, others check all processes ten times a
//! second.

use samovar_peer::{Path, Peer};
use samovar_session::{EndReason, Event, Session};
use samovar_wire::{Blame, Duration, PeerId, Time};

use super::World;
use super::process::{Process, State};
use crate::check::{News, footprint};
use crate::game::{Game, ProcessId};
use crate::network::Place;
use crate::promise::{Broken, Promise};

/// Losses alone do not explain a silence of more than this many times the usual one. A peer then failed to give up a
/// dead path.
const SILENCE_FACTOR_MAX: u64 = 4;
/// A host is healthy when no fault has touched it or its paths for this long.
const HEALTHY_AFTER: Duration = Duration::from_millis(10_000);
/// A member can host when no fault has touched it or its paths for this long.
const CALM_AFTER: Duration = Duration::from_millis(3_000);
/// The memory that a peer may hold beside its links and objects, in bytes of its `Debug` output.
const MEMORY_BASE: usize = 600_000;
/// The memory that a peer may hold for each link.
const MEMORY_PER_LINK: usize = 400_000;
/// The memory that a peer may hold for each pair of an object and a link.
const MEMORY_PER_OBJECT: usize = 20_000;

impl<G: Game> World<G> {
    /// Runs the checks that follow each run of a process's driver.
    pub(super) fn look_at(&mut self, id: ProcessId, peer: &Peer) {
        let Some(session) = peer.session() else { return };
        let side = self.judges.checks.side(session).filter(|_| !session.term().is_witnessed());
        match self.judges.checks.reigns.look(id, session, side) {
            Ok(News::None | News::Adopted) => {}
            Ok(News::Begun(former)) => {
                let host = session.host();
                self.on_reign(former.filter(|&former| former != host));
            }
            Err(broken) => self.break_promise(broken),
        }
        if self.judges.checks.stale_hosts.look(id, session) {
            self.excuse_seats(session);
        }
        let local = self.cast.processes[id].clock.local(self.now);
        if let Err(broken) = self.judges.checks.clocks.look(local, id, session) {
            self.break_promise(broken);
        }
        // If the rules let both sides of a partition play on, a host may go on alone.
        let is_in_office = session.is_host() && !self.plan.rules.forks;
        let is_alone = is_in_office && (self.is_alone(id, session) || self.should_know(id, session));
        if let Err(broken) = self.judges.checks.offices.look(self.now, id, session, is_alone) {
            self.break_promise(broken);
        }
        if let Some(beacon) = self.game.beacon()
            && self.judges.recoveries.crisis.is_some()
        {
            self.judges.recoveries.look(self.now, id, session, beacon);
        }
        if let Some(beacon) = self.game.beacon().filter(|_| !self.healing)
            && let Some(standstills) = &mut self.judges.standstills
        {
            standstills.look(self.now, id, session, beacon);
        }
    }

    /// Stops checking the seats of players whose tickets a new host does not know. These tickets open no seat.
    fn excuse_seats(&mut self, session: &Session) {
        for player in &mut self.cast.players {
            let Some(hash) = player.ticket.map(|ticket| ticket.hash()) else { continue };
            if session.view().seats().all(|record| record.ticket != hash) {
                (player.first_seat, player.seat) = (None, None);
            }
        }
    }

    /// Whether a host can hear neither the relay nor a majority of the electorate. A hidden host does not count as
    /// alone, because it may notice late.
    fn is_alone(&self, id: ProcessId, session: &Session) -> bool {
        let process = &self.cast.processes[id];
        let here = Place::Player(process.player);
        if process.hidden > 0 || self.relay.runs() && self.net.cuts.lets(Place::Relay, here) {
            return false;
        }
        let is_heard = |&&peer: &&PeerId| {
            let other = self.cast.process_of(peer).map(|other| &self.cast.processes[other]);
            let is_there = |other: &Process| {
                other.is_awake()
                    && self.net.has_direct
                    && self.net.cuts.lets(Place::Player(other.player), here)
            };
            peer == session.me() || other.is_some_and(is_there)
        };
        let voters = &session.view().electorate().peers;
        voters.iter().filter(is_heard).count() * 2 <= voters.len()
    }

    /// Whether a host should know that it was replaced: the relay has granted a later term, and the relay and this
    /// host reach each other.
    fn should_know(&self, id: ProcessId, session: &Session) -> bool {
        let here = Place::Player(self.cast.processes[id].player);
        self.judges.checks.offices.is_superseded(session)
            && self.cast.processes[id].hidden == 0
            && self.relay.runs()
            && self.is_connected(id)
            && self.net.cuts.lets_both(here, Place::Relay)
    }

    /// Counts a new term, and counts its former host as deposed if that host was healthy.
    fn on_reign(&mut self, former: Option<PeerId>) {
        let Some(former) = former else { return };
        self.judges.figures.host_changes += 1;
        if self.plan.keeps_host {
            let what = format!("{former} was replaced although a majority heard it all the time");
            self.break_promise(Broken::new(Promise::Office, what));
        }
        let Some(process) = self.cast.process_of(former) else { return };
        let process = &self.cast.processes[process];
        let is_calm = self.net.cuts.is_empty() && self.net.disturbed + HEALTHY_AFTER <= self.now;
        let is_well = process.is_awake()
            && process.hidden == 0
            && process.still == 0
            && process.leaving.is_none()
            && process.disturbed + HEALTHY_AFTER <= self.now
            && self.relay.disturbed + HEALTHY_AFTER <= self.now;
        if is_calm && is_well {
            self.judges.figures.deposed += 1;
        }
    }

    /// Begins a crisis if this process is the host. The process is about to go, and the survivors must go on without
    /// it.
    pub(super) fn begin_crisis(&mut self, id: ProcessId) {
        let process = &self.cast.processes[id];
        let Some(session) = process.peer.as_ref().and_then(|peer| peer.session()) else { return };
        let (host, term) = (session.me(), session.term());
        if !session.is_host() || self.cast.host().is_some_and(|(hosting, _)| hosting != id) {
            return;
        }
        let since = process.last_sent;
        let members = self.cast.members();
        let others = members.iter().filter(|(other, session)| *other != id && session.host() == host);
        let survivors: Vec<_> =
            others.map(|(other, _)| *other).filter(|&other| self.cast.processes[other].hidden == 0).collect();
        let is_clean = self.net.is_fair();
        self.judges.recoveries.begin(since, (host, term), survivors, is_clean);
    }

    /// Checks the events that a session reports about itself and others.
    pub(super) fn judge_event(&mut self, id: ProcessId, host: Option<PeerId>, event: &Event) {
        if self.lies(id) {
            return;
        }
        // It is right to blame a liar. A member's session may also end because its host, a liar, misbehaves.
        let is_of_liar = match event {
            Event::LinkClosed { peer, .. } => {
                self.judges.closed = Some((id, *peer));
                self.cast.liars.contains(peer)
            }
            Event::Ended(EndReason::Misbehaviour(_)) => {
                // The process may know the next host by now, so the last link that it closed counts, too.
                let closed = self.judges.closed.filter(|closed| closed.0 == id).map(|closed| closed.1);
                host.into_iter().chain(closed).any(|peer| self.cast.liars.contains(&peer))
            }
            _ => false,
        };
        if blames(event) && !is_of_liar {
            let what = format!("process {id} reports {event:?} although everybody is honest");
            self.break_promise(Broken::new(Promise::NoBlame, what));
        }
        // Where the game forbids a new host, a newcomer may begin an ended session anew. That does not change the
        // host.
        if let (Event::HostChanged(host), false) = (event, self.plan.rules.migrates) {
            let what = format!("process {id} reports {host:?} although the game forbids a new host");
            self.break_promise(Broken::new(Promise::Office, what));
        }
        self.count_exit(id, event);
        if let (Event::Ended(reason), true) = (event, self.plan.keeps_host) {
            let what = format!("process {id} is no member any more, by {reason:?}, although its host lives");
            self.break_promise(Broken::new(Promise::Office, what));
        }
    }

    fn count_exit(&mut self, id: ProcessId, event: &Event) {
        let player = &mut self.cast.players[self.cast.processes[id].player];
        match event {
            Event::Ended(EndReason::Removed) => {
                self.judges.figures.exits += 1;
                player.removed_at.get_or_insert(self.now);
            }
            Event::Joined => {
                let since = player.removed_at.take();
                self.judges.figures.returns.extend(since.map(|since| self.now.since(since)));
            }
            Event::Diverged { .. } => self.judges.figures.diverged += 1,
            _ => {}
        }
    }

    /// Passes the events of a session about objects to the checker of divergence. At the session's end, checks that
    /// it has reported its divergence.
    pub(super) fn judge_divergence(&mut self, process: ProcessId, session: &Session, event: &Event) {
        match event {
            Event::ObjectCreated(id) => {
                if let Some(object) = session.object(*id) {
                    self.judges.checks.divergence.see(process, session, object);
                }
            }
            Event::OwnerChanged { id, from, to } => {
                self.judges.checks.divergence.note_owner(process, *id, *to == session.me());
                // The new owner has the former owner's last value, which may have come since the last look.
                if let Some(object) = session.object(*id).filter(|_| *to == session.me()) {
                    self.judges.checks.divergence.see_of(*from, process, session, object);
                }
            }
            Event::Diverged { objects, .. } => self.judges.checks.divergence.tell(process, objects),
            Event::Ended(EndReason::Removed) => {
                let mut divergence = std::mem::take(&mut self.judges.checks.divergence);
                let judged = divergence.judge(self.now, process, session, &self.cast.members());
                self.judges.checks.divergence = divergence;
                judged.unwrap_or_else(|broken| self.break_promise(broken));
            }
            _ => {}
        }
    }

    /// Checks that a process that shows an old or forged ticket does not get the seat.
    pub(super) fn judge_seat(&mut self, id: ProcessId, peer: &Peer) {
        let Some(session) = peer.session().filter(|session| session.is_member()) else { return };
        let Some(seat) = session.seat() else { return };
        let Some(forbidden) = self.cast.processes[id].forbidden_seat.take() else { return };
        // A lower number of the view means that the process found no member left. It began the session anew, with new
        // views and seats.
        let is_anew = session.view().number() < forbidden.view;
        // If all processes that knew of the ticket's use are gone, no member can know of it.
        let is_known = forbidden.knowing.iter().any(|&knowing| self.cast.processes[knowing].is_awake());
        if seat == forbidden.seat && !is_anew && is_known {
            let what = format!("process {id} took {seat:?} with a ticket that was used");
            self.break_promise(Broken::new(Promise::Tickets, what));
        }
    }

    /// Checks the hosts whose games stand still.
    fn judge_steps(&mut self) {
        let idle: Vec<_> = (0..self.cast.processes.len()).map(|id| (id, self.is_idle_host(id))).collect();
        for (id, is_idle) in idle {
            if let Err(broken) = self.judges.checks.idle.look(self.now, id, is_idle) {
                self.break_promise(broken);
            }
        }
    }

    /// Whether the game of a host stands still although another member under it could host. No host is judged while a
    /// fault affects the network.
    fn is_idle_host(&self, id: ProcessId) -> bool {
        let is_calm = self.net.is_fair()
            && self.net.disturbed + CALM_AFTER <= self.now
            && self.relay.disturbed + CALM_AFTER <= self.now;
        let plays =
            |process: &Process| process.is_awake() && process.hidden == 0 && process.leaving.is_none();
        let process = &self.cast.processes[id];
        if !is_calm || process.still == 0 || !plays(process) {
            return false;
        }
        let members = self.cast.members();
        let host = members.iter().find(|(other, session)| *other == id && session.is_host());
        let Some((_, host)) = host.filter(|(_, session)| session.rules().migrates) else { return false };
        members.iter().any(|(other, session)| {
            let process = &self.cast.processes[*other];
            *other != id
                && session.host() == host.me()
                && host.view().has(session.me())
                && plays(process)
                && process.still == 0
                && process.disturbed + CALM_AFTER <= self.now
        })
    }

    /// Checks all objects of all processes.
    pub(super) fn look_at_all(&mut self) {
        self.judge_steps();
        for (id, process) in self.cast.processes.iter().enumerate() {
            let Some(session) = process.peer.as_ref().and_then(|peer| peer.session()) else { continue };
            if process.state != State::Running || !session.is_member() {
                continue;
            }
            self.judges.checks.divergence.look(self.now, id, session);
            let checked = self.judges.checks.look(id, session).and_then(|()| self.game.check(id, session));
            if let Err(broken) = checked {
                return self.break_promise(broken);
            }
        }
    }

    /// Measures, at each frame of a process, how long it has not heard the other members that run.
    pub(super) fn judge_silence(&mut self, id: ProcessId, now: Time, session: &Session) {
        let Some(usual) = self.plan.usual_silence.filter(|_| session.is_member()) else { return };
        let most = usual.times(SILENCE_FACTOR_MAX);
        let others = self.cast.members().into_iter().map(|(other, theirs)| (other, theirs.me()));
        let silence = |(other, peer)| Some((session.link(peer)?.silence(now), other));
        let (mut longest, mut broken) = (Duration::ZERO, None);
        for (silence, other) in others.filter_map(silence) {
            longest = longest.max(silence);
            if silence > most {
                broken = Some((silence.as_micros() / 1_000, other));
            }
        }
        self.judges.figures.silence = self.judges.figures.silence.max(longest);
        if let Some((ms, other)) = broken {
            let what = format!("process {id} has not heard {other} for {ms} ms");
            self.break_promise(Broken::new(Promise::Paths, what));
        }
    }

    /// Returns a violation if a pair is not on the best path that the network allows.
    pub(super) fn low_pair(&self) -> Option<Broken> {
        let best = match (self.net.lets_direct(), self.plan.has_endpoint && self.net.has_udp) {
            (true, _) => Path::Direct,
            (false, true) => Path::RelayedUdp,
            (false, false) => Path::Relayed,
        };
        let members = self.cast.members();
        members.iter().find_map(|&(id, session)| {
            let process = &self.cast.processes[id];
            let (now, peer) = (process.clock.local(self.now), process.peer.as_ref()?);
            let others = members.iter().map(|(other, session)| (*other, session.me()));
            let linked = others.filter(|(_, other)| session.link(*other).is_some());
            let is_best = |path| path == best || path == Path::ByHost;
            let (other, path) =
                linked.map(|(other, id)| (other, peer.path(now, id))).find(|(_, path)| !is_best(*path))?;
            Some(Broken::new(
                Promise::Paths,
                format!("process {id} reaches {other} by {path:?}, not {best:?}"),
            ))
        })
    }

    /// Measures the memory of all peers and of the relay.
    pub(super) fn weigh_all(&mut self) {
        (0..self.cast.processes.len()).for_each(|id| self.weigh(id));
        self.weigh_relay();
    }

    /// Measures the memory of the next running process and of the relay.
    pub(super) fn weigh_next(&mut self) {
        let running = |id: &usize| self.cast.processes.get(*id).is_some_and(Process::is_awake);
        let next =
            (self.judges.weighed + 1..self.cast.processes.len()).chain(0..=self.judges.weighed).find(running);
        if let Some(id) = next {
            self.judges.weighed = id;
            self.weigh(id);
        }
        self.weigh_relay();
    }

    fn weigh(&mut self, id: ProcessId) {
        let process = &self.cast.processes[id];
        let Some(peer) = process.peer.as_ref().filter(|_| process.state == State::Running) else { return };
        let Some(session) = peer.session() else { return };
        let weight = footprint(peer);
        self.judges.figures.footprint = self.judges.figures.footprint.max(weight);
        let (objects, links) = (session.objects().count(), session.view().members().count().max(2));
        let most = MEMORY_BASE + links * (MEMORY_PER_LINK + objects * MEMORY_PER_OBJECT);
        if weight > most / 100 * self.plan.memory {
            let what = format!("process {id} holds {weight} bytes with {objects} objects, {links} links");
            self.break_promise(Broken::new(Promise::Memory, what));
        }
    }

    fn weigh_relay(&mut self) {
        let Some(usage) = self.relay.directory.as_ref().map(samovar_directory::Directory::usage) else {
            return;
        };
        if usage.connections > self.net.sockets.len() || usage.games > 64 || usage.timers > 256 {
            let what = format!("the relay holds {usage:?} with {} sockets", self.net.sockets.len());
            self.break_promise(Broken::new(Promise::Memory, what));
        }
    }
}

/// Whether an event blames a peer for misbehaviour.
fn blames(event: &Event) -> bool {
    match event {
        Event::LinkClosed { code, .. } | Event::Ended(EndReason::Refused(code)) => {
            code.blame() == Blame::Misbehaviour
        }
        Event::Ended(EndReason::Misbehaviour(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::CloseCode;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn only_events_of_misbehaviour_blame_a_peer() {
        let closed = |code| Event::LinkClosed { peer: PeerId(1), code };
        assert!(blames(&closed(CloseCode::NotYours)));
        assert!(!blames(&closed(CloseCode::NotAMember)) && !blames(&closed(CloseCode::Silent)));
        assert!(blames(&Event::Ended(EndReason::Misbehaviour(CloseCode::Malformed))));
        assert!(!blames(&Event::Ended(EndReason::Removed)));
    }
}
