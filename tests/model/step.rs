//! The possible next events, and their effects.

use samovar_wire::Term;

use super::world::{Datagram, HOST, Letter, PEERS, SECOND, World, id, index};

/// One step of a history. Peers are numbered from 0, the first host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Create(usize),
    /// The owner sets the only field.
    Set(usize),
    /// A peer that believes that it hosts gives the object to a peer.
    Grant {
        by: usize,
        to: usize,
    },
    Destroy(usize),
    /// A peer ends without telling the others.
    Depart(usize),
    /// The host notices that a peer is gone, and takes over its objects.
    Expel(usize),
    /// The witness names the second host.
    Issue,
    /// A peer hears of the second host from the witness.
    Hear(usize),
    /// The first letter of a lane arrives.
    Deliver {
        from: usize,
        to: usize,
    },
    /// A datagram arrives, and its sender learns that it did.
    Arrive(usize),
    /// A datagram never arrives, and its sender learns that it is lost.
    Lose(usize),
    /// The sender takes a datagram for lost that is still on its way.
    Mistake(usize),
    /// A datagram arrives, and a copy of it is still on its way.
    Copy(usize),
    /// Time passes.
    Tick,
}

impl World {
    /// All possible next steps.
    pub(crate) fn steps(&self, steps: &mut Vec<Step>) {
        if self.broken.is_some() {
            return;
        }
        if self.waits() {
            steps.push(Step::Tick);
        }
        for (peer, member) in self.living() {
            let objects = &member.objects;
            let owns = objects.iter().any(|object| object.owner() == id(peer));
            if self.left.creates > 0 {
                steps.push(Step::Create(peer));
            }
            if self.left.sets > 0 && owns {
                steps.push(Step::Set(peer));
            }
            if self.left.destroys > 0 && owns {
                steps.push(Step::Destroy(peer));
            }
            let is_host = peer == HOST || peer == SECOND && member.term == 2;
            if self.left.grants > 0 && is_host && objects.iter().next().is_some() {
                let heirs = member.linked.iter().chain([&peer]);
                steps.extend(heirs.map(|&to| Step::Grant { by: peer, to }));
            }
            if self.left.departures > 0 && !self.owns_nothing_yet() {
                steps.push(Step::Depart(peer));
            }
            if let Some(gone) = self.departed
                && member.linked.contains(&gone)
                && gone != HOST
                && peer == HOST
            {
                steps.push(Step::Expel(gone));
            }
            if self.is_issued && member.term == 1 {
                steps.push(Step::Hear(peer));
            }
        }
        if self.departed == Some(HOST) && !self.is_issued {
            steps.push(Step::Issue);
        }
        self.network_steps(steps);
    }

    /// Whether no peer has an object yet. A departure at such a moment proves nothing.
    fn owns_nothing_yet(&self) -> bool {
        self.living().all(|(_, member)| member.objects.iter().next().is_none())
    }

    fn network_steps(&self, steps: &mut Vec<Step>) {
        for from in 0..PEERS {
            let full = (0..PEERS).filter(|&to| !self.lanes[from][to].letters.is_empty());
            steps.extend(full.map(|to| Step::Deliver { from, to }));
        }
        for (datagram, carried) in self.air.iter().enumerate() {
            steps.push(Step::Arrive(datagram));
            if self.left.losses > 0 && !carried.is_settled {
                steps.push(Step::Lose(datagram));
            }
            if self.left.mistakes > 0 && !carried.is_settled {
                steps.push(Step::Mistake(datagram));
            }
            if self.left.copies > 0 {
                steps.push(Step::Copy(datagram));
            }
        }
    }

    /// Does one step. Then all peers send their messages.
    pub(crate) fn take(&mut self, step: Step) {
        match step {
            Step::Create(peer) => {
                self.left.creates -= 1;
                self.create(peer);
            }
            Step::Set(peer) => {
                self.left.sets -= 1;
                self.set(peer);
            }
            Step::Grant { by, to } => {
                self.left.grants -= 1;
                let objects = &mut self.member(by).objects;
                let object = objects.iter().next().unwrap().id();
                objects.grant(object, id(to)).unwrap();
            }
            Step::Destroy(peer) => {
                self.left.destroys -= 1;
                let objects = &mut self.member(peer).objects;
                let own = objects.iter().find(|object| object.owner() == id(peer)).unwrap().id();
                objects.destroy(own).unwrap();
            }
            Step::Depart(peer) => self.depart(peer),
            Step::Expel(gone) => self.drop_member(HOST, gone),
            Step::Issue => self.is_issued = true,
            Step::Hear(peer) => self.hear_warrant(peer),
            Step::Deliver { from, to } => self.deliver(from, to),
            Step::Arrive(number) => {
                let datagram = self.air.remove(number);
                self.arrive(&datagram);
            }
            Step::Lose(number) => {
                self.left.losses -= 1;
                let datagram = self.air.remove(number);
                self.settle(&datagram, false);
            }
            Step::Mistake(number) => {
                self.left.mistakes -= 1;
                let datagram = self.air[number].clone();
                self.settle(&datagram, false);
                self.air[number].is_settled = true;
            }
            Step::Tick => self.ticks += 1,
            Step::Copy(number) => {
                self.left.copies -= 1;
                let datagram = self.air[number].clone();
                self.arrive(&datagram);
                self.air[number].is_settled = true;
            }
        }
        self.transmit();
        self.take_note();
    }

    fn depart(&mut self, gone: usize) {
        self.left.departures -= 1;
        self.departed = Some(gone);
        self.members[gone] = None;
        (0..PEERS).for_each(|from| self.lanes[from][gone].letters.clear());
        self.air.retain(|datagram| datagram.to != gone);
    }

    /// Ends a peer's link to one that is gone. Messages that are still on their way over the link are dropped.
    fn unlink(&mut self, peer: usize, gone: usize) {
        let member = self.member(peer);
        member.linked.retain(|&linked| linked != gone);
        member.objects.remove_peer(id(gone));
        self.lanes[gone][peer].letters.clear();
        self.air.retain(|datagram| (datagram.from, datagram.to) != (gone, peer));
    }

    /// Lets a host remove a member from the view, and take over its objects.
    fn drop_member(&mut self, host: usize, gone: usize) {
        self.unlink(host, gone);
        self.member(host).objects.adopt(|owner| owner == id(gone));
        for to in self.member(host).linked.clone() {
            self.post(host, to, Letter::View(gone));
        }
    }

    fn post(&mut self, from: usize, to: usize, letter: Letter) {
        self.lanes[from][to].sent += 1;
        if self.members[to].is_some() {
            self.lanes[from][to].letters.push_back(letter);
        }
    }

    /// Lets a peer adopt the second term. It passes the warrant on before it sends any message under that term
    /// (PROTOCOL §4.3).
    fn hear_warrant(&mut self, peer: usize) {
        if self.member(peer).term == 2 {
            return;
        }
        self.member(peer).term = 2;
        self.member(peer).objects.set_host(id(SECOND), Term(2));
        for to in self.member(peer).linked.clone() {
            self.post(peer, to, Letter::Warrant);
        }
        if peer == SECOND {
            self.drop_member(SECOND, HOST);
        }
    }

    fn deliver(&mut self, from: usize, to: usize) {
        let lane = &mut self.lanes[from][to];
        let letter = lane.letters.pop_front().unwrap();
        lane.delivered += 1;
        match letter {
            Letter::Warrant => self.hear_warrant(to),
            Letter::View(gone) => {
                self.unlink(to, gone);
                self.member(to).objects.report_orphans(|owner| index(owner) == gone);
            }
            Letter::Object(bytes) => self.hand_over(from, to, &bytes),
        }
    }

    fn arrive(&mut self, datagram: &Datagram) {
        self.hand_datagram(datagram);
        self.settle(datagram, true);
    }

    fn settle(&mut self, datagram: &Datagram, delivered: bool) {
        if let Some(sender) = self.members[datagram.from].as_mut()
            && !datagram.is_settled
        {
            sender.objects.on_fate(id(datagram.to), datagram.packet, delivered);
        }
    }
}
