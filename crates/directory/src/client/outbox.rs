//! What a client has to send: at once, when the relay's limits allow it, or when it changed.

use std::collections::VecDeque;

use samovar_wire::relay::{Listing, RelayFrame, Signal, ToRelay};
use samovar_wire::{PeerId, Time};

use crate::bucket::Bucket;
use crate::limits::{CLIENT_SIGNAL_BURST, CLIENT_SIGNAL_INTERVAL, CLIENT_SIGNALS_MAX, LISTING_INTERVAL};

/// Messages in the order they go, and what waits for its turn.
#[derive(Debug)]
pub(super) struct Outbox {
    ready: VecDeque<Vec<u8>>,
    signals: VecDeque<(PeerId, Signal)>,
    pace: Bucket,
    listing: Option<Listing>,
    /// The relay has `listing` from this connection, under this term.
    listing_sent: bool,
    listing_pace: Bucket,
    /// The socket shall close behind the last message.
    closing: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            signals: VecDeque::new(),
            pace: Bucket::new(CLIENT_SIGNAL_INTERVAL, CLIENT_SIGNAL_BURST),
            listing: None,
            listing_sent: false,
            listing_pace: Bucket::new(LISTING_INTERVAL, 1),
            closing: false,
        }
    }

    pub(super) fn push(&mut self, message: &ToRelay) {
        self.ready.push_back(RelayFrame::control(message));
    }

    pub(super) fn signal(&mut self, to: PeerId, signal: Signal) {
        if self.signals.len() == CLIENT_SIGNALS_MAX {
            self.signals.pop_front();
        }
        self.signals.push_back((to, signal));
    }

    pub(super) fn set_listing(&mut self, listing: Listing) {
        if self.listing.as_ref() != Some(&listing) {
            self.listing = Some(listing);
            self.listing_sent = false;
        }
    }

    pub(super) const fn forget_listing_sent(&mut self) {
        self.listing_sent = false;
    }

    /// Moves to the ready what the pace allows.
    pub(super) fn flush(&mut self, now: Time, is_host: bool) {
        while !self.signals.is_empty() && self.pace.take(now) {
            if let Some((to, signal)) = self.signals.pop_front() {
                self.push(&ToRelay::Signal(to, signal));
            }
        }
        if is_host
            && !self.listing_sent
            && let Some(listing) = self.listing.clone()
            && self.listing_pace.take(now)
        {
            self.push(&ToRelay::Listing(listing));
            self.listing_sent = true;
        }
    }

    /// When [`Outbox::flush`] has something to do.
    pub(super) fn ready_at(&self, is_host: bool) -> Time {
        let signal = if self.signals.is_empty() { Time::FAR } else { self.pace.ready_at() };
        let listed = !is_host || self.listing_sent || self.listing.is_none();
        let listing = if listed { Time::FAR } else { self.listing_pace.ready_at() };
        signal.min(listing)
    }

    /// Forgets what was meant for a connection that is no more; the listing stays, for the next one.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.signals.clear();
        self.listing_sent = false;
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
