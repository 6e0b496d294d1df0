//! One association with one peer.
//!
//! A [`Link`] numbers packets and learns the fate of each, exactly once; carries reliable messages in order over
//! the unreliable mode; carries large ones over the reliable mode; measures round trips; and says how long it has
//! heard nothing. It knows nothing of other peers, of what its messages mean, or of the path its packets take: a
//! path may change under it, lose, duplicate and reorder.
//!
//! Invariants: a packet's fate is reported once; a message is delivered once and in order; nothing is delivered
//! from a packet that does not parse to its end; every queue has a bound from `samovar_wire::limits`.

mod link;

pub use link::{Compose, Deliveries, Fate, Link, LinkConfig, LinkEvent, Outgoing, SendError, close_packet};
