//! Packets, the frames in them, and chunks of the bulk stream (PROTOCOL §2 and §3).

use crate::limits::{BULK_CHUNK_MAX, PACKET_MAX, SEGMENT_MAX};
use crate::{CloseCode, DecodeError, Reader, Writer};

/// Packets of history that an ack describes, the newest one not counted.
pub const ACK_HISTORY: u64 = 64;

const VERSION: u8 = 0x51;
const SEGMENT: u8 = 1;
const LAST_SEGMENT: u8 = 2;
const DATAGRAM: u8 = 3;
const PING: u8 = 4;
const PONG: u8 = 5;
const BULK_ACK: u8 = 6;
const CLOSE: u8 = 7;

/// What stands in front of every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The packet's number, truncated.
    pub number: u16,
    /// The newest packet that the sender has received, truncated; meaningless when `history` is zero.
    pub newest: u16,
    /// Bit 0: `newest` itself was received; bit i: `newest - i` was.
    pub history: u64,
}

/// The bytes of a header.
pub const HEADER_LEN: usize = 13;

impl PacketHeader {
    /// Appends the header.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.u8(VERSION);
        out.u16(self.number);
        out.u16(self.newest);
        out.u64(self.history);
    }

    /// Reads the header of a packet.
    ///
    /// # Errors
    /// `TooLarge` for a packet beyond [`PACKET_MAX`], `Invalid` for another version, `Truncated`.
    pub fn decode(packet: &[u8]) -> Result<(Self, Frames<'_>), DecodeError> {
        if packet.len() > PACKET_MAX {
            return Err(DecodeError::TooLarge);
        }
        let mut reader = Reader::new(packet);
        if reader.u8()? != VERSION {
            return Err(DecodeError::Invalid);
        }
        let header = Self { number: reader.u16()?, newest: reader.u16()?, history: reader.u64()? };
        Ok((header, Frames { reader }))
    }
}

/// The number nearest to `expected` whose low 16 bits are `truncated`.
#[must_use]
pub fn expand(truncated: u16, expected: u64) -> u64 {
    let difference = truncated.wrapping_sub(expected as u16) as i16;
    expected.saturating_add_signed(i64::from(difference))
}

/// One thing that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A piece of a message of the reliable lane.
    Segment {
        /// Its place in the lane.
        number: u64,
        /// Whether it ends its message.
        last: bool,
        /// At most [`SEGMENT_MAX`] bytes.
        bytes: &'a [u8],
    },
    /// An unreliable message.
    Datagram(&'a [u8]),
    /// Asks for a [`Frame::Pong`]; the time is the sender's own and comes back unread.
    Ping {
        /// Microseconds on the sender's clock.
        sent: u64,
    },
    /// Answers the newest ping.
    Pong {
        /// The ping's time.
        sent: u64,
        /// Microseconds between the ping's arrival and this answer.
        held: u64,
        /// Session time at the answer, in microseconds; zero while the sender does not know it.
        session: u64,
    },
    /// Everything of the bulk stream before this offset has arrived.
    BulkAck(u64),
    /// The link ends here.
    Close(CloseCode),
}

impl Frame<'_> {
    /// Appends the frame.
    pub fn encode(&self, out: &mut Writer<'_>) {
        match *self {
            Self::Segment { number, last, bytes } => {
                out.u8(if last { LAST_SEGMENT } else { SEGMENT });
                out.varint(number);
                out.prefixed(bytes);
            }
            Self::Datagram(bytes) => {
                out.u8(DATAGRAM);
                out.prefixed(bytes);
            }
            Self::Ping { sent } => {
                out.u8(PING);
                out.varint(sent);
            }
            Self::Pong { sent, held, session } => {
                out.u8(PONG);
                out.varint(sent);
                out.varint(held);
                out.varint(session);
            }
            Self::BulkAck(offset) => {
                out.u8(BULK_ACK);
                out.varint(offset);
            }
            Self::Close(code) => {
                out.u8(CLOSE);
                out.u16(code.as_u16());
            }
        }
    }
}

/// The frames of one packet, in order.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Frames<'a> {
    /// The next frame, `None` at the end.
    ///
    /// # Errors
    /// Any [`DecodeError`]; the rest of the packet is then unreadable.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'a>>, DecodeError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let reader = &mut self.reader;
        Ok(Some(match reader.u8()? {
            kind @ (SEGMENT | LAST_SEGMENT) => Frame::Segment {
                number: reader.varint()?,
                last: kind == LAST_SEGMENT,
                bytes: reader.prefixed(SEGMENT_MAX)?,
            },
            DATAGRAM => Frame::Datagram(reader.prefixed(PACKET_MAX)?),
            PING => Frame::Ping { sent: reader.varint()? },
            PONG => Frame::Pong { sent: reader.varint()?, held: reader.varint()?, session: reader.varint()? },
            BULK_ACK => Frame::BulkAck(reader.varint()?),
            CLOSE => Frame::Close(CloseCode::from_u16(reader.u16()?)),
            _ => return Err(DecodeError::Invalid),
        }))
    }
}

/// A chunk of the bulk stream (PROTOCOL §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkChunk<'a> {
    /// Where in the stream the bytes begin.
    pub offset: u64,
    /// Bytes of the stream: messages, each behind its header.
    pub bytes: &'a [u8],
}

impl<'a> BulkChunk<'a> {
    /// Appends the chunk.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Writer::new(out);
        out.varint(self.offset);
        out.bytes(self.bytes);
    }

    /// Reads one chunk.
    ///
    /// # Errors
    /// `TooLarge` beyond [`BULK_CHUNK_MAX`], `Truncated`, `Invalid`.
    pub fn decode(chunk: &'a [u8]) -> Result<Self, DecodeError> {
        if chunk.len() > BULK_CHUNK_MAX {
            return Err(DecodeError::TooLarge);
        }
        let mut reader = Reader::new(chunk);
        Ok(Self { offset: reader.varint()?, bytes: reader.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn frames_come_back_as_they_went() {
        let frames = [
            Frame::Segment { number: 70_000, last: true, bytes: b"hello" },
            Frame::Segment { number: 70_001, last: false, bytes: b"" },
            Frame::Datagram(b"x"),
            Frame::Ping { sent: 12 },
            Frame::Pong { sent: 12, held: 3, session: u64::MAX },
            Frame::BulkAck(1 << 40),
            Frame::Close(CloseCode::Malformed),
        ];
        let header = PacketHeader { number: 9, newest: 65_535, history: 5 };
        let mut packet = Vec::new();
        let mut writer = Writer::new(&mut packet);
        header.encode(&mut writer);
        assert_eq!(writer.len(), HEADER_LEN);
        frames.iter().for_each(|f| f.encode(&mut writer));
        let (read, mut rest) = PacketHeader::decode(&packet).unwrap();
        assert_eq!(read, header);
        for frame in frames {
            assert_eq!(rest.next_frame(), Ok(Some(frame)));
        }
        assert_eq!(rest.next_frame(), Ok(None));
    }

    #[test]
    fn truncated_numbers_expand_to_the_nearest() {
        for expected in [0u64, 5, 40_000, 65_535, 65_536, 1 << 33] {
            for delta in [-30_000i64, -1, 0, 1, 30_000] {
                let Some(number) = expected.checked_add_signed(delta) else { continue };
                assert_eq!(expand(number as u16, expected), number);
            }
        }
    }
}
