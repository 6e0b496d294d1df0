//! Packets, chunks and close codes (PROTOCOL §2.2, §3 and §7).

use std::collections::BTreeSet;

use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX, SEGMENT_MAX};
use samovar_wire::link_frame::{BulkChunk, Frame, HEADER_LEN, PacketHeader};
use samovar_wire::{CloseCode, DecodeError, Reader, Writer};

use crate::file::{Form, Vectors};

/// The header of most examples.
const HEADER: PacketHeader = PacketHeader { number: 0x1234, newest: 0xffff, history: 0b101 };
const FIRST: PacketHeader = PacketHeader { number: 0, newest: 0, history: 0 };

fn packet(header: PacketHeader, frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    header.encode(&mut out);
    frames.iter().for_each(|frame| frame.encode(&mut out));
    bytes
}

fn is_packet(bytes: &[u8], header: PacketHeader, frames: &[Frame<'_>]) -> Result<bool, DecodeError> {
    let (found, mut rest) = PacketHeader::decode(bytes)?;
    let mut equal = found == header;
    let mut count = 0;
    while let Some(frame) = rest.next_frame()? {
        equal &= frames.get(count) == Some(&frame);
        count += 1;
    }
    Ok(equal && count == frames.len())
}

fn check(vectors: &mut Vectors, name: &'static str, header: PacketHeader, frames: &[Frame<'_>]) {
    vectors.check(name, Form::Closed, &packet(header, frames), |bytes| is_packet(bytes, header, frames));
}

#[test]
fn packets_and_their_frames() {
    let mut vectors = Vectors::parse("packets", include_str!("packets.hex"));
    check(&mut vectors, "keep_alive", HEADER, &[]);
    check(&mut vectors, "first_packet", FIRST, &[]);
    for (name, frame) in [
        ("segment", Frame::Segment { number: 70_000, last: false, bytes: b"Hello, " }),
        ("segment_last", Frame::Segment { number: 70_001, last: true, bytes: b"tea" }),
        ("segment_empty", Frame::Segment { number: 0, last: true, bytes: b"" }),
        ("largest", Frame::Segment { number: u64::MAX, last: true, bytes: &[0x5a; SEGMENT_MAX] }),
        ("datagram", Frame::Datagram(b"x")),
        ("ping", Frame::Ping { sent: 123_456_789 }),
        ("pong", Frame::Pong { sent: 123_456_789, held: 250, session: u64::MAX }),
        ("pong_before_time_is_known", Frame::Pong { sent: 1, held: 0, session: 0 }),
        ("bulk_ack", Frame::BulkAck(1 << 40)),
        ("close", Frame::Close(CloseCode::Malformed)),
    ] {
        check(&mut vectors, name, HEADER, &[frame]);
    }
    check(&mut vectors, "not_a_member", FIRST, &[Frame::Close(CloseCode::NotAMember)]);
    let header = PacketHeader { number: 65_535, newest: 0, history: u64::MAX };
    let frames = [
        Frame::Pong { sent: 9, held: 3, session: 1_000_000 },
        Frame::Ping { sent: 7 },
        Frame::BulkAck(128),
        Frame::Segment { number: 0, last: false, bytes: b"a" },
        Frame::Segment { number: 1, last: true, bytes: b"b" },
        Frame::Datagram(&[6, 0]),
    ];
    check(&mut vectors, "all_frames", header, &frames);
    let first_frames = vectors.bytes_at(HEADER_LEN);
    assert_eq!(first_frames, frame_kinds(), "each kind of frame has a vector");
    vectors.finish();
}

/// The kinds of frame that are read, found by trying all.
fn frame_kinds() -> BTreeSet<u8> {
    let is_read = |&kind: &u8| {
        let bytes = [&packet(FIRST, &[])[..], &[kind, 0, 0, 0, 0]].concat();
        let (_, mut frames) = PacketHeader::decode(&bytes).expect("the header is one");
        frames.next_frame() != Err(DecodeError::Invalid)
    };
    (0..=u8::MAX).filter(is_read).collect()
}

#[test]
fn packets_of_another_version_or_above_a_limit_are_refused() {
    let mut bytes = packet(FIRST, &[]);
    bytes[0] = 0x52;
    assert_eq!(PacketHeader::decode(&bytes).err(), Some(DecodeError::Invalid));
    bytes[0] = 0x51;
    bytes.resize(PACKET_MAX + 1, 0);
    assert_eq!(PacketHeader::decode(&bytes).err(), Some(DecodeError::TooLarge));
    let segment = Frame::Segment { number: 0, last: true, bytes: &[0; SEGMENT_MAX + 1] };
    assert_eq!(is_packet(&packet(FIRST, &[segment]), FIRST, &[]), Err(DecodeError::TooLarge));
}

#[test]
fn chunks_of_the_bulk_stream() {
    let mut vectors = Vectors::parse("bulk", include_str!("bulk.hex"));
    let stream = {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        for (after, message) in [(0, &b"one"[..]), (300, b"\x08")] {
            out.varint(after);
            out.prefixed(message);
        }
        bytes
    };
    for (name, chunk) in [
        ("chunk", BulkChunk { offset: 262_143, bytes: b"tea" }),
        ("chunk_empty", BulkChunk { offset: 300, bytes: b"" }),
        ("stream", BulkChunk { offset: 0, bytes: &stream }),
    ] {
        let mut encoded = Vec::new();
        chunk.encode(&mut encoded);
        vectors.check(name, Form::Open, &encoded, |bytes| Ok(BulkChunk::decode(bytes)? == chunk));
    }
    vectors.finish();
    assert_eq!(BulkChunk::decode(&[0; BULK_CHUNK_MAX + 1]), Err(DecodeError::TooLarge));
}

#[test]
fn close_codes() {
    let mut vectors = Vectors::parse("close", include_str!("close.hex"));
    let codes = [
        ("left", CloseCode::Left),
        ("seat_taken", CloseCode::SeatTaken),
        ("not_a_member", CloseCode::NotAMember),
        ("silent", CloseCode::Silent),
        ("version_mismatch", CloseCode::VersionMismatch),
        ("parameter_mismatch", CloseCode::ParameterMismatch),
        ("full", CloseCode::Full),
        ("closed", CloseCode::Closed),
        ("bad_ticket", CloseCode::BadTicket),
        ("malformed", CloseCode::Malformed),
        ("too_large", CloseCode::TooLarge),
        ("limit_exceeded", CloseCode::LimitExceeded),
        ("not_yours", CloseCode::NotYours),
        ("bad_warrant", CloseCode::BadWarrant),
        ("unexpected", CloseCode::Unexpected),
        ("future_stamp", CloseCode::FutureStamp),
        ("unknown", CloseCode::Other(4_999)),
    ];
    for (name, code) in codes {
        let encoded = packet(FIRST, &[Frame::Close(code)]).split_off(HEADER_LEN);
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            let mut reader = Reader::new(bytes);
            let kind = reader.u8()?;
            let found = CloseCode::from_u16(reader.u16()?);
            reader.end()?;
            Ok(kind == 7 && found == code)
        });
    }
    vectors.finish();
    let known = (0..=u16::MAX).filter(|&code| !matches!(CloseCode::from_u16(code), CloseCode::Other(_)));
    let listed = codes.iter().filter(|(_, code)| !matches!(code, CloseCode::Other(_)));
    assert!(known.eq(listed.map(|(_, code)| code.as_u16())), "each code has a vector, in order");
}
