//! Ownership requests, calls, and members' interest (PROTOCOL §4.7 to §4.9).

use samovar_wire::call::{Call, Reply};
use samovar_wire::claim::{Answer, Denial, Request, Wish};
use samovar_wire::object::MessageKind;
use samovar_wire::sight::{Focus, Sight};
use samovar_wire::{DecodeError, ObjectId, Reader, Stamp, Term, Time, Writer};

use crate::file::{Form, Vectors};
use crate::{OTHER, PEER};

const CUP: ObjectId = ObjectId { creator: OTHER, number: 300 };
const STAMP: Stamp = Stamp { term: Term(2), counter: 3 };

/// The bytes of a message.
pub(crate) fn message(kind: MessageKind, body: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = vec![kind as u8];
    body(&mut Writer::new(&mut bytes));
    bytes
}

/// Reads the kind of a message, and its body up to the end.
pub(crate) fn read<'a, T>(
    bytes: &'a [u8],
    kind: MessageKind,
    body: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    if MessageKind::decode(&mut reader)? != kind {
        return Err(DecodeError::Invalid);
    }
    let value = body(&mut reader)?;
    reader.end()?;
    Ok(value)
}

fn check_wishes(vectors: &mut Vectors) {
    let wishes = [
        ("request", Wish::Request),
        ("release", Wish::Release),
        ("transfer", Wish::Transfer(PEER)),
        ("touch", Wish::Touch),
    ];
    for (name, wish) in wishes {
        let request = Request { id: CUP, known: STAMP, time: Time::from_micros(1_500_000), wish };
        let encoded = message(MessageKind::Request, |out| request.encode(out));
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            Ok(read(bytes, MessageKind::Request, Request::decode)? == request)
        });
    }
    let denials = [
        ("not_available", Denial::NotAvailable),
        ("refused", Denial::Refused),
        ("unknown", Denial::Unknown),
        ("too_many", Denial::TooMany),
        ("forbidden", Denial::Forbidden),
        ("frozen", Denial::Frozen),
        ("too_soon", Denial::TooSoon),
        ("not_owner", Denial::NotOwner),
        ("not_a_member", Denial::NotAMember),
        ("lost_to", Denial::LostTo(PEER)),
    ];
    for (name, denial) in denials {
        let answer = Answer { id: CUP, wish: 3, denial };
        let encoded = message(MessageKind::Answer, |out| answer.encode(out));
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            Ok(read(bytes, MessageKind::Answer, Answer::decode)? == answer)
        });
    }
}

fn check_calls(vectors: &mut Vectors) {
    let call = Call { number: 300, method: 0x1234, bytes: b"tea" };
    let encoded = message(MessageKind::Call, |out| call.encode(out));
    vectors.check("call", Form::Open, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Call, Call::decode)? == call)
    });
    let replies = [
        ("done", Form::Open, Reply::Done(b"hot")),
        ("refused_call", Form::Closed, Reply::Refused(418)),
        ("no_such_method", Form::Closed, Reply::NoSuchMethod),
        ("busy", Form::Closed, Reply::Busy),
    ];
    for (name, form, reply) in replies {
        let encoded = message(MessageKind::Reply, |out| reply.encode(300, out));
        vectors.check(name, form, &encoded, |bytes| {
            Ok(read(bytes, MessageKind::Reply, Reply::decode)? == (300, reply))
        });
    }
    let encoded = message(MessageKind::Cancel, |out| out.varint(300));
    vectors.check("cancel", Form::Closed, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Cancel, |reader| reader.varint())? == 300)
    });
}

fn check_sights(vectors: &mut Vectors) {
    let ball = Focus { center: [1.0, -2.5, 0.0], radius: 64.0 };
    for (name, focus) in [("focus", Some(ball)), ("no_focus", None)] {
        let encoded = message(MessageKind::Focus, |out| Focus::encode(focus.as_ref(), out));
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            Ok(read(bytes, MessageKind::Focus, Focus::decode)? == focus)
        });
    }
    let sights = [
        Sight { id: CUP, stamp: STAMP, current: false },
        Sight { id: ObjectId { number: 1, ..CUP }, stamp: STAMP, current: true },
    ];
    let encoded = message(MessageKind::Sight, |out| {
        out.u8(2);
        sights.iter().for_each(|sight| sight.encode(out));
    });
    vectors.check("sight", Form::Closed, &encoded, |bytes| {
        let found = read(bytes, MessageKind::Sight, |reader| {
            (0..reader.u8()?).map(|_| Sight::decode(reader)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(found == sights)
    });
}

#[test]
fn requests_calls_and_interest_match_their_vectors() {
    let mut vectors = Vectors::parse("wishes", include_str!("wishes.hex"));
    check_wishes(&mut vectors);
    check_calls(&mut vectors);
    check_sights(&mut vectors);
    vectors.finish();
}

#[test]
fn invalid_requests_calls_and_interest_are_refused() {
    let cup = [0x0d, 0x0c, 0x0b, 0x0a, 0xac, 0x02];
    let request = [&cup[..], &[2, 3, 0, 4]].concat();
    assert_eq!(Request::decode(&mut Reader::new(&request)), Err(DecodeError::Invalid), "an unknown wish");
    for (wish, denial) in [(4, 0), (0, 10)] {
        let answer = [&cup[..], &[wish, denial]].concat();
        assert_eq!(Answer::decode(&mut Reader::new(&answer)), Err(DecodeError::Invalid));
    }
    assert_eq!(Reply::decode(&mut Reader::new(&[1, 4])), Err(DecodeError::Invalid));
    assert_eq!(Call::decode(&mut Reader::new(&[0; 16_388])), Err(DecodeError::TooLarge));
    for number in [f32::NAN, f32::INFINITY, -1.0] {
        let bits = number.to_bits().to_le_bytes();
        let focus = [&[1][..], &[0; 12], &bits].concat();
        assert_eq!(Focus::decode(&mut Reader::new(&focus)), Err(DecodeError::Invalid), "{number}");
    }
    let sight = [&cup[..], &[2, 3, 2]].concat();
    assert_eq!(Sight::decode(&mut Reader::new(&sight)), Err(DecodeError::Invalid));
}
