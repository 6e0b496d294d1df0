//! The fields of the session object (PROTOCOL §4.4).

use samovar_wire::control::{Presence, Standing};
use samovar_wire::limits::{FIELD_MAX, MEMBERS_MAX};
use samovar_wire::view::{Electorate, SeatRecord, ViewHeader};
use samovar_wire::{DecodeError, PeerId, SeatId, TicketHash};

use crate::file::{Form, Vectors};
use crate::{OTHER, PEER};

fn seat(seat: u16, peer: Option<PeerId>, name: &str) -> SeatRecord {
    let ticket = TicketHash(std::array::from_fn(|index| 0xc0 + index as u8));
    let (name, standing) = (name.to_owned(), Standing { presence: Presence::Visible, reach: 0 });
    SeatRecord { seat: SeatId(seat), peer, name, attributes: 0, standing, ticket, since: 0 }
}

fn founding() -> ViewHeader {
    ViewHeader {
        number: 0,
        roll: 0,
        backups: vec![],
        capacity: 8,
        next_seat: 1,
        electorate: Electorate::default(),
        by_host: false,
        migrates: true,
        forks: false,
    }
}

#[test]
fn view_headers_and_seats_match_their_vectors() {
    let mut vectors = Vectors::parse("view", include_str!("view.hex"));
    let two = Electorate { number: 300, peers: vec![PEER, OTHER] };
    let all = Electorate { number: u64::MAX, peers: (0..32).map(|n| PeerId(u32::MAX - 31 + n)).collect() };
    for (name, header) in [
        ("header_founding", founding()),
        (
            "header",
            ViewHeader {
                number: 70_000,
                roll: 300,
                backups: vec![PEER],
                capacity: 32,
                next_seat: 300,
                electorate: two,
                by_host: true,
                migrates: false,
                forks: true,
            },
        ),
        (
            "header_largest",
            ViewHeader {
                number: u64::MAX,
                roll: u64::MAX,
                backups: vec![PeerId(u32::MAX), OTHER],
                capacity: 32,
                next_seat: u16::MAX,
                electorate: all,
                by_host: true,
                migrates: false,
                forks: true,
            },
        ),
    ] {
        assert!(header.encode().len() <= FIELD_MAX);
        let is_value = |bytes: &[u8]| Ok(ViewHeader::decode(bytes)? == header);
        vectors.check(name, Form::Closed, &header.encode(), is_value);
    }
    let away = SeatRecord {
        standing: Standing { presence: Presence::Hidden, reach: 31 },
        since: 600_000_000,
        ..seat(65_535, None, "Ünal 🫖")
    };
    let largest = SeatRecord {
        attributes: u32::MAX,
        since: u64::MAX,
        ..seat(65_535, Some(PeerId(u32::MAX)), &"🫖".repeat(20))
    };
    for (name, seat) in [
        ("seat", SeatRecord { attributes: 0xff_8800, ..seat(1, Some(PEER), "Ann Bo") }),
        ("seat_away", away),
        ("seat_largest", largest),
    ] {
        assert!(seat.encode().len() <= FIELD_MAX);
        let is_value = |bytes: &[u8]| Ok(SeatRecord::decode(bytes)? == seat);
        vectors.check(name, Form::Closed, &seat.encode(), is_value);
    }
    vectors.finish();
}

#[test]
fn invalid_view_headers_and_names_are_refused() {
    let refused = |header: &ViewHeader| ViewHeader::decode(&header.encode()).expect_err("is refused");
    let crowded = ViewHeader { capacity: MEMBERS_MAX as u8 + 1, ..founding() };
    let backed_up = ViewHeader { backups: vec![PEER, OTHER, PeerId(1)], ..founding() };
    let voted = |peers| ViewHeader { electorate: Electorate { number: 1, peers }, ..founding() };
    assert_eq!(refused(&crowded), DecodeError::TooLarge);
    assert_eq!(refused(&backed_up), DecodeError::TooLarge);
    assert_eq!(refused(&voted((0..33).map(PeerId).collect())), DecodeError::TooLarge);
    assert_eq!(refused(&voted(vec![OTHER, PEER])), DecodeError::Invalid);
    assert_eq!(refused(&voted(vec![PEER, PEER])), DecodeError::Invalid);
    for name in ["a\u{202e}b", "a\u{2028}b", "a\tb", &"x".repeat(81)] {
        assert_eq!(SeatRecord::decode(&seat(1, None, name).encode()), Err(DecodeError::Invalid), "{name:?}");
    }
}
