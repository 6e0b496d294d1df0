//! One peer: how it judges and replaces its host, and as much of the session object as elections need.

use std::sync::Arc;

use samovar_roster::{Act, LEASE, Lives, Roster, Verdict, View};
use samovar_wire::control::{Hello, PeerControl};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::relay::ToRelay;
use samovar_wire::{PeerId, SortedMap, SortedSet, Term, TicketHash, Time, Warrant};

use crate::world::{Letter, Member, Mind, World};

pub(crate) fn hello(peer: PeerId) -> Hello {
    let mut ticket = TicketHash([0; 16]);
    ticket.0[..4].copy_from_slice(&peer.0.to_le_bytes());
    Hello {
        version: 3,
        params: 0,
        name: String::new(),
        attributes: 0,
        ticket,
        resume: [None; RESUME_MAX],
        voucher: None,
    }
}

impl Member {
    pub(crate) fn founder(peer: PeerId, mind: Mind, view: Arc<View>, pass: samovar_wire::PeerPass) -> Self {
        let (missed, closed, holding) = (SortedSet::new(), SortedSet::new(), SortedMap::new());
        Self { peer, mind, view, missed, closed, holding, pass, stays: None, joins_under: None }
    }

    pub(crate) fn host(&self) -> PeerId {
        match &self.mind {
            Mind::Samovar(roster) => roster.host(),
            Mind::Seed(seed) => seed.host,
        }
    }

    /// The term of this peer. DirectPlay 4's peers know no terms, so they have the default.
    pub(crate) fn term(&self) -> Term {
        match &self.mind {
            Mind::Samovar(roster) => roster.term(),
            Mind::Seed(_) => Term::default(),
        }
    }

    /// The highest term that this peer has heard of.
    pub(crate) fn known_term(&self) -> Term {
        self.joins_under.map_or_else(|| self.term(), |warrant| warrant.term)
    }

    pub(crate) fn acts_as_host(&self) -> bool {
        match &self.mind {
            Mind::Samovar(roster) => self.joins_under.is_none() && roster.acts_as_host(),
            Mind::Seed(seed) => seed.is_host(),
        }
    }

    /// Whether this peer still acts as the host after its lease has had time to end.
    pub(crate) fn will_act_as_host(&self, now: Time) -> bool {
        let mut later = self.clone();
        let (view, missed) = (Arc::clone(&later.view), later.missed.clone());
        if let Some(roster) = later.roster() {
            for at in [now, now + LEASE, now + LEASE + LEASE, now + LEASE + LEASE + LEASE] {
                roster.watch(at, &view, Lives { missed: &missed, doubted: &missed });
            }
        }
        later.acts_as_host()
    }

    pub(crate) fn roster(&mut self) -> Option<&mut Roster> {
        match &mut self.mind {
            Mind::Samovar(roster) if self.joins_under.is_none() => Some(roster),
            _ => None,
        }
    }

    /// Whether all answering members have the present view, so that the next one may follow.
    pub(crate) fn is_settled(&self) -> bool {
        let mut answering = self
            .view
            .members()
            .map(|other| other.peer)
            .filter(|&peer| peer != self.peer && !self.missed.contains(&peer));
        answering.all(|peer| self.holds_view(peer))
    }

    fn holds_view(&self, peer: PeerId) -> bool {
        peer == self.peer || self.holding.get(&peer) == Some(&self.view.number())
    }
}

impl World {
    /// Lets a peer judge its host, and act on that.
    pub(crate) fn look(&mut self, slot: usize) {
        let now = self.now;
        let Some(member) = self.member_mut(slot) else { return };
        let (view, missed) = (Arc::clone(&member.view), member.missed.clone());
        let Some(roster) = member.roster() else { return };
        let former = roster.host();
        let won = roster.watch(now, &view, Lives { missed: &missed, doubted: &missed });
        self.act(slot);
        if won.is_some() {
            self.begin_term(slot, former);
        }
    }

    fn act(&mut self, slot: usize) {
        while let Some(act) = self.member_mut(slot).and_then(|member| member.roster()?.poll_act()) {
            match act {
                Act::Tell(opinion) => {
                    self.tell_members(slot, &Letter::Control(PeerControl::Opinion(opinion)));
                }
                Act::Appoint(..) => {}
                Act::Claim(term, candidate) => self.say_to_relay(slot, &ToRelay::Claim(term, candidate)),
                Act::Yield => self.end(slot),
            }
        }
    }

    /// Begins the term that a peer knows now. If the peer hosts the term, it takes over. If the peer's view does not
    /// have the term's host, the peer ends.
    fn begin_term(&mut self, slot: usize, former: PeerId) {
        let Some(member) = self.member(slot) else { return };
        let (term, host, peer) = (member.term(), member.host(), member.peer);
        self.note_host(term, host, &format!("peer {slot}"));
        if host == peer {
            self.become_host(slot, former);
        } else if !self.member(slot).is_some_and(|member| member.view.has(host)) {
            // The peer had removed this host from its view. It ends, and its ticket takes the seat back.
            self.end(slot);
        }
    }

    /// Makes a peer the host, with the session object. Unless the former host handed over, it is out of date, and the
    /// new host drops it.
    fn become_host(&mut self, slot: usize, former: PeerId) {
        let Some(member) = self.member_mut(slot) else { return };
        let (peer, term, missed) = (member.peer, member.term(), member.missed.clone());
        let view = Arc::make_mut(&mut member.view);
        let is_dropped = former != peer && member.stays.take().is_none_or(|stays| stays != former);
        let is_dropped = is_dropped && view.vacate(Time::ZERO, former);
        view.dismiss_backup(peer);
        if term.is_witnessed() {
            view.begin_electorate(|other| !missed.contains(&other));
        }
        member.holding = SortedMap::new();
        if is_dropped {
            self.drop_link(slot, former);
        }
        self.publish(slot);
    }

    /// Ends a member's link to a peer that is no member any more.
    fn drop_link(&mut self, slot: usize, gone: PeerId) {
        if let Some(other) = self.slot_of(gone) {
            self.lanes[slot][other].clear();
            self.post(slot, other, Letter::Dropped);
        }
        let Some(member) = self.member_mut(slot) else { return };
        member.missed.remove(&gone);
        member.closed.insert(gone);
    }

    /// Lets the host send its view to the relay and to all members, after it has named a backup that answers.
    pub(crate) fn publish(&mut self, slot: usize) {
        let Some(member) = self.member_mut(slot) else { return };
        let (peer, term, missed) = (member.peer, member.term(), member.missed.clone());
        let view = Arc::make_mut(&mut member.view);
        let silent: Vec<_> =
            view.backups().iter().copied().filter(|backup| missed.contains(backup)).collect();
        for backup in silent {
            view.dismiss_backup(backup);
        }
        if view.backups().is_empty() {
            view.name_backup(peer, None, |other| !missed.contains(&other));
        }
        let view = Arc::clone(&member.view);
        self.publish_members(slot);
        self.tell_members(slot, &Letter::View(term, view));
    }

    pub(crate) fn publish_members(&mut self, slot: usize) {
        let Some(member) = self.member(slot) else { return };
        let mut members: Vec<_> = member.view.members().map(|other| other.peer).collect();
        members.sort_unstable();
        self.say_to_relay(slot, &ToRelay::Members(members, 0));
    }

    /// Lets a settled host change the electorate by one step towards the members, and publish the next view.
    pub(crate) fn next_view(&mut self, slot: usize) {
        let Some(member) = self.member_mut(slot) else { return };
        let has_resigned = member.roster().is_some_and(|roster| roster.heir().is_some());
        if !member.acts_as_host() || !member.is_settled() || has_resigned {
            return;
        }
        let mut view = View::clone(&member.view);
        if view.step_electorate(|peer| member.holds_view(peer)) {
            member.view = Arc::new(view);
            self.publish(slot);
        }
    }

    /// Lets the host drop a member that it misses.
    pub(crate) fn remove(&mut self, slot: usize, gone: PeerId) {
        let Some(member) = self.member_mut(slot) else { return };
        Arc::make_mut(&mut member.view).vacate(Time::ZERO, gone);
        self.drop_link(slot, gone);
        self.publish(slot);
        self.next_view(slot);
    }

    /// Handles a warrant from the relay or from a member.
    pub(crate) fn on_warrant(&mut self, slot: usize, warrant: Warrant) {
        let Some(member) = self.member_mut(slot) else { return };
        if let Some(known) = &mut member.joins_under {
            if warrant.term > known.term {
                *known = warrant;
                self.knock(slot);
            }
            return;
        }
        let (former, heir) = (member.host(), member.roster().and_then(|roster| roster.heir()));
        if member.roster().map(|roster| roster.handle_warrant(&warrant)) == Some(Verdict::Newer) {
            member.stays = heir.map(|_| former);
            self.tell_members(slot, &Letter::Control(PeerControl::Warrant(warrant)));
            self.begin_term(slot, former);
        }
    }

    /// Lets a newcomer ask the host that it knows for admission.
    pub(crate) fn knock(&mut self, slot: usize) {
        let host = self.member(slot).and_then(|member| member.joins_under).map(|warrant| warrant.host);
        if let Some(other) = host.and_then(|host| self.slot_of(host)) {
            self.post(slot, other, Letter::Hello);
        }
    }

    /// Lets a host admit a newcomer. A host by vote admits no peer, because newcomers come by the relay, which is
    /// away then.
    pub(crate) fn admit(&mut self, slot: usize, newcomer: PeerId) {
        let Some(member) = self.member_mut(slot) else { return };
        if !member.acts_as_host() || !member.term().is_witnessed() || member.view.has(newcomer) {
            return;
        }
        let admitted = Arc::make_mut(&mut member.view).admit(Time::ZERO, newcomer, &hello(newcomer));
        if admitted.is_err() {
            // A late request of a peer that this host has removed since. Its ticket is that of its former seat.
            return;
        }
        if let Some(other) = self.slot_of(newcomer) {
            self.greet(slot, other);
        }
        self.publish(slot);
    }

    /// Handles a view that arrives from the host.
    pub(crate) fn on_view(&mut self, slot: usize, from: PeerId, term: Term, view: &Arc<View>) {
        let key = self.desk.key;
        let Some(member) = self.member_mut(slot) else { return };
        let is_its_own = |warrant: &Warrant| (warrant.term, warrant.host) == (term, from);
        if let Some(warrant) = member.joins_under.filter(is_its_own)
            && view.has(member.peer)
        {
            member.joins_under = None;
            member.mind = Mind::Samovar(Roster::new(member.peer, key, warrant).unwrap());
        }
        if member.joins_under.is_some() || member.term() != term || member.host() != from {
            return;
        }
        if !view.has(member.peer) {
            return self.end(slot);
        }
        member.roster().into_iter().for_each(Roster::handle_view);
        let before = std::mem::replace(&mut member.view, Arc::clone(view));
        member.missed.retain(|peer| view.has(*peer));
        for gone in before.members().map(|other| other.peer).filter(|&peer| !view.has(peer)) {
            self.drop_link(slot, gone);
        }
        let number = view.number();
        if let Some(host) = self.slot_of(from) {
            self.post(slot, host, Letter::Held(term, number));
        }
    }

    /// Ends a peer's session. The peer may come back under a new id.
    pub(crate) fn end(&mut self, slot: usize) {
        self.hang_up(slot);
        self.members[slot] = None;
        self.lanes.iter_mut().for_each(|lanes| lanes[slot].clear());
    }
}
