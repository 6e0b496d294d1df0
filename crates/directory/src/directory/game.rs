//! The directory's state of a live game.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::relay::Listing;
use samovar_wire::{Duration, Entropy, GameCode, PeerId, SessionId, Term, Time, Vouched, Warrant};

use super::claims::{Claim, Claims, Probe};
use super::connection::Caller;
use super::note::Loss;
use super::{Barred, ConnId, TermRecord};
use crate::limits::{
    ALL_PROBED_EVERY, PEERS_REMEMBERED, PROBE_WITHIN, PROBE_WITHIN_OF_FAR, PROBE_WITHIN_OF_MANY,
    SILENT_SUFFICE, TRIPS_KEPT, UNANSWERED_MAX,
};

/// A game with at least one connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Game {
    pub(super) code: GameCode,
    pub(super) params: u64,
    pub(super) serial: u64,
    /// The highest warrant that is on disk and whose term is known to have begun; `None` until the first is on disk.
    pub(super) warrant: Option<Warrant>,
    /// A warrant in reserve, of a higher term, for members that miss a host whose connection closed. It is on disk.
    pub(super) reserve: Option<Warrant>,
    /// A term on its way to disk. No peer may hear of it.
    pub(super) pending: Option<Pending>,
    pub(super) members: BTreeMap<PeerId, ConnId>,
    /// Peers that become members when there is a warrant to send them.
    pub(super) entrants: BTreeMap<PeerId, ConnId>,
    pub(super) listing: Option<Listing>,
    /// The members that a host named last, in the order of succession, also before the relay restarted; the founder
    /// until a host has named some. A peer that only joined is not among them.
    pub(super) named: Vec<PeerId>,
    /// Named members that may not have the session's state yet. None of them gets a warrant in reserve.
    joining: BTreeSet<PeerId>,
    /// Whether a host has named members since the relay listed the game.
    is_named_anew: bool,
    /// Members that a host named earlier, the last [`MEMBERS_MAX`]: they have no vote, and may found the game anew when
    /// all members have gone.
    pub(super) former: Vec<PeerId>,
    pub(super) barred: Barred,
    /// The barred peers that the operator has put out: they may come back as newcomers. A relay that restarts does not
    /// know which these were.
    pub(super) kicked: Vec<PeerId>,
    /// The opener of the connection of each peer that is connected or was a member.
    pub(super) callers: BTreeMap<PeerId, Caller>,
    /// The words of the game's own server about peers that are connected or were members.
    pub(super) vouched: BTreeMap<PeerId, Vouched>,
    /// Whether the code is the relay's own. Then only members and the relay's own peers can host the game.
    pub(super) is_own_code: bool,
    /// Whether no member has been connected for as long as a code is kept. Then any connected peer counts as a
    /// member.
    pub(super) is_abandoned: bool,
    /// When the game was listed again. It had members before, and some may still be on their way back.
    pub(super) relisted: Option<Time>,
    /// Whether the game was listed again without its host, which may still be on its way back.
    pub(super) awaits_host: bool,
    /// Members that said LEAVE or AWAY, and whether one of them may come back as a new peer.
    departed: BTreeSet<PeerId>,
    has_away: bool,
    /// Newcomers that were members of this session before, with their old ids.
    pub(super) returned: BTreeMap<PeerId, PeerId>,
    pub(super) claims: Claims,
    pub(super) loss: Loss,
    /// The time that members' answers to probes take.
    trips: BTreeMap<PeerId, Trip>,
    /// Consecutive pulses whose probe the host has not answered, up to [`UNANSWERED_MAX`].
    unanswered: u8,
    recent: VecDeque<PeerId>,
}

impl Game {
    /// A game whose first term is on its way to disk.
    pub(super) fn new(record: &TermRecord) -> Self {
        Self {
            code: record.code.clone(),
            params: record.params,
            serial: record.serial,
            warrant: None,
            reserve: None,
            pending: Some(Pending {
                term: record.term,
                host: record.host,
                in_reserve_of: Some(record.begun).filter(|begun| begun.0 < record.term),
            }),
            members: BTreeMap::new(),
            entrants: BTreeMap::new(),
            listing: None,
            named: record.members.clone(),
            joining: BTreeSet::new(),
            is_named_anew: false,
            former: record.former.clone(),
            barred: record.barred.clone(),
            kicked: Vec::new(),
            callers: BTreeMap::new(),
            vouched: record.vouched.iter().cloned().collect(),
            is_own_code: false,
            is_abandoned: false,
            relisted: None,
            awaits_host: false,
            departed: BTreeSet::new(),
            has_away: false,
            returned: BTreeMap::new(),
            claims: Claims::default(),
            loss: Loss::default(),
            trips: BTreeMap::new(),
            unanswered: 0,
            recent: record.members.iter().copied().chain([record.host]).collect(),
        }
    }

    /// The game's record: its highest term, on disk or on its way.
    pub(super) fn record(&self, session: SessionId) -> Option<TermRecord> {
        let of = |warrant: Warrant| (warrant.term, warrant.host);
        let highest = self.reserve.or(self.warrant).map(of);
        let (term, host) = self.pending.map(|pending| (pending.term, pending.host)).or(highest)?;
        let begun = match self.pending {
            Some(Pending { in_reserve_of, .. }) => in_reserve_of.map(|begun| self.warrant.map_or(begun, of)),
            None => self.warrant.map(of),
        };
        let begun = begun.unwrap_or((term, host));
        let Self { code, params, serial, named, former, barred, .. } = self;
        let is_kept = |peer: &PeerId| named.contains(peer) || former.contains(peer) || host == *peer;
        let vouched = self.vouched.iter().filter(|(peer, _)| is_kept(peer));
        let vouched = vouched.map(|(peer, vouched)| (*peer, vouched.clone())).collect();
        let (code, members, former) = (code.clone(), named.clone(), former.clone());
        Some(TermRecord {
            session,
            code,
            params: *params,
            term,
            host,
            begun,
            members,
            former,
            barred: barred.clone(),
            vouched,
            serial: *serial,
        })
    }

    /// Notes a warrant that a peer shows while the game's first write is pending. Returns whether its term is newer
    /// than the one known to have begun. If the pending term is higher still, it will be in reserve.
    pub(super) fn note_begun_of_pending(&mut self, shown: &Warrant) -> bool {
        let Some(pending) = self.pending.as_mut().filter(|_| self.warrant.is_none()) else { return false };
        let is_new = pending.in_reserve_of.is_some_and(|begun| begun.0 < shown.term);
        if is_new {
            let begun = Some((shown.term, shown.host));
            pending.in_reserve_of = begun.filter(|_| shown.term < pending.term);
        }
        is_new
    }

    /// The highest term given to any peer, whether the peer has heard of it or not.
    pub(super) fn highest(&self) -> Option<Term> {
        let given = self.reserve.or(self.warrant).map(|warrant| warrant.term);
        self.pending.map(|pending| pending.term).or(given)
    }

    pub(super) fn connections(&self) -> usize {
        self.members.len() + self.entrants.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections() == 0
    }

    pub(super) fn host(&self) -> Option<PeerId> {
        self.warrant.map(|warrant| warrant.host)
    }

    /// The host's connection.
    pub(super) fn host_conn(&self) -> Option<ConnId> {
        self.members.get(&self.host()?).copied()
    }

    /// An id that no peer in the game has or had lately. No peer has the id zero, which stands for the session
    /// (ARCHITECTURE.md, "One idea").
    pub(super) fn draw_peer(&mut self, entropy: &mut Entropy, caller: Caller) -> PeerId {
        loop {
            let peer = draw_id(entropy, caller);
            let known = self.members.contains_key(&peer)
                || self.entrants.contains_key(&peer)
                || self.recent.contains(&peer)
                || self.barred.has(peer)
                || self.host() == Some(peer);
            if peer.0 != 0 && !known {
                self.remember(peer);
                return peer;
            }
        }
    }

    /// Remembers a peer's id, so that it is not drawn for another peer.
    pub(super) fn remember(&mut self, peer: PeerId) {
        if self.recent.contains(&peer) {
            return;
        }
        if self.recent.len() == PEERS_REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(peer);
    }

    /// Whether a peer counts as a member: it hosts, or a host has named it. In an abandoned game every peer counts,
    /// so that the game does not end with a host that died early. Under the relay's own code only the relay's own
    /// peers count then.
    pub(super) fn counts(&self, peer: PeerId) -> bool {
        let is_heir = self.is_abandoned && self.is_open_to(peer);
        Some(peer) == self.host() || self.named.contains(&peer) || is_heir
    }

    /// Whether a peer that is no member may take over the game.
    fn is_open_to(&self, peer: PeerId) -> bool {
        !self.is_own_code || self.is_own(peer)
    }

    /// Whether a peer is connected, or about to be.
    pub(super) fn has(&self, peer: PeerId) -> bool {
        self.members.contains_key(&peer) || self.entrants.contains_key(&peer)
    }

    /// Whether a place is kept for a peer: it hosts, a host has named it, or it has shown a member's pass.
    pub(super) fn is_expected(&self, peer: PeerId) -> bool {
        Some(peer) == self.host() || self.named.contains(&peer) || self.returned.contains_key(&peer)
    }

    /// Whether a member that has the session's state is connected, apart from a host that answers nothing.
    pub(super) fn is_manned(&self) -> bool {
        let answers = |peer| Some(peer) != self.host() || !self.is_silent();
        let is_member =
            |peer| Some(peer) == self.host() || self.named.contains(&peer) && !self.joining.contains(&peer);
        self.members.keys().any(|&peer| is_member(peer) && answers(peer))
    }

    /// Whether a peer is or was a member: its pass alone proves only that it joined.
    pub(super) fn has_named(&self, peer: PeerId) -> bool {
        self.named.contains(&peer) || self.former.contains(&peer) || self.host() == Some(peer)
    }

    /// Whether a peer could host: it counts as a member, and is connected.
    pub(super) fn is_eligible(&self, peer: PeerId) -> bool {
        self.members.contains_key(&peer) && self.counts(peer)
    }

    /// Whether to probe the host. The relay does so when no probe is open, and again after a while, because members
    /// that answered the open probe may have died since.
    pub(super) fn may_ask(&self, now: Time) -> bool {
        let is_old = |probe: &Probe| now.since(probe.since) >= ALL_PROBED_EVERY;
        self.claims.probe.as_ref().is_none_or(|probe| is_old(probe) && !self.claims.is_lonely(now))
    }

    /// The warrant in reserve, if this claim begins its term. A claim of a later term does, because the claimant has
    /// then adopted the warrant. Any other claim does if the warrant's host is connected, because the claimant misses
    /// the present host.
    pub(super) fn begins_reserve(&self, claim: Claim) -> Option<Warrant> {
        let reserve = self.reserve?;
        let is_due = claim.term > reserve.term || self.members.contains_key(&reserve.host);
        is_due.then_some(reserve)
    }

    /// When to probe all members again while a claim waits. A member that answered may have died since, or may miss
    /// the host by now.
    pub(super) fn asks_again_at(&self, now: Time) -> Option<Time> {
        let probe = self.claims.probe.as_ref()?;
        let is_wanted = self.host_conn().is_some()
            && self.claims.waiting(now).next().is_some()
            && !self.claims.is_lonely(now);
        is_wanted.then(|| probe.since + ALL_PROBED_EVERY)
    }

    /// The deadline of the host's answer to its probe. It is earlier if most members seem to have died with the host,
    /// so that no majority will come. That is so if only members that miss the host have answered, and either two of
    /// them miss it or many members are silent.
    pub(super) fn probe_ends(&self, now: Time) -> Option<Time> {
        let probe = self.claims.probe.as_ref()?;
        if !probe.is_sent {
            return Some(probe.first + PROBE_WITHIN_OF_FAR);
        }
        let trip_of = |peer: &PeerId| self.trips.get(peer)?.least();
        let trip = self.host().and_then(|host| trip_of(&host));
        // The host gets four round trips: a stream that loses a packet stands still for a round trip or two, in
        // either direction.
        let usual = trip.unwrap_or_default().times(4).clamp(PROBE_WITHIN, PROBE_WITHIN_OF_FAR);
        let missing = self.claims.missing(now);
        let claimants = missing.iter().filter(|&&peer| self.counts(peer)).count();
        // The members that do not miss the host; the host is one of them.
        let others = self.members.keys().filter(|&&peer| self.counts(peer) && !missing.contains(&peer));
        let silent = others.clone().count();
        let is_missed = claimants > 1 || silent >= SILENT_SUFFICE;
        if !is_missed || self.claims.waiting(now).next().is_none() || !self.claims.is_lonely(now) {
            return Some(probe.first + usual);
        }
        let nearest = others.filter(|&&peer| self.host() != Some(peer)).filter_map(trip_of).min();
        let longer = nearest.max(Some(trip.unwrap_or(PROBE_WITHIN))).unwrap_or_default().as_micros();
        let more = if claimants > 1 { longer / silent.max(1) as u64 } else { longer };
        let hurried = Duration::from_micros(longer + more).clamp(PROBE_WITHIN_OF_MANY, PROBE_WITHIN);
        Some((probe.since + hurried).min(probe.first + usual))
    }

    /// Counts a probe that goes to the host with a pulse.
    pub(super) fn note_asked(&mut self) {
        self.unanswered = UNANSWERED_MAX.min(self.unanswered + 1);
    }

    /// Forgets the unanswered probes, because the host has answered or another peer hosts.
    pub(super) const fn note_answered(&mut self) {
        self.unanswered = 0;
    }

    /// Whether the host is connected and has answered nothing for four pulses.
    fn is_silent(&self) -> bool {
        self.unanswered == UNANSWERED_MAX && self.host_conn().is_some()
    }

    /// The game's entry in the list of games; `None` while the host is silent.
    pub(super) fn shown_listing(&self) -> Option<&Listing> {
        self.listing.as_ref().filter(|_| !self.is_silent())
    }

    /// Notes that a member is sent a probe with this number, to measure how long its answer takes.
    pub(super) fn begin_trip(&mut self, now: Time, peer: PeerId, nonce: u64) {
        self.trips.retain(|peer, _| self.members.contains_key(peer));
        let taken = self.trips.get(&peer).map_or([None; TRIPS_KEPT], |trip| trip.taken);
        self.trips.insert(peer, Trip { nonce: Some(nonce), since: now, taken });
    }

    /// Notes that the probe has left the relay only now, so that its time begins now.
    pub(super) fn note_sent(&mut self, now: Time, peer: PeerId, nonce: u64) {
        if let Some(trip) = self.trips.get_mut(&peer).filter(|trip| trip.nonce == Some(nonce)) {
            trip.since = now;
        }
    }

    /// Notes a member's answer. Returns whether to probe the member again: several answers are measured, because a
    /// lost packet may have delayed a single one.
    pub(super) fn end_trip(&mut self, now: Time, peer: PeerId, nonce: u64) -> bool {
        let Some(trip) = self.trips.get_mut(&peer) else { return false };
        if trip.nonce.take_if(|asked| *asked == nonce).is_none() {
            return false;
        }
        trip.taken.rotate_right(1);
        trip.taken[0] = Some(now.since(trip.since));
        trip.taken.contains(&None)
    }

    /// Takes the members that a host names, of which the last `joining` may not have the session's state yet. Returns
    /// whether the members differ from those before.
    pub(super) fn name(&mut self, mut members: Vec<PeerId>, joining: usize) -> bool {
        self.is_named_anew = true;
        self.joining = members.iter().rev().take(joining).copied().collect();
        members.retain(|member| !self.barred.has(*member));
        let is_same = |known: &Vec<PeerId>| {
            known.len() == members.len() && members.iter().all(|member| known.contains(member))
        };
        let are_others = !is_same(&self.named);
        let former = core::mem::replace(&mut self.named, members);
        self.former.extend(former);
        self.former.retain(|peer| !self.named.contains(peer));
        self.former.drain(..self.former.len().saturating_sub(MEMBERS_MAX));
        are_others
    }

    /// Counts a peer as a member whom a host has named, and whom the game's record does not know: the relay died before
    /// its disk knew of that peer. Returns whether it did so. A host's next list puts it right.
    pub(super) fn remember_named(&mut self, peer: PeerId) -> bool {
        // A full list of former members has dropped some, who were named before the record was written.
        let is_newer = !self.has_named(peer) && self.former.len() < MEMBERS_MAX;
        let counts =
            self.relisted.is_some() && !self.is_named_anew && is_newer && self.named.len() < MEMBERS_MAX;
        if counts {
            self.named.push(peer);
        }
        counts
    }

    /// Notes what is known about a peer.
    pub(super) fn note_vouched(&mut self, peer: PeerId, vouched: Option<Vouched>) {
        let mut all = core::mem::take(&mut self.vouched);
        all.retain(|&peer, _| self.has(peer) || self.has_named(peer));
        all.extend(vouched.map(|vouched| (peer, vouched)));
        self.vouched = all;
    }

    /// The connection of a peer.
    pub(super) fn connection_of(&self, peer: PeerId) -> Option<ConnId> {
        self.members.get(&peer).or_else(|| self.entrants.get(&peer)).copied()
    }

    /// Forgets the former ids of members that came back as new peers and that a host has named since. Returns the
    /// connections that still use the former ids.
    pub(super) fn retire_returned(&mut self) -> Vec<ConnId> {
        let named = &self.named;
        let retired: Vec<_> = self
            .returned
            .extract_if(.., |newcomer, _| named.contains(newcomer))
            .map(|(_, former)| former)
            .collect();
        self.named.retain(|peer| !retired.contains(peer));
        self.former.retain(|peer| !retired.contains(peer));
        retired.into_iter().filter_map(|peer| self.connection_of(peer)).collect()
    }

    /// Whether more than half of the members at the relay miss the host. The host counts as a member, even while it is
    /// awaited.
    pub(super) fn is_host_missed(&self, now: Time) -> bool {
        let reached = self.members.keys().filter(|&&peer| self.counts(peer)).count();
        let missing = self.claims.fresh(now).filter(|claim| self.counts(claim.peer)).count();
        missing * 2 > reached + usize::from(self.awaits_host)
    }

    /// Notes that a peer has announced its departure, and whether it may come back as a new peer.
    pub(super) fn note_departure(&mut self, peer: PeerId, is_away: bool) {
        // Only members are noted: nothing depends on others, and so the set has no more entries than the game has
        // members.
        if self.named.contains(&peer) || self.host() == Some(peer) {
            self.departed.retain(|peer| self.named.contains(peer));
            self.departed.insert(peer);
            self.has_away |= is_away;
        }
    }

    /// Whether every member that has the session's state has said that it goes, so that none plays on over direct paths.
    pub(super) fn is_vacated(&self) -> bool {
        let is_gone = |peer: &PeerId| self.departed.contains(peer) || self.joining.contains(peer);
        !self.departed.is_empty() && self.named.iter().all(is_gone)
    }

    /// Whether one of the members that have said that they go may come back.
    pub(super) fn is_only_away(&self) -> bool {
        self.has_away
    }

    /// Notes that a newcomer was this member before. Returns the connection of an unnamed newcomer that showed the
    /// same pass earlier, since a pass is good for one place.
    pub(super) fn note_returned(&mut self, peer: PeerId, former: PeerId) -> Option<ConnId> {
        let Self { returned, members, entrants, .. } = self;
        returned.retain(|peer, _| members.contains_key(peer) || entrants.contains_key(peer));
        let older = returned.iter().find(|(_, of)| **of == former).map(|(&older, _)| older);
        returned.insert(peer, former);
        let older = older.filter(|older| !self.named.contains(older) && self.host() != Some(*older))?;
        self.returned.remove(&older);
        self.members.get(&older).or_else(|| self.entrants.get(&older)).copied()
    }

    /// The former member that begins the session anew at once. It is connected, and no member is left: all others have
    /// said that they go, or the game is abandoned. Of several, the former host comes first, then its backups, because
    /// they know the newest seats. If no former member comes back to a game that all have left, it is a newcomer that
    /// waits there.
    pub(super) fn refounder(&self) -> Option<PeerId> {
        let is_deserted = self.is_vacated() || self.is_abandoned;
        let is_left = is_deserted && self.host_conn().is_none() && self.pending.is_none();
        let is_one = |peer: PeerId| self.members.contains_key(&peer) && self.is_open_to(peer);
        let rank = |former: PeerId| {
            let place = self.named.iter().position(|&named| named == former);
            (Some(former) != self.host(), place.is_none(), place)
        };
        let here = self.returned.iter().filter(|&(&peer, _)| is_left && is_one(peer));
        let former = here.min_by_key(|&(_, &former)| rank(former)).map(|(&peer, _)| peer);
        let takes_newcomer = is_left && self.is_abandoned && self.is_vacated();
        former.or_else(|| self.members.keys().copied().find(|&peer| takes_newcomer && is_one(peer)))
    }

    /// The next host when the host is lost: the first connected member in the host's own order of succession that has
    /// the session's state.
    pub(super) fn next_in_line(&self) -> Option<PeerId> {
        let host = self.host();
        let can_host = |peer: &PeerId| Some(*peer) != host && !self.joining.contains(peer);
        self.named.iter().copied().find(|peer| can_host(peer) && self.members.contains_key(peer))
    }

    /// Notes when members began to miss the host. To be called before a claim is noted, and when the host's
    /// connection ends. A loss begins anew if no member missed the host before.
    pub(super) fn note_missed(&mut self, now: Time) {
        let is_claimed = self.claims.waiting(now).next().is_some();
        if self.loss.since.is_none() || self.host_conn().is_some() && !is_claimed {
            self.loss.since = Some(now);
        }
    }

    /// The candidate that gets the next term, among those that could host. A candidate that was heard after the host
    /// was missed goes before others. Then the number of claims decides, and then the order of the claims.
    ///
    /// `None` while the host is awaited and a candidate that is not connected has at least as many claims. The
    /// members may have voted for that candidate while there was no relay, and it may be on its way back.
    pub(super) fn heir(&self, now: Time) -> Option<PeerId> {
        self.claims.waiting(now).next()?;
        let wanted = |peer| {
            let for_it = self.claims.fresh(now).filter(|claim| claim.candidate == peer);
            for_it.filter(|claim| self.counts(claim.peer)).count()
        };
        let candidates = self.claims.fresh(now).map(|claim| claim.candidate);
        let (here, away): (Vec<_>, Vec<_>) = candidates.partition(|&candidate| self.is_eligible(candidate));
        // While the host is awaited, all connected members have just come back, so all count as heard.
        let is_heard = |peer| self.awaits_host || self.claims.is_heard(now, peer);
        let place = |&peer: &PeerId| (!is_heard(peer), Reverse(wanted(peer)));
        let heir = here.into_iter().min_by_key(place)?;
        let waits = |peer| wanted(peer) >= wanted(heir);
        (!self.awaits_host || !away.into_iter().any(waits)).then_some(heir)
    }
}

/// Draws a random id. The relay's own peers have a range of their own.
pub(super) fn draw_id(entropy: &mut Entropy, caller: Caller) -> PeerId {
    let id = PeerId((entropy.number() >> 32) as u32);
    match id.is_relays_own() {
        is_own if is_own == caller.is_own => id,
        true => PeerId(id.0 >> 1),
        false => PeerId(id.0 | PeerId::OWN_FROM.0),
    }
}

/// A probe of a member, to measure the time of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Trip {
    /// The probe's number; `None` after the answer.
    nonce: Option<u64>,
    since: Time,
    /// The times of the last answers.
    taken: [Option<Duration>; TRIPS_KEPT],
}

impl Trip {
    /// The least of the last times. An answer that waits behind a lost packet comes late, and tells little about the
    /// next one.
    fn least(&self) -> Option<Duration> {
        self.taken.iter().copied().flatten().min()
    }
}

/// A term that is being written to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) term: Term,
    pub(super) host: PeerId,
    /// If the pending term will be in reserve: the present term, and its host.
    pub(super) in_reserve_of: Option<(Term, PeerId)>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn drawn_ids_of_peers_are_distinct_and_few_are_remembered() {
        let code = GameCode::parse("TEA").unwrap();
        let record = TermRecord {
            session: SessionId(1),
            code,
            params: 0,
            term: Term::FIRST,
            host: PeerId(7),
            begun: (Term::FIRST, PeerId(7)),
            members: Vec::new(),
            former: Vec::new(),
            barred: Barred::default(),
            vouched: Vec::new(),
            serial: 1,
        };
        let mut game = Game::new(&record);
        let mut entropy = Entropy::new([1; 32]);
        let drawn: BTreeSet<_> =
            (0..1_000).map(|_| game.draw_peer(&mut entropy, Caller::default())).collect();
        assert_eq!(drawn.len(), 1_000);
        assert!(!drawn.contains(&PeerId(0)) && !drawn.contains(&PeerId(7)));
        assert_eq!(game.recent.len(), PEERS_REMEMBERED);
        assert!(!drawn.iter().any(|peer| peer.is_relays_own()));
        let own = Caller { is_own: true, ..Caller::default() };
        assert!((0..100).all(|_| draw_id(&mut entropy, own).is_relays_own()));
        assert!((0..1_000_000).all(|_| !draw_id(&mut entropy, Caller::default()).is_relays_own()));
    }
}
