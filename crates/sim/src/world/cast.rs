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
    /// The ticket before the present one. It must not open a seat any more.
    pub(super) old_ticket: Option<Ticket>,
    /// Whether the player left for good.
    pub(super) is_gone: bool,
    /// Whether the player is a stranger. The world drops the messages of a stranger's peer to other peers, so it
    /// never becomes a member.
    pub(super) is_stranger: bool,
    /// Whether the start of a process is queued.
    pub(super) is_starting: bool,
    /// Whether the next process founds the game, because the relay knows no game under this code.
    pub(super) founds: bool,
    /// The state that the player's page kept for a reload. `seat` is the seat that the player had then.
    pub(super) kept: Option<(PeerPass, Kept)>,
    pub(super) seat: Option<SeatId>,
    /// The seat that the player has had since the beginning, which its tickets must keep. `None` if a process ended
    /// before its ticket was confirmed.
    pub(super) first_seat: Option<SeatId>,
    /// When the player was evicted; `None` once it is a member again.
    pub(super) removed_at: Option<Time>,
    /// The time until which the player lies ([`Fault::Lie`](crate::Fault::Lie)).
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

    /// The process whose peer has this id.
    pub(super) fn process_of(&self, peer: PeerId) -> Option<ProcessId> {
        let is = |process: &Process| match process.peer.as_deref() {
            Some(p) => p.session().is_some_and(|session| session.me() == peer),
            // While a process's driver runs, its peer is not in `process.peer`.
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

    /// The process that took this one's place when its peer got a new peer id, or this process itself if none did.
    pub(super) fn heir_of(&self, mut id: ProcessId) -> ProcessId {
        while let Some(heir) = self.processes[id].heir {
            id = heir;
        }
        id
    }
}
