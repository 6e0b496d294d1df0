//! A peer that takes its seat back gets a new peer id. The world then treats it as a new process with the same clock
//! and sockets. So games and checkers do not expect it to know what the former peer knew.

use samovar_wire::{SortedMap, Time};

use super::Process;
use crate::game::{Game, ProcessId};
use crate::network::Place;
use crate::world::World;

impl<G: Game> World<G> {
    /// Replaces a process whose peer has got a new id.
    pub(super) fn bear_again(&mut self, id: ProcessId) {
        let new = self.cast.processes.len();
        let process = &mut self.cast.processes[id];
        let (player, clock) = (process.player, process.clock.clone());
        let sockets = std::mem::take(&mut process.sockets);
        let reborn = Process {
            player,
            peer: process.peer.take(),
            clock,
            state: process.state,
            hidden: process.hidden,
            still: process.still,
            channels: SortedMap::new(),
            inbox: std::mem::take(&mut process.inbox),
            next_frame: process.next_frame,
            next_timer: process.next_timer,
            wake: Time::FAR,
            disturbed: self.now,
            last_sent: process.last_sent,
            leaving: process.leaving,
            told_backlog: process.told_backlog,
            is_tuned: false,
            known_as: None,
            forbidden_seat: process.forbidden_seat.take(),
            is_reborn: false,
            liar: None,
            heir: None,
            sockets,
        };
        for conn in reborn.sockets.values() {
            if let Some(socket) = self.net.sockets.get_mut(conn) {
                socket.process = new;
            }
        }
        self.cast.processes.push(reborn);
        self.cast.processes[id].heir = Some(new);
        self.end_process(id);
        self.cast.players[player].process = Some(new);
        self.trace.note(self.now, Place::Player(player), || format!("process {id} goes on as {new}"));
        if let Some(peer) = self.cast.processes[new].peer.take() {
            self.plan_wake(new, &peer);
            self.cast.processes[new].peer = Some(peer);
        }
    }
}
