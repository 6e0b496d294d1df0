//! Who is in the session, who hosts it, and by what right.
//!
//! Members and their seats ([`View`]), the relay's signatures ([`authority`]), and the machine that watches the
//! host and decides when to claim its succession ([`Roster`]). Knows nothing of objects' data or of packets: it is
//! told how long each link has been silent, and says what to do.

pub mod authority;
mod roster;
mod view;

pub use authority::RelayKey;
pub use roster::{Liveness, MISSED_AFTER, MISSED_AFTER_HINT, Role, Roster, Verdict};
pub use view::{Admission, GRACE, Member, VIEW_FIELDS, View};
