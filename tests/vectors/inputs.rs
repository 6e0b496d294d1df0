//! Inputs and their holders (PROTOCOL §4.12).

use samovar_wire::input::{Held, Input, Told};
use samovar_wire::limits::INPUT_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::{DecodeError, Reader, SeatId, Writer};

use crate::THIRD;
use crate::file::{Form, Vectors};

/// Reads the kind of a message. Returns a reader for its remaining bytes.
fn body(bytes: &[u8], kind: MessageKind) -> Result<Reader<'_>, DecodeError> {
    let mut reader = Reader::new(bytes);
    if MessageKind::decode(&mut reader)? == kind { Ok(reader) } else { Err(DecodeError::Invalid) }
}

#[test]
fn inputs_and_their_holders_match_their_vectors() {
    let mut vectors = Vectors::parse("inputs", include_str!("inputs.hex"));
    let inputs = [
        Input { seat: SeatId(3), left: 10_000, number: 300, bytes: b"tea" },
        Input { seat: SeatId(0x102), left: 1, number: 16_384, bytes: b"" },
    ];
    let mut encoded = vec![MessageKind::Input as u8];
    inputs.iter().for_each(|input| input.encode(&mut Writer::new(&mut encoded)));
    vectors.check("inputs", Form::Closed, &encoded, |bytes| {
        let mut reader = body(bytes, MessageKind::Input)?;
        let mut found = Vec::new();
        while !reader.is_empty() {
            found.push(Input::decode(&mut reader)?);
        }
        Ok(found == inputs)
    });
    let held = Held { term: THIRD, view: 5, number: 300 };
    let mut encoded = vec![MessageKind::Held as u8];
    held.encode(&mut Writer::new(&mut encoded));
    vectors.check("held", Form::Closed, &encoded, |bytes| {
        Ok(Held::decode(&mut body(bytes, MessageKind::Held)?)? == held)
    });
    let told = Told { term: THIRD };
    let mut encoded = vec![MessageKind::Told as u8];
    told.encode(&mut Writer::new(&mut encoded));
    vectors.check("told", Form::Closed, &encoded, |bytes| {
        Ok(Told::decode(&mut body(bytes, MessageKind::Told)?)? == told)
    });
    vectors.finish();
}

#[test]
fn inputs_that_no_member_sends_are_refused() {
    let decode = |bytes: &[u8]| Input::decode(&mut Reader::new(bytes)).map(drop);
    assert_eq!(decode(&[3, 0, 0x10, 0x27, 1, 0]), Ok(()));
    assert_eq!(decode(&[3, 0, 0x11, 0x27, 1, 0]), Err(DecodeError::Invalid), "kept for too long");
    assert_eq!(decode(&[3, 0, 0x10, 0x27, 0, 0]), Err(DecodeError::Invalid), "no number");
    let bytes = [0; INPUT_MAX + 1];
    let mut large = Vec::new();
    Input { seat: SeatId(3), left: 1, number: 1, bytes: &bytes }.encode(&mut Writer::new(&mut large));
    assert_eq!(decode(&large), Err(DecodeError::TooLarge));
    assert_eq!(Held::decode(&mut Reader::new(&[1, 1])), Err(DecodeError::Truncated));
}
