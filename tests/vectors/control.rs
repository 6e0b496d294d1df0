//! Control messages between peers (PROTOCOL §4.1).

use std::collections::BTreeSet;

use samovar_wire::control::{Hello, PeerControl, Welcome, encode};
use samovar_wire::object::MessageKind;
use samovar_wire::{DecodeError, Reader, SeatId};

use crate::file::{Form, Vectors};
use crate::{SESSION, ticket, warrant};

/// The variant's number on the wire. A new variant does not compile until it is here, and so below.
const fn variant(message: &PeerControl) -> u8 {
    match message {
        PeerControl::Hello(_) => 0,
        PeerControl::Welcome(_) => 1,
        PeerControl::Warrant(_) => 2,
        PeerControl::Visible(_) => 3,
    }
}
const VARIANTS: u8 = 4;

fn messages() -> Vec<(&'static str, PeerControl)> {
    let hello =
        |name: &str| Hello { version: 1, params: 0, name: name.to_owned(), attributes: 0, resume: None };
    let with_a_ticket =
        Hello {
            version: 65_535, params: 250, attributes: 251, resume: Some(ticket()), ..hello("Ünal 🫖")
        };
    vec![
        ("hello", PeerControl::Hello(Hello { params: SESSION.0, attributes: 0xff_8800, ..hello("Ann Bo") })),
        ("hello_with_a_ticket", PeerControl::Hello(with_a_ticket)),
        ("hello_without_a_name", PeerControl::Hello(hello(""))),
        ("welcome", PeerControl::Welcome(Welcome { session: SESSION, seat: SeatId(300), ticket: ticket() })),
        ("warrant", PeerControl::Warrant(warrant())),
        ("visible", PeerControl::Visible(true)),
        ("hidden", PeerControl::Visible(false)),
    ]
}

#[test]
fn control_messages() {
    let mut vectors = Vectors::parse("control", include_str!("control.hex"));
    for (name, message) in messages() {
        let mut encoded = vec![MessageKind::Control as u8];
        encode(&message, &mut encoded);
        assert_eq!(encoded[1], variant(&message));
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            let mut reader = Reader::new(bytes);
            let kind = MessageKind::decode(&mut reader)?;
            Ok(kind == MessageKind::Control && PeerControl::decode(reader.rest())? == message)
        });
    }
    assert_eq!(vectors.bytes_at(1), (0..VARIANTS).collect::<BTreeSet<_>>(), "each variant has a vector");
    vectors.finish();
}

#[test]
fn what_no_version_1_peer_says_is_refused() {
    let refused =
        |bytes: &[u8]| assert_eq!(PeerControl::decode(bytes), Err(DecodeError::Invalid), "{bytes:02x?}");
    refused(&[VARIANTS]);
    // A page is hidden or shown.
    refused(&[3, 2]);
    // HELLO whose version is written in four bytes.
    refused(&[0, 0xfc, 1, 0, 0, 0, 0, 0, 0, 0]);
    // HELLO whose name begins with white space, and one whose name is not UTF-8.
    refused(&[0, 1, 0, 2, b' ', b'a', 0, 0]);
    refused(&[0, 1, 0, 1, 0xff, 0, 0]);
    assert_eq!(PeerControl::decode(&[4; 1_025]), Err(DecodeError::TooLarge));
}
