//! The link to one peer, and what is known of that peer besides.

use std::collections::VecDeque;

use samovar_link::{Dues, Link, LinkConfig, LinkEvent};
use samovar_objects::Objects;
use samovar_wire::{Duration, Generation, PeerId, Term, Time};

/// Two round trips of a link on which none was measured yet are reckoned as this.
pub(super) const FIRST_TRIP: Duration = Duration::from_millis(1_000);
/// What a peer said before its connection closed may arrive for a round trip after the word of that, and so long at least.
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
    /// The relay says that the peer's connection closed, since when.
    pub(crate) hint: Option<Time>,
    /// From when on its silence says something: until then it was heard through a relay that this peer has lost.
    pub(crate) judged_from: Time,
    /// The member that carries what the two say to each other, and since when it is that one, or none.
    pub(crate) carrier: (Option<PeerId>, Time),
    /// What the two say to each other goes through the relay.
    pub(crate) is_relayed: bool,
    /// When it was heard last behind an unusual silence.
    pub(crate) resumed: Time,
    /// The peer said that it leaves.
    pub(crate) left: bool,
    /// The peer asked for admission on this link.
    pub(crate) greeted: bool,
    /// A ticket is on its way by this link, or was.
    pub(crate) welcomed: bool,
    pub(crate) next_update: Time,
    /// How long that waits for the game's next frame.
    pub(crate) patience: Duration,
    /// What this peer said up to then had reached it before this link.
    before: Time,
    /// All that this peer has to tell it now is in the link, or waits for room there.
    pub(crate) is_told: bool,
    /// The link has nothing to send for now; `None` when something has happened since that was found out.
    pub(crate) idle: Option<Idle>,
    /// The peer speaks in this term under this host, under whom this peer does not live, or not yet; and up to when what this
    /// peer said had reached it before.
    pub(crate) ahead: Option<((Term, PeerId), Time)>,
    /// What it said under it.
    pub(crate) held: VecDeque<LinkEvent>,
}

/// For how long there is nothing to send to a peer unless something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    /// Until something wants to be sent.
    pub(crate) until: Time,
    /// Until it may be sent, or time has to pass for the link.
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

    /// Whether a connection of the peer closed, and nothing was heard of it since but what was under way then. What is said of a
    /// connection never outweighs that its peer is heard.
    pub(crate) fn is_hinted(&self) -> bool {
        let under_way = self.transport.round_trip().unwrap_or(FIRST_TRIP).max(UNDER_WAY_MIN);
        self.hint.is_some_and(|since| self.transport.heard_at() <= since + under_way)
    }

    /// It says under whom it lives, if that is another host: what reaches it then is of no account.
    pub(crate) fn note_ahead(&mut self, ahead: Option<(Term, PeerId)>) {
        let reached = self.reached();
        self.ahead = ahead.map(|reign| (reign, reached));
    }

    /// What is said to it is of account: it is a member, and stays.
    pub(crate) const fn is_lasting(&self) -> bool {
        self.admitted && !self.left
    }

    /// What was said before has reached the peer while it lived, for all that is known, under the same host.
    fn reached(&self) -> Time {
        match self.ahead {
            Some((_, reached)) => reached,
            None if self.admitted => self.transport.reached_at().max(self.before),
            None => self.before,
        }
    }

    /// The same of states: those that were lost shortly before were not sent again yet, or wait to be sent.
    pub(crate) fn shared(&self) -> Time {
        self.reached() - self.transport.round_trip().unwrap_or_default().times(2) - UPDATED_WITHIN
    }

    /// Whether the link is known to have nothing to send.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.idle.is_some_and(|idle| idle.until > now)
    }

    /// When to send the next update; never to who is no member yet, or no longer, or lacks nothing. What is said again lets
    /// what is new come first: a game whose frames are as long as the interval would else be heard a frame later.
    pub(crate) fn update_at(&self, peer: PeerId, objects: &Objects, interval: Duration) -> Time {
        if !self.admitted || !objects.wants_datagram(peer) {
            Time::FAR
        } else if objects.has_news(peer) {
            self.next_update
        } else {
            self.next_update + interval.half().half()
        }
    }

    /// For how long there is nothing to send to a peer that is told everything; `wrote` is when the game changed something last.
    pub(super) fn idle_to(&self, peer: PeerId, objects: &Objects, interval: Duration, wrote: Time) -> Idle {
        let update = self.update_at(peer, objects, interval);
        let Dues { wanted, allowed, timeout } = self.transport.dues();
        // The frame in which the game changes something again may be due at the same moment, and what it says is newer; what
        // has just been changed waits for nothing.
        let is_old = self.next_update.since(wrote) > self.patience;
        let patience = if is_old { self.patience } else { Duration::ZERO };
        Idle { until: wanted.min(update), due: timeout.min((update + patience).max(allowed)) }
    }
}
