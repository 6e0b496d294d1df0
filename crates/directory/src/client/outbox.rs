//! A client's messages to the relay. Some are sent at once, some when the relay's limits allow it, and some when they
//! changed.

use std::collections::VecDeque;

use samovar_wire::relay::{RelayFrame, Signal, ToRelay};
use samovar_wire::{PeerId, Term, Time};

use crate::bucket::Bucket;
use crate::limits::{
    BAR_BURST, BAR_INTERVAL, BARS_MAX, CLIENT_CLAIM_BURST, CLIENT_CLAIM_INTERVAL, CLIENT_SIGNAL_BURST,
    CLIENT_SIGNAL_INTERVAL, CLIENT_SIGNALS_MAX, LISTING_INTERVAL, MEMBERS_BURST, MEMBERS_INTERVAL,
};

/// The messages that are ready, in order, and those that a rate limit holds back.
#[derive(Debug)]
pub(super) struct Outbox {
    ready: VecDeque<Vec<u8>>,
    signals: Signals,
    pace: Bucket,
    claims: Bucket,
    members: Statement,
    listing: Statement,
    bars: Bars,
    /// Whether the socket closes after the last message.
    closing: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            signals: Signals::default(),
            pace: Bucket::new(CLIENT_SIGNAL_INTERVAL, CLIENT_SIGNAL_BURST),
            claims: Bucket::new(CLIENT_CLAIM_INTERVAL, CLIENT_CLAIM_BURST),
            members: Statement::new(Bucket::new(MEMBERS_INTERVAL, MEMBERS_BURST)),
            listing: Statement::new(Bucket::new(LISTING_INTERVAL, 1)),
            bars: Bars::new(),
            closing: false,
        }
    }

    pub(super) fn push(&mut self, message: &ToRelay) {
        self.ready.push_back(RelayFrame::control(message));
    }

    /// Adds messages that are encoded already.
    pub(super) fn extend(&mut self, messages: impl IntoIterator<Item = Vec<u8>>) {
        self.ready.extend(messages);
    }

    pub(super) fn signal(&mut self, to: PeerId, signal: Signal, is_member: bool) {
        self.signals.push(to, signal, is_member);
    }

    /// Sends a claim, unless it exceeds the limit: a repetition of the claim will follow.
    pub(super) fn claim(&mut self, now: Time, term: Term, candidate: PeerId) {
        if self.claims.take(now) {
            self.push(&ToRelay::Claim(term, candidate));
        }
    }

    /// Sends a doubt, unless it exceeds the limit of claims. A dropped doubt does little harm: a claim may follow,
    /// and an earlier claim expires by itself.
    pub(super) fn doubt(&mut self, now: Time) {
        if self.claims.take(now) {
            self.push(&ToRelay::Doubt);
        }
    }

    pub(super) fn set_listing(&mut self, listing: ToRelay) {
        self.listing.set(listing);
    }

    pub(super) fn set_members(&mut self, members: ToRelay) {
        self.members.set(members);
    }

    pub(super) fn bar(&mut self, peer: PeerId) {
        self.bars.add(peer);
    }

    pub(super) const fn forget_sent(&mut self) {
        self.members.is_sent = false;
        self.listing.is_sent = false;
        self.bars.sent = 0;
    }

    /// Moves the messages that the limits allow to the ready ones.
    pub(super) fn flush(&mut self, now: Time, is_host: bool) {
        while !self.signals.is_empty() && self.pace.take(now) {
            if let Some((to, signal)) = self.signals.pop() {
                self.push(&ToRelay::Signal(to, signal));
            }
        }
        if is_host {
            let due = [self.members.take(now), self.listing.take(now)];
            self.ready.extend(due.into_iter().flatten());
            while let Some(bar) = self.bars.take(now) {
                self.push(&bar);
            }
        }
    }

    /// When [`Outbox::flush`] next has a message to send.
    pub(super) fn ready_at(&self, is_host: bool) -> Time {
        let signal = if self.signals.is_empty() { Time::FAR } else { self.pace.ready_at() };
        let statements = self.members.due().min(self.listing.due()).min(self.bars.due());
        if is_host { signal.min(statements) } else { signal }
    }

    /// Forgets the messages for a connection that is gone; the host's statements stay, for the next one.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.signals = Signals::default();
        self.forget_sent();
    }

    pub(super) const fn close_when_empty(&mut self) {
        self.closing = true;
    }

    /// Whether the socket shall close now; true once.
    pub(super) fn take_close(&mut self) -> bool {
        let close = self.closing && self.ready.is_empty();
        self.closing &= !close;
        close
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }
}

/// Signals that wait. Those to members go first; beyond the limit the oldest to another peer is dropped.
#[derive(Debug, Default)]
struct Signals {
    to_members: VecDeque<(PeerId, Signal)>,
    to_others: VecDeque<(PeerId, Signal)>,
}

impl Signals {
    fn push(&mut self, to: PeerId, signal: Signal, is_member: bool) {
        if self.to_members.len() + self.to_others.len() == CLIENT_SIGNALS_MAX
            && self.to_others.pop_front().is_none()
        {
            self.to_members.pop_front();
        }
        let waiting = if is_member { &mut self.to_members } else { &mut self.to_others };
        waiting.push_back((to, signal));
    }

    fn pop(&mut self) -> Option<(PeerId, Signal)> {
        self.to_members.pop_front().or_else(|| self.to_others.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.to_members.is_empty() && self.to_others.is_empty()
    }
}

/// A statement of the host to the relay: sent when it changed, and anew on each connection and under each term.
#[derive(Debug)]
struct Statement {
    message: Option<ToRelay>,
    is_sent: bool,
    pace: Bucket,
}

impl Statement {
    const fn new(pace: Bucket) -> Self {
        Self { message: None, is_sent: false, pace }
    }

    fn set(&mut self, message: ToRelay) {
        if self.message.as_ref() != Some(&message) {
            self.message = Some(message);
            self.is_sent = false;
        }
    }

    /// The bytes to send now.
    fn take(&mut self, now: Time) -> Option<Vec<u8>> {
        let message = self.message.as_ref().filter(|_| !self.is_sent)?;
        self.is_sent = self.pace.take(now);
        self.is_sent.then(|| RelayFrame::control(message))
    }

    fn due(&self) -> Time {
        if self.is_sent || self.message.is_none() { Time::FAR } else { self.pace.ready_at() }
    }
}

/// The peers that a host has barred. The relay accepts a repeated bar without effect.
#[derive(Debug)]
struct Bars {
    peers: VecDeque<PeerId>,
    /// The number of bars, from the first on, that were sent on this connection and under this term.
    sent: usize,
    pace: Bucket,
}

impl Bars {
    const fn new() -> Self {
        Self { peers: VecDeque::new(), sent: 0, pace: Bucket::new(BAR_INTERVAL, BAR_BURST) }
    }

    fn add(&mut self, peer: PeerId) {
        if self.peers.contains(&peer) {
            return;
        }
        if self.peers.len() == BARS_MAX {
            self.peers.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
        self.peers.push_back(peer);
    }

    fn take(&mut self, now: Time) -> Option<ToRelay> {
        let peer = *self.peers.get(self.sent)?;
        self.pace.take(now).then(|| {
            self.sent += 1;
            ToRelay::Bar(peer)
        })
    }

    fn due(&self) -> Time {
        if self.sent == self.peers.len() { Time::FAR } else { self.pace.ready_at() }
    }
}
