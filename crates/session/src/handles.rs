//! Handles: each borrows the session for one kind of work.

#[cfg(feature = "extras")]
mod calls;
mod edit;
#[cfg(feature = "inputs")]
mod inputs;
#[cfg(feature = "inputs")]
mod interest;
mod link;
#[cfg(feature = "ownership")]
mod ownership;
mod path;
mod witness;

use samovar_wire::{PeerId, Time};

use crate::{Lockstep, Session};
#[cfg(feature = "extras")]
pub use calls::Calls;
pub use edit::Edit;
#[cfg(feature = "inputs")]
pub use interest::Interest;
pub use link::LinkTo;
#[cfg(feature = "ownership")]
pub use ownership::Ownership;
pub use path::PathTo;
pub use witness::Witness;

impl Session {
    /// Creates, changes, destroys and grants objects; [`Session::objects`] reads them.
    pub const fn edit(&mut self, now: Time) -> Edit<'_> {
        let Self { core, objects, ownership, divergence, .. } = self;
        Edit { core, objects, ownership, divergence, now }
    }

    /// Lockstep, for this peer's game; `None` when the rules do not name it. Each call counts as a step of the game.
    pub fn lockstep(&mut self, now: Time) -> Option<Lockstep<'_>> {
        self.stepped(now);
        self.orders.lockstep(now)
    }

    /// Exchanges messages with the relay.
    pub const fn witness(&mut self, now: Time) -> Witness<'_> {
        Witness { session: self, now }
    }

    /// Takes what a driver knows of the path to a peer. The call has no effect without a link to that peer.
    pub fn path(&mut self, now: Time, peer: PeerId) -> PathTo<'_> {
        PathTo { link: self.core.net.link_mut(peer), now }
    }

    /// The link to a peer; `None` when there is none.
    #[must_use]
    pub fn link(&self, peer: PeerId) -> Option<LinkTo<'_>> {
        Some(LinkTo { link: self.core.net.link(peer)? })
    }
}
