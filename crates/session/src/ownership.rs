//! The ownership of objects: a member's requests, the host's decisions, and how the host spreads free objects.

mod arbiter;
mod balance;
mod wishes;

use samovar_objects::{Focus, ObjectEvent};
use samovar_wire::CloseCode;
use samovar_wire::object::{MessageKind, Traits};

use crate::context::{Context, Incoming};
use crate::settle::News;
use arbiter::Arbiter;
pub use arbiter::{OwnershipPolicy, OwnershipRequest};
use balance::Balance;
use wishes::Wishes;
pub use wishes::{WISHES_MAX, WishError};

/// All that concerns the ownership of objects.
#[derive(Debug, Default)]
pub(crate) struct OwnershipState {
    wishes: Wishes,
    arbiter: Arbiter,
    balance: Balance,
}

impl OwnershipState {
    /// Whether this build can hold objects with these traits. A build without this service cannot hold all.
    pub(crate) const fn has(_: Traits) -> bool {
        true
    }

    pub(crate) const fn set_policy(&mut self, policy: OwnershipPolicy) {
        self.arbiter.policy = policy;
    }

    pub(crate) const fn set_balancing(&mut self, is_on: bool) {
        self.balance.is_on = is_on;
    }

    /// The next ownership request that the host's game has to decide.
    pub(crate) fn poll_request(&mut self) -> Option<OwnershipRequest> {
        let queue = &mut self.arbiter.queue;
        (!queue.is_empty()).then(|| queue.remove(0))
    }

    pub(crate) fn handle(
        &mut self,
        ctx: &mut Context<'_>,
        Incoming { from, kind, body, .. }: Incoming<'_>,
    ) -> Result<News, CloseCode> {
        if kind == MessageKind::Answer {
            self.handle_answer(ctx, from, body)
        } else {
            self.handle_request(ctx, from, body)
        }
    }

    /// Takes an event of an object; `focus` is this peer's.
    pub(crate) fn on_object(&mut self, ctx: &mut Context<'_>, focus: Option<Focus>, event: &ObjectEvent) {
        self.settle_wishes(ctx, event);
        self.note_for_arbiter(ctx, focus, event);
    }
}
