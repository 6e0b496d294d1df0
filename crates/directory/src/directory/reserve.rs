//! A warrant in reserve: the relay settles the next host as soon as the host's connection closes (PROTOCOL §5.5).
//!
//! A claim and its grant take a round trip to the relay, in which no peer hosts. When the host's own connection
//! closes, the relay can name the next host at once. A member that misses the host as well adopts that warrant
//! without asking. A member that hears the host does not.

use samovar_wire::relay::FromRelay;
use samovar_wire::{PeerId, SessionId, Time, Warrant};

use super::game::Pending;
use super::{Directory, HostChange};

impl Directory {
    /// Puts a warrant in reserve while the host has no connection. The warrant is for the first connected member in
    /// the line of succession.
    pub(super) fn reserve(&mut self, session: SessionId) {
        let Some(game) = self.games.get(&session) else { return };
        let (Some(warrant), Some(highest)) = (game.warrant, game.highest()) else { return };
        let has_one = game.reserve.is_some_and(|reserve| game.members.contains_key(&reserve.host));
        if has_one || game.pending.is_some() || game.awaits_host || game.host_conn().is_some() {
            return;
        }
        if let Some(host) = game.next_in_line() {
            let in_reserve_of = Some((warrant.term, warrant.host));
            let pending = Pending { term: highest.next_witnessed(), host, in_reserve_of };
            self.write(session, pending, HostChange::Disconnected);
        }
    }

    /// A warrant in reserve has reached the disk. If the host is connected again, it stays the host. Otherwise a
    /// waiting claim begins the reserve; without such a claim, the relay tells the members of the warrant.
    pub(super) fn hold_in_reserve(&mut self, now: Time, session: SessionId, warrant: Warrant) {
        let Some(game) = self.games.get_mut(&session) else { return };
        game.reserve = Some(warrant);
        if game.host_conn().is_some() {
            return;
        }
        if game.claims.waiting(now).next().is_some() {
            return self.begin_reserve(now, session);
        }
        let members = game.members.keys().copied().filter(|&peer| game.counts(peer));
        for peer in members.collect::<Vec<_>>() {
            self.tell(session, peer, &FromRelay::Successor(warrant));
        }
    }

    /// Begins the term of the warrant in reserve: a member has adopted the warrant, or a claim shows that it misses
    /// the host.
    pub(super) fn begin_reserve(&mut self, now: Time, session: SessionId) {
        if let Some(warrant) = self.games.get_mut(&session).and_then(|game| game.reserve.take()) {
            self.announce(now, session, warrant);
            self.keep_record(session);
        }
    }

    /// Notes that a member has adopted a warrant that was in reserve before the present reserve: its term has begun.
    pub(super) fn note_begun(&mut self, session: SessionId, warrant: Warrant) {
        if let Some(game) = self.games.get_mut(&session) {
            game.warrant = Some(warrant);
            self.broadcast(session, &FromRelay::Issued(warrant));
            self.keep_record(session);
        }
    }

    /// Begins the reserve when the warrant's host sends a message that only a host sends. A peer does so only once it
    /// has adopted the warrant.
    pub(super) fn note_reign(&mut self, now: Time, session: SessionId, peer: PeerId) {
        let reserve = self.games.get(&session).and_then(|game| game.reserve);
        if reserve.is_some_and(|reserve| reserve.host == peer) {
            self.begin_reserve(now, session);
        }
    }

    /// Keeps a host that comes back before any member is known to miss it. The host gets a term above the one in
    /// reserve, so that no member adopts the warrant in reserve any more.
    pub(super) fn reinstate(&mut self, session: SessionId) {
        let Some(game) = self.games.get(&session) else { return };
        if let Some(host) = game.host()
            && game.reserve.is_some()
            && game.pending.is_none()
            && game.host_conn().is_some()
        {
            self.grant(session, host, HostChange::Shown);
        }
    }
}
