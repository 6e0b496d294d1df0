//! Golden vectors: an example of every frame and message of `crates/wire/PROTOCOL.md`, byte for byte.
//!
//! A change of these bytes is a change of the protocol: it comes with another `PROTOCOL_VERSION` (PROTOCOL §9). The
//! encoder that wrote the vectors was made from the document, and not from this code.

mod control;
mod examples;
mod file;
mod inputs;
mod numbers;
mod objects;
mod orders;
mod packets;
mod relay;
mod signed;
mod timed;
mod view;
mod wishes;

use samovar_wire::{PROTOCOL_VERSION, PeerId, SessionId, Signature, Term, Ticket, Warrant};

/// The session of the examples.
const SESSION: SessionId = SessionId(0x0123_4567_89ab_cdef);
/// A peer whose id takes four bytes in every encoding.
const PEER: PeerId = PeerId(0x0102_0304);
/// Another such peer.
const OTHER: PeerId = PeerId(0x0a0b_0c0d);

/// The third term that the relay gives out.
const THIRD: Term = Term(0x300);

fn ticket() -> Ticket {
    Ticket { session: SESSION, secret: std::array::from_fn(|index| 0xa0 + index as u8) }
}

fn signature() -> Signature {
    Signature(std::array::from_fn(|index| index as u8))
}

fn warrant() -> Warrant {
    Warrant { session: SESSION, term: THIRD, host: PEER, signature: signature() }
}

#[test]
fn vectors_are_of_the_present_protocol_version() {
    assert_eq!(PROTOCOL_VERSION, 10, "new vectors, and rules in PROTOCOL §9");
}
