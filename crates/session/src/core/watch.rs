//! Who lives, by what is heard: the failure detector (PROTOCOL §4.10).

use samovar_wire::{Duration, PeerId, SortedSet, Time};

use super::peer_link::{FIRST_TRIP, PeerLink};
use super::reach::Reach;
use super::{Core, Phase};

/// How often everybody's life is looked at, besides the moments at which somebody begins to be missed.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// The least time between two looks.
const WATCH_PAUSE: Duration = Duration::from_millis(5);
/// Whose silence is this suspicious is missed: one false alarm in a hundred losses of a sign of life, and none has
/// consequences by itself (PROTOCOL §4.10).
const MISSED: f64 = 2.0;
/// However bad a path was, nobody is waited for longer: a lone host would act on for as long.
const PATIENCE_MAX: Duration = Duration::from_millis(3_000);
/// A member that was heard through the relay is not judged before this peer's own connection to it has been back for so long.
const RELAY_SETTLES: Duration = Duration::from_millis(1_000);
/// Whoever was missed so shortly before that was lost by the same cause: what broke one connection breaks others, one after another.
const RELAY_BREAKS_WITHIN: Duration = Duration::from_millis(100);
/// Nor, when that does not come back, before it has been away for so long.
const RELAY_RETURNS: Duration = Duration::from_millis(3_000);
/// For so long behind the moment from which on a carrier is missed, those are not whom only it was heard through.
const CARRIER_EXCUSES: Duration = Duration::from_millis(1_000);
/// Who passes no time for so long was away itself, and hears the others before it judges them.
pub(crate) const AWAY: Duration = Duration::from_millis(100);

/// When everybody's life is looked at.
#[derive(Debug)]
pub(crate) struct Watch {
    /// When it was last; `None` to do so at once.
    watched: Option<Time>,
    no_watch_before: Time,
    /// This peer was away, and takes nobody's silence for a sign before that.
    judges_from: Time,
    /// When the host was last heard before this peer doubted it.
    pub(crate) doubted: Time,
    /// All were told last that this peer misses its host.
    pub(crate) says_missed: bool,
    pub(crate) reach: Reach,
}

impl Watch {
    pub(super) fn new(now: Time) -> Self {
        Self {
            watched: None,
            no_watch_before: now,
            judges_from: now,
            doubted: now,
            says_missed: false,
            reach: Reach::default(),
        }
    }

    /// There is news that a look at everybody's life may make something of, as soon as one is due.
    pub(crate) const fn soon(&mut self) {
        self.watched = None;
    }

    /// Looks now.
    pub(crate) fn begin(&mut self, now: Time) {
        self.watched = Some(now);
        self.no_watch_before = now + WATCH_PAUSE;
    }

    /// Whether silence says anything.
    pub(crate) fn judges(&self, now: Time) -> bool {
        self.judges_from <= now
    }

    /// So much time passed since this peer last looked, at `last`: who is away again and again, in a hidden tab, judges every
    /// other time.
    pub(crate) fn pass(&mut self, now: Time, last: Time, gap: Duration) {
        if gap >= AWAY && self.judges_from <= last {
            self.judges_from = now + WATCH_INTERVAL.half();
            self.no_watch_before = self.judges_from;
        }
    }
}

impl Core {
    /// When to look at everybody's life: now and then, when the host begins to be missed, and when a wait of the election
    /// is over.
    pub(crate) fn watch_at(&self) -> Time {
        let missed_at = match self.net.link(self.host()) {
            Some(link) if self.phase == Phase::Member && self.roster.missed_since().is_none() => {
                let is_doubted = self.watch.doubted == link.transport.heard_at();
                let quiet_at = if is_doubted { Time::FAR } else { link.transport.quiet_at() };
                self.missed_at(self.host(), link).min(quiet_at)
            }
            _ => Time::FAR,
        };
        let watch = &self.watch;
        let routine =
            watch.watched.map_or(Time::ZERO, |at| (at + WATCH_INTERVAL).min(self.roster.poll_timeout(at)));
        missed_at.min(routine).max(watch.no_watch_before)
    }

    /// When a peer that says nothing more begins to be missed.
    fn missed_at(&self, peer: PeerId, link: &PeerLink) -> Time {
        let transport = &link.transport;
        // What a stream loses comes again after a round trip and more, and holds back all behind it. How long that is
        // a new link does not know.
        let again = match transport.round_trip() {
            None => FIRST_TRIP,
            Some(trip) if transport.is_lossless() => trip.times(2),
            Some(_) => Duration::ZERO,
        };
        let silent = transport.suspect_at(MISSED).max(transport.heard_at() + again);
        let silent = silent.min(transport.heard_at() + PATIENCE_MAX);
        // The relay lost it, too: a sign of life and a half are enough.
        let hinted = transport.heard_at() + self.pace_of(peer).times(3).half();
        let missed_at = if link.is_hinted() { silent.min(hinted) } else { silent };
        let missed_at = self.missed_beyond_carrier(missed_at, link);
        let missed_at =
            if link.is_relayed { self.missed_beyond_relay(missed_at, peer, link) } else { missed_at };
        // A host's lease goes on by whom it hears, whatever keeps it from that.
        if self.is_host() { missed_at } else { missed_at.max(link.judged_from) }
    }

    /// What a carrier did not bring since it fell silent says nothing of who it would have been from: nobody is missed before
    /// the carrier, nor sooner behind its silence, or behind the change to it, than any silence says something.
    fn missed_beyond_carrier(&self, missed_at: Time, link: &PeerLink) -> Time {
        let (carrier, since) = link.carrier;
        let span = missed_at.since(link.transport.heard_at());
        let missed_at = if since == Time::ZERO { missed_at } else { missed_at.max(since + span) };
        let carrier = carrier.and_then(|carrier| Some((carrier, self.net.link(carrier)?)));
        let Some((peer, carrier)) = carrier.filter(|(_, carrier)| carrier.carrier.0.is_none()) else {
            return missed_at;
        };
        let missed_at = missed_at.max(carrier.resumed + span);
        if carrier.transport.quiet_at() > missed_at {
            return missed_at;
        }
        missed_at.max(self.missed_at(peer, carrier) + CARRIER_EXCUSES)
    }

    /// Nor is anybody missed whom the relay brought, while it has brought nothing from anybody since that one fell silent: what
    /// broke that one's connection may have broken this peer's own, and it is about to hear so.
    fn missed_beyond_relay(&self, missed_at: Time, peer: PeerId, link: &PeerLink) -> Time {
        let others = self.net.links().filter(|&(other, link)| other != peer && link.is_relayed);
        let brought = others.map(|(_, link)| link.transport.heard_at()).max().unwrap_or_default();
        let brought = brought.max(link.transport.heard_at());
        if brought >= link.transport.quiet_at() {
            missed_at
        } else {
            missed_at.max(brought + RELAY_BREAKS_WITHIN)
        }
    }

    /// The members that are missed, and those that are silent enough not to be a successor of choice. Right after it was away
    /// this peer knows of silence nothing.
    pub(crate) fn lives(&self, now: Time) -> (SortedSet<PeerId>, SortedSet<PeerId>) {
        let judges = self.watch.judges(now);
        let (mut missed, mut doubted) = (SortedSet::new(), SortedSet::new());
        for member in self.view().members().map(|member| member.peer).filter(|&peer| peer != self.me()) {
            let link = self.net.link(member);
            // Who has no link is as good as missed: the rules of the game were broken on one side.
            let is_missed =
                link.is_none_or(|link| link.left || judges && self.missed_at(member, link) <= now);
            if is_missed {
                missed.insert(member);
            }
            if is_missed || link.is_none_or(|link| judges && link.transport.is_quiet(now)) {
                doubted.insert(member);
            }
        }
        // Who was removed, or never met, cannot be followed (PROTOCOL §4.10).
        if !self.view().has(self.host()) {
            missed.insert(self.host());
        }
        (missed, doubted)
    }

    /// A host that is silent may be missed soon: then its answer, or that there is none, is known already.
    pub(crate) fn doubt_host(&mut self, now: Time) {
        let Some(host) = self.net.link(self.host()) else { return };
        let heard = host.transport.heard_at();
        if host.transport.is_quiet(now) && self.watch.doubted != heard {
            (self.watch.doubted, self.out.doubt) = (heard, true);
        }
    }

    /// This peer says whether it misses its host.
    pub(crate) fn note_missed_host(&mut self, missed: bool) {
        let said = core::mem::replace(&mut self.watch.says_missed, missed);
        let Some(host) = self.net.link(self.host()) else { return };
        let heard = host.transport.heard_at();
        if missed {
            self.watch.doubted = heard;
        } else if said {
            // The relay, too, shall know when the host is heard again (PROTOCOL §5.5). One that is only
            // waited for longer, since its packets take another path, has not been.
            self.out.doubt |= self.watch.doubted != heard;
        }
    }

    /// This peer's own connection to the relay is lost, through which it heard a member: that one's silence says nothing
    /// until the connection has been back for a second, or away for three. Of whom it missed long before it knows no better.
    pub(crate) fn excuse(&mut self, now: Time, peer: PeerId) {
        let Some(link) = self.net.link(peer) else { return };
        if self.missed_at(peer, link) + RELAY_BREAKS_WITHIN > now
            && let Some(link) = self.net.link_mut(peer)
        {
            link.judged_from = now + RELAY_RETURNS;
        }
    }

    /// The connection to the relay is back.
    pub(crate) fn end_excuses(&mut self, now: Time) {
        for (_, link) in self.net.links_mut() {
            link.judged_from = link.judged_from.min(now + RELAY_SETTLES);
        }
    }

    /// Hints that were refuted say nothing any more.
    pub(crate) fn drop_hints(&mut self) {
        for (_, link) in self.net.links_mut() {
            let is_hinted = link.is_hinted();
            link.hint.take_if(|_| !is_hinted);
        }
    }

    pub(crate) fn review_reach(&mut self, now: Time) {
        let members = self.net.links().filter(|(_, link)| link.admitted);
        let heard = members.map(|(_, link)| link.transport.heard_at()).max().unwrap_or_default();
        self.watch.reach.review(now, heard, self.roster.reaches_relay(), self.roster.is_relay_silent());
    }
}
