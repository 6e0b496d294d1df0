//! Membership of a session: the members, the host, and its right to reign.
//!
//! The crate contains the members and their seats ([`View`]), the relay's signatures ([`authority`]), and the machine
//! that watches the host and finds its successor ([`Roster`]). It knows nothing of objects' data or of packets: it is
//! told which peers are missed, and returns what to do.

pub mod authority;
mod excluded;
mod gone;
mod lease;
mod opinions;
mod phase;
mod role;
mod roster;
mod support;
mod view;
mod votes;
mod witness;

pub use authority::RelayKey;
pub use role::{Role, Suspension};
pub use roster::{Act, Lives, Roster, Verdict};
pub use support::LEASE;
pub use view::{Admission, Member, VIEW_FIELDS, View};
