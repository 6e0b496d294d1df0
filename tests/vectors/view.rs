//! The fields of the session object (PROTOCOL §4.4).

use samovar_wire::limits::{FIELD_MAX, MEMBERS_MAX};
use samovar_wire::view::{SeatRecord, ViewHeader};
use samovar_wire::{DecodeError, PeerId, SeatId, TicketHash};

use crate::PEER;
use crate::file::{Form, Vectors};

fn seat(seat: u16, peer: Option<PeerId>, name: &str) -> SeatRecord {
    let ticket = TicketHash(std::array::from_fn(|index| 0xc0 + index as u8));
    let name = name.to_owned();
    SeatRecord { seat: SeatId(seat), peer, name, attributes: 0, visible: true, ticket, since: 0 }
}

#[test]
fn headers_and_seats() {
    let mut vectors = Vectors::parse("view", include_str!("view.hex"));
    for (name, header) in [
        ("header_founding", ViewHeader { number: 0, backup: None, capacity: 8, next_seat: 1 }),
        ("header", ViewHeader { number: 70_000, backup: Some(PEER), capacity: 32, next_seat: 300 }),
    ] {
        let is_value = |bytes: &[u8]| Ok(ViewHeader::decode(bytes)? == header);
        vectors.check(name, Form::Closed, &header.encode(), is_value);
    }
    let away = SeatRecord { visible: false, since: 600_000_000, ..seat(65_535, None, "Ünal 🫖") };
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
fn a_capacity_above_the_limit_and_a_name_that_is_not_clean_are_refused() {
    let header = ViewHeader { number: 0, backup: None, capacity: MEMBERS_MAX as u8 + 1, next_seat: 1 };
    assert_eq!(ViewHeader::decode(&header.encode()), Err(DecodeError::TooLarge));
    for name in ["a\u{202e}b", "a  b", "a\u{a0}b", "a\tb", &"x".repeat(21)] {
        assert_eq!(SeatRecord::decode(&seat(1, None, name).encode()), Err(DecodeError::Invalid), "{name:?}");
    }
}
