//! Identifiers, `Time`, and the encoding of all messages between Samovar peers and their relay.
//!
//! This crate knows layouts and limits and has no behaviour: no state machine, no timer, no policy. Every decoder is
//! total: any bytes give a value or a [`DecodeError`], never a panic. No decoder allocates more than the limit of its
//! message. `PROTOCOL.md` beside this crate lists the chapters of the wire document, whose sections the code cites.

pub mod call;
pub mod carried;
pub mod claim;
pub mod close;
pub mod codec;
pub mod control;
mod counted;
pub mod entropy;
pub mod generation;
pub mod id;
pub mod increments;
pub mod input;
pub mod lane;
pub mod limits;
pub mod link_frame;
pub mod lockstep;
pub mod name;
pub mod object;
pub mod order;
pub mod range_coder;
pub mod relay;
pub mod rng;
pub mod sight;
pub mod sorted;
pub mod stamp;
pub mod symbol;
pub mod time;
pub mod timed;
pub mod traits;
pub mod view;
pub mod voucher;
pub mod warrant;

pub use close::{Blame, CloseCode};
pub use codec::{DecodeError, Reader, Writer};
pub use entropy::{Entropy, digest};
pub use generation::{Generation, Generations};
pub use id::{GameCode, Kind, ObjectId, PeerId, SeatId, SessionId, ShownTicket, Term, Ticket, TicketHash};
pub use lane::{Lane, Receipt};
pub use rng::Rng;
pub use sorted::{SortedMap, SortedSet};
pub use stamp::Stamp;
pub use time::{Duration, Time};
pub use voucher::{JoinToken, Vouched, Voucher};
pub use warrant::{PeerPass, Signature, Warrant};

/// Version of everything in the wire document. Peers and relays of different versions refuse each other (PROTOCOL §1).
pub const PROTOCOL_VERSION: u16 = 10;

/// How a path treats the bytes that it carries (PROTOCOL §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The path may lose, duplicate and reorder. It carries packets.
    Unreliable,
    /// Bytes arrive in order, and none is missing while the path lives. It carries bulk chunks only.
    Reliable,
}
