//! Packets, the frames in them, and chunks of the bulk stream (PROTOCOL §2 and §3).

use crate::lane::{RELIABLE_LANES, SEQUENCED_CHANNELS};
use crate::limits::{BULK_CHUNK_MAX, PACKET_MAX, PIGGYBACK_MAX, SEGMENT_MAX};
use crate::{CloseCode, DecodeError, Generations, Reader, Writer};

/// The number of packets before the newest one that an ack can describe and a receiver remembers.
pub const ACK_HISTORY: u64 = 256;
/// SEGMENT frames of one lane in one packet, at most; this keeps truncated segment numbers unambiguous.
pub const SEGMENTS_PER_PACKET: usize = 64;
/// Bytes of a header without an ack. An ack adds two bytes and its history.
pub const HEADER_MIN: usize = 4;
/// Bytes of the largest header.
pub const HEADER_MAX: usize = HEADER_MIN + 2 + HISTORY_BYTES;
/// Bytes of a SEGMENT or SEQUENCED frame before its content, at most.
pub const SEGMENT_HEAD_MAX: usize = 1 + 2 + 2;
/// Bytes of a DATAGRAM frame before its content, at most.
pub const DATAGRAM_HEAD_MAX: usize = 1 + 2;

/// The upper four bits of a packet's first byte.
const VERSION: u8 = 0x60;
const HISTORY_BYTES: usize = ACK_HISTORY as usize / 8;
/// The bytes of history for each value of the lower four bits of the first byte. The value 0 means that the header
/// has no ack.
const HISTORY_LENGTHS: [usize; 16] = [0, 0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, HISTORY_BYTES];

const DATAGRAM: u8 = 0x01;
const DATAGRAM_REST: u8 = 0x02;
const PING: u8 = 0x03;
const PONG: u8 = 0x04;
const BULK_ACK: u8 = 0x05;
const PIGGYBACK: u8 = 0x06;
const CLOSE: u8 = 0x07;
/// The kind of a SEGMENT frame of lane 0. Each lane has two kinds. The odd one marks the last segment of a message.
const SEGMENT: u8 = 0x10;
const SEGMENT_END: u8 = SEGMENT + 2 * RELIABLE_LANES;
/// The kind of a SEQUENCED frame of channel 0. The other channels follow.
const SEQUENCED: u8 = 0x18;
const SEQUENCED_END: u8 = SEQUENCED + SEQUENCED_CHANNELS;

/// The packets received before the newest one: bit i stands for `newest - 1 - i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckHistory {
    words: [u64; ACK_HISTORY as usize / 64],
}

impl AckHistory {
    /// The history of a bitmap; its lowest bit is bit 0 of the first word.
    #[must_use]
    pub const fn from_words(words: [u64; ACK_HISTORY as usize / 64]) -> Self {
        Self { words }
    }

    /// Whether the packet `1 + bit` before the newest was received.
    #[must_use]
    pub fn has(&self, bit: u64) -> bool {
        self.words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Marks the packet `1 + bit` before the newest as received. The history has no place for older packets, and
    /// ignores them.
    pub fn set(&mut self, bit: u64) {
        if let Some(word) = self.words.get_mut(bit as usize / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Moves all bits back by `by`, because a packet that is newer by `by` has become the newest.
    pub fn age(&mut self, by: u64) {
        let (whole, part) = ((by / 64).min(self.words.len() as u64) as usize, by % 64);
        for at in (0..self.words.len()).rev() {
            let low = at.checked_sub(whole).map_or(0, |from| self.words[from]);
            let lower = at.checked_sub(whole + 1).map_or(0, |from| self.words[from]);
            self.words[at] = if part == 0 { low } else { low << part | lower >> (64 - part) };
        }
    }

    /// The history with only its first `bits` bits.
    #[must_use]
    pub fn truncated(mut self, bits: u64) -> Self {
        for (word, first) in self.words.iter_mut().zip((0u64..).step_by(64)) {
            let keep = bits.saturating_sub(first);
            if keep < 64 {
                *word &= (1 << keep) - 1;
            }
        }
        self
    }

    /// The numbers of the set bits, from the newest packet backwards.
    pub fn bits(&self) -> impl Iterator<Item = u64> + use<> {
        let words = self.words;
        (0u64..).zip(words).flat_map(|(index, mut word)| {
            core::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(index * 64 + u64::from(bit))
            })
        })
    }

    /// The number of bytes up to the last one with a bit set.
    fn byte_len(&self) -> usize {
        let words = (0..).zip(&self.words).filter(|(_, word)| **word != 0);
        words.last().map_or(0, |(index, word)| index * 8 + 8 - word.leading_zeros() as usize / 8)
    }
}

/// A report of the packets that the sender has received, carried by each of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The newest packet received, truncated.
    pub newest: u16,
    /// The packets before the newest one. A clear bit says nothing: the packet may be missing, or may have been
    /// reported earlier.
    pub history: AckHistory,
}

/// The header of every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The generations of the link that the packet belongs to.
    pub generations: Generations,
    /// The packet's number, truncated.
    pub number: u16,
    /// The packets that the sender has received; `None` before the first.
    pub ack: Option<Ack>,
}

impl PacketHeader {
    /// Appends the header.
    pub fn encode(&self, out: &mut Writer<'_>) {
        let Some(ack) = self.ack else {
            out.u8(VERSION);
            out.u8(self.generations.encode());
            out.u16(self.number);
            return;
        };
        let needed = ack.history.byte_len();
        let code = (1..16).find(|&code| HISTORY_LENGTHS[code] >= needed).unwrap_or(15);
        out.u8(VERSION | code as u8);
        out.u8(self.generations.encode());
        out.u16(self.number);
        out.u16(ack.newest);
        let bytes = ack.history.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(HISTORY_LENGTHS[code]).for_each(|byte| out.u8(byte));
    }

    /// Reads the header of a packet.
    ///
    /// # Errors
    /// `TooLarge` for a packet beyond [`PACKET_MAX`], `Invalid` for another version or impossible generations,
    /// `Truncated`.
    pub fn decode(packet: &[u8]) -> Result<(Self, Frames<'_>), DecodeError> {
        if packet.len() > PACKET_MAX {
            return Err(DecodeError::TooLarge);
        }
        let mut reader = Reader::new(packet);
        let first = reader.u8()?;
        if first & 0xf0 != VERSION {
            return Err(DecodeError::Invalid);
        }
        let generations = Generations::decode(reader.u8()?)?;
        let number = reader.u16()?;
        let code = usize::from(first & 0x0f);
        let ack = if code == 0 {
            None
        } else {
            let newest = reader.u16()?;
            let mut history = AckHistory::default();
            for (at, byte) in reader.bytes(HISTORY_LENGTHS[code])?.iter().enumerate() {
                history.words[at / 8] |= u64::from(*byte) << (at % 8 * 8);
            }
            Some(Ack { newest, history })
        };
        Ok((Self { generations, number, ack }, Frames { reader }))
    }
}

/// The number nearest to `expected` whose low 16 bits are `truncated`.
#[must_use]
pub fn expand(truncated: u16, expected: u64) -> u64 {
    let difference = truncated.wrapping_sub(expected as u16) as i16;
    expected.saturating_add_signed(i64::from(difference))
}

/// One frame of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A piece of a message of a reliable lane.
    Segment {
        /// The lane, below [`RELIABLE_LANES`].
        lane: u8,
        /// The number of the segment in its lane, truncated.
        number: u16,
        /// Whether the segment ends its message.
        last: bool,
        /// The piece, at most [`SEGMENT_MAX`] bytes.
        bytes: &'a [u8],
    },
    /// A sequenced message.
    Sequenced {
        /// The channel, below [`SEQUENCED_CHANNELS`].
        channel: u8,
        /// The number of the message in its channel, truncated.
        number: u16,
        /// The message.
        bytes: &'a [u8],
    },
    /// An unreliable message.
    Datagram(&'a [u8]),
    /// An unreliable message that takes the rest of the packet, without a length.
    LastDatagram(&'a [u8]),
    /// Asks for a [`Frame::Pong`].
    Ping,
    /// Answers the newest ping.
    Pong {
        /// The number of the packet that the ping came in, truncated.
        ping: u16,
        /// Microseconds between the ping's arrival and this answer.
        held: u64,
        /// Session time at the answer, in microseconds; zero while the sender does not know it.
        session: u64,
    },
    /// The sender of this frame has delivered everything of the bulk stream before this offset.
    BulkAck(u64),
    /// An unreliable message that goes with packets that are sent anyway. It causes neither a packet nor an ack.
    Piggyback(&'a [u8]),
    /// The sender ends the link, for this reason.
    Close(CloseCode),
}

impl Frame<'_> {
    /// Appends the frame.
    pub fn encode(&self, out: &mut Writer<'_>) {
        match *self {
            Self::Segment { lane, number, last, bytes } => {
                out.u8(SEGMENT + 2 * lane + u8::from(last));
                out.u16(number);
                out.prefixed(bytes);
            }
            Self::Sequenced { channel, number, bytes } => {
                out.u8(SEQUENCED + channel);
                out.u16(number);
                out.prefixed(bytes);
            }
            Self::Datagram(bytes) => {
                out.u8(DATAGRAM);
                out.prefixed(bytes);
            }
            Self::LastDatagram(bytes) => {
                out.u8(DATAGRAM_REST);
                out.bytes(bytes);
            }
            Self::Ping => out.u8(PING),
            Self::Pong { ping, held, session } => {
                out.u8(PONG);
                out.u16(ping);
                out.varint(held);
                out.varint(session);
            }
            Self::BulkAck(offset) => {
                out.u8(BULK_ACK);
                out.varint(offset);
            }
            Self::Piggyback(bytes) => {
                out.u8(PIGGYBACK);
                out.prefixed(bytes);
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
            kind @ SEGMENT..SEGMENT_END => Frame::Segment {
                lane: (kind - SEGMENT) / 2,
                number: reader.u16()?,
                last: kind & 1 == 1,
                bytes: reader.prefixed(SEGMENT_MAX)?,
            },
            kind @ SEQUENCED..SEQUENCED_END => Frame::Sequenced {
                channel: kind - SEQUENCED,
                number: reader.u16()?,
                bytes: reader.prefixed(PACKET_MAX)?,
            },
            DATAGRAM => Frame::Datagram(reader.prefixed(PACKET_MAX)?),
            DATAGRAM_REST => Frame::LastDatagram(reader.rest()),
            PING => Frame::Ping,
            PONG => Frame::Pong { ping: reader.u16()?, held: reader.varint()?, session: reader.varint()? },
            BULK_ACK => Frame::BulkAck(reader.varint()?),
            PIGGYBACK => Frame::Piggyback(reader.prefixed(PIGGYBACK_MAX)?),
            CLOSE => Frame::Close(CloseCode::from_u16(reader.u16()?)),
            _ => return Err(DecodeError::Invalid),
        }))
    }
}

/// A chunk of the bulk stream (PROTOCOL §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkChunk<'a> {
    /// The generations of the link that the chunk belongs to.
    pub generations: Generations,
    /// The offset of the bytes in the stream.
    pub offset: u64,
    /// Bytes of the stream: messages, each behind its header.
    pub bytes: &'a [u8],
}

impl<'a> BulkChunk<'a> {
    /// Appends the chunk.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Writer::new(out);
        out.u8(self.generations.encode());
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
        let generations = Generations::decode(reader.u8()?)?;
        Ok(Self { generations, offset: reader.varint()?, bytes: reader.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn frames_and_their_header_round_trip() {
        let frames = [
            Frame::Segment { lane: 0, number: 7_000, last: true, bytes: b"hello" },
            Frame::Segment { lane: 3, number: 65_535, last: false, bytes: b"" },
            Frame::Sequenced { channel: 3, number: 1, bytes: b"newest" },
            Frame::Datagram(b"x"),
            Frame::Ping,
            Frame::Pong { ping: 12, held: 3, session: u64::MAX },
            Frame::BulkAck(1 << 40),
            Frame::Piggyback(&[7; 3]),
            Frame::Close(CloseCode::Malformed),
            Frame::LastDatagram(b"the rest"),
        ];
        let mut history = AckHistory::default();
        history.set(0);
        history.set(70);
        let header = PacketHeader {
            generations: Generations::FIRST,
            number: 9,
            ack: Some(Ack { newest: 65_535, history }),
        };
        let mut packet = Vec::new();
        let mut writer = Writer::new(&mut packet);
        header.encode(&mut writer);
        frames.iter().for_each(|f| f.encode(&mut writer));
        let (read, mut rest) = PacketHeader::decode(&packet).unwrap();
        assert_eq!(read, header);
        for frame in frames {
            assert_eq!(rest.next_frame(), Ok(Some(frame)));
        }
        assert_eq!(rest.next_frame(), Ok(None));
    }

    #[test]
    fn an_ack_takes_the_bytes_that_its_history_needs() {
        for (bits, len) in [(0u64, 6), (1, 7), (8, 7), (9, 8), (64, 14), (65, 16), (256, 38)] {
            let mut history = AckHistory::default();
            (0..bits).for_each(|bit| history.set(bit));
            let header = PacketHeader {
                generations: Generations::FIRST,
                number: 1,
                ack: Some(Ack { newest: 2, history }),
            };
            let mut bytes = Vec::new();
            header.encode(&mut Writer::new(&mut bytes));
            assert_eq!(bytes.len(), len, "{bits} bits");
            assert_eq!(PacketHeader::decode(&bytes).unwrap().0, header);
            assert!((0..bits).eq(history.bits()));
        }
        let (mut first, mut bytes) =
            (PacketHeader { generations: Generations::NONE, number: 1, ack: None }, Vec::new());
        first.encode(&mut Writer::new(&mut bytes));
        assert_eq!(bytes.len(), HEADER_MIN);
        first = PacketHeader::decode(&bytes).unwrap().0;
        assert_eq!(first.ack, None);
    }

    #[test]
    fn an_ack_history_ages_like_a_list_of_bits() {
        let mut history = AckHistory::default();
        let mut model = vec![false; ACK_HISTORY as usize];
        for (n, by) in [1u64, 3, 64, 1, 63, 65, 128, 2, 130, 1, 300, 5].into_iter().enumerate() {
            history.set(n as u64 * 3);
            model[n * 3] = true;
            history.age(by);
            let aged = (0..model.len()).map(|i| i.checked_sub(by as usize).is_some_and(|from| model[from]));
            model = aged.collect();
            let bits: Vec<_> = (0..ACK_HISTORY).map(|bit| history.has(bit)).collect();
            assert_eq!(bits, model, "after {by}");
        }
        (0..ACK_HISTORY).for_each(|bit| history.set(bit));
        for bits in [0, 1, 63, 64, 65, 255, 256, 999] {
            assert_eq!(history.truncated(bits).bits().count() as u64, bits.min(ACK_HISTORY));
        }
    }

    #[test]
    fn truncated_numbers_expand_to_the_nearest_number() {
        for expected in [0u64, 5, 40_000, 65_535, 65_536, 1 << 33] {
            for delta in [-30_000i64, -1, 0, 1, 30_000] {
                let Some(number) = expected.checked_add_signed(delta) else { continue };
                assert_eq!(expand(number as u16, expected), number);
            }
        }
    }
}
