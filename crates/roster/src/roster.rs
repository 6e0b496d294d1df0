//! The machine that watches the host, and finds its successor with the relay or without it (PROTOCOL §4.10, §5.5).
//!
//! All members watch at the same time, and name their candidates at the same time. So several deaths cost one
//! time-out, and no member waits for its turn. The relay takes the first claim; without the relay, a majority
//! decides.

use std::collections::VecDeque;

use samovar_wire::control::Opinion;
use samovar_wire::{Duration, PeerId, SessionId, SortedSet, Term, Time, Warrant};

use crate::gone::Gone;
use crate::opinions::Opinions;
use crate::phase::{Leave, Phase};
use crate::witness::Witness;
use crate::{RelayKey, View};

/// How long a host waits for its heir to confirm, before it tells the others of the heir.
const HEIR_KNOWS_WITHIN: Duration = Duration::from_millis(250);
/// How long a host that slept waits for news of its replacement, when the relay is away.
const WAKING: Duration = Duration::from_millis(1_000);

/// The verdict on a warrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The warrant opens a newer term than the known one.
    Newer,
    /// The warrant is known, or older than the known one.
    Known,
    /// The relay did not issue the warrant, or not for this session.
    Forged,
}

/// An action that a roster asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Tell this opinion to every member.
    Tell(Opinion),
    /// Tell this opinion to this member, the heir. Once the heir has received it, call [`Roster::handle_heir_knows`].
    Appoint(PeerId, Opinion),
    /// Ask the relay for this term, with the named peer as its host.
    Claim(Term, PeerId),
    /// End this peer's session, since others go on under a host that this peer cannot follow. Either this peer voted
    /// for another host, or the others evicted it. The peer comes back by its ticket.
    Yield,
}

/// The other peers that this peer takes for dead, or doubts, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Lives<'a> {
    /// Peers that are missed: gone, or silent for longer than a living peer is.
    pub missed: &'a SortedSet<PeerId>,
    /// Peers that are no successors now: they have been silent for long, or may not have the session's state yet. All
    /// missed peers are among them.
    pub doubted: &'a SortedSet<PeerId>,
}

/// One peer's judgement of the host and its successor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roster {
    pub(crate) me: PeerId,
    key: RelayKey,
    /// Whether another member succeeds a lost host.
    migrates: bool,
    /// Whether each side of a partition goes on.
    pub(crate) forks: bool,
    /// The highest warrant of the relay that this peer knows.
    pub(crate) warrant: Warrant,
    /// A warrant of a later term, which the relay gave because it had lost the host. This peer lives under it once it
    /// misses the host, too.
    reserve: Option<Warrant>,
    /// The present term: the term of `warrant`, or a later one that members voted for.
    pub(crate) term: Term,
    pub(crate) host: PeerId,
    /// Whether this peer has read a view of the last witnessed term, and with it that term's electorate.
    pub(crate) knows_electorate: bool,
    pub(crate) phase: Phase,
    /// While this is set, this peer may not act as the host, since it has slept. Until this time, a warrant that
    /// makes it host may be older than its waking.
    pub(crate) probation: Option<Time>,
    pub(crate) witness: Witness,
    /// The members' opinions, and this peer's own once it has voted.
    pub(crate) opinions: Opinions,
    /// The heir that the host of the present term named last, if another peer hosts.
    heir: Option<PeerId>,
    /// The last opinion that this peer told all members in this term.
    said: Option<Opinion>,
    /// This peer's votes in terms above the present one: the terms and the candidates.
    pub(crate) cast: Vec<(Term, PeerId)>,
    pub(crate) gone: Gone,
    pub(crate) acts: VecDeque<Act>,
}

impl Roster {
    /// A roster under its first warrant; `None` when that is forged.
    #[must_use]
    pub fn new(me: PeerId, key: RelayKey, warrant: Warrant) -> Option<Self> {
        let roster = Self {
            me,
            key,
            migrates: true,
            forks: false,
            warrant,
            reserve: None,
            term: warrant.term,
            host: warrant.host,
            knows_electorate: true,
            phase: Phase::begin(warrant.host == me),
            probation: None,
            witness: Witness::new(),
            opinions: Opinions::default(),
            heir: None,
            said: None,
            cast: Vec::new(),
            gone: Gone::default(),
            acts: VecDeque::new(),
        };
        (key.verifies_warrant(&warrant) && warrant.term.is_witnessed()).then_some(roster)
    }

    /// Sets whether another member succeeds a lost host, and whether each side of a partition goes on by itself. By
    /// default another does, and only the larger side goes on. With forks, members that have missed their host for
    /// three seconds vote among the members that they hear, and no lease ends. Of two hosts in one voted term, the one
    /// with the higher id gives way.
    #[must_use]
    pub fn with_survival(mut self, migrates: bool, forks: bool) -> Self {
        self.set_survival(migrates, forks);
        self
    }

    /// Sets the same as [`Roster::with_survival`], when the view of the session tells it to a newcomer.
    pub fn set_survival(&mut self, migrates: bool, forks: bool) {
        (self.migrates, self.forks) = (migrates, forks);
    }

    /// The session of this roster.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.warrant.session
    }

    /// The highest warrant known. The present term may be a later one, by vote.
    #[must_use]
    pub const fn warrant(&self) -> &Warrant {
        &self.warrant
    }

    /// The host of the present term.
    #[must_use]
    pub const fn host(&self) -> PeerId {
        self.host
    }

    /// The present term.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// Whether this peer is host of the present term.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.host == self.me
    }

    /// The heir: the member that the host wants as its successor.
    #[must_use]
    pub fn heir(&self) -> Option<PeerId> {
        self.phase.named_heir().or(self.heir)
    }

    /// The heir, once the host has named it to all members.
    pub(crate) fn told_heir(&self) -> Option<PeerId> {
        self.phase.told_heir().or(self.heir)
    }

    /// Whether this peer listens to another. It does not listen to a host that it voted against, because its acks
    /// must not count on that host's side any more. It still listens to a host that hands over: such a host changes
    /// no electorate, and its own vote may be needed.
    #[must_use]
    pub fn listens_to(&self, peer: PeerId) -> bool {
        self.phase.ballot().is_none() || peer != self.host || self.told_heir().is_some()
    }

    /// When this peer first missed the host of the present term.
    #[must_use]
    pub const fn missed_since(&self) -> Option<Time> {
        self.phase.missed_since()
    }

    /// The next act for the caller to carry out.
    pub fn poll_act(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// This peer's opinion of its host. On each link that a member opens, the other end must hear it, after the warrant,
    /// before any message under the present term.
    #[must_use]
    pub fn opinion(&self) -> Opinion {
        let missed = self.migrates && self.phase.missed_since().is_some();
        Opinion {
            term: self.term,
            host: self.host,
            missed,
            relay: missed && self.witness.is_reached(),
            vote: self.phase.ballot().map(|ballot| ballot.vote),
            heir: self.phase.told_heir(),
        }
    }

    /// Tells all members this peer's opinion, when it is new.
    fn say(&mut self) {
        let opinion = self.opinion();
        if self.said.map_or_else(|| !opinion.is_implied(), |said| said != opinion) {
            self.said = Some(opinion);
            self.acts.push_back(Act::Tell(opinion));
        }
    }

    /// Takes a warrant from the relay or from a member, and adopts it when it is newer.
    pub fn handle_warrant(&mut self, warrant: &Warrant) -> Verdict {
        if warrant.session != self.warrant.session || !warrant.term.is_witnessed() {
            return Verdict::Forged;
        }
        if warrant.term <= self.warrant.term {
            // The relay signs each term once, so the same term under another host is forged, whichever peer shows it.
            let other = warrant.term == self.warrant.term && warrant.host != self.warrant.host;
            return if other { Verdict::Forged } else { Verdict::Known };
        }
        if !self.key.verifies_warrant(warrant) {
            return Verdict::Forged;
        }
        if self.is_apart() && ![self.host, self.me].contains(&warrant.host) {
            self.acts.push_back(Act::Yield);
        } else {
            self.warrant = *warrant;
            self.begin(warrant.term, warrant.host);
        }
        Verdict::Newer
    }

    /// Keeps a warrant for the case that the host is missed, unless it is forged or not newer than those that this
    /// peer has.
    pub fn keep_in_reserve(&mut self, warrant: Warrant) {
        let is_newer = warrant.term > self.reserve.unwrap_or(self.warrant).term && warrant.term > self.term;
        let is_ours = warrant.session == self.warrant.session && warrant.term.is_witnessed();
        if is_newer && is_ours && self.key.verifies_warrant(&warrant) {
            self.reserve = Some(warrant);
        }
    }

    /// Begins the term of the warrant in reserve, if there is one.
    fn begin_reserve(&mut self) -> Option<(Term, PeerId)> {
        let warrant = self.reserve.take()?;
        self.warrant = warrant;
        self.begin(warrant.term, warrant.host);
        Some((warrant.term, warrant.host))
    }

    pub(crate) fn begin(&mut self, term: Term, host: PeerId) {
        let is_renewal = self.is_host() && host == self.me;
        // This peer's votes in later terms stand, and may yet make another peer host. If one of them is not for the
        // present host, this peer must not acknowledge anything of that host (PROTOCOL §4.10). So it ends its
        // session.
        self.cast.retain(|&(cast, _)| cast > term);
        let is_pledged = self.cast.iter().any(|&(_, candidate)| candidate != host);
        if is_renewal && self.witness.claimed() == Some(self.me) {
            self.probation = None;
        }
        self.term = term;
        self.host = host;
        self.reserve.take_if(|reserve| reserve.term <= term);
        if term.is_witnessed() {
            self.knows_electorate = host == self.me;
        }
        self.witness.begin(term.is_witnessed(), is_renewal);
        self.phase = Phase::begin(host == self.me);
        (self.heir, self.said) = (None, None);
        self.acts.clear();
        if is_pledged {
            self.acts.push_back(Act::Yield);
        }
    }

    /// Notes that this peer has read the session object as the host of the present term wrote it.
    pub const fn handle_view(&mut self) {
        self.knows_electorate = true;
    }

    /// Takes a member's opinion of its host. Returns `false` if nothing in it is new, except whether the member
    /// misses its host and whether it reaches the relay.
    pub fn handle_opinion(&mut self, from: PeerId, opinion: Opinion) -> bool {
        let beats = (opinion.term, self.host) > (self.term, opinion.host);
        let is_sibling = !opinion.term.is_witnessed() && opinion.term.base() == self.term.base();
        if self.is_apart() && is_sibling && self.host != opinion.host && beats {
            self.acts.push_back(Act::Yield);
        }
        if (from, opinion.term) == (self.host, self.term) && opinion.heir != Some(from) {
            self.heir = opinion.heir.or(self.heir);
        }
        self.opinions.insert(from, opinion)
    }

    /// Whether the session may have split: with forks, this peer's side goes on without the relay, and another side
    /// may go on, too. Their states cannot be merged: the session continues on the side that the relay knows.
    pub(crate) const fn is_apart(&self) -> bool {
        self.forks && !self.term.is_witnessed()
    }

    /// Makes this host hand over to a member, its heir. The heir is told first: it must know that this host stays a
    /// member, before others can make the heir host.
    pub fn resign(&mut self, now: Time, heir: PeerId) {
        if let Phase::Leading { leave: leave @ Leave::No, .. } = &mut self.phase
            && self.probation.is_none()
            && heir != self.me
        {
            *leave = Leave::Telling { heir, until: now + HEIR_KNOWS_WITHIN };
            let opinion = Opinion { heir: Some(heir), ..self.opinion() };
            self.acts.push_back(Act::Appoint(heir, opinion));
        }
    }

    /// Goes on with the hand-over, when the heir knows of it or has had its time. This host names the heir to all
    /// members and then asks the relay to make the heir host. Without the relay, the members vote.
    pub fn handle_heir_knows(&mut self, now: Time) {
        if let Phase::Leading { leave: Leave::Telling { heir, .. }, .. } = self.phase {
            self.tell_heir(now, heir);
        }
    }

    /// Handles that this peer slept until now, and does not know what happened meanwhile. A warrant that makes it
    /// host may have waited for its waking, and be outdated.
    pub fn handle_wake(&mut self, now: Time) {
        self.phase.wake(now);
        self.probation = Some(now + WAKING);
        if self.is_host() {
            self.witness.ask_anew();
        }
    }

    /// Decides what follows from which peers live; [`Roster::poll_act`] returns the acts. Returns the new term and
    /// host, if an election was won or the warrant in reserve began.
    pub fn watch(&mut self, now: Time, view: &View, lives: Lives<'_>) -> Option<(Term, PeerId)> {
        self.opinions.retain(|peer| view.has(peer) || view.electorate().peers.contains(&peer));
        let begun = self.elect(now, view, lives);
        self.say();
        begun
    }

    fn elect(&mut self, now: Time, view: &View, lives: Lives<'_>) -> Option<(Term, PeerId)> {
        if let Some(won) = self.count(now, view, lives) {
            return Some(won);
        }
        if let Phase::Leading { leave: Leave::Telling { until, .. }, .. } = self.phase
            && until <= now
        {
            self.handle_heir_knows(now);
        }
        self.watch_lease(now, view, lives);
        self.watch_heir(now, view, lives);
        let is_missed = self.note_missed(now, lives);
        if !self.migrates {
            return None;
        }
        if is_missed {
            if self.phase.is_excluded() {
                self.watch_excluded(now, view, lives);
                return None;
            }
            if let Some(begun) = self.begin_reserve() {
                return Some(begun);
            }
            self.claim(now, view, lives);
            self.vote(now, view, lives);
            return self.count(now, view, lives);
        }
        if !self.term.is_witnessed() && self.witness.may_claim(now) {
            // Claims the next witnessed term for a host that members elected, so that the relay knows of that host.
            self.push_claim(now, self.host);
        }
        None
    }

    /// Notes and returns whether the host is missed. If another peer hosts, the host is missed when it is silent or
    /// hands over. If this peer hosts, the host is missed when it hands over or when its lease is over.
    fn note_missed(&mut self, now: Time, lives: Lives<'_>) -> bool {
        let heir = self.told_heir();
        let missed = if self.is_host() {
            self.phase.is_lease_over() || heir.is_some()
        } else {
            // The heir learns before the others that it is the heir. It acts together with them: once the host tells
            // all that it hands over.
            let resigns = heir.is_some() && self.opinions.misses(self.host, self.term, self.host);
            lives.missed.contains(&self.host) || resigns
        };
        self.phase.note_missed(now, missed)
    }

    /// When the next wait is over, for a caller that last watched at `after` and hears nothing meanwhile.
    #[must_use]
    pub fn poll_timeout(&self, after: Time) -> Time {
        let waits = self.phase.timeouts(self.forks).chain(self.witness.timeouts());
        let waits = waits.chain(self.excluded_until()).chain(self.probation);
        waits.filter(|&at| at > after).min().unwrap_or(Time::FAR)
    }
}
