//! The world: peers, the lanes between them, the relay, and the hosts of all terms.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use samovar_directory::Directory;
use samovar_roster::{Roster, View};
use samovar_wire::control::PeerControl;
use samovar_wire::{PeerId, PeerPass, SortedMap, SortedSet, Term, Time, Warrant};

use crate::bounds::{Bounds, VOTE};
use crate::relay::{Desk, Socket};
use crate::seed::Seed;
use crate::step::Step;

/// The content of a lane, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Letter {
    Control(PeerControl),
    /// The view of a term's host.
    View(Term, Arc<View>),
    /// The sender has the receiver's view with this number, under this term.
    Held(Term, u64),
    /// A newcomer asks for admission.
    Hello,
    /// The receiver is no member any more.
    Dropped,
    /// The sender is host, by DirectPlay 4's rules.
    Announcement,
}

/// The rules that a peer follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "the small one is for comparison only")]
pub(crate) enum Mind {
    Samovar(Roster),
    Seed(Seed),
}

/// A living peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) peer: PeerId,
    pub(crate) mind: Mind,
    pub(crate) view: Arc<View>,
    /// The peers that this one takes for dead.
    pub(crate) missed: SortedSet<PeerId>,
    /// The peers that this one has no link to any more, because one of the two dropped the other.
    pub(crate) closed: SortedSet<PeerId>,
    /// The number of the view that each member has, as far as a host knows.
    pub(crate) holding: SortedMap<PeerId, u64>,
    pub(crate) pass: PeerPass,
    /// The former host, if it handed over.
    pub(crate) stays: Option<PeerId>,
    /// The highest warrant that a peer without a seat knows; `None` for a member.
    pub(crate) joins_under: Option<Warrant>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) left: Bounds,
    pub(crate) now: Time,
    pub(crate) members: Vec<Option<Arc<Member>>>,
    /// The peer in each slot, or the last one that was there.
    pub(crate) senders: Vec<Option<PeerId>>,
    pub(crate) lanes: Vec<Vec<VecDeque<Letter>>>,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) relay: Option<Arc<Directory>>,
    pub(crate) desk: Arc<Desk>,
    /// The slots that are parted from the others now.
    pub(crate) parted: u8,
    /// The host of each term, as a peer believed or the relay granted.
    pub(crate) hosts: BTreeMap<Term, PeerId>,
    /// The members of the session at the beginning.
    pub(crate) founders: Arc<Vec<PeerId>>,
    pub(crate) broken: Option<String>,
}

/// The relay's bit in a cut.
pub(crate) const RELAY: usize = 7;
/// The bit of a cut that parts peers from each other, but none from the relay.
pub(crate) const BUT_RELAY: usize = 6;

impl World {
    pub(crate) fn living(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter_map(|(slot, member)| Some((slot, &**member.as_ref()?)))
    }

    pub(crate) fn member(&self, slot: usize) -> Option<&Member> {
        self.members[slot].as_deref()
    }

    pub(crate) fn member_mut(&mut self, slot: usize) -> Option<&mut Member> {
        self.members[slot].as_mut().map(Arc::make_mut)
    }

    pub(crate) fn slot_of(&self, peer: PeerId) -> Option<usize> {
        self.living().find(|(_, member)| member.peer == peer).map(|(slot, _)| slot)
    }

    /// Whether bytes get from one slot to another. The relay counts as a slot, too.
    pub(crate) fn reaches(&self, from: usize, to: usize) -> bool {
        let side = |slot: usize| self.parted >> slot & 1;
        let by_relay = (from == RELAY || to == RELAY) && side(BUT_RELAY) == 1;
        by_relay || side(from) == side(to)
    }

    /// The peers that this one would miss if it judged now.
    pub(crate) fn silent_for(&self, slot: usize) -> SortedSet<PeerId> {
        let Some(member) = self.member(slot) else { return SortedSet::new() };
        let others = member.view.members().map(|other| other.peer).filter(|&peer| peer != member.peer);
        let is_silent = |peer: &PeerId| {
            let other = self.slot_of(*peer);
            other.is_none_or(|other| !self.reaches(slot, other) || !self.are_linked(slot, other))
        };
        others.filter(is_silent).collect()
    }

    /// Whether two peers are linked: neither has dropped the other.
    pub(crate) fn are_linked(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.member(one), self.member(other)) else { return true };
        !one.closed.contains(&other.peer) && !other.closed.contains(&one.peer)
    }

    /// Whether no message is on its way to a peer.
    pub(crate) fn is_quiet(&self) -> bool {
        let slots = 0..self.members.len();
        slots.clone().all(|from| slots.clone().all(|to| !self.arrives(from, to)))
            && self.sockets.iter().all(|socket| socket.down.is_empty())
    }

    /// Whether no message is under way, and all peers know which others live.
    pub(crate) fn is_at_rest(&self) -> bool {
        let empty = |from: usize, to: usize| self.members[to].is_none() || self.lanes[from][to].is_empty();
        let slots = self.members.len();
        self.parted == 0
            && (0..slots).all(|from| (0..slots).all(|to| empty(from, to)))
            && self.sockets.iter().all(Socket::is_empty)
            && !(0..slots).any(|slot| self.can_resume(slot))
            && self.desk.is_idle()
            && self.living().all(|(slot, member)| match &member.mind {
                Mind::Samovar(_) => member.missed == self.silent_for(slot),
                Mind::Seed(seed) => !seed.is_pinging(&member.view),
            })
    }

    /// Whether two peers that are linked would both act as hosts, however much time passed. A dropped peer without
    /// any link may go on alone until it reaches the relay.
    pub(crate) fn is_split(&self) -> bool {
        let acting: Vec<_> = self.living().filter(|(_, member)| member.acts_as_host()).collect();
        acting.len() > 1
            && acting.iter().any(|&(one, first)| {
                let are_rivals = |&&(other, second): &&(usize, &Member)| {
                    one < other && self.are_linked(one, other) && second.will_act_as_host(self.now)
                };
                first.will_act_as_host(self.now) && acting.iter().any(|rival| are_rivals(&rival))
            })
    }

    /// The world after all failures have ended and all timers have run.
    pub(crate) fn left_alone(&self) -> Self {
        /// More than every time-out together, in ticks of the longest span.
        const TICKS: usize = 12;
        let mut world = self.clone();
        world.left = Bounds { span: VOTE, electorate_changes: self.left.electorate_changes, ..Bounds::NONE };
        for _ in 0..TICKS {
            world.run();
            world.left.ticks = 1;
            world.take(Step::Tick);
        }
        world.run();
        world
    }

    /// Takes all steps that are not faults, until none is left.
    fn run(&mut self) {
        loop {
            let mut steps = Vec::new();
            self.steps(&mut steps);
            let Some(&next) = steps.iter().find(|step| !step.is_fault()) else { return };
            self.take(next);
        }
    }

    /// Whether a member hosts. `None` unless every member counts a majority of its electorate here, and all are
    /// linked. A newcomer may be made host before it has read a view. Such a world is excluded, because a newcomer in
    /// this model does not begin a session anew.
    pub(crate) fn is_hosted(&self) -> Option<bool> {
        let members: Vec<_> = self.living().collect();
        let here = |peer: &&PeerId| members.iter().any(|(_, member)| member.peer == **peer);
        let has_majority = |member: &Member| {
            let voters = &member.view.electorate().peers;
            voters.iter().filter(here).count() * 2 > voters.len()
        };
        let are_linked = |&(one, _): &(usize, &Member)| {
            members.iter().all(|&(other, _)| one == other || self.are_linked(one, other))
        };
        let is_majority = self.parted == 0
            && !members.is_empty()
            && members.iter().all(|(_, member)| member.joins_under.is_none())
            && members.iter().all(|&(_, member)| has_majority(member))
            && members.iter().all(are_linked);
        is_majority.then(|| members.iter().any(|(_, member)| member.acts_as_host()))
    }

    /// Notes the host of a term, as a peer or the relay names it. A term with two hosts is a broken promise.
    pub(crate) fn note_host(&mut self, term: Term, host: PeerId, who: &str) {
        let known = *self.hosts.entry(term).or_insert(host);
        if known != host && self.broken.is_none() {
            self.broken = Some(format!("{who}: {host} hosts term {term}, which is {known}'s"));
        }
    }

    fn later_hosts(&self) -> impl Iterator<Item = (Term, PeerId)> {
        let first = self.hosts.first_key_value().map(|(_, &host)| host);
        self.hosts.iter().map(|(&term, &host)| (term, host)).filter(move |&(_, host)| Some(host) != first)
    }

    pub(crate) fn has_witnessed(&self) -> bool {
        self.later_hosts().any(|(term, _)| term.is_witnessed())
    }

    pub(crate) fn has_voted(&self) -> bool {
        self.later_hosts().any(|(term, _)| !term.is_witnessed())
    }

    pub(crate) fn has_third_host(&self) -> bool {
        let mut hosts: Vec<_> = self.hosts.values().collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len() > 2
    }

    pub(crate) fn has_newcomer(&self) -> bool {
        self.living().any(|(_, member)| {
            member.joins_under.is_none()
                && member.view.has(member.peer)
                && !self.founders.contains(&member.peer)
        })
    }

    /// Prints the state in a few lines, for a counterexample.
    pub(crate) fn picture(&self) -> String {
        let name = |peer: PeerId| {
            let slot = self.founders.iter().position(|&founder| founder == peer);
            slot.map_or_else(|| peer.to_string(), |slot| slot.to_string())
        };
        let mut lines: Vec<_> = self.broken.iter().map(|broken| format!("  broken: {broken}")).collect();
        for (slot, member) in self.living() {
            let (term, host) = (member.term(), name(member.host()));
            let missed: Vec<_> = member.missed.iter().map(|&peer| name(peer)).collect();
            let electorate = member.view.electorate();
            let voters: Vec<_> = electorate.peers.iter().map(|&peer| name(peer)).collect();
            let acts = if member.acts_as_host() { ", and acts as host" } else { "" };
            lines.push(format!(
                "  peer {slot} ({}) lives under {host} in term {term}{acts}; misses {missed:?}; electorate {} is {voters:?}",
                name(member.peer),
                electorate.number
            ));
        }
        lines.join("\n")
    }
}
