//! Control messages between peers (PROTOCOL §4.1).

use std::collections::BTreeSet;

use samovar_wire::control::{Hello, Opinion, PeerControl, Presence, Standing, Vote, encode};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::{DecodeError, PeerId, Reader, SessionId, Term};

use crate::file::{Form, Vectors};
use crate::{PEER, SESSION, THIRD, ticket, warrant};

/// The variant's number on the wire. A new variant does not compile until it is listed here. Then the test below
/// fails until the variant has a vector.
const fn variant(message: &PeerControl) -> u8 {
    match message {
        PeerControl::Hello(_) => 0,
        PeerControl::Welcome(_) => 1,
        PeerControl::Warrant(_) => 2,
        PeerControl::Standing(_) => 3,
        PeerControl::Opinion(_) => 4,
    }
}
const VARIANTS: u8 = 5;

fn messages() -> Vec<(&'static str, PeerControl)> {
    let hello = |name: &str| {
        let (name, ticket) = (name.to_owned(), ticket().hash());
        Hello {
            version: 1,
            params: 0,
            name,
            attributes: 0,
            ticket,
            resume: [None; RESUME_MAX],
            voucher: None,
        }
    };
    let (here, elsewhere) = (ticket().shown_to(SESSION), ticket().shown_to(SessionId(1)));
    let with_a_ticket = Hello {
        version: 65_535,
        params: 250,
        attributes: 251,
        resume: [Some(here), Some(elsewhere), None, None],
        ..hello("Ünal 🫖")
    };
    vec![
        ("hello", PeerControl::Hello(Hello { params: SESSION.0, attributes: 0xff_8800, ..hello("Ann Bo") })),
        ("hello_with_a_ticket", PeerControl::Hello(with_a_ticket)),
        ("hello_without_a_name", PeerControl::Hello(hello(""))),
        ("hello_in_sinhala", PeerControl::Hello(hello("ශ්\u{200d}රී"))),
        ("hello_of_a_family", PeerControl::Hello(hello("👩\u{200d}👦"))),
        ("welcome", PeerControl::Welcome(ticket().hash())),
        ("warrant", PeerControl::Warrant(warrant())),
        ("standing", PeerControl::Standing(Standing { presence: Presence::Visible, reach: 31 })),
        ("standing_hidden", PeerControl::Standing(Standing { presence: Presence::Hidden, reach: 0 })),
        ("standing_still", PeerControl::Standing(Standing { presence: Presence::Still, reach: 2 })),
        ("opinion_content", PeerControl::Opinion(Opinion::content(FIRST_VOTE, PEER))),
        ("opinion_missing", PeerControl::Opinion(MISSING)),
        ("opinion_voting", PeerControl::Opinion(Opinion { vote: Some(FIRST), ..MISSING })),
        (
            "opinion_late",
            PeerControl::Opinion(Opinion { term: LATE.term.base(), vote: Some(LATE), ..MISSING }),
        ),
        (
            "opinion_resigning",
            PeerControl::Opinion(Opinion { relay: true, heir: Some(PeerId(7)), ..MISSING }),
        ),
    ]
}

/// The term of the first vote after the third term of the relay.
const FIRST_VOTE: Term = Term(0x301);
const FIRST: Vote = Vote { term: FIRST_VOTE, candidate: PeerId(7), electorate: 300 };
const MISSING: Opinion = Opinion { missed: true, ..Opinion::content(THIRD, PEER) };
const LATE: Vote = Vote { term: Term(u64::MAX), candidate: PeerId(7), electorate: u64::MAX };

#[test]
fn control_messages_match_their_vectors() {
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
fn messages_that_no_peer_sends_are_refused() {
    let refused =
        |bytes: &[u8]| assert_eq!(PeerControl::decode(bytes), Err(DecodeError::Invalid), "{bytes:02x?}");
    refused(&[VARIANTS]);
    // A member is hidden, shown or still, and reaches at most 31 others.
    refused(&[3, 3, 0]);
    refused(&[3, 1, 32]);
    // A vote is for a term above its sender's, and not for a term that the relay gives out.
    refused(&[4, 1, 7, 1, 0, 1, 1, 7, 1, 0]);
    refused(&[4, 0xfb, 0, 3, 7, 1, 0, 1, 0xfb, 0, 4, 7, 1, 0]);
    // A HELLO whose version is written in four bytes.
    refused(&[0, 0xfc, 1, 0, 0, 0, 0, 0, 0, 0]);
    // HELLOs whose name reverses the text after it, is too long, or is not UTF-8. The bytes after the name are valid.
    let hello =
        |name: &[u8]| [[0, 1, 0, name.len() as u8].as_slice(), name, &[0; 1 + 16 + RESUME_MAX + 1]].concat();
    assert!(PeerControl::decode(&hello(b"a")).is_ok());
    refused(&hello(&[b'a', 0xe2, 0x80, 0xae]));
    refused(&hello(&[b'a'; 81]));
    refused(&hello(&[0xff]));
    assert_eq!(PeerControl::decode(&[4; 1_025]), Err(DecodeError::TooLarge));
}
