//! The offers that led to no channels: counted and logged, because the operator may be able to change that.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::metrics::{Metrics, Offered};
use crate::seldom::Seldom;

/// A connection that ends without a message counts as a failure only from this age on. A younger one may have had no
/// time.
const TRIED_FOR: Duration = Duration::from_secs(2);

/// The failures of all threads.
#[derive(Debug)]
pub(super) struct Failures {
    metrics: Arc<Metrics>,
    /// The addresses that members are told.
    told: String,
    /// For each reason, the failures that are not logged yet.
    seldom: [Seldom; 3],
}

impl Failures {
    pub(super) fn new(metrics: Arc<Metrics>, addresses: &[SocketAddr]) -> Self {
        let told = addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Self { metrics, told, seldom: Default::default() }
    }

    /// A member's offer was none.
    pub(super) fn refused(&self) {
        self.note(Offered::Refused, "a member's offer of data channels was none; it stays on its WebSocket");
    }

    /// An offer of this time was answered, and no check came from its member.
    pub(super) fn unreached(&self, born: Instant) {
        if born.elapsed() >= TRIED_FOR {
            self.note(
                Offered::Unreached,
                "a member was told of the UDP port and nothing came from it: is the port open, and is --public-address right? \
                 It stays on its WebSocket",
            );
        }
    }

    /// A check came from the member of an offer of this time, and no message on its channels.
    pub(super) fn unopened(&self, born: Instant) {
        if born.elapsed() >= TRIED_FOR {
            self.note(
                Offered::Unopened,
                "a member reaches the UDP port and has no data channels: do answers reach it, from the address that it asked? \
                 It stays on its WebSocket",
            );
        }
    }

    /// A check came from a member, and the connection could not be made.
    pub(super) fn unusable(&self) {
        self.note(
            Offered::Unopened,
            "a member reaches the UDP port, and its data channels could not begin; it stays on its WebSocket",
        );
    }

    fn note(&self, outcome: Offered, what: &str) {
        self.metrics.offered(outcome);
        let place = match outcome {
            Offered::Refused => 0,
            Offered::Unreached => 1,
            Offered::Unopened | Offered::Opened => 2,
        };
        if let Some(times) = self.seldom[place].happened(Instant::now()) {
            let told = &self.told;
            tracing::warn!(times, told, "{what}");
        }
    }
}
