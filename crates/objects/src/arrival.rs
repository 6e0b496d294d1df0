//! The new states that arrive in a datagram.

use samovar_wire::Time;

/// A new state of another peer's object, in session time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the owner sampled the state.
    pub sampled: Time,
    /// When the owner sent the state.
    pub sent: Time,
}
