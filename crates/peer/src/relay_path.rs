//! The connection to the relay: data channels that carry packets for every member (PROTOCOL §5.7).
//!
//! It is a path like that to a member, with two differences. The relay sends nothing by itself, so this peer asks it
//! for echoes, and silence counts from the first request without an echo. And the relay sends on the channels only
//! while this peer does. This peer sends nothing on a fallen connection. Then the WebSocket takes over in both
//! directions.

use samovar_wire::{Duration, Time};

use crate::path::{AttemptEnd, Closed, PathState, Patience, Rhythm};

/// The time between two requests for an echo.
pub(crate) const ECHO_EVERY: Duration = Duration::from_millis(200);

/// The connection to the relay.
#[derive(Debug)]
pub(crate) struct RelayPath {
    pub(crate) path: PathState,
    /// Whether the relay has said on the present WebSocket that it answers offers.
    is_reachable: bool,
    echo_at: Time,
    /// The arrivals from members on these channels.
    traffic: Option<Rhythm>,
}

impl RelayPath {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            path: PathState::new(now, Patience::RELAY),
            is_reachable: false,
            echo_at: Time::FAR,
            traffic: None,
        }
    }

    /// Notes that the relay answers offers.
    pub(crate) fn on_reachable(&mut self, now: Time) {
        self.is_reachable = true;
        self.path.hurry(now);
    }

    /// Ends the connection. The relay ends its side when it loses this peer's WebSocket, and a peer that leaves or is
    /// over needs no connection.
    pub(crate) fn end(&mut self, end: AttemptEnd) -> impl Iterator<Item = Closed> + use<> {
        self.is_reachable = false;
        // Without a connection this peer asks for no echoes.
        (self.echo_at, self.traffic) = (Time::FAR, None);
        self.path.end(end)
    }

    /// Whether to offer a connection now.
    pub(crate) fn wants_offer(&self, now: Time) -> bool {
        self.is_reachable && self.path.wants_offer(now, true)
    }

    /// The connection that this peer may send on.
    pub(crate) fn way(&self, now: Time) -> Option<u32> {
        self.path.current().filter(|_| self.path.is_alive(now))
    }

    /// Asks for an echo now if members have been unusually silent since the last echo, to learn soon whether the
    /// members or the channels are at fault. `silent` is when a member whose own path is in doubt was last heard.
    pub(crate) fn hurry(&mut self, now: Time, silent: Option<Time>) {
        if self.path.current().is_none() {
            return;
        }
        let traffic = self.traffic.filter(|_| self.silent_at() <= now).map(|traffic| traffic.heard());
        let silent = silent.max(traffic);
        if silent.is_some() && !self.path.expects() && self.path.heard() <= silent {
            self.echo_at = self.echo_at.min(now);
        }
    }

    /// When the silence of the members becomes unusual.
    fn silent_at(&self) -> Time {
        let late = |traffic: Rhythm| traffic.unusual_at(Patience::PAIR.doubt);
        self.traffic.map_or(Time::FAR, late)
    }

    /// Notes that both channels of a connection are open. Returns whether that ends an attempt.
    pub(crate) fn on_opened(&mut self, now: Time, attempt: u32) -> bool {
        (self.echo_at, self.traffic) = (now, None);
        self.path.on_opened(now, attempt)
    }

    /// The connection on which to ask for an echo now, if any. It may be unproven.
    pub(crate) fn asks(&mut self, now: Time) -> Option<u32> {
        if self.echo_at > now {
            return None;
        }
        let attempt = self.path.current().filter(|_| !self.path.has_fallen(now));
        self.echo_at = if attempt.is_some() { now + ECHO_EVERY } else { Time::FAR };
        self.path.on_asked(now);
        attempt
    }

    pub(crate) fn timeout(&self, may_offer: bool) -> Time {
        let offers = (may_offer && self.is_reachable).then_some(true);
        let may_ask = self.path.current().is_some() && !self.path.expects();
        let is_late = |traffic: Rhythm| may_ask && self.path.heard() <= Some(traffic.heard());
        let late = if self.traffic.is_some_and(is_late) { self.silent_at() } else { Time::FAR };
        self.path.timeout(offers, Some(true)).min(self.echo_at).min(late)
    }

    /// Handles an echo, which shows that both directions work. Returns the connection that this one replaces, if any.
    pub(crate) fn on_echo(&mut self, now: Time, attempt: u32) -> Option<Closed> {
        let replaced = self.path.on_heard(now, attempt)?;
        self.path.on_answered(attempt);
        self.echo_at = self.echo_at.min(now + ECHO_EVERY);
        replaced
    }

    /// Notes a packet of a member.
    pub(crate) fn on_traffic(&mut self, now: Time) {
        match &mut self.traffic {
            None => self.traffic = Some(Rhythm::new(now)),
            Some(traffic) => traffic.on_heard(now),
        }
    }
}
