//! The failure detector: which members live, by what is heard of them (PROTOCOL §4.10).

use samovar_wire::{Duration, PeerId, SortedSet, Time};

use super::peer_link::{FIRST_TRIP, PeerLink};
use super::reach::Reach;
use super::{Core, Phase};

/// How often the members are checked, besides the moments at which the host begins to be missed.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// The least time between two checks.
const WATCH_PAUSE: Duration = Duration::from_millis(5);
/// A peer is missed when the suspicion of its silence reaches this level. A living peer is silent for that long once
/// in a hundred silences. Such a false alarm has no consequences by itself (PROTOCOL §4.10).
const MISSED: f64 = 2.0;
/// A peer is missed after this silence at the latest, however bad its path was. So a host that has lost all other
/// peers acts for at most this long and a lease more.
const PATIENCE_MAX: Duration = Duration::from_millis(3_000);
/// A member that was heard through the relay is not judged until this peer's own connection to the relay has been
/// back for this long.
const RELAY_SETTLES: Duration = Duration::from_millis(1_000);
/// If this peer loses the relay within this time after it began to miss a member, both losses count as having one
/// cause. A fault that breaks one connection breaks others, one after another.
const RELAY_BREAKS_WITHIN: Duration = Duration::from_millis(100);
/// If the connection to the relay does not come back, a member that was heard through the relay is judged after this
/// time.
const RELAY_RETURNS: Duration = Duration::from_millis(3_000);
/// A member that was heard through a carrier only is missed at least this much later than the carrier.
const CARRIER_EXCUSES: Duration = Duration::from_millis(1_000);
/// A host removes a member that has been silent for this long; the member's seat is kept.
pub(crate) const REMOVED_AFTER: Duration = Duration::from_millis(5_000);
/// A peer whose driver has not called it for this long was away itself. It listens to the others before it judges
/// them.
pub(crate) const AWAY: Duration = Duration::from_millis(100);

/// When the members are checked.
#[derive(Debug)]
pub(crate) struct Watch {
    /// When the members were checked last; `None` to check at once.
    watched: Option<Time>,
    no_watch_before: Time,
    /// The time from which silence counts: shortly after this peer was last away.
    judges_from: Time,
    /// When the host was last heard before this peer doubted it.
    pub(crate) doubted: Time,
    /// Whether this peer last told all members that it misses its host.
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

    /// Makes the next check due as soon as the pause allows, since there is news for it.
    pub(crate) const fn soon(&mut self) {
        self.watched = None;
    }

    /// Notes that a check happens now.
    pub(crate) fn begin(&mut self, now: Time) {
        self.watched = Some(now);
        self.no_watch_before = now + WATCH_PAUSE;
    }

    /// Whether silence counts.
    pub(crate) fn judges(&self, now: Time) -> bool {
        self.judges_from <= now
    }

    /// Notes that `gap` has passed since the last call, at `last`. A peer that is away again and again, in a hidden
    /// tab, judges the others at every second call.
    pub(crate) fn pass(&mut self, now: Time, last: Time, gap: Duration) {
        if gap >= AWAY && self.judges_from <= last {
            self.judges_from = now + WATCH_INTERVAL.half();
            self.no_watch_before = self.judges_from;
        }
    }
}

impl Core {
    /// When to check the members: now and then, when the host begins to be missed, and when a wait of the election is
    /// over.
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

    /// When a peer begins to be missed, if it stays silent.
    fn missed_at(&self, peer: PeerId, link: &PeerLink) -> Time {
        let transport = &link.transport;
        // On a lossless path, lost data is sent again after more than a round trip, and all later data waits for it.
        // So such a path, or a new link with an unknown round trip, gets more time.
        let again = match transport.round_trip() {
            None => FIRST_TRIP,
            Some(trip) if transport.is_lossless() => trip.times(2),
            Some(_) => Duration::ZERO,
        };
        let silent = transport.suspect_at(MISSED).max(transport.heard_at() + again);
        let silent = silent.min(transport.heard_at() + PATIENCE_MAX);
        // If a connection of the peer closed, one and a half intervals of silence are enough.
        let hinted = transport.heard_at() + self.pace_of(peer).times(3).half();
        let missed_at = if link.is_hinted() { silent.min(hinted) } else { silent };
        let missed_at = self.missed_beyond_carrier(missed_at, link);
        let missed_at =
            if link.is_relayed { self.missed_beyond_relay(missed_at, peer, link) } else { missed_at };
        // A host excuses no silence: its lease depends on the members that it hears, whatever the reason for a
        // silence.
        if self.is_host() { missed_at } else { missed_at.max(link.judged_from) }
    }

    /// While a carrier is silent, the silence of the members that it carries for says nothing, so they are not missed
    /// before the carrier. When the carrier is heard again, or another carries for a member, that member has its
    /// whole span of silence again.
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

    /// A member that is heard through the relay is missed a little later if the relay has brought nothing from any
    /// member since that member fell silent. The fault may have broken this peer's own connection to the relay, and
    /// the driver may be about to report it.
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

    /// The members that are missed, and those that are doubted: too silent to succeed, or without the session's state
    /// as far as this peer knows. Right after this peer was away, silence does not count.
    pub(crate) fn lives(&self, now: Time) -> (SortedSet<PeerId>, SortedSet<PeerId>) {
        let judges = self.watch.judges(now);
        let (mut missed, mut doubted) = (SortedSet::new(), SortedSet::new());
        for member in self.view().members().map(|member| member.peer).filter(|&peer| peer != self.me()) {
            let link = self.net.link(member);
            // A member without a link counts as missed, since this peer cannot hear it.
            let is_missed =
                link.is_none_or(|link| link.left || judges && self.missed_at(member, link) <= now);
            if is_missed {
                missed.insert(member);
            }
            if is_missed || link.is_none_or(|link| !link.joined || judges && link.transport.is_quiet(now)) {
                doubted.insert(member);
            }
        }
        // A host that is not in the view cannot be followed, so it counts as missed (PROTOCOL §4.10).
        if !self.view().has(self.host()) {
            missed.insert(self.host());
        }
        (missed, doubted)
    }

    /// Whether a member may not have the session's state yet, as far as this peer knows.
    pub(crate) fn is_joining(&self, peer: PeerId) -> bool {
        self.net.link(peer).is_some_and(|link| !link.joined)
    }

    /// Notes that a member has said its opinion, and so has read the view.
    pub(crate) fn note_joined(&mut self, peer: PeerId) {
        if let Some(link) = self.net.link_mut(peer)
            && !core::mem::replace(&mut link.joined, true)
        {
            // It can be a backup or an heir now.
            self.watch.soon();
            self.stir();
        }
    }

    /// Asks the relay about a silent host before it is missed. So by then it is known whether the host has answered
    /// the relay.
    pub(crate) fn doubt_host(&mut self, now: Time) {
        let Some(host) = self.net.link(self.host()) else { return };
        let heard = host.transport.heard_at();
        if host.transport.is_quiet(now) && self.watch.doubted != heard {
            (self.watch.doubted, self.out.doubt) = (heard, true);
        }
    }

    /// Notes that this peer tells all members whether it misses its host.
    pub(crate) fn note_missed_host(&mut self, missed: bool) {
        let said = core::mem::replace(&mut self.watch.says_missed, missed);
        let Some(host) = self.net.link(self.host()) else { return };
        let heard = host.transport.heard_at();
        if missed {
            self.watch.doubted = heard;
        } else if said {
            // The relay is also told when the host is heard again (PROTOCOL §5.5). A host that is only given more
            // time, since its packets now take another path, has not been heard again.
            self.out.doubt |= self.watch.doubted != heard;
        }
    }

    /// Excuses the silence of a member that this peer heard through the relay, since this peer has lost its own
    /// connection to the relay. The silence does not count until the connection has been back for a second, or away
    /// for three. A member that was missed long before stays missed.
    pub(crate) fn excuse(&mut self, now: Time, peer: PeerId) {
        let Some(link) = self.net.link(peer) else { return };
        if self.missed_at(peer, link) + RELAY_BREAKS_WITHIN > now
            && let Some(link) = self.net.link_mut(peer)
        {
            link.judged_from = now + RELAY_RETURNS;
        }
    }

    /// Ends these excuses soon, since the connection to the relay is back.
    pub(crate) fn end_excuses(&mut self, now: Time) {
        for (_, link) in self.net.links_mut() {
            link.judged_from = link.judged_from.min(now + RELAY_SETTLES);
        }
    }

    /// Drops the hints of closed connections that later packets have refuted.
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
