//! The players of the world, and their processes.

use std::collections::BTreeSet;

use samovar_peer::Kept;
use samovar_session::Session;
use samovar_wire::{PeerId, PeerPass, SeatId, Ticket, Time};

use super::process::{Process, State};
use crate::game::ProcessId;
use crate::network::Place;

/// A player, who runs one process after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Player {
    pub(super) process: Option<ProcessId>,
    pub(super) ticket: Option<Ticket>,
    /// The ticket before that, which must open nothing.
    pub(super) old_ticket: Option<Ticket>,
    /// The player does not come back.
    pub(super) is_gone: bool,
    /// Its peer's messages reach no host, so it never becomes a member.
    pub(super) is_stranger: bool,
    /// The start of a process is queued.
    pub(super) is_starting: bool,
    /// The next process founds the game, because the relay knows none under this code.
    pub(super) founds: bool,
    /// The state that its page kept for a reload; `seat` is where it sat then.
    pub(super) kept: Option<(PeerPass, Kept)>,
    pub(super) seat: Option<SeatId>,
    /// The seat that it has kept since the beginning, by its tickets alone. `None` once a process ended before its
    /// ticket was confirmed.
    pub(super) first_seat: Option<SeatId>,
    /// When it was evicted; `None` once it is a member again.
    pub(super) removed_at: Option<Time>,
    /// Until when it lies.
    pub(super) lies_until: Time,
}

/// All players, and all processes that ever ran.
#[derive(Default)]
pub(super) struct Cast {
    pub(super) players: Vec<Player>,
    pub(super) processes: Vec<Process>,
    /// Peers of liars, present and former ones.
    pub(super) liars: BTreeSet<PeerId>,
}

impl Cast {
    pub(super) fn place(&self, id: ProcessId) -> Place {
        Place::Player(self.processes[id].player)
    }

    /// The process that runs as a peer.
    pub(super) fn process_of(&self, peer: PeerId) -> Option<ProcessId> {
        let is = |process: &Process| match process.peer.as_deref() {
            Some(p) => p.session().is_some_and(|session| session.me() == peer),
            // A process has no peer here during its own turn.
            None => process.state != State::Ended && process.known_as == Some(peer),
        };
        self.processes.iter().position(is)
    }

    /// All members that run.
    pub(super) fn members(&self) -> Vec<(ProcessId, &Session)> {
        let running = self.processes.iter().enumerate().filter(|(_, process)| process.is_awake());
        let sessions = running.filter_map(|(id, process)| Some((id, process.peer.as_ref()?.session()?)));
        sessions.filter(|(_, session)| session.is_member()).collect()
    }

    /// The process that hosts under the highest term.
    pub(super) fn host(&self) -> Option<(ProcessId, &Session)> {
        let hosts = self.members().into_iter().filter(|(_, session)| session.is_host());
        hosts.max_by_key(|(_, session)| session.term())
    }

    /// The first backup, by the newest view of the members that run.
    pub(super) fn backup(&self) -> Option<PeerId> {
        let newest = self.members().into_iter().max_by_key(|(_, s)| (s.term(), s.view().number()));
        newest.and_then(|(_, session)| session.view().backup())
    }

    /// The process that this one goes on as; itself if there is none.
    pub(super) fn heir_of(&self, mut id: ProcessId) -> ProcessId {
        while let Some(heir) = self.processes[id].heir {
            id = heir;
        }
        id
    }
}
