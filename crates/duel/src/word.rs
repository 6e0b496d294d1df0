//! The messages between members of a duel, besides the objects: the feed, the bowl, and matches.
//!
//! Each message is delivered in the order that its meaning needs (docs/sources.md, "Fujimoto"). An effect must come
//! after its cause: [`Word::Fired`] and [`Word::Struck`] are in causal order. The first touch must be the first in
//! time: [`Word::Touched`] is in time-stamp order. All must see the same matches, and no failure may undo them:
//! [`Word::Began`] and [`Word::Ended`] are stable in the total order.

use crate::codec::{DecodeError, Reader};
use crate::cube::{Launch, Shot};
use crate::player::PlayerKey;
use crate::row::ROWS;

/// One message of the duel. The receiver must check that the sender may send it.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// A cube left a spout. The peer that speaks for the shooter sends this.
    Fired(Launch),
    /// A hit counts. The host sends this.
    Struck {
        /// The cube.
        shot: Shot,
        /// The player that was hit.
        struck: PlayerKey,
        /// The session time of the hit, in microseconds.
        at: u64,
    },
    /// A teapot is over the bowl. The peer that drives the teapot sends this.
    Touched {
        /// The teapot's player.
        player: PlayerKey,
        /// The bowl's number; each later one has a higher number.
        bowl: u32,
        /// The session time of the touch, in microseconds. If the time-stamp order delivers the message, the time
        /// that the order gives counts instead.
        at: u64,
    },
    /// A match begins, and the scores begin anew. The host sends this.
    Began {
        /// The number of the match; each later match has a higher one.
        number: u32,
        /// The first moment of the match, in microseconds of session time.
        at: u64,
    },
    /// A match is over. The host sends this.
    Ended {
        /// The number of the match.
        number: u32,
        /// The last moment of the match, in microseconds of session time.
        at: u64,
        /// The points, the best first; at most [`ROWS`].
        table: Vec<(PlayerKey, u16)>,
    },
}

impl Word {
    /// The bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        match self {
            Self::Fired(launch) => {
                out.push(0);
                out.extend(launch.encode());
            }
            Self::Struck { shot, struck, at } => {
                out.push(1);
                shot.shooter.write(&mut out);
                out.extend(shot.launched_at.to_le_bytes());
                struck.write(&mut out);
                out.extend(at.to_le_bytes());
            }
            Self::Touched { player, bowl, at } => {
                out.push(2);
                player.write(&mut out);
                out.extend(bowl.to_le_bytes());
                out.extend(at.to_le_bytes());
            }
            Self::Began { number, at } => {
                out.push(3);
                out.extend(number.to_le_bytes());
                out.extend(at.to_le_bytes());
            }
            Self::Ended { number, at, table } => {
                out.push(4);
                out.extend(number.to_le_bytes());
                out.extend(at.to_le_bytes());
                for (player, points) in table {
                    player.write(&mut out);
                    out.extend(points.to_le_bytes());
                }
            }
        }
        out
    }

    /// The message in these bytes.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let word = match reader.u8()? {
            0 => return Launch::decode(&bytes[1..]).map(Self::Fired),
            1 => {
                let shot = Shot { shooter: PlayerKey::read(&mut reader)?, launched_at: reader.u64()? };
                Self::Struck { shot, struck: PlayerKey::read(&mut reader)?, at: reader.u64()? }
            }
            2 => {
                let player = PlayerKey::read(&mut reader)?;
                Self::Touched { player, bowl: reader.u32()?, at: reader.u64()? }
            }
            3 => Self::Began { number: reader.u32()?, at: reader.u64()? },
            4 => {
                let (number, at) = (reader.u32()?, reader.u64()?);
                let mut table: Vec<(PlayerKey, u16)> = Vec::new();
                while !reader.is_empty() {
                    let player = PlayerKey::read(&mut reader)?;
                    if table.len() == ROWS {
                        return Err(DecodeError::WrongLength);
                    }
                    if table.iter().any(|(other, _)| *other == player) {
                        return Err(DecodeError::DuplicatePlayer);
                    }
                    table.push((player, reader.u16()?));
                }
                Self::Ended { number, at, table }
            }
            other => return Err(DecodeError::UnknownTag(other)),
        };
        reader.finish()?;
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::Motion;
    use crate::rng::Rng;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const ADA: PlayerKey = PlayerKey::Seat(1);
    const POT: PlayerKey = PlayerKey::Robot(2);

    fn words() -> Vec<Word> {
        let launch = Launch::from_spout(ADA, &Motion::default(), 77);
        vec![
            Word::Fired(launch),
            Word::Struck { shot: launch.shot(), struck: POT, at: 99 },
            Word::Touched { player: POT, bowl: 3, at: u64::MAX },
            Word::Began { number: 1, at: 5 },
            Word::Ended { number: 1, at: 6, table: vec![(ADA, 20), (POT, 3)] },
            Word::Ended { number: u32::MAX, at: 6, table: vec![] },
        ]
    }

    #[test]
    fn every_encoded_word_decodes_to_itself() {
        for word in words() {
            assert_eq!(Word::decode(&word.encode()), Ok(word));
        }
    }

    #[test]
    fn garbage_never_panics_and_accepted_words_are_canonical() {
        let mut rng = Rng::new(71);
        for _ in 0..50_000 {
            let words = words();
            let mut bytes = words[rng.below(6) as usize].encode();
            match rng.below(3) {
                0 => bytes.truncate(rng.below(30) as usize),
                1 => bytes.push(rng.next_u64() as u8),
                _ => {
                    let index = rng.below(bytes.len() as u32) as usize;
                    bytes[index] = rng.next_u64() as u8;
                }
            }
            if let Ok(word) = Word::decode(&bytes) {
                assert_eq!(word.encode(), bytes);
            }
        }
        assert_eq!(Word::decode(&[]), Err(DecodeError::WrongLength));
        assert_eq!(Word::decode(&[9]), Err(DecodeError::UnknownTag(9)));
    }

    #[test]
    fn a_final_table_is_bounded_and_names_each_player_once() {
        let table = (0..=ROWS as u16).map(|seat| (PlayerKey::Seat(seat), 0)).collect();
        let word = Word::Ended { number: 1, at: 1, table };
        assert_eq!(Word::decode(&word.encode()), Err(DecodeError::WrongLength));
        let word = Word::Ended { number: 1, at: 1, table: vec![(ADA, 1), (ADA, 2)] };
        assert_eq!(Word::decode(&word.encode()), Err(DecodeError::DuplicatePlayer));
    }
}
