//! Watches the host, and finds its successor with the relay or without it (DESIGN §4 "Election", PROTOCOL §4.10).
//!
//! Everybody watches at once and names at once whom it wants, so many deaths cost one time-out, and there is no turn
//! to wait for: the relay takes the first word, and without it a majority decides.

mod claims;
mod role;
mod stranded;
mod votes;

use std::collections::VecDeque;

use samovar_wire::control::{Missing, PeerControl, Vote};
use samovar_wire::{Duration, PeerId, SessionId, SortedSet, Term, Time, Warrant};

use crate::election::Election;
use crate::{RelayKey, View};
pub use role::{Role, Suspension};
use stranded::STRANDED_FOR_MOST;

/// How long a resignation may travel to the members until the relay is asked.
const RESIGNATION_TRAVELS: Duration = Duration::from_millis(60);
/// How long the heir may take to hear that it is one, until the others hear it.
const HEIR_KNOWS_WITHIN: Duration = Duration::from_millis(250);
/// A vote that has come to nothing for so long is followed by one in the next term.
const VOTE_AGAIN: Duration = Duration::from_millis(1_000);
/// How long a host reigns on that reaches neither the relay nor a majority of the electorate.
pub const LEASE: Duration = Duration::from_millis(1_000);
/// A member that misses its host for so long, and is none by the relay's word, was removed; so was who knows no way to its
/// host for so long, when most of the others do.
const REMOVED_AFTER: Duration = Duration::from_millis(3_000);
/// Where each side of a partition may go on by itself, it does when it has missed its host for so long: a network that is back
/// by then parts nobody.
const FORKS_AFTER: Duration = Duration::from_millis(3_000);
/// How long a host that slept waits for news of what it missed, when the relay is away.
const WAKING: Duration = Duration::from_millis(1_000);

/// What a warrant turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It opens a newer term than the one known.
    Newer,
    /// It is known, or older than the one known.
    Known,
    /// The relay did not issue it, or not for this session.
    Forged,
}

/// What a roster wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Tell every member.
    Tell(PeerControl),
    /// Tell this member that the host wants it for its successor; [`Roster::handle_heir_knows`] once it has heard.
    Appoint(PeerId),
    /// Claim this term for this peer, from the relay.
    Claim(Term, PeerId),
    /// The relay's host lives, and this peer cannot follow it: its side voted for another, or it was removed. It comes
    /// back by its ticket.
    Yield,
}

/// What is known of the others' lives at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Lives<'a> {
    /// Who is missed: gone, or silent for longer than a living peer is.
    pub missed: &'a SortedSet<PeerId>,
    /// Who has been silent for long enough not to be preferred as a successor; all that are missed, too.
    pub doubted: &'a SortedSet<PeerId>,
}

/// One peer's judgement of who hosts and who should.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roster {
    me: PeerId,
    key: RelayKey,
    /// The highest that the relay gave, as far as this peer knows.
    warrant: Warrant,
    /// To live under when the host is missed: the relay has lost it already.
    reserve: Option<Warrant>,
    /// The present term, that of the warrant or one that was voted since.
    term: Term,
    host: PeerId,
    /// Whether a lost host is succeeded at all.
    migrates: bool,
    /// Whether each side of a partition goes on.
    forks: bool,
    /// Whether there is a connection to the relay.
    relay: bool,
    /// Since when, if that is another than the first.
    relay_since: Option<Time>,
    /// The relay leaves claims unanswered.
    is_relay_silent: bool,
    /// Whether the view was read under the base of the present term: each witnessed term has an electorate of its own.
    knows_electorate: bool,
    election: Election,
    said: Option<Missing>,
    ballot: Option<(Vote, Time)>,
    /// What this peer has voted under the present base, also above the present term.
    cast: Vec<(Term, PeerId)>,
    /// Whom the host wants to be its successor.
    heir: Option<PeerId>,
    /// Whom this host has told so first, and until when it waits with telling the others.
    appointed: Option<(PeerId, Time)>,
    missed_since: Option<Time>,
    /// The host of the present term is nobody that this peer could follow.
    is_stranded: bool,
    /// Since when such a peer may not ask: most of those that it hears are with the host, or it hears nobody at all.
    unasked_since: Option<Time>,
    /// Since when such a peer has not had to wait for the relay to be back.
    asked_since: Option<Time>,
    /// Since when such a peer has heard nobody.
    unheard_since: Option<Time>,
    /// Who said farewell, or whose connection to the relay closed, and until when that counts; the last of many.
    gone: Vec<(PeerId, Time)>,
    /// Since when this host reaches no majority, and since when neither that nor the relay.
    minority_since: Option<Time>,
    alone_since: Option<Time>,
    is_lease_over: bool,
    /// Until when what makes this peer host may be from before it woke.
    waking_until: Option<Time>,
    claim_after: Time,
    /// For whom this peer claimed last in this term.
    claimed: Option<PeerId>,
    /// The first claim that the relay has not answered.
    unanswered_since: Option<Time>,
    /// When its answer was first that another host lives than the one that this peer went on with, and when last.
    denied: Option<(Time, Time)>,
    acts: VecDeque<Act>,
}

impl Roster {
    /// A roster under its first warrant; `None` when that is forged.
    #[must_use]
    pub fn new(me: PeerId, key: RelayKey, warrant: Warrant) -> Option<Self> {
        let roster = Self {
            me,
            key,
            warrant,
            reserve: None,
            term: warrant.term,
            host: warrant.host,
            migrates: true,
            forks: false,
            relay: true,
            relay_since: None,
            is_relay_silent: false,
            knows_electorate: true,
            election: Election::default(),
            said: None,
            ballot: None,
            cast: Vec::new(),
            heir: None,
            appointed: None,
            missed_since: None,
            is_stranded: false,
            gone: Vec::new(),
            unasked_since: None,
            asked_since: None,
            unheard_since: None,
            minority_since: None,
            alone_since: None,
            is_lease_over: false,
            waking_until: None,
            claim_after: Time::ZERO,
            claimed: None,
            unanswered_since: None,
            denied: None,
            acts: VecDeque::new(),
        };
        (key.verifies_warrant(&warrant) && warrant.term.is_witnessed()).then_some(roster)
    }

    /// Says whether a lost host is succeeded; it is unless set.
    #[must_use]
    pub fn with_migration(mut self, migrates: bool) -> Self {
        self.migrates = migrates;
        self
    }

    /// Says whether each side of a partition goes on by itself; only the greater does unless set. Then members who have missed
    /// their host for three seconds vote among those whom they hear, no lease ends, and of two hosts in one voted term the
    /// higher id gives way.
    #[must_use]
    pub fn with_forks(mut self, forks: bool) -> Self {
        self.forks = forks;
        self
    }

    /// The session it is about.
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

    /// Whom the host wants to be its successor.
    #[must_use]
    pub fn heir(&self) -> Option<PeerId> {
        self.heir.or(self.appointed.map(|(heir, _)| heir))
    }

    /// Whether this peer listens to another: not to a host that it voted against, since what it acknowledges must not
    /// count on that host's side any more. One that resigned changes no electorate, and may have the vote that is missing.
    #[must_use]
    pub fn listens_to(&self, peer: PeerId) -> bool {
        self.ballot.is_none() || peer != self.host || self.heir.is_some()
    }

    /// When this peer first missed the host of the present term.
    #[must_use]
    pub const fn missed_since(&self) -> Option<Time> {
        self.missed_since
    }

    /// The next thing to do.
    pub fn poll_act(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// What a peer must hear of this one before anything is said under the present term, behind the warrant.
    #[must_use]
    pub fn greeting(&self) -> Vec<PeerControl> {
        let mut greeting = Vec::new();
        if self.term != self.warrant.term {
            let electorate = self.ballot.map_or(0, |(vote, _)| vote.electorate);
            greeting.push(PeerControl::Reign(Vote { term: self.term, candidate: self.host, electorate }));
        }
        greeting.extend(self.said.filter(|said| said.missed).map(PeerControl::Missing));
        greeting.extend(self.ballot.map(|(vote, _)| PeerControl::Vote(vote)));
        greeting
    }

    /// Takes a warrant from the relay or from a member, and adopts it when it is newer.
    pub fn handle_warrant(&mut self, warrant: &Warrant) -> Verdict {
        if warrant.session != self.warrant.session || !warrant.term.is_witnessed() {
            return Verdict::Forged;
        }
        if warrant.term <= self.warrant.term {
            // The relay signs each term once, so the same term under another host is forged whoever shows it.
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

    /// Keeps a warrant that the relay gave for the case that the host is missed, unless it is none or too old for that.
    pub fn keep_in_reserve(&mut self, warrant: Warrant) {
        let is_newer = warrant.term > self.reserve.unwrap_or(self.warrant).term && warrant.term > self.term;
        let is_ours = warrant.session == self.warrant.session && warrant.term.is_witnessed();
        if is_newer && is_ours && self.key.verifies_warrant(&warrant) {
            self.reserve = Some(warrant);
        }
    }

    /// Lives under the warrant in reserve, if there is one.
    fn begin_reserve(&mut self) -> Option<(Term, PeerId)> {
        let warrant = self.reserve.take()?;
        self.warrant = warrant;
        self.begin(warrant.term, warrant.host);
        Some((warrant.term, warrant.host))
    }

    fn begin(&mut self, term: Term, host: PeerId) {
        let is_renewal = self.is_host() && host == self.me;
        // Its votes stand, and may yet be what makes another host: it can acknowledge nothing of this one (PROTOCOL §4.10).
        self.cast.retain(|&(cast, _)| cast > term);
        let is_pledged = self.cast.iter().any(|&(_, candidate)| candidate != host);
        if is_renewal && self.claimed == Some(self.me) {
            self.waking_until = None;
        }
        self.term = term;
        self.host = host;
        self.reserve.take_if(|reserve| reserve.term <= term);
        if term.is_witnessed() {
            self.knows_electorate = host == self.me;
            // It answers, if late.
            self.is_relay_silent = false;
        }
        self.election.begin(term);
        (self.said, self.ballot, self.claimed) = (None, None, None);
        (self.heir, self.appointed) = (None, None);
        (self.missed_since, self.minority_since, self.alone_since) = (None, None, None);
        (self.is_stranded, self.unasked_since, self.asked_since, self.unheard_since) =
            (false, None, None, None);
        self.is_lease_over = false;
        // A renewed term may help no more than the one before: the pause goes on.
        self.claim_after = if is_renewal { self.claim_after } else { Time::ZERO };
        (self.unanswered_since, self.denied) = (None, None);
        self.acts.clear();
        if is_pledged {
            self.acts.push_back(Act::Yield);
        }
    }

    /// The session object was read as the host of the present term wrote it.
    pub const fn handle_view(&mut self) {
        self.knows_electorate = true;
    }

    /// A member says whether it misses the host.
    pub fn handle_missing(&mut self, from: PeerId, missing: Missing) {
        // A warrant comes before whatever is said under it, so no honest opinion is about a later base.
        if missing.term >= self.term && missing.term.base() == self.term.base() {
            self.election.on_missing(from, missing);
        }
    }

    /// A member votes.
    pub fn handle_vote(&mut self, from: PeerId, vote: Vote) {
        if vote.term > self.term && vote.term.base() == self.term.base() {
            self.election.on_vote(from, vote);
        }
    }

    /// A member lives under a host that was voted for.
    pub fn handle_reign(&mut self, from: PeerId, vote: Vote) {
        if vote.term.base() != self.term.base() {
            return;
        }
        if vote.term > self.term {
            self.election.on_reign(from, vote);
        }
        let beats = (vote.term, self.host) > (self.term, vote.candidate);
        if self.is_apart() && self.host != vote.candidate && beats {
            self.acts.push_back(Act::Yield);
        }
    }

    /// Whether this may be one side of a session that goes on without the relay, and another goes on, too. What both
    /// did cannot be brought together: the session is the side that the relay knows.
    const fn is_apart(&self) -> bool {
        self.forks && !self.term.is_witnessed()
    }

    /// The host wants a member to succeed it.
    pub fn handle_resignation(&mut self, from: PeerId, heir: PeerId) {
        if from == self.host && heir != self.host {
            self.heir = Some(heir);
        }
    }

    /// This host wants a member to succeed it. The heir hears so first: it has to know that this peer stays before
    /// anybody can make it host.
    pub fn resign(&mut self, now: Time, heir: PeerId) {
        let is_resigning = self.heir.is_some() || self.appointed.is_some();
        if self.is_host() && self.waking_until.is_none() && heir != self.me && !is_resigning {
            self.appointed = Some((heir, now + HEIR_KNOWS_WITHIN));
            self.acts.push_back(Act::Appoint(heir));
        }
    }

    /// The heir knows, or had its time: the relay is asked, and so are all members when it is away.
    pub fn handle_heir_knows(&mut self, now: Time) {
        if let Some((heir, _)) = self.appointed.take() {
            self.heir = Some(heir);
            self.claim_after = now + RESIGNATION_TRAVELS;
            self.acts.push_back(Act::Tell(PeerControl::Resign(heir)));
        }
    }

    /// This peer slept until now, and does not know what it missed. What makes it host may have waited for it to wake.
    pub fn handle_wake(&mut self, now: Time) {
        (self.missed_since, self.minority_since, self.alone_since) = (None, None, None);
        (self.unasked_since, self.asked_since, self.unheard_since) = (None, None, None);
        self.waking_until = Some(now + WAKING);
        if self.is_host() {
            (self.claim_after, self.claimed) = (Time::ZERO, None);
        }
    }

    /// Looks at everybody's life; what follows from it is for [`Roster::poll_act`]. The term and host that won an
    /// election, if one came to its end, or that the relay held in reserve: they are the present ones from now on.
    pub fn watch(&mut self, now: Time, view: &View, lives: Lives<'_>) -> Option<(Term, PeerId)> {
        self.election.retain(|peer| view.has(peer) || view.electorate().peers.contains(&peer));
        if let Some(won) = self.count(now, view, lives) {
            return Some(won);
        }
        if self.appointed.is_some_and(|(_, until)| until <= now) {
            self.handle_heir_knows(now);
        }
        self.watch_lease(now, view, lives);
        self.watch_heir(now, view, lives);
        if !self.migrates {
            self.note_missed(now, lives);
            return None;
        }
        if self.note_missed(now, lives) {
            if self.is_stranded {
                self.watch_stranded(now, view, lives);
                return None;
            }
            if let Some(begun) = self.begin_reserve() {
                return Some(begun);
            }
            self.tell_missing(true);
            self.claim(now, view, lives);
            self.vote(now, view, lives);
            return self.count(now, view, lives);
        }
        self.tell_missing(false);
        if !self.term.is_witnessed() && self.relay && self.claim_after <= now {
            // Whom members made host, the relay shall know as such.
            self.push_claim(now, self.host);
        }
        None
    }

    /// The relay makes nobody host that it does not reach: this host names another, if there is one.
    fn watch_heir(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        if !self.is_host() || self.heir.is_none_or(|heir| !self.is_gone(now, heir)) {
            return;
        }
        let mut line = view.succession(self.me).into_iter();
        let Some(heir) = line.find(|&peer| !self.is_gone(now, peer) && !lives.doubted.contains(&peer)) else {
            return;
        };
        self.heir = Some(heir);
        self.claim_after = now + RESIGNATION_TRAVELS;
        self.acts.push_back(Act::Tell(PeerControl::Resign(heir)));
    }

    /// A host's claim to reign, and what it does to keep it.
    fn watch_lease(&mut self, now: Time, view: &View, lives: Lives<'_>) {
        if !self.is_host() {
            self.waking_until.take_if(|until| *until <= now);
            return;
        }
        let voters = &view.electorate().peers;
        // Who was removed for its silence may vote for another all the same.
        let is_majority = |silent: &SortedSet<PeerId>| {
            let is_heard = |peer: PeerId| view.has(peer) && !silent.contains(&peer);
            let heard = voters.iter().filter(|&&peer| peer == self.me || is_heard(peer)).count();
            heard * 2 > voters.len()
        };
        let has_majority = is_majority(lives.missed);
        // Who is only not missed yet need not have been heard since this peer woke.
        let has_heard_majority = is_majority(lives.doubted);
        self.note_silence(now);
        self.minority_since = (!has_majority).then(|| self.minority_since.unwrap_or(now));
        self.alone_since = match self.minority_since {
            // A relay that is silent has been so since it was asked.
            Some(since) if !self.reaches_relay() && !self.forks => {
                self.alone_since.or(Some(self.unanswered_since.unwrap_or(now).max(since)))
            }
            _ => None,
        };
        // That there is a relay again does not say what it granted meanwhile: its answer does, which begins a term.
        let was_over = self.is_lease_over && !has_majority;
        self.is_lease_over = was_over || self.alone_since.is_some_and(|since| since + LEASE <= now);
        let goes_on = has_heard_majority || self.forks;
        if self.waking_until.is_some_and(|until| until <= now) && !self.reaches_relay() && goes_on {
            self.waking_until = None;
        }
        // One that its side voted for claims more often, as any member does whose host the relay does not know.
        let wants_new_term = !self.is_apart() && (self.waking_until.is_some() || !has_majority);
        if self.relay && wants_new_term && self.heir.is_none() && self.claim_after <= now {
            self.push_claim(now, self.me);
            self.claim_after = now + LEASE;
        }
    }

    /// Whether the host is missed: silent, resigned, or, when it is this peer, without a right to reign on.
    fn note_missed(&mut self, now: Time, lives: Lives<'_>) -> bool {
        let missed = if self.is_host() {
            self.is_lease_over || self.heir.is_some()
        } else {
            // The heir hears of it before the others, and begins with them.
            let resigns = self.heir.is_some() && self.election.misses(self.host, self.term, self.host);
            lives.missed.contains(&self.host) || resigns
        };
        // Who has voted cannot go back.
        if missed || self.ballot.is_some() {
            self.missed_since.get_or_insert(now);
        } else {
            (self.missed_since, self.is_stranded) = (None, false);
        }
        self.missed_since.is_some()
    }

    fn tell_missing(&mut self, missed: bool) {
        let news = Missing { term: self.term, missed, relay: self.reaches_relay() };
        let is_news = match self.said {
            None => missed,
            Some(said) => said != news && (missed || said.missed),
        };
        if is_news {
            self.said = Some(news);
            self.acts.push_back(Act::Tell(PeerControl::Missing(news)));
        }
    }

    /// When the next of its waits is over, for who looked at `after` last and hears nothing meanwhile.
    #[must_use]
    pub fn poll_timeout(&self, after: Time) -> Time {
        let missed_for = |span: Duration| self.missed_since.map(|since| since + span);
        let waits = [
            self.alone_since.map(|since| since + LEASE),
            self.appointed.map(|(_, until)| until),
            self.ballot.map(|(_, at)| at + VOTE_AGAIN),
            self.waking_until,
            Some(self.claim_after),
            self.silent_at(),
            missed_for(FORKS_AFTER).filter(|_| self.forks),
            missed_for(STRANDED_FOR_MOST).filter(|_| self.is_stranded),
        ];
        let waits = waits.into_iter().chain(self.stranded_until()).flatten();
        waits.filter(|&at| at > after).min().unwrap_or(Time::FAR)
    }
}
