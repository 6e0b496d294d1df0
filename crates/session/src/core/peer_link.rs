//! The link to one peer, and what is known of that peer besides.

use std::collections::VecDeque;

use samovar_link::{Dues, Link, LinkConfig, LinkEvent};
use samovar_objects::Objects;
use samovar_wire::{Duration, Generation, PeerId, Term, Time};

/// The time that counts as two round trips on a link that has measured none yet.
pub(super) const FIRST_TRIP: Duration = Duration::from_millis(1_000);
/// Packets that a peer sent before its connection closed may arrive for a round trip after the hint, and for at least
/// so long.
const UNDER_WAY_MIN: Duration = Duration::from_millis(50);
/// A state that changed is sent within this time.
const UPDATED_WITHIN: Duration = Duration::from_millis(50);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct PeerLink {
    pub(crate) transport: Link,
    /// The peer is in the view; only then it takes part.
    pub(crate) admitted: bool,
    pub(crate) opened: Time,
    /// When this peer heard that a connection of the other closed.
    pub(crate) hint: Option<Time>,
    /// From when on the other's silence counts. Until then it does not, since this peer heard it through a relay that
    /// it has lost.
    pub(crate) judged_from: Time,
    /// The member that carries the packets between the two, if any, and since when that is so.
    pub(crate) carrier: (Option<PeerId>, Time),
    /// Only the relay brings the packets of the other.
    pub(crate) is_relayed: bool,
    /// When the peer was last heard after an unusual silence.
    pub(crate) resumed: Time,
    /// The peer said that it leaves.
    pub(crate) left: bool,
    /// The peer asked for admission on this link.
    pub(crate) greeted: bool,
    /// The host has admitted the peer on this link: a ticket is on its way, or was.
    pub(crate) welcomed: bool,
    pub(crate) next_update: Time,
    /// How long the next update waits for the game's next frame.
    pub(crate) patience: Duration,
    /// The time up to which this peer's messages had reached the other before this link.
    before: Time,
    /// All that this peer has to tell the other now is in the link, or waits for room there.
    pub(crate) is_told: bool,
    /// For how long the link has nothing to send; `None` when something has happened since that was found out.
    pub(crate) idle: Option<Idle>,
    /// The term and the host that the other lives under, if this peer does not, or not yet; and up to when this peer's
    /// messages had reached the other before.
    pub(crate) ahead: Option<((Term, PeerId), Time)>,
    /// Messages of the other under that term and host, which wait.
    pub(crate) held: VecDeque<LinkEvent>,
}

/// For how long there is nothing to send to a peer unless something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    /// When something will have to be sent.
    pub(crate) until: Time,
    /// When it may be sent, or a timer of the link is due.
    pub(crate) due: Time,
}

impl PeerLink {
    pub(super) fn new(now: Time, generation: Generation, before: Time) -> Self {
        Self {
            transport: Link::new(now, LinkConfig::default(), generation),
            admitted: false,
            opened: now,
            hint: None,
            judged_from: Time::ZERO,
            carrier: (None, Time::ZERO),
            is_relayed: false,
            resumed: Time::ZERO,
            left: false,
            greeted: false,
            welcomed: false,
            next_update: now,
            patience: Duration::ZERO,
            before,
            is_told: false,
            idle: None,
            ahead: None,
            held: VecDeque::new(),
        }
    }

    /// Whether a connection of the peer closed, and only packets that were under way then have come since. A hint never
    /// outweighs that the peer is heard.
    pub(crate) fn is_hinted(&self) -> bool {
        let under_way = self.transport.round_trip().unwrap_or(FIRST_TRIP).max(UNDER_WAY_MIN);
        self.hint.is_some_and(|since| self.transport.heard_at() <= since + under_way)
    }

    /// Notes the term and host that the other lives under, if this peer does not. Messages that reach it then do not
    /// count.
    pub(crate) fn note_ahead(&mut self, ahead: Option<(Term, PeerId)>) {
        let reached = self.reached();
        self.ahead = ahead.map(|reign| (reign, reached));
    }

    /// Whether messages to the other count: it is a member, and has not left.
    pub(crate) const fn is_lasting(&self) -> bool {
        self.admitted && !self.left
    }

    /// The time up to which this peer's messages have reached the other while both lived under the same host, as far as
    /// this peer knows.
    fn reached(&self) -> Time {
        match self.ahead {
            Some((_, reached)) => reached,
            None if self.admitted => self.transport.reached_at().max(self.before),
            None => self.before,
        }
    }

    /// The same for object states. States that were lost shortly before may not have been sent again yet, or wait to be
    /// sent.
    pub(crate) fn shared(&self) -> Time {
        self.reached() - self.transport.round_trip().unwrap_or_default().times(2) - UPDATED_WITHIN
    }

    /// Whether the link is known to have nothing to send.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.idle.is_some_and(|idle| idle.until > now)
    }

    /// When to send the next update; never to a peer that is not a member, or that lacks nothing. An update that only
    /// repeats states waits longer, so that a new one comes first. Otherwise the changes of a game whose frames are as
    /// long as the interval would go out a frame later.
    pub(crate) fn update_at(&self, peer: PeerId, objects: &Objects, interval: Duration) -> Time {
        if !self.admitted || !objects.wants_datagram(peer) {
            Time::FAR
        } else if objects.has_news(peer) {
            self.next_update
        } else {
            self.next_update + interval.half().half()
        }
    }

    /// For how long there is nothing to send to a peer that is told everything; `wrote` is when the game changed
    /// something last.
    pub(super) fn idle_to(&self, peer: PeerId, objects: &Objects, interval: Duration, wrote: Time) -> Idle {
        let update = self.update_at(peer, objects, interval);
        let Dues { wanted, allowed, timeout } = self.transport.dues();
        // The game's next frame may be due at the same moment and have newer states, so an update of old ones waits for
        // it. A change that has just been made does not wait.
        let is_old = self.next_update.since(wrote) > self.patience;
        let patience = if is_old { self.patience } else { Duration::ZERO };
        Idle { until: wanted.min(update), due: timeout.min((update + patience).max(allowed)) }
    }
}
