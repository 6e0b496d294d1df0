//! What time brings: losses, deaths, elections, the host's housework.

use samovar_link::LinkEvent;
use samovar_roster::Lives;
use samovar_wire::{CloseCode, Duration, PeerId, SortedSet, Time};

use super::{EndReason, Peering, Phase, Session};

/// How often everybody's life is looked at, besides the moments at which somebody begins to be missed.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// The least time between two looks.
const WATCH_PAUSE: Duration = Duration::from_millis(5);
/// Whose silence is this suspicious is missed: one false alarm in a hundred losses of a sign of life, and none has
/// consequences by itself (PROTOCOL §4.10).
const MISSED: f64 = 2.0;
/// Two round trips of a link on which none was measured yet are reckoned as this.
const FIRST_TRIP: Duration = Duration::from_millis(1_000);
/// However bad a path was, nobody is waited for longer: a lone host would act on for as long.
const PATIENCE_MAX: Duration = Duration::from_millis(3_000);
/// What a peer said before its connection closed may arrive for a round trip after the word of that, and so long at least.
const UNDER_WAY_MIN: Duration = Duration::from_millis(50);
/// A member that was heard through the relay is not judged before this peer's own connection to it has been back for so long.
const RELAY_SETTLES: Duration = Duration::from_millis(1_000);
/// Whoever was missed so shortly before that was lost by the same cause: what broke one connection breaks others, one after another.
const RELAY_BREAKS_WITHIN: Duration = Duration::from_millis(100);
/// Nor, when that does not come back, before it has been away for so long.
const RELAY_RETURNS: Duration = Duration::from_millis(3_000);
/// For so long behind the moment from which on a carrier is missed, those are not whom only it was heard through.
const CARRIER_EXCUSES: Duration = Duration::from_millis(1_000);
/// Who passes no time for so long was away itself, and hears the others before it judges them.
pub(super) const AWAY: Duration = Duration::from_millis(100);
/// Who passes no time for so long slept: it may have been replaced (DESIGN §4).
const SLEPT: Duration = Duration::from_millis(2_000);
/// Where a lost host is not succeeded, the session ends with it.
const ENDS_AFTER: Duration = Duration::from_millis(5_000);

impl Peering {
    /// Whether a connection of the peer closed, and nothing was heard of it since but what was under way then. What is said of a
    /// connection never outweighs that its peer is heard.
    pub(super) fn is_hinted(&self) -> bool {
        let under_way = self.link.round_trip().unwrap_or(FIRST_TRIP).max(UNDER_WAY_MIN);
        self.hint.is_some_and(|since| self.link.heard_at() <= since + under_way)
    }
}

impl Session {
    /// Lets time pass. A driver hands over what has arrived before it calls this.
    pub fn handle_timeout(&mut self, now: Time) {
        self.note_time(now);
        if self.phase == Phase::Over {
            return;
        }
        // What a path can take is found out by looking now and then, which is due at no time of its own.
        let looks = self.watch_at() <= now;
        for (&peer, peering) in &mut self.links {
            if !looks && peering.idle.is_some_and(|idle| idle.due > now) {
                continue;
            }
            if peering.link.handle_timeout(now) {
                peering.idle = None;
            }
            while let Some(event) = peering.link.poll_event() {
                if let LinkEvent::Fate(packet, fate) = event {
                    self.objects.on_fate(peer, packet, fate == samovar_link::Fate::Delivered);
                }
            }
        }
        self.expire_calls(now);
        self.run_orders(now);
        if self.watch_at() <= now {
            self.stir();
            self.watched = Some(now);
            self.no_watch_before = now + WATCH_PAUSE;
            self.watch(now);
            self.close_to_overdue(now);
            if self.is_host() {
                self.do_housework(now);
            }
            self.review(now);
        }
    }

    /// When [`Session::handle_timeout`] or [`Session::poll_transmit`] have something to do by themselves.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.phase == Phase::Over {
            return None;
        }
        let links = self
            .links
            .iter()
            .map(|(&peer, peering)| peering.idle.unwrap_or_else(|| self.idle_to(peer, peering)).due);
        Some(
            links
                .min()
                .unwrap_or(Time::FAR)
                .min(self.watch_at())
                .min(self.calls.deadline())
                .min(self.orders_due()),
        )
    }

    /// When to look at everybody's life: now and then, when the host begins to be missed, and when a wait of the election
    /// is over.
    fn watch_at(&self) -> Time {
        let missed_at = match self.links.get(&self.host()) {
            Some(peering) if self.phase == Phase::Member && self.roster.missed_since().is_none() => {
                let is_doubted = self.doubted == peering.link.heard_at();
                let quiet_at = if is_doubted { Time::FAR } else { peering.link.quiet_at() };
                self.missed_at(self.host(), peering).min(quiet_at)
            }
            _ => Time::FAR,
        };
        let routine =
            self.watched.map_or(Time::ZERO, |at| (at + WATCH_INTERVAL).min(self.roster.poll_timeout(at)));
        missed_at.min(routine).max(self.no_watch_before)
    }

    /// When a peer that says nothing more begins to be missed.
    fn missed_at(&self, peer: PeerId, peering: &Peering) -> Time {
        // What a stream loses comes again after a round trip and more, and holds back all behind it. How long that is
        // a new link does not know.
        let again = match peering.link.round_trip() {
            None => FIRST_TRIP,
            Some(trip) if peering.link.is_lossless() => trip.times(2),
            Some(_) => Duration::ZERO,
        };
        let silent = peering.link.suspect_at(MISSED).max(peering.link.heard_at() + again);
        let silent = silent.min(peering.link.heard_at() + PATIENCE_MAX);
        // The relay lost it, too: a sign of life and a half are enough.
        let hinted = peering.link.heard_at() + self.pace_of(peer).times(3).half();
        let missed_at = if peering.is_hinted() { silent.min(hinted) } else { silent };
        let missed_at = self.missed_beyond_carrier(missed_at, peering);
        // A host's lease goes on by whom it hears, whatever keeps it from that.
        if self.is_host() { missed_at } else { missed_at.max(peering.judged_from) }
    }

    /// What a carrier did not bring since it fell silent says nothing of who it would have been from: nobody is missed before
    /// the carrier, nor sooner behind its silence, or behind the change to it, than any silence says something.
    fn missed_beyond_carrier(&self, missed_at: Time, peering: &Peering) -> Time {
        let (carrier, since) = peering.carrier;
        let span = missed_at.since(peering.link.heard_at());
        let missed_at = if since == Time::ZERO { missed_at } else { missed_at.max(since + span) };
        let carrier = carrier.and_then(|carrier| Some((carrier, self.links.get(&carrier)?)));
        let Some((peer, carrier)) = carrier.filter(|(_, carrier)| carrier.carrier.0.is_none()) else {
            return missed_at;
        };
        let missed_at = missed_at.max(carrier.resumed + span);
        if carrier.link.quiet_at() > missed_at {
            return missed_at;
        }
        missed_at.max(self.missed_at(peer, carrier) + CARRIER_EXCUSES)
    }

    /// Notes how much time passed since this peer last looked: it may have slept.
    #[inline(never)]
    pub(super) fn note_time(&mut self, now: Time) {
        let gap = now.since(self.last_now);
        let is_put_off = self.judges_from > self.last_now;
        self.last_now = self.last_now.max(now);
        self.steps.pass(gap);
        if gap >= SLEPT && self.phase == Phase::Member {
            self.stir();
            self.roster.handle_wake(now);
        }
        // Who is away again and again, in a hidden tab, judges every other time.
        if gap >= AWAY && !is_put_off {
            self.judges_from = now + WATCH_INTERVAL.half();
            self.no_watch_before = self.judges_from;
        }
    }

    /// What is open between this peer and others: wishes, calls, what was not told yet.
    fn review(&mut self, now: Time) {
        self.forget_callers();
        if self.phase == Phase::Member {
            self.forget_strangers(now);
            self.review_wishes(now);
            self.review_inputs(now);
            self.arbitrate(now);
            self.even_out(now);
            self.tell_focus();
            self.review_steps(now);
        }
    }

    /// The relay says that a peer's connection to it closed: as much as a hint, and that it cannot make that peer host.
    pub fn handle_gone(&mut self, now: Time, peer: PeerId) {
        // Right behind a connection that is back it says that the other's is not, which was closed with it perhaps.
        if self.roster.handle_gone(now, peer) {
            self.handle_hint(now, peer);
        }
    }

    /// This peer's own connection to the relay is lost, through which it heard a member: that one's silence says nothing
    /// until the connection has been back for a second, or away for three. Of whom it missed long before it knows no better.
    pub fn excuse(&mut self, now: Time, peer: PeerId) {
        let Some(peering) = self.links.get(&peer) else { return };
        if self.missed_at(peer, peering) + RELAY_BREAKS_WITHIN > now
            && let Some(peering) = self.links.get_mut(&peer)
        {
            peering.judged_from = now + RELAY_RETURNS;
        }
    }

    /// The connection to the relay is back.
    pub(super) fn end_excuses(&mut self, now: Time) {
        for peering in self.links.values_mut() {
            peering.judged_from = peering.judged_from.min(now + RELAY_SETTLES);
        }
    }

    /// A connection to a peer closed: a hint, not a proof, and none any more when the peer is heard after that.
    pub fn handle_hint(&mut self, now: Time, peer: PeerId) {
        if let Some(peering) = self.links.get_mut(&peer) {
            peering.hint = Some(now);
        }
    }

    /// Who lives but does not take what it must be told is no member that could ever agree with the others.
    fn close_to_overdue(&mut self, now: Time) {
        let overdue = self.links.keys().copied().find(|&peer| self.objects.is_overdue(peer));
        if let Some(peer) = overdue {
            self.on_misbehaviour(now, peer, CloseCode::LimitExceeded);
        }
    }

    /// The members that are missed, and those that are silent enough not to be a successor of choice. Right after it was away
    /// this peer knows of silence nothing.
    pub(super) fn lives(&self, now: Time) -> (SortedSet<PeerId>, SortedSet<PeerId>) {
        let judges = self.judges_from <= now;
        let (mut missed, mut doubted) = (SortedSet::new(), SortedSet::new());
        for member in self.view.members().map(|member| member.peer).filter(|&peer| peer != self.config.me) {
            let peering = self.links.get(&member);
            // Who has no link is as good as missed: the rules of the game were broken on one side.
            let is_missed = peering
                .is_none_or(|peering| peering.left || judges && self.missed_at(member, peering) <= now);
            if is_missed {
                missed.insert(member);
            }
            if is_missed || peering.is_none_or(|peering| judges && peering.link.is_quiet(now)) {
                doubted.insert(member);
            }
        }
        // Who was removed, or never met, cannot be followed (PROTOCOL §4.10).
        if !self.view.has(self.host()) {
            missed.insert(self.host());
        }
        (missed, doubted)
    }

    /// There is news that a look at everybody's life may make something of, as soon as one is due.
    pub(super) fn watch_soon(&mut self) {
        self.watched = None;
    }

    /// A host that is silent may be missed soon: then its answer, or that there is none, is known already.
    fn doubt_host(&mut self, now: Time) {
        let Some(host) = self.links.get(&self.host()) else { return };
        let heard = host.link.heard_at();
        if host.link.is_quiet(now) && self.doubted != heard {
            (self.doubted, self.doubt) = (heard, true);
        }
    }

    /// Looks at everybody's life, as soon as silence says anything.
    pub(super) fn watch(&mut self, now: Time) {
        if self.judges_from <= now {
            self.look(now);
        } else {
            self.watch_soon();
            self.act(now);
        }
    }

    /// Looks at everybody's life, and does what follows for the host of the session.
    pub(super) fn look(&mut self, now: Time) {
        for peering in self.links.values_mut() {
            let is_hinted = peering.is_hinted();
            peering.hint.take_if(|_| !is_hinted);
        }
        if self.phase != Phase::Member {
            self.claim_if_abandoned(now);
            return;
        }
        self.review_reach(now);
        self.doubt_host(now);
        let (missed, doubted) = self.lives(now);
        self.give_up_on(now, &missed);
        self.review_appointment(now);
        let (former, missed_since) = (self.host(), self.roster.missed_since());
        let is_handed_over = self.roster.heir().is_some();
        let won = self.roster.watch(now, &self.view, Lives { missed: &missed, doubted: &doubted });
        self.review_split(now);
        if won.is_some() {
            self.on_new_term(now, former, missed_since.unwrap_or(now), is_handed_over);
        }
        self.act(now);
        let is_lost = self.roster.missed_since().is_some_and(|since| since + ENDS_AFTER <= now);
        let is_gone = self.links.get(&self.host()).is_some_and(|host| host.left);
        if !self.config.rules.migrates && !self.roster.is_host() && (is_lost || is_gone) {
            self.end(EndReason::HostLost);
        }
        self.yield_seat();
    }
}
