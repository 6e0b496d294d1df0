//! Membership and hosts: the part of a session around objects, reduced to PROTOCOL §4.3 and §4.4.

use samovar_wire::{PeerId, Term};

use crate::random::network::Letter;
use crate::random::promises::Past;
use crate::random::world::{Peer, World, machine};

impl World {
    pub(crate) fn add(&mut self, me: PeerId, host: PeerId, term: u64) {
        let (objects, linked) = (machine(me, host, term), Default::default());
        let peer = Peer { objects, host, term, view: Vec::new(), linked, past: Past::default() };
        self.peers.insert(me, peer);
    }

    fn link(&mut self, me: PeerId, other: PeerId) {
        if me != other && self.peer(me).linked.insert(other) {
            self.peer(me).objects.add_peer(other);
            // The other may have been a member for longer than this peer knows, and not know the host yet.
            let (term, host) = (self.peers[&me].term, self.peers[&me].host);
            self.post(me, other, Letter::Warrant(term, host));
        }
    }

    fn unlink(&mut self, me: PeerId, gone: PeerId) {
        if self.peer(me).linked.remove(&gone) {
            self.peer(me).objects.remove_peer(gone);
        }
        self.links.remove(&(gone, me));
        self.links.remove(&(me, gone));
    }

    fn post(&mut self, from: PeerId, to: PeerId, letter: Letter) {
        let (tick, weather) = (self.tick, self.weather);
        self.links.entry((from, to)).or_default().post(tick, weather, &mut self.dice, letter);
    }

    /// The peer that holds the newest warrant, if it lives and knows of it.
    fn host(&self) -> Option<PeerId> {
        let (term, host) = self.warrant;
        self.peers.get(&host).filter(|peer| peer.host == host && peer.term == term).map(|_| host)
    }

    /// A peer joins: the host admits it and tells all.
    pub(crate) fn join(&mut self) {
        let Some(host) = self.host() else { return };
        let me = PeerId(self.next_peer);
        self.next_peer += 1;
        self.tally.joins += 1;
        self.tell(|| format!("{me} joins"));
        self.add(me, host, self.warrant.0);
        self.link(me, host);
        self.link(host, me);
        self.peer(host).view.push(me);
        self.publish_view(host);
    }

    /// A peer dies without a message.
    pub(crate) fn depart(&mut self, gone: PeerId) {
        self.tell(|| format!("{gone} is gone"));
        self.tally.departures += 1;
        self.peers.remove(&gone);
        self.links.retain(|&(_, to), _| to != gone);
    }

    fn publish_view(&mut self, host: PeerId) {
        let peer = self.peer(host);
        let (term, view, linked) = (peer.term, peer.view.clone(), peer.linked.clone());
        peer.objects.adopt(|owner| !view.contains(&owner));
        for to in linked {
            self.post(host, to, Letter::View(term, view.clone()));
        }
        self.check(host);
    }

    /// The witness and the host notice dead peers, each in its own time.
    pub(crate) fn membership(&mut self) {
        if !self.peers.contains_key(&self.warrant.1) && self.dice.chance(200, 1_000) {
            let members = self.peers.iter().filter(|(id, peer)| peer.view.contains(id));
            let members: Vec<_> = members.map(|(&id, _)| id).collect();
            let Some(heir) = self.dice.pick(&members) else { return self.begin_anew() };
            self.warrant = (self.warrant.0 + 1, heir);
            self.tally.host_changes += 1;
            self.tell(|| format!("{heir} shall host"));
        }
        let (term, heir) = self.warrant;
        let waiting: Vec<_> = self.peers.iter().filter(|(_, p)| p.term < term).map(|(&id, _)| id).collect();
        for peer in waiting {
            if self.dice.chance(150, 1_000) {
                self.hear_warrant(peer, term, heir);
            }
        }
        if let Some(host) = self.host()
            && let Some(gone) = self.peers[&host].view.iter().copied().find(|id| !self.peers.contains_key(id))
            && self.dice.chance(150, 1_000)
        {
            self.tell(|| format!("{host} drops {gone}"));
            self.peer(host).view.retain(|&member| member != gone);
            self.unlink(host, gone);
            self.publish_view(host);
        }
    }

    /// Begins a new session, because no former member is left.
    fn begin_anew(&mut self) {
        self.peers.clear();
        self.links.clear();
        let founder = PeerId(self.next_peer);
        self.next_peer += 1;
        self.warrant = (self.warrant.0 + 1, founder);
        self.add(founder, founder, self.warrant.0);
        self.peer(founder).view = vec![founder];
    }

    /// A peer hears of a warrant, and passes it on before it sends anything under it.
    pub(crate) fn hear_warrant(&mut self, me: PeerId, term: u64, host: PeerId) {
        let Some(peer) = self.peers.get_mut(&me).filter(|peer| peer.term < term) else { return };
        let former = core::mem::replace(&mut peer.host, host);
        peer.term = term;
        peer.objects.set_host(host, Term(term));
        let linked = peer.linked.clone();
        self.tell(|| format!("{me} hears that {host} hosts"));
        for &to in &linked {
            self.post(me, to, Letter::Warrant(term, host));
        }
        if host == me {
            self.peer(me).view.retain(|&member| member != former);
            self.unlink(me, former);
            // A peer that only the former host admitted has to join again.
            let view = self.peers[&me].view.clone();
            let strangers: Vec<_> = self.peers.keys().copied().filter(|peer| !view.contains(peer)).collect();
            strangers.into_iter().for_each(|stranger| self.depart(stranger));
            self.publish_view(me);
        } else if !linked.contains(&host) {
            self.depart(me);
        }
        self.check(me);
    }

    pub(crate) fn hear_view(&mut self, from: PeerId, me: PeerId, term: u64, members: &[PeerId]) {
        let peer = self.peer(me);
        if from != peer.host || term != peer.term {
            return;
        }
        if !members.contains(&me) {
            return self.depart(me);
        }
        peer.view = members.to_vec();
        let gone: Vec<_> = peer.linked.iter().copied().filter(|id| !members.contains(id)).collect();
        gone.into_iter().for_each(|gone| self.unlink(me, gone));
        members.iter().for_each(|&member| self.link(me, member));
        self.peer(me).objects.report_orphans(|owner| !members.contains(&owner));
        self.check(me);
    }

    /// Whether all know the host and the members, and nothing is in flight.
    pub(crate) fn is_settled(&self) -> bool {
        let Some(host) = self.host() else { return false };
        let view = &self.peers[&host].view;
        self.links.iter().all(|(&(from, to), link)| {
            link.is_empty() || !self.peers.contains_key(&from) || !self.peers.contains_key(&to)
        }) && view.len() == self.peers.len()
            && self.peers.values().all(|peer| peer.term == self.warrant.0 && peer.view == *view)
    }
}
