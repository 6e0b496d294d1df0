//! The agreed member list: seats and their members.

use samovar_wire::control::{Hello, Presence, Standing};
use samovar_wire::limits::{BACKUPS_MAX, MEMBERS_MAX, SEATS_MAX};
use samovar_wire::name::{self, NOT_RELAY};
use samovar_wire::sorted::sort_by_key;
use samovar_wire::view::{Electorate, LEFT, PUT_OUT, SPECTATOR, SeatRecord, ViewHeader};
use samovar_wire::{
    CloseCode, DecodeError, Duration, Entropy, PeerId, SeatId, ShownTicket, TicketHash, Time,
};

/// How many fields of the session object hold a view: one for the header, and one for each seat.
pub const VIEW_FIELDS: usize = 1 + SEATS_MAX;

/// The agreed member list of a term. The host changes it; all others read it from the session object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    header: ViewHeader,
    /// In the order of their fields; a seat keeps its field.
    seats: Vec<Option<SeatRecord>>,
}

/// The result of an admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The member's seat.
    pub seat: SeatId,
    /// The peer that sat there until now and yields.
    pub yields: Option<PeerId>,
}

impl View {
    /// The view of a session that is being founded: without members.
    #[must_use]
    pub fn founding(capacity: u8) -> Self {
        let capacity = capacity.clamp(1, MEMBERS_MAX as u8);
        let electorate = Electorate::default();
        let header = ViewHeader {
            number: 0,
            roll: 0,
            backups: Vec::new(),
            capacity,
            next_seat: 1,
            electorate,
            by_host: false,
            migrates: true,
            forks: false,
        };
        Self { header, seats: vec![None; SEATS_MAX] }
    }

    /// The view of a session that is founded anew from a member's knowledge of it. Every seat waits for its member,
    /// for a full grace time from now on. If the session has another id now, tickets are shown by their hashes
    /// ([`Ticket::shown_to`](samovar_wire::Ticket::shown_to)).
    #[must_use]
    pub fn founded_anew(mut self, now: Time, capacity: u8, has_same_id: bool) -> Self {
        for record in self.seats.iter_mut().flatten() {
            if !has_same_id {
                record.ticket = record.ticket.again();
            }
            record.peer = None;
            record.since = now.as_micros().max(record.since);
        }
        self.header.backups.clear();
        self.header.electorate = Electorate::default();
        self.header.capacity = capacity.clamp(1, MEMBERS_MAX as u8);
        self
    }

    /// Reads the fields of the session object.
    ///
    /// # Errors
    /// Any [`DecodeError`]; `Invalid` also when two seats have one member.
    pub fn from_fields<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Result<Self, DecodeError> {
        let header = ViewHeader::decode(fields.next().ok_or(DecodeError::Truncated)?)?;
        let seat = |field: &[u8]| (!field.is_empty()).then(|| SeatRecord::decode(field)).transpose();
        let mut seats = fields.map(seat).collect::<Result<Vec<_>, _>>()?;
        // Each member replaces names that only the relay's own peers may have, whatever the host wrote.
        seats.iter_mut().flatten().for_each(unmask);
        let view = Self { header, seats };
        let mut peers: Vec<_> = view.members().map(|m| m.peer).collect();
        sort_by_key(&mut peers, |peer| *peer);
        if peers.windows(2).any(|pair| pair[0] == pair[1]) || view.seats.len() != SEATS_MAX {
            return Err(DecodeError::Invalid);
        }
        Ok(view)
    }

    /// The fields of the session object.
    #[must_use]
    pub fn to_fields(&self) -> Vec<Vec<u8>> {
        let seats = self.seats.iter().map(|seat| seat.as_ref().map(SeatRecord::encode).unwrap_or_default());
        core::iter::once(self.header.encode()).chain(seats).collect()
    }

    /// The number of the view, which counts its changes.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.header.number
    }

    /// The number of the view with which members or backups changed last.
    #[must_use]
    pub const fn roll(&self) -> u64 {
        self.header.roll
    }

    /// The backup that takes over first.
    #[must_use]
    pub fn backup(&self) -> Option<PeerId> {
        self.header.backups.first().copied()
    }

    /// The backups, in the order in which they take over.
    #[must_use]
    pub fn backups(&self) -> &[PeerId] {
        &self.header.backups
    }

    /// The peers whose votes make a host when the relay is away.
    #[must_use]
    pub const fn electorate(&self) -> &Electorate {
        &self.header.electorate
    }

    /// Whether members are to open direct paths to the host and its backups only, where they have the choice.
    #[must_use]
    pub const fn is_by_host(&self) -> bool {
        self.header.by_host
    }

    /// Whether a peer carries packets between two others without a direct path: the host of this view does, and its
    /// backups.
    #[must_use]
    pub fn carries(&self, host: PeerId, peer: PeerId) -> bool {
        peer == host || self.header.backups.contains(&peer)
    }

    /// Sets that the host wants members to reach each other through the host.
    pub fn set_by_host(&mut self) {
        if !core::mem::replace(&mut self.header.by_host, true) {
            self.note_change();
        }
    }

    /// Whether another member succeeds a lost host.
    #[must_use]
    pub const fn migrates(&self) -> bool {
        self.header.migrates
    }

    /// Whether each side of a partition goes on by itself.
    #[must_use]
    pub const fn forks(&self) -> bool {
        self.header.forks
    }

    /// Sets, in a session that is being founded, whether another member succeeds a lost host, and whether each side of a
    /// partition goes on by itself. By default another does, and only one side goes on.
    #[must_use]
    pub fn with_survival(mut self, migrates: bool, forks: bool) -> Self {
        (self.header.migrates, self.header.forks) = (migrates, forks);
        self
    }

    /// The most players that the session may have; spectators do not count.
    #[must_use]
    pub const fn capacity(&self) -> u8 {
        self.header.capacity
    }

    /// All seats, the empty ones that wait for their member included.
    pub fn seats(&self) -> impl Iterator<Item = &SeatRecord> {
        self.seats.iter().flatten()
    }

    /// The members, in the order of their seats' fields.
    pub fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.seats().filter_map(|record| Some(Member { peer: record.peer?, record }))
    }

    /// One member.
    #[must_use]
    pub fn member(&self, peer: PeerId) -> Option<Member<'_>> {
        self.members().find(|m| m.peer == peer)
    }

    /// Whether a member's game is still: it makes no steps.
    #[must_use]
    pub fn is_still(&self, peer: PeerId) -> bool {
        self.member(peer).is_some_and(|m| m.record.standing.presence == Presence::Still)
    }

    /// Whether a member's page is visible to people, and its game makes steps.
    #[must_use]
    pub fn is_visible(&self, peer: PeerId) -> bool {
        self.member(peer).is_some_and(|m| m.record.standing.presence == Presence::Visible)
    }

    /// Whether a peer is a member.
    #[must_use]
    pub fn has(&self, peer: PeerId) -> bool {
        self.member(peer).is_some()
    }

    /// The order in which members succeed the host: games that make steps, backups, visible pages, the most peers
    /// reached, the lowest id (PROTOCOL §4.10 rule 1).
    #[must_use]
    pub fn succession(&self, host: PeerId) -> Vec<PeerId> {
        let mut line: Vec<_> = self.members().filter(|m| m.peer != host).collect();
        let backups = &self.header.backups;
        sort_by_key(&mut line, |m| {
            let place = backups.iter().position(|&backup| backup == m.peer).unwrap_or(backups.len());
            let Standing { presence, reach } = m.record.standing;
            let is_still = presence == Presence::Still;
            (is_still, place, presence != Presence::Visible, u8::MAX - reach, m.peer)
        });
        line.into_iter().map(|m| m.peer).collect()
    }

    /// Counts a change. The number may come from a hostile host and be at its maximum, so it wraps.
    const fn note_change(&mut self) {
        self.header.number = self.header.number.wrapping_add(1);
    }

    /// Counts a change of the members or of the backups.
    const fn note_roll(&mut self) {
        self.note_change();
        self.header.roll = self.header.number;
    }

    /// Seats a peer: on the seat that it has, or that its ticket opens, otherwise on a new one.
    ///
    /// # Errors
    /// `Full` when no seat is free; `BadTicket` when the hash of the peer's next ticket is that of another member's
    /// seat.
    pub fn admit(&mut self, now: Time, peer: PeerId, hello: &Hello) -> Result<Admission, CloseCode> {
        let shown = hello.resume.map(|ticket| ticket.map(|ticket| ticket.hash()));
        let mut others = self.seats.iter().flatten().filter(|record| record.peer != Some(peer));
        // With the same ticket on two seats, the member of the other seat could come back to this one.
        if others.any(|record| record.ticket == hello.ticket) {
            return Err(CloseCode::BadTicket);
        }
        // A seated peer stays on its seat, whatever ticket it shows: no peer is on two seats.
        if let Some(record) = self.seats.iter_mut().flatten().find(|record| record.peer == Some(peer)) {
            record.ticket = hello.ticket;
            let seat = record.seat;
            self.note_change();
            return Ok(Admission { seat, yields: None });
        }
        // Members find their seats again even beyond the capacity, up to the limit of a view.
        let is_at_limit = self.members().count() >= MEMBERS_MAX;
        let mut seats = self.seats.iter_mut().flatten();
        if let Some(record) = seats.find(|record| shown.contains(&Some(record.ticket))) {
            if record.peer.is_none() && is_at_limit {
                return Err(CloseCode::Full);
            }
            let yields = record.peer.replace(peer);
            record.ticket = hello.ticket;
            // A player who comes back may have another name or colour by now. The role stays, unless the relay says so.
            hello.name.clone_into(&mut record.name);
            unmask(record);
            record.standing.presence = Presence::Visible;
            let is_told = hello.voucher.as_ref().is_some_and(|voucher| voucher.vouched.watches.is_some());
            let role = if is_told { hello.attributes } else { record.attributes };
            record.attributes = hello.attributes & !(SPECTATOR | LEFT | PUT_OUT) | role & SPECTATOR;
            record.since = now.as_micros().max(record.since);
            let seat = record.seat;
            self.note_roll();
            self.header.backups.retain(|&backup| Some(backup) != yields);
            return Ok(Admission { seat, yields });
        }
        if self.is_full(hello.attributes & SPECTATOR != 0) {
            return Err(CloseCode::Full);
        }
        let place = self.free_place().ok_or(CloseCode::Full)?;
        let seat = SeatId(self.header.next_seat);
        let mut record = SeatRecord {
            seat,
            peer: Some(peer),
            name: hello.name.clone(),
            attributes: hello.attributes & !(LEFT | PUT_OUT),
            standing: Standing { presence: Presence::Visible, reach: 0 },
            ticket: hello.ticket,
            since: now.as_micros(),
        };
        unmask(&mut record);
        self.seats[place] = Some(record);
        self.header.next_seat = self.header.next_seat.wrapping_add(1).max(1);
        self.note_roll();
        Ok(Admission { seat, yields: None })
    }

    /// Whether the game's rules let no further spectator in. One that was here before finds its seat again.
    #[must_use]
    pub fn refuses_spectator(&self, peer: PeerId, hello: &Hello, spectators_max: u8) -> bool {
        let shown = hello.resume.map(|ticket| ticket.map(|ticket| ticket.hash()));
        let is_known =
            |record: &SeatRecord| record.peer == Some(peer) || shown.contains(&Some(record.ticket));
        hello.attributes & SPECTATOR != 0
            && self.spectators() >= spectators_max.into()
            && !self.seats.iter().flatten().any(is_known)
    }

    /// The number of members that only watch.
    #[must_use]
    pub fn spectators(&self) -> usize {
        self.members().filter(|member| member.record.attributes & SPECTATOR != 0).count()
    }

    /// Whether there is no place for a newcomer. Players and spectators have separate places: `capacity` for players,
    /// and the rest of `MEMBERS_MAX` for spectators.
    fn is_full(&self, watches: bool) -> bool {
        let capacity = usize::from(self.header.capacity);
        let members = self.members().count();
        let spectators = self.spectators();
        let has_place = if watches {
            spectators < MEMBERS_MAX.saturating_sub(capacity)
        } else {
            members - spectators < capacity
        };
        members >= MEMBERS_MAX || !has_place
    }

    /// A free field; if there is none, the field of the seat that has waited longest, members that left for good
    /// first.
    fn free_place(&self) -> Option<usize> {
        self.seats.iter().position(Option::is_none).or_else(|| {
            let waiting = self.seats.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?)));
            let oldest =
                waiting.filter(|(_, s)| s.peer.is_none()).min_by_key(|(_, s)| (!s.has_left(), s.since))?;
            Some(oldest.0)
        })
    }

    /// Notes on a member's seat that the member said that it leaves for good.
    pub fn note_left(&mut self, peer: PeerId) {
        if let Some(record) = self.seats.iter_mut().flatten().find(|record| record.peer == Some(peer)) {
            record.attributes |= LEFT;
        }
    }

    /// Empties the seat of a member that is gone; the seat waits for it. Returns `false` if the peer is no member.
    pub fn vacate(&mut self, now: Time, peer: PeerId) -> bool {
        let Some(record) = self.seats.iter_mut().flatten().find(|record| record.peer == Some(peer)) else {
            return false;
        };
        record.peer = None;
        record.since = now.as_micros().max(record.since);
        self.note_roll();
        self.header.backups.retain(|&backup| backup != peer);
        true
    }

    /// Puts a member out: empties its seat, and gives the seat a ticket that no peer has. Returns `false` if the peer
    /// is no member.
    pub fn put_out(&mut self, now: Time, peer: PeerId, entropy: &mut Entropy) -> bool {
        let Some(record) = self.seats.iter_mut().flatten().find(|record| record.peer == Some(peer)) else {
            return false;
        };
        record.attributes |= LEFT | PUT_OUT;
        record.ticket = ShownTicket(entropy.half()).hash();
        self.vacate(now, peer)
    }

    /// Moves a member to a new seat, from which it only watches and to which no peer has a ticket. The member's own
    /// seat is then free for a peer that shows that seat's ticket. Returns the member's own seat, or `None` when
    /// there is no room for another.
    pub fn step_aside(&mut self, now: Time, peer: PeerId, entropy: &mut Entropy) -> Option<SeatId> {
        let place = self.free_place()?;
        let own = self.member(peer)?.record.clone();
        self.vacate(now, peer);
        let left = own.seat;
        self.seats[place] = Some(SeatRecord {
            seat: SeatId(self.header.next_seat),
            peer: Some(peer),
            attributes: own.attributes | SPECTATOR,
            ticket: ShownTicket(entropy.half()).hash(),
            since: now.as_micros(),
            ..own
        });
        self.header.next_seat = self.header.next_seat.wrapping_add(1).max(1);
        Some(left)
    }

    /// Moves a member that stepped aside back to its own seat, and gives the other seat up. `draw` draws a new ticket
    /// for its own seat. Returns `false` when that seat is not free.
    pub fn step_back(
        &mut self,
        now: Time,
        peer: PeerId,
        seat: SeatId,
        draw: impl FnOnce() -> TicketHash,
    ) -> bool {
        let is_free = |record: &SeatRecord| record.seat == seat && record.peer.is_none();
        let Some(own) = self.seats.iter_mut().flatten().find(|record| is_free(record)) else { return false };
        own.peer = Some(peer);
        own.ticket = draw();
        own.since = now.as_micros().max(own.since);
        for aside in &mut self.seats {
            aside.take_if(|record| record.peer == Some(peer) && record.seat != seat);
        }
        self.note_roll();
        true
    }

    /// Gives up the seats that have waited for their members for the time `grace`. Returns whether there were any.
    pub fn expire(&mut self, now: Time, grace: Duration) -> bool {
        let mut changed = false;
        for place in &mut self.seats {
            let expired = place.as_ref().is_some_and(|record| {
                record.peer.is_none() && Time::from_micros(record.since) + grace <= now
            });
            if expired {
                *place = None;
                changed = true;
            }
        }
        if changed {
            self.note_change();
        }
        changed
    }

    /// Sets how fit a member is to host. Returns whether that changed.
    pub fn set_standing(&mut self, peer: PeerId, standing: Standing) -> bool {
        let record = self.seats.iter_mut().flatten().find(|record| record.peer == Some(peer));
        let Some(record) = record.filter(|record| record.standing != standing) else { return false };
        record.standing = standing;
        self.note_change();
        true
    }

    /// Names another backup: the next eligible member in the order of seats, visible pages first. The search begins
    /// after `after`, the seat of the backup named last, whether a peer still sits there or not. So an unresponsive
    /// member is not named again and again. The server of 2001 did the same (docs/sources.md, "Teapots").
    pub fn name_backup(
        &mut self,
        host: PeerId,
        after: Option<SeatId>,
        is_eligible: impl Fn(PeerId) -> bool,
    ) -> Option<PeerId> {
        let mut members: Vec<_> = self.members().map(|m| (m.record.seat, m.peer, m.record)).collect();
        // Seats after `after` come first.
        sort_by_key(&mut members, |m| (Some(m.0) <= after, m.0));
        let backups = &self.header.backups;
        let fits = |peer: PeerId| peer != host && !backups.contains(&peer) && is_eligible(peer);
        let first = |presence| members.iter().find(|m| m.2.standing.presence == presence && fits(m.1));
        let chosen = [Presence::Visible, Presence::Hidden, Presence::Still].into_iter().find_map(first);
        let &(_, backup, _) = chosen.filter(|_| backups.len() < BACKUPS_MAX)?;
        self.header.backups.push(backup);
        self.note_roll();
        Some(backup)
    }

    /// Dismisses a backup that does not answer, so that another is named.
    pub fn dismiss_backup(&mut self, backup: PeerId) -> bool {
        let before = self.header.backups.len();
        self.header.backups.retain(|&known| known != backup);
        let is_dismissed = self.header.backups.len() != before;
        if is_dismissed {
            self.note_roll();
        }
        is_dismissed
    }

    /// Begins a new electorate, for a new term that the relay witnessed: the members for which `is_heard` is true.
    pub fn begin_electorate(&mut self, is_heard: impl Fn(PeerId) -> bool) {
        let mut peers: Vec<_> = self.members().map(|m| m.peer).filter(|&peer| is_heard(peer)).collect();
        sort_by_key(&mut peers, |peer| *peer);
        let number = self.header.electorate.number.wrapping_add(1);
        self.header.electorate = Electorate { number, peers };
        self.note_change();
    }

    /// Adds one member to the electorate, or removes a peer that is no member, if most of the electorate holds the
    /// present one. `holds` tells whether a peer holds it, or will never vote again. See [`Electorate`].
    pub fn step_electorate(&mut self, holds: impl Fn(PeerId) -> bool) -> bool {
        let Electorate { number, peers } = &self.header.electorate;
        let holding = peers.iter().filter(|&&peer| holds(peer)).count();
        if holding * 2 <= peers.len() && !peers.is_empty() {
            return false;
        }
        let newcomer = self.members().map(|m| m.peer).find(|peer| !peers.contains(peer) && holds(*peer));
        let gone = peers.iter().position(|&peer| !self.has(peer));
        let (number, mut peers) = (number.wrapping_add(1), peers.clone());
        match (gone, newcomer) {
            (Some(place), _) => drop(peers.remove(place)),
            (None, Some(peer)) if peers.len() < MEMBERS_MAX => {
                let place = peers.partition_point(|&known| known < peer);
                peers.insert(place, peer);
            }
            _ => return false,
        }
        self.header.electorate = Electorate { number, peers };
        self.note_change();
        true
    }
}

/// A member: a peer on its seat.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The peer.
    pub peer: PeerId,
    /// The peer's seat.
    pub record: &'a SeatRecord,
}

/// Replaces the relay's name on a seat whose peer is not one of the relay's own.
fn unmask(record: &mut SeatRecord) {
    if record.peer.is_some_and(|peer| !peer.is_relays_own()) && name::is_relays(&record.name) {
        NOT_RELAY.clone_into(&mut record.name);
    }
}

#[cfg(test)]
mod tests;
