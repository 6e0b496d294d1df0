//! Watches the host and decides when to claim its succession (DESIGN §4 "Election").

use samovar_wire::{Duration, PeerId, SessionId, SortedMap, Term, Time, Warrant};

use crate::{RelayKey, View};

/// Silence after which a peer is missed. Ten keep-alives: a page that draws slowly is not dead.
pub const MISSED_AFTER: Duration = Duration::from_millis(1_000);
/// The same when the relay says that the peer's connection closed: then three keep-alives are enough.
pub const MISSED_AFTER_HINT: Duration = Duration::from_millis(300);
/// How much longer each further member in the line of succession waits, so that the first is not raced.
const SUCCESSION_STEP: Duration = Duration::from_millis(250);
/// How long a claim waits for its answer, or after a denial, before it is repeated.
const CLAIM_AGAIN: Duration = Duration::from_millis(1_000);
/// With the host missed for so long and no successor, the session is suspended here.
const SUSPENDED_AFTER: Duration = Duration::from_millis(3_000);

/// What is known of a peer's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// How long nothing was heard of it.
    pub silence: Duration,
    /// The relay says that its connection closed.
    pub hint: bool,
    /// It said that it leaves.
    pub left: bool,
}

impl Liveness {
    /// Whether the peer is missed.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        let patience = if self.hint { MISSED_AFTER_HINT } else { MISSED_AFTER };
        self.left || self.silence >= patience
    }
}

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

/// The second seed's server roles (§2.1), and `Suspended` for a member without a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A member.
    Idle,
    /// The member that takes over first.
    Backup,
    /// Host without a backup that could take over.
    ActiveAlone,
    /// Host with a synced backup.
    ActiveBackedUp,
    /// The host is missed and nobody could succeed it yet.
    Suspended,
}

/// One peer's judgement of who hosts and who should.
#[derive(Debug)]
pub struct Roster {
    me: PeerId,
    key: RelayKey,
    warrant: Warrant,
    missed_since: Option<Time>,
    claim_after: Time,
}

impl Roster {
    /// A roster under its first warrant, or the reason why there is none: the warrant is forged.
    #[must_use]
    pub fn new(me: PeerId, key: RelayKey, warrant: Warrant) -> Option<Self> {
        let roster = Self { me, key, warrant, missed_since: None, claim_after: Time::ZERO };
        key.verifies_warrant(&warrant).then_some(roster)
    }

    /// The session it is about.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.warrant.session
    }

    /// The highest warrant known.
    #[must_use]
    pub const fn warrant(&self) -> &Warrant {
        &self.warrant
    }

    /// The host by that warrant.
    #[must_use]
    pub const fn host(&self) -> PeerId {
        self.warrant.host
    }

    /// The term of that warrant.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.warrant.term
    }

    /// Whether this peer hosts.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.warrant.host == self.me
    }

    /// Takes a warrant from the relay or from a member, and adopts it when it is newer.
    pub fn handle_warrant(&mut self, warrant: &Warrant) -> Verdict {
        if warrant.session != self.warrant.session {
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
        self.warrant = *warrant;
        self.missed_since = None;
        self.claim_after = Time::ZERO;
        Verdict::Newer
    }

    /// Looks at everybody's life; the term to claim, if it is this peer's turn.
    ///
    /// All members are watched at once, so many deaths cost one time-out and not one each: whoever is missed is
    /// skipped in the line.
    pub fn watch(&mut self, now: Time, view: &View, lives: &SortedMap<PeerId, Liveness>) -> Option<Term> {
        let missed = |peer: PeerId| lives.get(&peer).is_some_and(Liveness::is_missed);
        if self.is_host() || !missed(self.host()) {
            self.missed_since = None;
            return None;
        }
        let since = *self.missed_since.get_or_insert(now);
        let line = view.succession(self.host());
        let place = line
            .iter()
            .filter(|&&peer| peer == self.me || !missed(peer))
            .position(|&peer| peer == self.me)?;
        let turn = since + SUCCESSION_STEP.times(place as u64);
        if now < turn.max(self.claim_after) {
            return None;
        }
        self.claim_after = now + CLAIM_AGAIN;
        Some(self.term().next())
    }

    /// When this peer first missed the host of the present term.
    #[must_use]
    pub const fn missed_since(&self) -> Option<Time> {
        self.missed_since
    }

    /// This peer's role; `is_backed_up` says whether a backup holds the session object.
    #[must_use]
    pub fn role(&self, now: Time, view: &View, is_backed_up: bool) -> Role {
        if self.is_host() {
            return if is_backed_up { Role::ActiveBackedUp } else { Role::ActiveAlone };
        }
        if self.missed_since.is_some_and(|since| since + SUSPENDED_AFTER <= now) {
            return Role::Suspended;
        }
        if view.backup() == Some(self.me) { Role::Backup } else { Role::Idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Signatory;
    use samovar_wire::control::Hello;
    use samovar_wire::{Entropy, SessionId};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const RELAY: [u8; 32] = [5; 32];

    fn warrant(term: u64, host: u32) -> Warrant {
        Signatory::new(&RELAY).warrant(SessionId(1), Term(term), PeerId(host))
    }

    fn roster(me: u32) -> Roster {
        Roster::new(PeerId(me), Signatory::new(&RELAY).key(), warrant(1, 1)).unwrap()
    }

    fn view() -> View {
        let mut view = View::founding(8);
        let mut entropy = Entropy::new([1; 32]);
        for n in 1..=4 {
            let hello = Hello { version: 1, params: 0, name: String::new(), attributes: 0, resume: None };
            view.admit(Time::ZERO, PeerId(n), &hello, &mut entropy).unwrap();
        }
        view.name_backup(PeerId(1), None, |_| true);
        view
    }

    fn lives(dead: &[u32]) -> SortedMap<PeerId, Liveness> {
        let life = |n| {
            let silence = Duration::from_millis(if dead.contains(&n) { 5_000 } else { 10 });
            (PeerId(n), Liveness { silence, hint: false, left: false })
        };
        (1..=4).map(life).collect()
    }

    fn first_claim(me: u32, dead: &[u32]) -> Option<u64> {
        let (mut roster, view, lives) = (roster(me), view(), lives(dead));
        (0..3_000).find(|&ms| {
            let claimed = roster.watch(Time::from_micros(ms * 1_000), &view, &lives);
            assert!(claimed.is_none() || claimed == Some(Term(2)));
            claimed.is_some()
        })
    }

    #[test]
    fn the_backup_claims_at_once_and_the_others_wait_their_turn() {
        assert_eq!(first_claim(2, &[1]), Some(0));
        assert_eq!(first_claim(3, &[1]), Some(250));
        assert_eq!(first_claim(4, &[1]), Some(500));
        assert_eq!(first_claim(2, &[]), None);
    }

    #[test]
    fn many_deaths_cost_one_time_out() {
        assert_eq!(first_claim(3, &[1, 2]), Some(0));
        assert_eq!(first_claim(4, &[1, 2, 3]), Some(0));
    }

    #[test]
    fn only_the_relays_word_makes_a_host() {
        let mut roster = roster(2);
        assert_eq!(roster.handle_warrant(&Warrant { host: PeerId(3), ..warrant(2, 2) }), Verdict::Forged);
        assert_eq!(roster.handle_warrant(&warrant(2, 3)), Verdict::Newer);
        assert_eq!(roster.handle_warrant(&warrant(2, 3)), Verdict::Known);
        assert_eq!(roster.handle_warrant(&warrant(1, 1)), Verdict::Known);
        assert_eq!(
            roster.handle_warrant(&Warrant { session: SessionId(2), ..warrant(3, 2) }),
            Verdict::Forged
        );
        assert_eq!(roster.host(), PeerId(3));
    }
}
