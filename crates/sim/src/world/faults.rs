//! How faults strike, and how they end.

use samovar_session::Session;
use samovar_wire::{Duration, Ticket};

use super::cast::Player;
use super::process::{ForbiddenSeat, State};
use super::{Event, World};
use crate::fault::{Beyond, Direction, Fault, Group, Who};
use crate::game::{Game, ProcessId};
use crate::network::{Place, Side};

/// How long a reload of a page takes; up to 300 ms are added.
const RELOAD_TAKES: Duration = Duration::from_millis(100);

/// The end of a fault.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// These processes run again.
    Resume(Vec<ProcessId>),
    /// These tabs are shown again.
    Show(Vec<ProcessId>),
    /// These games make steps again.
    Step(Vec<ProcessId>),
    /// The relay stops for this long, as it announced before.
    RelayStops(Duration),
    /// The frozen relay runs again.
    RelayResumes,
    /// The relay starts again.
    Relay,
    /// The disk is as fast as before.
    Disk,
    /// A cut is mended.
    Mend(Side, Side),
    /// Paths that flap are cut or mended again. `left` is the number of changes that follow.
    Flap { side: Side, rest: Side, is_cut: bool, left: u32, period: Duration },
    /// The storm is over.
    Calm,
    /// The paths of these players are free again.
    Unclog(Vec<usize>),
    /// Direct connections work again.
    Direct,
    /// Datagrams get through again.
    Udp,
}

impl<G: Game> World<G> {
    pub(super) fn strike(&mut self, index: usize) {
        if self.healing {
            return;
        }
        let fault = self.plan.faults[index].1;
        if self.apply(fault) {
            *self.judges.figures.faults.entry(fault.name()).or_default() += 1;
        }
    }

    /// Carries out a fault. Returns whether it struck anything.
    fn apply(&mut self, fault: Fault) -> bool {
        match fault {
            Fault::Join => {
                self.add_player();
                true
            }
            Fault::Leave(who) => self.each(who, Self::leave),
            Fault::Abandon(who) => self.each(who, Self::abandon),
            Fault::ClosePage(who) => self.each(who, Self::close_page),
            Fault::Reload(who) => self.each(who, |world, id| {
                world.reload(id);
                true
            }),
            Fault::HandOver => self.each(Who::Host, Self::hand_over),
            Fault::Watch { lasts } => self.each(Who::Host, |world, id| {
                world.begin_crisis(id);
                world.judges.recoveries.only_watch(lasts);
                true
            }),
            Fault::Crash { who, back } => self.each(who, |world, id| world.kill(id, true, back)),
            Fault::Death { who, back } => self.each(who, |world, id| world.kill(id, false, back)),
            Fault::Sleep { who, lasts, clock_stops } => {
                self.stop(who, lasts, State::Stopped { since: self.now, keeps_datagrams: false, clock_stops })
            }
            Fault::Stall { who, lasts } => {
                let state = State::Stopped { since: self.now, keeps_datagrams: true, clock_stops: false };
                self.stop(who, lasts, state)
            }
            Fault::Hide { who, lasts } => self.hide(who, lasts),
            Fault::StandStill { who, lasts } => self.stand_still(who, lasts),
            Fault::ClockJump { who, by } => self.each(who, |world, id| {
                let now = world.now;
                world.cast.processes[id].clock.jump(now, by);
                world.disturb(id, "clock jumps");
                world.turn(id);
                true
            }),
            Fault::OldTicket { who } => self.each(who, Self::replay_ticket),
            Fault::ForgedTicket { who } => self.each(who, Self::forge_ticket),
            Fault::Stranger { lasts } => self.add_stranger(lasts),
            Fault::Lie { player, lasts } => {
                self.each(Who::Player(player), |world, id| world.begin_lies(id, world.now + lasts))
            }
            Fault::RelayCrash { .. }
            | Fault::RelayReset { .. }
            | Fault::RelayStall { .. }
            | Fault::RelayDrain { .. }
            | Fault::SlowDisk { .. } => self.apply_to_relay(fault),
            _ => self.apply_to_network(fault),
        }
    }

    fn apply_to_relay(&mut self, fault: Fault) -> bool {
        match fault {
            Fault::RelayCrash { lasts } if self.relay.is_up() => {
                self.end_relay();
                self.queue.push(self.now + lasts, Event::End(Ending::Relay));
                true
            }
            Fault::RelayReset { lasts } if self.relay.is_up() => {
                self.judges.is_orphaned = true;
                for id in 0..self.cast.processes.len() {
                    self.keep_table(id);
                }
                self.end_relay();
                self.relay.lose_everything(&mut self.chance.entropy);
                self.queue.push(self.now + lasts, Event::End(Ending::Relay));
                true
            }
            Fault::RelayStall { lasts } if self.relay.runs() => {
                self.stop_relay();
                self.queue.push(self.now + lasts, Event::End(Ending::RelayResumes));
                true
            }
            Fault::RelayDrain { within, lasts } if self.relay.runs() => {
                self.drain_relay(within);
                self.queue.push(self.now + within, Event::End(Ending::RelayStops(lasts)));
                true
            }
            Fault::SlowDisk { delay, lasts } => {
                self.relay.delay = delay;
                self.queue.push(self.now + lasts, Event::End(Ending::Disk));
                true
            }
            _ => false,
        }
    }

    fn apply_to_network(&mut self, fault: Fault) -> bool {
        self.net.disturbed = self.now;
        match fault {
            Fault::Cut { group, beyond, direction, lasts } => self.cut(group, beyond, direction, lasts),
            Fault::Flap { who, times, period } => {
                let side = self.side(Group { who, relay: false });
                let ending =
                    Ending::Flap { side, rest: self.rest(side), is_cut: false, left: times * 2, period };
                self.on_end(&ending);
                side.players != 0
            }
            Fault::Storm { weather, lasts } => {
                self.trace.note(self.now, Place::Relay, || format!("storm: {weather:?}"));
                self.net.storm = Some(weather);
                self.queue.push(self.now + lasts, Event::End(Ending::Calm));
                true
            }
            Fault::Clog { who, bandwidth, lasts } => {
                let players = self.players_of(who);
                for &player in &players {
                    self.net.clogs.insert(player, bandwidth);
                }
                self.queue.push(self.now + lasts, Event::End(Ending::Unclog(players)));
                true
            }
            Fault::NoDirect { lasts } => {
                self.net.has_direct = false;
                self.queue.push(self.now + lasts, Event::End(Ending::Direct));
                true
            }
            Fault::NoUdp { lasts } => {
                self.net.has_udp = false;
                self.queue.push(self.now + lasts, Event::End(Ending::Udp));
                true
            }
            Fault::Move { who, is_told } => self.each(who, |world, id| {
                world.change_network(id, is_told);
                true
            }),
            Fault::Online { who } => self.each(who, |world, id| {
                let process = &mut world.cast.processes[id];
                let now = process.clock.local(world.now);
                if let Some(peer) = &mut process.peer {
                    peer.handle_network_changed(now);
                }
                world.turn(id);
                true
            }),
            Fault::ProxyReload if self.relay.runs() => {
                self.break_sockets_by_proxy();
                true
            }
            _ => false,
        }
    }

    fn change_network(&mut self, id: ProcessId, is_told: bool) {
        self.disturb(id, if is_told { "has another network" } else { "is behind another port" });
        self.move_network(id);
        let process = &mut self.cast.processes[id];
        let now = process.clock.local(self.now);
        if let Some(peer) = process.peer.as_mut().filter(|_| is_told) {
            peer.handle_network_changed(now);
        }
        self.turn(id);
    }

    pub(super) fn on_end(&mut self, ending: &Ending) {
        self.net.disturbed = self.now;
        match ending {
            Ending::Resume(processes) => processes.iter().for_each(|&id| self.resume(id)),
            Ending::Show(processes) => processes.iter().for_each(|&id| self.show(id)),
            Ending::Step(processes) => processes.iter().for_each(|&id| self.step_again(id)),
            Ending::RelayStops(lasts) if self.relay.is_up() => {
                self.end_relay();
                let lasts = if self.healing { Duration::ZERO } else { *lasts };
                self.queue.push(self.now + lasts, Event::End(Ending::Relay));
            }
            Ending::RelayStops(_) => {}
            Ending::RelayResumes => self.resume_relay(),
            Ending::Relay => self.start_relay(),
            Ending::Disk => self.relay.delay = self.plan.disk,
            Ending::Mend(a, b) => {
                self.trace.note(self.now, Place::Relay, || "a cut is mended".to_owned());
                self.mend(*a, *b);
            }
            Ending::Flap { side, rest, is_cut, left, period } => {
                if *is_cut {
                    self.mend(*side, *rest);
                    self.mend(*rest, *side);
                }
                if *left > 0 && !self.healing {
                    let cuts = !is_cut;
                    if cuts {
                        self.net.cuts.cut(*side, *rest);
                        self.net.cuts.cut(*rest, *side);
                    }
                    let (side, rest, left) = (*side, *rest, left - 1);
                    let next = Ending::Flap { side, rest, is_cut: cuts, left, period: *period };
                    self.queue.push(self.now + *period, Event::End(next));
                }
            }
            Ending::Calm => self.net.storm = None,
            Ending::Unclog(players) => self.net.clogs.retain(|player, _| !players.contains(player)),
            Ending::Direct => self.net.has_direct = self.plan.has_direct,
            Ending::Udp => self.net.has_udp = true,
        }
    }

    /// Ends all faults, and lets players without a process come back.
    pub(super) fn heal(&mut self) {
        self.healing = true;
        self.end_liars();
        if let Some(standstills) = &mut self.judges.standstills {
            standstills.end(self.now);
        }
        self.trace.note(self.now, Place::Relay, || "everything heals".to_owned());
        self.net.heal(self.plan.has_direct);
        self.relay.delay = self.plan.disk;
        self.resume_relay();
        self.start_relay();
        for id in 0..self.cast.processes.len() {
            self.resume(id);
            self.cast.processes[id].hidden = self.cast.processes[id].hidden.min(1);
            self.show(id);
            self.cast.processes[id].still = self.cast.processes[id].still.min(1);
            self.step_again(id);
        }
        for player in 0..self.cast.players.len() {
            self.reload_later(player, Duration::from_millis(100));
        }
    }

    /// Strikes each of these processes. Returns whether it struck any.
    fn each(&mut self, who: Who, mut strike: impl FnMut(&mut Self, ProcessId) -> bool) -> bool {
        self.processes_of(who).into_iter().filter(|&id| strike(self, id)).count() > 0
    }

    pub(super) fn disturb(&mut self, id: ProcessId, what: &'static str) {
        self.cast.processes[id].disturbed = self.now;
        let place = self.cast.place(id);
        self.trace.note(self.now, place, || what.to_owned());
    }

    fn leave(&mut self, id: ProcessId) -> bool {
        self.can_spare(id) && self.abandon(id)
    }

    fn abandon(&mut self, id: ProcessId) -> bool {
        self.judges.is_orphaned |= !self.can_spare(id);
        self.begin_crisis(id);
        self.disturb(id, "leaves");
        let player = self.cast.processes[id].player;
        self.cast.players[player].is_gone = true;
        let process = &mut self.cast.processes[id];
        process.leaving = Some(self.now);
        let now = process.clock.local(self.now);
        if let Some(peer) = &mut process.peer {
            peer.leave(now);
        }
        self.turn(id);
        true
    }

    fn close_page(&mut self, id: ProcessId) -> bool {
        if !self.can_spare(id) {
            return false;
        }
        self.begin_crisis(id);
        self.disturb(id, "closes its page");
        let player = self.cast.processes[id].player;
        self.cast.players[player].is_gone = true;
        let process = &mut self.cast.processes[id];
        let now = process.clock.local(self.now);
        if let Some(peer) = &mut process.peer {
            peer.leave_at_once(now);
        }
        self.turn(id);
        self.close_sockets(id);
        self.end_process(id);
        true
    }

    /// Lets a page keep its seat, and the data from which its session can be founded anew.
    fn keep_table(&mut self, id: ProcessId) {
        let process = &self.cast.processes[id];
        let now = process.clock.local(self.now);
        let Some(peer) = &process.peer else { return };
        let Some(session) = peer.session().filter(|session| session.ticket().is_some()) else { return };
        if let Some((pass, kept)) = peer.pass().zip(session.kept(now)) {
            let player = &mut self.cast.players[process.player];
            (player.kept, player.seat) = (Some((pass, kept)), session.seat());
        }
    }

    /// Reloads a player's page. When all players reload at once, the session is founded anew.
    fn reload(&mut self, id: ProcessId) {
        self.judges.is_orphaned |= !self.can_spare(id);
        self.begin_crisis(id);
        self.disturb(id, "reloads its page");
        self.keep_table(id);
        let process = &mut self.cast.processes[id];
        let (number, now) = (process.player, process.clock.local(self.now));
        if let Some(peer) = &mut process.peer {
            peer.go_away(now);
        }
        self.turn(id);
        self.close_sockets(id);
        self.end_process(id);
        self.reload_later(number, RELOAD_TAKES);
    }

    /// Ends a cut in one direction. Messages that streams held back arrive then, and their receiver cannot tell when
    /// they were sent. So a host that was alone counts as having heard others again.
    fn mend(&mut self, from: Side, to: Side) {
        self.net.cuts.mend(from, to);
        for (id, process) in self.cast.processes.iter().enumerate() {
            if to.has(Place::Player(process.player)) {
                self.judges.checks.offices.hear_late(id);
            }
        }
    }

    fn hand_over(&mut self, id: ProcessId) -> bool {
        let process = &mut self.cast.processes[id];
        let now = process.clock.local(self.now);
        let session = process.peer.as_mut().and_then(|peer| peer.session_mut());
        // The host keeps its office if no member answers just now.
        if !session.is_some_and(|session| session.hand_over(now)) {
            return false;
        }
        self.begin_crisis(id);
        self.disturb(id, "hands over");
        self.turn(id);
        true
    }

    /// Whether another running member is left when this process goes. Without one there is no session to judge. Also
    /// notes that the session may end, if all members left are on a side of a partition with a lower term.
    pub(super) fn can_spare(&mut self, id: ProcessId) -> bool {
        let members = self.cast.members();
        let others =
            members.iter().filter(|(other, _)| *other != id && self.cast.processes[*other].leaving.is_none());
        let first = members.iter().max_by_key(|(_, session)| (session.term(), session.is_host()));
        let is_of_side = |session: &Session| {
            first.is_some_and(|(_, first)| session.term() == first.term() && first.view().has(session.me()))
        };
        let is_orphaned = !others.clone().any(|(_, session)| is_of_side(session));
        let can_spare = others.count() > 0;
        self.judges.is_orphaned |= is_orphaned && can_spare;
        can_spare
    }

    fn kill(&mut self, id: ProcessId, closes: bool, back: Option<Duration>) -> bool {
        if !self.can_spare(id) {
            return false;
        }
        self.begin_crisis(id);
        self.disturb(id, if closes { "crashes" } else { "dies silently" });
        if closes {
            self.close_sockets(id);
        }
        let player = self.cast.processes[id].player;
        self.end_process(id);
        if let Some(after) = back {
            self.reload_later(player, after);
        }
        true
    }

    fn stop(&mut self, who: Who, lasts: Duration, state: State) -> bool {
        let stopped = self.processes_of(who);
        for &id in &stopped {
            self.disturb(id, "stops");
            self.cast.processes[id].state = state;
            self.judges.recoveries.forget(self.now, id);
        }
        self.queue.push(self.now + lasts, Event::End(Ending::Resume(stopped.clone())));
        !stopped.is_empty()
    }

    fn hide(&mut self, who: Who, lasts: Duration) -> bool {
        let hidden = self.processes_of(who);
        for &id in &hidden {
            self.disturb(id, "is hidden");
            self.cast.processes[id].hidden += 1;
            self.show_to_peer(id, false);
        }
        self.queue.push(self.now + lasts, Event::End(Ending::Show(hidden.clone())));
        !hidden.is_empty()
    }

    fn stand_still(&mut self, who: Who, lasts: Duration) -> bool {
        let struck = self.processes_of(who);
        for &id in &struck {
            self.disturb(id, "stands still");
            self.cast.processes[id].still += 1;
        }
        self.queue.push(self.now + lasts, Event::End(Ending::Step(struck.clone())));
        !struck.is_empty()
    }

    fn step_again(&mut self, id: ProcessId) {
        let id = self.cast.heir_of(id);
        let process = &mut self.cast.processes[id];
        if process.still == 0 {
            return;
        }
        process.still -= 1;
        // Missed frames are skipped, and not made up for.
        process.next_frame = process.next_frame.max(process.clock.local(self.now));
        self.disturb(id, "makes steps again");
        if self.cast.processes[id].is_awake() {
            self.turn(id);
        }
    }

    fn show(&mut self, id: ProcessId) {
        let id = self.cast.heir_of(id);
        if self.cast.processes[id].hidden == 0 {
            return;
        }
        self.cast.processes[id].hidden -= 1;
        self.disturb(id, "is shown");
        if self.cast.processes[id].hidden == 0 {
            self.show_to_peer(id, true);
        }
    }

    fn show_to_peer(&mut self, id: ProcessId, visible: bool) {
        let process = &mut self.cast.processes[id];
        if process.state != State::Running {
            return;
        }
        let now = process.clock.local(self.now);
        if let Some(peer) = &mut process.peer {
            peer.set_visible(now, visible);
        }
        self.turn(id);
    }

    /// Lets a new player join with the ticket that a player had before its present one.
    fn replay_ticket(&mut self, id: ProcessId) -> bool {
        let victim = self.cast.processes[id].player;
        self.cast.players[victim].old_ticket.is_some_and(|old| self.show_ticket(id, old))
    }

    /// Lets a new player join with the hash of a player's ticket as its ticket.
    fn forge_ticket(&mut self, id: ProcessId) -> bool {
        let session = self.cast.processes[id].peer.as_ref().and_then(|peer| peer.session());
        let forged = session.and_then(|session| {
            let record = session.seat_of(session.me())?;
            Some(Ticket { session: session.warrant().session, secret: record.ticket.0 })
        });
        forged.is_some_and(|forged| self.show_ticket(id, forged))
    }

    /// Lets a new player join with a ticket that must not open a player's seat.
    fn show_ticket(&mut self, id: ProcessId, ticket: Ticket) -> bool {
        let session = self.cast.processes[id].peer.as_ref().and_then(|peer| peer.session());
        let seat = session.and_then(|session| {
            let members = self.cast.members().into_iter();
            let knowing = members.filter(|(_, other)| other.view().has(session.me())).map(|(id, _)| id);
            Some(ForbiddenSeat {
                seat: session.seat()?,
                view: session.view().number(),
                knowing: knowing.collect(),
            })
        });
        let Some(seat) = seat else { return false };
        let player = self.cast.players.len();
        self.cast.players.push(Player { ticket: Some(ticket), ..Default::default() });
        self.on_start(player);
        if let Some(process) = self.cast.players[player].process {
            self.cast.processes[process].forbidden_seat = Some(seat);
        }
        true
    }

    fn cut(&mut self, group: Group, beyond: Beyond, direction: Direction, lasts: Duration) -> bool {
        let side = self.side(group);
        let rest = match beyond {
            Beyond::Rest => self.rest(side),
            Beyond::Relay => Side { players: 0, relay: true },
            Beyond::Players => Side { relay: false, ..self.rest(side) },
        };
        let ways = match direction {
            Direction::Both => vec![(side, rest), (rest, side)],
            Direction::Out => vec![(side, rest)],
            Direction::In => vec![(rest, side)],
        };
        self.trace.note(self.now, Place::Relay, || format!("cut: {side:?} from {rest:?}, {direction:?}"));
        for (from, to) in ways {
            self.net.cuts.cut(from, to);
            self.queue.push(self.now + lasts, Event::End(Ending::Mend(from, to)));
        }
        side.players != 0
    }

    fn side(&self, group: Group) -> Side {
        let players = self.players_of(group.who).iter().fold(0, |mask, player| mask | 1 << player);
        Side { players, relay: group.relay }
    }

    /// All places that are not on this side. Players that join later are among them.
    const fn rest(&self, side: Side) -> Side {
        side.rest(64)
    }

    fn players_of(&self, who: Who) -> Vec<usize> {
        self.processes_of(who).iter().map(|&id| self.cast.processes[id].player).collect()
    }

    /// The running processes that a fault strikes.
    fn processes_of(&self, who: Who) -> Vec<ProcessId> {
        let running = |id: &ProcessId| {
            self.cast.processes[*id].is_awake() && self.cast.processes[*id].leaving.is_none()
        };
        let player = |player: usize| self.cast.players.get(player).and_then(|player| player.process);
        let host = self.cast.host().map(|(id, _)| id);
        let others = || (0..self.cast.players.len()).filter_map(player).filter(move |&id| Some(id) != host);
        let mut struck: Vec<ProcessId> = match who {
            Who::Player(number) => player(number).into_iter().collect(),
            Who::Players(mask) => {
                (0..self.cast.players.len()).filter(|n| mask >> n & 1 == 1).filter_map(player).collect()
            }
            Who::Host => host.into_iter().collect(),
            Who::Backup => {
                self.cast.backup().and_then(|peer| self.cast.process_of(peer)).into_iter().collect()
            }
            Who::HostAnd(count) => host.into_iter().chain(others().filter(running).take(count)).collect(),
            Who::AllBut(count) => {
                let others: Vec<_> = others().filter(running).collect();
                let kept = others.len().saturating_sub(count);
                host.into_iter().chain(others.into_iter().take(kept)).collect()
            }
        };
        struck.retain(running);
        struck
    }
}
