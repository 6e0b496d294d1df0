//! Packets, chunks and close codes (PROTOCOL §2.2, §3 and §7).

use std::collections::BTreeSet;

use samovar_wire::limits::{BULK_CHUNK_MAX, PACKET_MAX, SEGMENT_MAX};
use samovar_wire::link_frame::{Ack, AckHistory, BulkChunk, Frame, HEADER_MIN, PacketHeader};
use samovar_wire::{CloseCode, DecodeError, Generation, Generations, Reader, Writer};

use crate::file::{Form, Vectors};

/// The length of the header of most examples, in bytes.
const HEADER_LEN: usize = 7;
/// The header of most examples. It acks the packets 65,535 and 65,533.
const HEADER: PacketHeader =
    PacketHeader { generations: BOTH, number: 0x1234, ack: Some(ack(0xffff, [0b10, 0, 0, 0])) };
const FIRST: PacketHeader = PacketHeader { generations: Generations::FIRST, number: 0, ack: None };
const UNLINKED: PacketHeader = PacketHeader { generations: Generations::NONE, number: 0, ack: None };
/// The sender's link is its third to the receiver. The receiver's link, as the sender knows it, is the second.
const BOTH: Generations =
    Generations { sender: Some(Generation::FIRST.next().next()), receiver: Some(Generation::FIRST.next()) };

const fn ack(newest: u16, history: [u64; 4]) -> Ack {
    Ack { newest, history: AckHistory::from_words(history) }
}

pub(crate) fn packet(header: PacketHeader, frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    header.encode(&mut out);
    frames.iter().for_each(|frame| frame.encode(&mut out));
    bytes
}

pub(crate) fn is_packet(
    bytes: &[u8],
    header: PacketHeader,
    frames: &[Frame<'_>],
) -> Result<bool, DecodeError> {
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
fn packet_headers_match_their_vectors() {
    let mut vectors = Vectors::parse("headers", include_str!("headers.hex"));
    check(&mut vectors, "first", FIRST, &[]);
    let without = PacketHeader { generations: BOTH, number: 0xfedc, ack: None };
    check(&mut vectors, "without_ack", without, &[]);
    for (name, history) in [
        ("newest_only", [0, 0, 0, 0]),
        ("one_byte", [0x81, 0, 0, 0]),
        ("two_bytes", [0x0100, 0, 0, 0]),
        ("six_bytes", [1 << 47, 0, 0, 0]),
        ("seven_bytes_take_eight", [1 << 48 | 1, 0, 0, 0]),
        ("nine_bytes_take_ten", [0, 1, 0, 0]),
        ("twelve_bytes", [0, 1 << 31, 0, 0]),
        ("sixteen_bytes", [u64::MAX, u64::MAX, 0, 0]),
        ("twenty_bytes", [0, 0, 1 << 16, 0]),
        ("twenty_four_bytes", [0, 0, 1 << 63, 0]),
        ("twenty_eight_bytes", [1, 0, 0, 1]),
        ("all_of_it", [1, 0, 0, 1 << 63]),
    ] {
        let header = PacketHeader { generations: BOTH, number: 0x1234, ack: Some(ack(2, history)) };
        check(&mut vectors, name, header, &[]);
    }
    vectors.finish();
    // A sender need not choose the shortest encoding of the history.
    let padded = [0x64, 0x32, 0x34, 0x12, 0x02, 0x00, 0x81, 0x00, 0x00];
    let header = PacketHeader { generations: BOTH, number: 0x1234, ack: Some(ack(2, [0x81, 0, 0, 0])) };
    assert_eq!(is_packet(&padded, header, &[]), Ok(true));
}

#[test]
fn packets_and_frames_match_their_vectors() {
    let mut vectors = Vectors::parse("packets", include_str!("packets.hex"));
    check(&mut vectors, "keep_alive", HEADER, &[]);
    for (name, frame) in [
        ("segment", Frame::Segment { lane: 0, number: 4_464, last: false, bytes: b"Hello, " }),
        ("segment_last", Frame::Segment { lane: 0, number: 4_465, last: true, bytes: b"tea" }),
        ("segment_empty", Frame::Segment { lane: 0, number: 0, last: true, bytes: b"" }),
        ("segment_of_lane_1", Frame::Segment { lane: 1, number: 1, last: false, bytes: b"a" }),
        ("segment_of_lane_1_last", Frame::Segment { lane: 1, number: 2, last: true, bytes: b"b" }),
        ("segment_of_lane_2", Frame::Segment { lane: 2, number: 3, last: false, bytes: b"c" }),
        ("segment_of_lane_2_last", Frame::Segment { lane: 2, number: 4, last: true, bytes: b"d" }),
        ("segment_of_lane_3", Frame::Segment { lane: 3, number: 5, last: false, bytes: b"e" }),
        ("segment_of_lane_3_last", Frame::Segment { lane: 3, number: 6, last: true, bytes: b"f" }),
        ("largest", Frame::Segment { lane: 0, number: 65_535, last: true, bytes: &[0x5a; SEGMENT_MAX] }),
        ("sequenced_0", Frame::Sequenced { channel: 0, number: 0, bytes: b"x" }),
        ("sequenced_1", Frame::Sequenced { channel: 1, number: 256, bytes: b"" }),
        ("sequenced_2", Frame::Sequenced { channel: 2, number: 7, bytes: b"yz" }),
        ("sequenced_3", Frame::Sequenced { channel: 3, number: 65_535, bytes: b"x" }),
        ("datagram", Frame::Datagram(b"x")),
        ("pong", Frame::Pong { ping: 0xabcd, held: 250, session: u64::MAX }),
        ("pong_before_time_is_known", Frame::Pong { ping: 1, held: 0, session: 0 }),
        ("bulk_ack", Frame::BulkAck(1 << 40)),
        ("piggyback", Frame::Piggyback(b"x")),
        ("close", Frame::Close(CloseCode::Malformed)),
    ] {
        check(&mut vectors, name, HEADER, &[frame]);
    }
    let rest = |name, vectors: &mut Vectors, frames: &[Frame<'_>]| {
        vectors.check(name, Form::Open, &packet(HEADER, frames), |bytes| is_packet(bytes, HEADER, frames));
    };
    rest("ping", &mut vectors, &[Frame::Ping]);
    rest("last_datagram", &mut vectors, &[Frame::LastDatagram(b"x")]);
    rest("last_datagram_empty", &mut vectors, &[Frame::LastDatagram(b"")]);
    check(&mut vectors, "not_a_member", UNLINKED, &[Frame::Close(CloseCode::NotAMember)]);
    let frames = [
        Frame::Pong { ping: 9, held: 3, session: 1_000_000 },
        Frame::Ping,
        Frame::BulkAck(128),
        Frame::Piggyback(&[27, 1, 2]),
        Frame::Segment { lane: 0, number: 0, last: false, bytes: b"a" },
        Frame::Segment { lane: 0, number: 1, last: true, bytes: b"b" },
        Frame::Sequenced { channel: 2, number: 5, bytes: &[9, 1] },
        Frame::Datagram(&[9, 2]),
        Frame::LastDatagram(&[6, 0]),
    ];
    rest("all_frames", &mut vectors, &frames);
    assert_eq!(vectors.bytes_at(HEADER_LEN), frame_kinds(), "each kind of frame has a vector");
    vectors.finish();
}

/// The kinds of frame that the decoder reads, found by trying all.
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
    bytes[0] = 0x51;
    assert_eq!(PacketHeader::decode(&bytes).err(), Some(DecodeError::Invalid));
    bytes[0] = 0x60;
    bytes[1] = 0x01;
    assert_eq!(PacketHeader::decode(&bytes).err(), Some(DecodeError::Invalid));
    bytes[1] = 0x10;
    bytes.resize(PACKET_MAX + 1, 0);
    assert_eq!(PacketHeader::decode(&bytes).err(), Some(DecodeError::TooLarge));
    let segment = Frame::Segment { lane: 0, number: 0, last: true, bytes: &[0; SEGMENT_MAX + 1] };
    assert_eq!(is_packet(&packet(FIRST, &[segment]), FIRST, &[]), Err(DecodeError::TooLarge));
}

#[test]
fn bulk_chunks_match_their_vectors() {
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
        ("chunk", BulkChunk { generations: BOTH, offset: 262_143, bytes: b"tea" }),
        ("chunk_empty", BulkChunk { generations: BOTH, offset: 300, bytes: b"" }),
        ("stream", BulkChunk { generations: Generations::FIRST, offset: 0, bytes: &stream }),
    ] {
        let mut encoded = Vec::new();
        chunk.encode(&mut encoded);
        vectors.check(name, Form::Open, &encoded, |bytes| Ok(BulkChunk::decode(bytes)? == chunk));
    }
    vectors.finish();
    assert_eq!(BulkChunk::decode(&[0; BULK_CHUNK_MAX + 1]), Err(DecodeError::TooLarge));
}

#[test]
fn close_codes_match_their_vectors() {
    let mut vectors = Vectors::parse("close", include_str!("close.hex"));
    let codes = [
        ("left", CloseCode::Left),
        ("seat_taken", CloseCode::SeatTaken),
        ("not_a_member", CloseCode::NotAMember),
        ("away", CloseCode::Away),
        ("silent", CloseCode::Silent),
        ("version_mismatch", CloseCode::VersionMismatch),
        ("parameter_mismatch", CloseCode::ParameterMismatch),
        ("full", CloseCode::Full),
        ("closed", CloseCode::Closed),
        ("bad_ticket", CloseCode::BadTicket),
        ("put_out", CloseCode::PutOut),
        ("not_vouched", CloseCode::NotVouched),
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
        let encoded = packet(FIRST, &[Frame::Close(code)]).split_off(HEADER_MIN);
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
