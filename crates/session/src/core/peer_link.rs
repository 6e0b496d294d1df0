//! The link to one peer, and what else this peer knows of that peer.

use std::collections::VecDeque;

use samovar_link::{Dues, Link, LinkConfig, LinkEvent};
use samovar_objects::Objects;
use samovar_wire::{Duration, Generation, PeerId, Term, Time};

/// Stands for two round trips on a link that has not measured any round trip yet.
pub(super) const FIRST_TRIP: Duration = Duration::from_millis(1_000);
/// Packets that a peer sent before its connection closed may arrive for a round trip after the hint, and for at least
/// this long.
const UNDER_WAY_MIN: Duration = Duration::from_millis(50);
/// A state that changed is sent within this time.
const UPDATED_WITHIN: Duration = Duration::from_millis(50);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct PeerLink {
    pub(crate) transport: Link,
    /// Whether the peer is in the view. Only then does it take part.
    pub(crate) admitted: bool,
    pub(crate) opened: Time,
    /// When this peer learned that a connection of the other peer had closed.
    pub(crate) hint: Option<Time>,
    /// The time from which the other peer's silence counts. It is in the future while that silence is excused: this
    /// peer heard the other through the relay, and has lost its own connection to the relay.
    pub(crate) judged_from: Time,
    /// The member that carries the packets between the two peers, if any, and the time of the last change.
    pub(crate) carrier: (Option<PeerId>, Time),
    /// Whether the other peer's packets come through the relay only.
    pub(crate) is_relayed: bool,
    /// When the peer was last heard after an unusual silence.
    pub(crate) resumed: Time,
    /// Whether the peer has said that it leaves.
    pub(crate) left: bool,
    /// Whether the peer has asked for admission on this link.
    pub(crate) greeted: bool,
    /// Whether this host has admitted the peer on this link, so that its WELCOME was sent or is about to be.
    pub(crate) welcomed: bool,
    /// Whether the peer has said its opinion, which it does to each member as soon as it has read a view that names it.
    pub(crate) joined: bool,
    pub(crate) next_update: Time,
    /// How long the next update waits for the game's next frame.
    pub(crate) patience: Duration,
    /// The time up to which this peer's messages had reached the other before this link.
    before: Time,
    /// Whether the link has taken all that this peer has to tell the other, except what waits for room there.
    pub(crate) is_told: bool,
    /// For how long the link has nothing to send; `None` when something has happened since this was computed.
    pub(crate) idle: Option<Idle>,
    /// The other peer's term and host, if this peer does not live under them, or not yet. With them, the time up to
    /// which this peer's messages had reached the other before.
    pub(crate) ahead: Option<((Term, PeerId), Time)>,
    /// Messages that the other peer sent under the term and host in `ahead`. They wait until this peer lives under
    /// these, too.
    pub(crate) held: VecDeque<LinkEvent>,
}

/// For how long there is nothing to send to a peer unless something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    /// When the link will have something to send.
    pub(crate) until: Time,
    /// When the link may send it, or when a timer of the link is due.
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
            joined: false,
            next_update: now,
            patience: Duration::ZERO,
            before,
            is_told: false,
            idle: None,
            ahead: None,
            held: VecDeque::new(),
        }
    }

    /// Whether a connection of the peer closed, and only packets that were already under way have come since. Any
    /// later packet refutes the hint.
    pub(crate) fn is_hinted(&self) -> bool {
        let under_way = self.transport.round_trip().unwrap_or(FIRST_TRIP).max(UNDER_WAY_MIN);
        self.hint.is_some_and(|since| self.transport.heard_at() <= since + under_way)
    }

    /// Notes the term and host that the other peer lives under, if this peer does not. From then on this peer's
    /// messages do not count as having reached the other.
    pub(crate) fn note_ahead(&mut self, ahead: Option<(Term, PeerId)>) {
        let reached = self.reached();
        self.ahead = ahead.map(|reign| (reign, reached));
    }

    /// Whether the peer is a member that has not fallen silent.
    pub(crate) fn is_answering(&self, now: Time) -> bool {
        self.is_lasting() && !self.transport.is_quiet(now)
    }

    /// Whether it matters which messages reach the other peer: it is a member, and has not left.
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

    /// The time up to which this peer's object states have reached the other. It is earlier than the time for
    /// messages, since states that were lost or changed shortly before may still wait to be sent.
    pub(crate) fn shared(&self) -> Time {
        self.reached() - self.transport.round_trip().unwrap_or_default().times(2) - UPDATED_WITHIN
    }

    /// Whether the link is known to have nothing to send.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.idle.is_some_and(|idle| idle.until > now)
    }

    /// When to send the next update; never to a peer that is not a member, or that lacks nothing. An update that only
    /// repeats states waits longer, so that new changes go first. Otherwise a game whose frames are as long as the
    /// interval would see its changes sent a frame late.
    pub(crate) fn update_at(&self, peer: PeerId, objects: &Objects, interval: Duration) -> Time {
        if !self.admitted || !objects.wants_datagram(peer) {
            Time::FAR
        } else if objects.has_news(peer) {
            self.next_update
        } else {
            self.next_update + interval.half().half()
        }
    }

    /// For how long there is nothing to send to a peer that has been told everything. `wrote` is when the game last
    /// changed something.
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
