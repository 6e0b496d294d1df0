//! Who is in the session, who hosts it, and by what right.
//!
//! Members and their seats ([`view`]), the relay's signatures ([`authority`]), and the machine that watches the
//! host and decides when to claim its succession ([`roster`]). Knows nothing of objects' data or of packets: it is
//! told how long each link has been silent, and says what to do.

pub mod authority;

pub use authority::RelayKey;
