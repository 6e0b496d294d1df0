//! What arrives in a datagram.

use samovar_wire::Time;

/// A new state of another peer's object, in session time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the owner sampled it.
    pub sampled: Time,
    /// When the owner sent it.
    pub sent: Time,
}
