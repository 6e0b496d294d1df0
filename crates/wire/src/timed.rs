//! Messages in time-stamp order, and the promises that make them deliverable (PROTOCOL §4.14).

use crate::limits::{MESSAGE_MAX, TIMED_HELD_MAX, TIMED_MAX};
use crate::{DecodeError, PeerId, Reader, Time, Writer};

/// The unit of promises in microseconds. A promise is rounded down to it.
pub const PROMISE_UNIT: u64 = 128;

/// A lower bound: the sender will send no message with an earlier time. A promise travels as a piggyback, in packets
/// that are sent anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Promise {
    /// The earliest session time that a later message of the sender can have.
    pub until: Time,
    /// The number of messages that the sender has sent to the receiver so far. The promise counts only once the
    /// receiver has them all.
    pub sent: u64,
}

impl Promise {
    /// Appends the promise.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.until.as_micros() / PROMISE_UNIT);
        out.varint(self.sent);
    }

    /// Reads the promise.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let until = reader.varint()?.checked_mul(PROMISE_UNIT).ok_or(DecodeError::Invalid)?;
        Ok(Self { until: Time::from_micros(until), sent: reader.varint()? })
    }
}

/// A message in time-stamp order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timed {
    /// The session time of the event that the message tells of.
    pub time: Time,
    /// The number of the message among those of its sender, from 1.
    pub number: u64,
    /// The content; only the game reads it.
    pub bytes: Vec<u8>,
}

impl Timed {
    fn encode_head(&self, out: &mut Writer<'_>) {
        out.varint(self.time.as_micros());
        out.varint(self.number);
    }

    fn decode_head(reader: &mut Reader<'_>) -> Result<(Time, u64), DecodeError> {
        let (time, number) = (Time::from_micros(reader.varint()?), reader.varint()?);
        if number == 0 { Err(DecodeError::Invalid) } else { Ok((time, number)) }
    }
}

/// The body of TIMED.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimedMessage {
    /// The sender's messages to the receiver begin after the one with this number.
    Begin(u64),
    /// A message of the sender.
    Own(Timed),
    /// The messages that the sender has received from a member that is gone.
    Gone {
        /// The member that is gone.
        peer: PeerId,
        /// Whether another [`TimedMessage::Gone`] follows with more messages of that member.
        more: bool,
        /// The messages, in the order of their numbers.
        messages: Vec<Timed>,
    },
}

const OWN: u8 = 0;
const GONE_MORE: u8 = 1;
const GONE_LAST: u8 = 2;
const BEGIN: u8 = 3;

impl TimedMessage {
    /// Appends the body.
    pub fn encode(&self, out: &mut Writer<'_>) {
        match self {
            Self::Begin(number) => {
                out.u8(BEGIN);
                out.varint(*number);
            }
            Self::Own(message) => {
                out.u8(OWN);
                message.encode_head(out);
                out.bytes(&message.bytes);
            }
            Self::Gone { peer, more, messages } => {
                out.u8(if *more { GONE_MORE } else { GONE_LAST });
                out.u32(peer.0);
                for message in messages {
                    message.encode_head(out);
                    out.prefixed(&message.bytes);
                }
            }
        }
    }

    /// Reads the body.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u8()?;
        if kind == OWN {
            let (time, number) = Timed::decode_head(reader)?;
            let bytes = reader.rest();
            if bytes.len() > TIMED_MAX {
                return Err(DecodeError::TooLarge);
            }
            return Ok(Self::Own(Timed { time, number, bytes: bytes.to_vec() }));
        }
        if kind == BEGIN {
            let number = reader.varint()?;
            reader.end()?;
            return Ok(Self::Begin(number));
        }
        if kind > GONE_LAST {
            return Err(DecodeError::Invalid);
        }
        let peer = PeerId(reader.u32()?);
        let mut messages = Vec::new();
        let mut size = 0;
        while !reader.is_empty() {
            let (time, number) = Timed::decode_head(reader)?;
            let bytes = reader.prefixed(TIMED_MAX)?.to_vec();
            size += bytes.len();
            if messages.len() == TIMED_HELD_MAX || size > MESSAGE_MAX {
                return Err(DecodeError::TooLarge);
            }
            messages.push(Timed { time, number, bytes });
        }
        Ok(Self::Gone { peer, more: kind == GONE_MORE, messages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_promise_is_rounded_down_never_up() {
        for micros in [0, 1, 127, 128, 1_000_003, u64::MAX] {
            let promise = Promise { until: Time::from_micros(micros), sent: 300 };
            let mut bytes = Vec::new();
            promise.encode(&mut Writer::new(&mut bytes));
            let read = Promise::decode(&mut Reader::new(&bytes));
            assert_eq!(read.map(|read| read.sent), Ok(300));
            assert!(read.is_ok_and(|read| micros - read.until.as_micros() < PROMISE_UNIT));
        }
    }

    #[test]
    fn encoded_messages_round_trip() {
        let message = |number| Timed { time: Time::from_micros(1 << 40), number, bytes: vec![7; 200] };
        let own = TimedMessage::Own(message(u64::MAX));
        let gone =
            TimedMessage::Gone { peer: PeerId(9), more: true, messages: (1..40).map(message).collect() };
        for told in [TimedMessage::Begin(300), own, gone] {
            let mut bytes = Vec::new();
            told.encode(&mut Writer::new(&mut bytes));
            assert_eq!(TimedMessage::decode(&mut Reader::new(&bytes)), Ok(told));
        }
        assert!(TimedMessage::decode(&mut Reader::new(&[0, 1, 0])).is_err(), "numbers begin at 1");
    }
}
