//! Numbers, ids and stamps of the fixed layout (PROTOCOL §1.2).

use samovar_wire::{DecodeError, ObjectId, PeerId, Reader, Stamp, Term, Writer};

use crate::PEER;
use crate::file::{Form, Vectors};

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut Writer::new(&mut bytes));
    bytes
}

/// Whether `read` returns this value and uses all bytes.
fn all<T: PartialEq>(
    bytes: &[u8],
    value: &T,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<bool, DecodeError> {
    let mut reader = Reader::new(bytes);
    let found = read(&mut reader)?;
    reader.end()?;
    Ok(found == *value)
}

#[test]
fn numbers_ids_and_stamps_match_their_vectors() {
    let mut vectors = Vectors::parse("numbers", include_str!("numbers.hex"));
    for (name, value) in [
        ("varint_zero", 0),
        ("varint_one_byte_max", 127),
        ("varint_two_bytes_min", 128),
        ("varint_three_hundred", 300),
        ("varint_thirty_two_bits", u64::from(u32::MAX)),
        ("varint_sixty_four_bits", u64::MAX),
    ] {
        let encoded = written(|out| out.varint(value));
        vectors.check(name, Form::Closed, &encoded, |bytes| all(bytes, &value, |reader| reader.varint()));
    }
    for (name, id) in [
        ("object_id", ObjectId { creator: PEER, number: 300 }),
        ("object_id_session", ObjectId::SESSION),
        ("object_id_max", ObjectId { creator: PeerId(u32::MAX), number: u32::MAX }),
    ] {
        let encoded = written(|out| out.object_id(id));
        vectors.check(name, Form::Closed, &encoded, |bytes| all(bytes, &id, |reader| reader.object_id()));
    }
    for (name, stamp) in [
        ("stamp", Stamp { term: Term(300), counter: 5 }),
        ("stamp_max", Stamp { term: Term(u64::MAX), counter: u32::MAX }),
    ] {
        let encoded = written(|out| out.stamp(stamp));
        vectors.check(name, Form::Closed, &encoded, |bytes| all(bytes, &stamp, |reader| reader.stamp()));
    }
    vectors.finish();
}

#[test]
fn numbers_beyond_their_width_are_refused() {
    let too_long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
    assert_eq!(Reader::new(&too_long).varint(), Err(DecodeError::Invalid));
    assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x10]).varint_u32(), Err(DecodeError::Invalid));
}

#[test]
fn numbers_padded_with_zeros_are_read() {
    assert_eq!(Reader::new(&[0xac, 0x82, 0x80, 0x00]).varint(), Ok(300));
}
