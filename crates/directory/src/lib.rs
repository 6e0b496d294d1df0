//! The relay's logic and the peer's client of it, as two pure state machines.
