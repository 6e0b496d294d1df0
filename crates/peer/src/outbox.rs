//! The queues for the driver.

use std::collections::VecDeque;

use crate::driver::{PeerEvent, Request, Transmit};

/// Transmits, requests and events that may wait for the driver, which drains them after every call.
const QUEUE_MAX: usize = 4_096;
/// When this many events wait here, the session keeps further ones. The session knows which peer causes each event,
/// and stops reading from a peer that causes too many.
const EVENTS_MAX: usize = 64;

/// The queues for the driver: bytes to send, requests, events.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    transmits: VecDeque<Transmit>,
    requests: VecDeque<Request>,
    events: VecDeque<PeerEvent>,
}

impl Outbox {
    pub(crate) fn send(&mut self, transmit: Transmit) {
        self.transmits.push_back(transmit);
    }

    pub(crate) fn ask(&mut self, request: Request) {
        self.requests.push_back(request);
    }

    pub(crate) fn tell(&mut self, event: PeerEvent) {
        if self.events.len() < QUEUE_MAX {
            self.events.push_back(event);
        }
    }

    /// Whether there is room for another event of the session.
    pub(crate) fn has_room_for_event(&self) -> bool {
        self.events.len() < EVENTS_MAX
    }

    /// Whether there is room for another packet of the session.
    pub(crate) fn has_room(&self) -> bool {
        self.transmits.len() < QUEUE_MAX
    }

    /// Whether there is nothing to send.
    pub(crate) fn is_sent(&self) -> bool {
        self.transmits.is_empty()
    }

    /// The numbers of waiting transmits, requests and events.
    pub(crate) fn waiting(&self) -> [usize; 3] {
        [self.transmits.len(), self.requests.len(), self.events.len()]
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    pub(crate) fn poll_request(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    pub(crate) fn poll_event(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }
}
