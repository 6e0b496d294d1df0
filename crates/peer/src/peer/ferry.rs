//! The connection to the relay: data channels that carry packets for every member (PROTOCOL §5.7).
//!
//! It is a path like that to a member, but for two things. The relay itself has nothing to say, so it is asked for an
//! echo now and then, and silence counts from one that did not come back. And the relay uses the channels of who
//! speaks on them: so a connection that has fallen is not spoken on any more, and the WebSocket takes over both ways.

use samovar_wire::relay::Addressed;
use samovar_wire::{Duration, Mode, PeerId, Time};

use super::{PathPolicy, Peer, Request};
use crate::path::{AttemptEnd, PathState, Patience, Rhythm};

/// How often the relay is asked for an echo.
pub(crate) const ECHO_EVERY: Duration = Duration::from_millis(200);

/// The connection to the relay.
#[derive(Debug)]
pub(super) struct Ferry {
    pub(super) path: PathState,
    /// The relay answers offers, on this WebSocket.
    is_reachable: bool,
    echo_at: Time,
    /// What members say on these channels.
    traffic: Option<Rhythm>,
}

impl Ferry {
    pub(super) fn new(now: Time) -> Self {
        Self {
            path: PathState::new(now, Patience::RELAY),
            is_reachable: false,
            echo_at: Time::FAR,
            traffic: None,
        }
    }

    /// The connection that may be spoken on.
    pub(super) fn way(&self, now: Time) -> Option<u32> {
        self.path.current().filter(|_| self.path.is_alive(now))
    }

    /// Asks for an echo now when members are unusually silent, since the last echo: whether it is they or the channels is to
    /// be known soon. `silent` is since when one is whose own path is in doubt.
    fn hurry(&mut self, now: Time, silent: Option<Time>) {
        let traffic = self.traffic.filter(|_| self.silent_at() <= now).map(|traffic| traffic.heard());
        let silent = silent.max(traffic);
        if silent.is_some() && !self.path.expects() && self.path.heard() <= silent {
            self.echo_at = self.echo_at.min(now);
        }
    }

    /// When what members say is unusually late.
    fn silent_at(&self) -> Time {
        let late = |traffic: Rhythm| traffic.unusual_at(Patience::PAIR.doubt);
        self.traffic.map_or(Time::FAR, late)
    }

    /// Both channels of a connection are open; whether that ends an attempt.
    pub(super) fn on_opened(&mut self, now: Time, attempt: u32) -> bool {
        (self.echo_at, self.traffic) = (now, None);
        self.path.on_opened(now, attempt)
    }

    /// Whether it is time to ask for an echo, and by which connection; one that was never heard on is asked, too.
    fn asks(&mut self, now: Time) -> Option<u32> {
        if self.echo_at > now {
            return None;
        }
        let attempt = self.path.current().filter(|_| !self.path.has_fallen(now));
        self.echo_at = if attempt.is_some() { now + ECHO_EVERY } else { Time::FAR };
        self.path.on_asked(now);
        attempt
    }

    pub(super) fn timeout(&self, may_offer: bool) -> Time {
        let offers = (may_offer && self.is_reachable).then_some(true);
        let may_ask = self.path.current().is_some() && !self.path.expects();
        let is_late = |traffic: Rhythm| may_ask && self.path.heard() <= Some(traffic.heard());
        let late = if self.traffic.is_some_and(is_late) { self.silent_at() } else { Time::FAR };
        self.path.timeout(offers, Some(true)).min(self.echo_at).min(late)
    }
}

impl Peer {
    /// The relay says that it answers offers.
    pub(super) fn on_reachable(&mut self, now: Time) {
        self.ferry.is_reachable = true;
        self.ferry.path.hurry(now);
    }

    /// The WebSocket is lost, and the relay's end of the connection with it.
    pub(super) fn end_ferry(&mut self, end: AttemptEnd) {
        self.ferry.is_reachable = false;
        // Nobody asks any more when the peer is over.
        (self.ferry.echo_at, self.ferry.traffic) = (Time::FAR, None);
        for closed in self.ferry.path.end(end) {
            self.give_up(PeerId::RELAY, closed);
        }
    }

    /// Keeps the connection: offers it, and asks for echoes.
    pub(super) fn tend_ferry(&mut self, now: Time) {
        if self.offers_to_relay() && self.ferry.is_reachable && self.ferry.path.wants_offer(now, true) {
            self.last_attempt += 1;
            let attempt = self.last_attempt;
            self.ferry.path.on_opening(now, attempt, None);
            self.requests.push_back(Request::Offer { peer: PeerId::RELAY, attempt });
        }
        if self.ferry.path.complains(now, true) {
            // It may be the way back that is cut: the relay shall use the WebSocket as well.
            self.send_socket(PeerId::RELAY, Mode::Unreliable, &[]);
        }
        let doubted = self.paths.values().filter(|path| path.is_doubted(now, true));
        let silent = doubted.filter_map(PathState::heard).max();
        if self.ferry.path.current().is_some() {
            self.ferry.hurry(now, silent);
        }
        if let Some(me) = self.client.peer()
            && let Some(attempt) = self.ferry.asks(now)
        {
            self.send_ferry(attempt, Mode::Unreliable, Addressed { peer: me, payload: &[] });
        }
    }

    /// Whether offers to the relay can be made at all now.
    pub(super) fn offers_to_relay(&self) -> bool {
        !self.over && self.config.paths != PathPolicy::Direct && self.client.is_settled()
    }

    /// Something came on the connection to the relay.
    pub(super) fn on_ferry_packet(&mut self, now: Time, attempt: u32, mode: Mode, bytes: &[u8]) {
        let Ok(Addressed { peer, payload }) = Addressed::decode(mode, bytes) else {
            if let Some(closed) = self.ferry.path.on_closed(now, attempt) {
                self.give_up(PeerId::RELAY, closed);
            }
            return;
        };
        if self.client.peer() == Some(peer) {
            // An echo: the way there and back carries. What others say proves half of it.
            if let Some(replaced) = self.ferry.path.on_heard(now, attempt) {
                self.ferry.path.on_answered(attempt);
                self.ferry.echo_at = self.ferry.echo_at.min(now + ECHO_EVERY);
                replaced.into_iter().for_each(|closed| self.give_up(PeerId::RELAY, closed));
            }
        } else {
            match &mut self.ferry.traffic {
                None => self.ferry.traffic = Some(Rhythm::new(now)),
                Some(traffic) => traffic.on_heard(now),
            }
            self.on_relayed(now, peer, (mode, payload), false);
        }
    }
}
