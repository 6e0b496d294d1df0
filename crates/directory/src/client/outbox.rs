//! What a client has to send: at once, when the relay's limits allow it, or when it changed.

use std::collections::VecDeque;

use samovar_wire::relay::{RelayFrame, Signal, ToRelay};
use samovar_wire::{PeerId, Term, Time};

use crate::bucket::Bucket;
use crate::limits::{
    BAR_BURST, BAR_INTERVAL, BARS_MAX, CLIENT_CLAIM_BURST, CLIENT_CLAIM_INTERVAL, CLIENT_SIGNAL_BURST,
    CLIENT_SIGNAL_INTERVAL, CLIENT_SIGNALS_MAX, LISTING_INTERVAL, MEMBERS_BURST, MEMBERS_INTERVAL,
};

/// Messages in the order they go, and what waits for its turn.
#[derive(Debug)]
pub(super) struct Outbox {
    ready: VecDeque<Vec<u8>>,
    signals: Signals,
    pace: Bucket,
    claims: Bucket,
    members: Statement,
    listing: Statement,
    bars: Bars,
    /// The socket shall close behind the last message.
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

    /// Messages that are encoded already.
    pub(super) fn extend(&mut self, messages: impl IntoIterator<Item = Vec<u8>>) {
        self.ready.extend(messages);
    }

    pub(super) fn signal(&mut self, to: PeerId, signal: Signal, is_member: bool) {
        self.signals.push(to, signal, is_member);
    }

    /// One claim too many is left out: it would be repeated anyway.
    pub(super) fn claim(&mut self, now: Time, term: Term, candidate: PeerId) {
        if self.claims.take(now) {
            self.push(&ToRelay::Claim(term, candidate));
        }
    }

    /// One doubt too many is left out, too: the claim that follows says more, or the one before it counts for a while.
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

    /// Moves to the ready what the pace allows.
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

    /// When [`Outbox::flush`] has something to do.
    pub(super) fn ready_at(&self, is_host: bool) -> Time {
        let signal = if self.signals.is_empty() { Time::FAR } else { self.pace.ready_at() };
        let statements = self.members.due().min(self.listing.due()).min(self.bars.due());
        if is_host { signal.min(statements) } else { signal }
    }

    /// Forgets what was meant for a connection that is no more; the host's statements stay, for the next one.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.signals = Signals::default();
        self.forget_sent();
    }

    pub(super) const fn close_when_empty(&mut self) {
        self.closing = true;
    }

    /// Whether the socket shall close now; asked until it says so once.
    pub(super) fn take_close(&mut self) -> bool {
        let close = self.closing && self.ready.is_empty();
        self.closing &= !close;
        close
    }

    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }
}

/// Signals that wait: those to members go first, and of too many the oldest to somebody else gives way.
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

/// What the relay shall know of a host: sent when it changed, and on each connection and under each term anew.
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

/// Whom a host has barred: the relay takes each again, and knows that it has it.
#[derive(Debug)]
struct Bars {
    peers: VecDeque<PeerId>,
    /// So many of them were sent.
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
