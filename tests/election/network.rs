//! Lanes between peers. A lane delivers all its letters in order until it breaks.

use samovar_wire::PeerId;
use samovar_wire::control::PeerControl;

use crate::world::{Letter, Mind, World};

impl World {
    pub(crate) fn post(&mut self, from: usize, to: usize, letter: Letter) {
        if from != to && self.members[to].is_some() && self.are_linked(from, to) {
            self.lanes[from][to].push_back(letter);
        }
    }

    /// Sends to all members that the sender knows.
    pub(crate) fn tell_members(&mut self, slot: usize, letter: &Letter) {
        let Some(member) = self.member(slot) else { return };
        let others = member.view.members().filter_map(|other| self.slot_of(other.peer));
        for other in others.collect::<Vec<_>>() {
            self.post(slot, other, letter.clone());
        }
    }

    /// The first messages of a new link (PROTOCOL §4.3).
    pub(crate) fn greet(&mut self, from: usize, to: usize) {
        let Some(Mind::Samovar(roster)) = self.member(from).map(|member| &member.mind) else { return };
        let (warrant, opinion) = (*roster.warrant(), roster.opinion());
        self.post(from, to, Letter::Control(PeerControl::Warrant(warrant)));
        // An implied opinion changes nothing for its receiver.
        if !opinion.is_implied() {
            self.post(from, to, Letter::Control(PeerControl::Opinion(opinion)));
        }
    }

    /// Breaks a link, which begins anew. Each end introduces itself, or tells the other that it is no member any
    /// more.
    pub(crate) fn lose(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            let closes = self.lanes[from][to].contains(&Letter::Dropped);
            self.lanes[from][to].clear();
            if closes {
                // A peer repeats this letter whenever the other end sends something, so it is not lost.
                self.lanes[from][to].push_back(Letter::Dropped);
            }
            let Some(peer) = self.member(to).map(|member| member.peer) else { continue };
            let Some(member) = self.member(from).filter(|member| member.joins_under.is_none()) else {
                continue;
            };
            if !member.view.has(peer) {
                self.post(from, to, Letter::Dropped);
                continue;
            }
            let (view, term, hosts) = (member.view.clone(), member.term(), member.host() == member.peer);
            self.greet(from, to);
            if hosts {
                self.post(from, to, Letter::View(term, view));
            }
        }
    }

    /// Whether the first letter of a lane can arrive.
    pub(crate) fn arrives(&self, from: usize, to: usize) -> bool {
        let (Some(letter), Some(member)) = (self.lanes[from][to].front(), self.member(to)) else {
            return false;
        };
        let sender = self.member(from).map(|member| member.peer);
        let Mind::Samovar(roster) = &member.mind else { return self.reaches(from, to) };
        // A peer that voted does not listen to the host any more. A view waits if the receiver does not know its term
        // yet.
        let is_heard = member.joins_under.is_some() || sender.is_none_or(|sender| roster.listens_to(sender));
        let is_ahead = matches!(letter, Letter::View(term, _) if *term > member.known_term());
        self.reaches(from, to) && is_heard && !is_ahead
    }

    /// Delivers at once the letters whose order makes no difference. These are letters without any effect now or
    /// later, opinions (since each peer may form one a moment later anyway), and receipts while the electorate does
    /// not change.
    pub(crate) fn settle(&mut self) {
        let slots = self.members.len();
        let pairs = || (0..slots * slots).map(|pair| (pair / slots, pair % slots));
        loop {
            if let Some((from, to)) = pairs().find(|&(from, to)| self.is_indifferent(from, to)) {
                self.deliver(from, to);
            } else if let Some(slot) = (0..slots).find(|&slot| self.is_routine(slot)) {
                self.read_down(slot);
            } else {
                return;
            }
        }
    }

    fn is_indifferent(&self, from: usize, to: usize) -> bool {
        if !self.arrives(from, to) {
            return false;
        }
        let (Some(letter), Some(member)) = (self.lanes[from][to].front(), self.member(to)) else {
            return false;
        };
        let term = member.known_term();
        match letter {
            Letter::Control(PeerControl::Warrant(warrant)) => warrant.term <= term,
            Letter::Control(PeerControl::Opinion(opinion)) => {
                let votes = opinion.vote.is_some_and(|vote| vote.term > term);
                opinion.term <= term && !votes && opinion.heir.is_none()
            }
            Letter::Control(_) => false,
            Letter::View(of, _) => *of < term,
            Letter::Held(of, _) => *of < term || !self.left.electorate_changes,
            Letter::Hello | Letter::Dropped | Letter::Announcement => false,
        }
    }

    pub(crate) fn deliver(&mut self, from: usize, to: usize) {
        let Some(letter) = self.lanes[from][to].pop_front() else { return };
        // Letters of a peer that is gone still arrive. Its slot gets a new peer only when all have arrived.
        let Some(sender) = self.senders[from] else { return };
        match letter {
            Letter::Control(news) => self.on_news(to, sender, news),
            Letter::View(term, view) => self.on_view(to, sender, term, &view),
            Letter::Held(term, number) => {
                if let Some(member) = self.member_mut(to)
                    && member.term() == term
                {
                    member.holding.insert(sender, number);
                    self.next_view(to);
                }
            }
            Letter::Hello => self.admit(to, sender),
            Letter::Dropped => {
                if let Some(member) = self.member(to)
                    && member.host() == sender
                {
                    self.end(to);
                } else if let Some(member) = self.member_mut(to) {
                    member.closed.insert(sender);
                    if member.view.has(sender) {
                        member.missed.insert(sender);
                    }
                    self.lanes[to][from].clear();
                }
            }
            Letter::Announcement => self.on_announcement(to, sender),
        }
        self.look(to);
    }

    fn on_news(&mut self, to: usize, from: PeerId, news: PeerControl) {
        if let PeerControl::Warrant(warrant) = news {
            return self.on_warrant(to, warrant);
        }
        let Some(member) = self.member_mut(to).filter(|member| member.view.has(from)) else { return };
        if let (PeerControl::Opinion(opinion), Some(roster)) = (news, member.roster()) {
            roster.handle_opinion(from, opinion);
        }
    }

    fn on_announcement(&mut self, to: usize, from: PeerId) {
        if let Some(member) = self.member_mut(to)
            && let Mind::Seed(seed) = &mut member.mind
        {
            seed.on_announcement(from);
        }
    }

    /// Handles pings without an answer, by DirectPlay 4's rules: the pinged candidate is unreachable.
    pub(crate) fn time_out(&mut self, slot: usize) {
        let Some(member) = self.member_mut(slot) else { return };
        let view = member.view.clone();
        let Mind::Seed(seed) = &mut member.mind else { return };
        let Some(candidate) = seed.candidate(&view) else { return };
        if seed.time_out(candidate, &view) {
            // The peer tells only those that it can still reach.
            let seen: Vec<_> = seed.reachable(&view).collect();
            for other in seen.into_iter().filter_map(|peer| self.slot_of(peer)).collect::<Vec<_>>() {
                self.post(slot, other, Letter::Announcement);
            }
        }
    }
}
