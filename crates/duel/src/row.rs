//! One player's row of the scoreboard.

use crate::codec::{DecodeError, Reader};
use crate::cube::Shot;
use crate::phase::Phase;
use crate::player::{Glaze, PlayerKey, PlayerName};

/// The most rows a scoreboard has: the bound on players and robots in a duel.
pub const ROWS: usize = 32;

/// The flag at the start of a row of a player that was hit.
const WAS_STRUCK: u8 = 1;

/// One player's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The player of this row.
    pub player: PlayerKey,
    /// The name to show.
    pub name: PlayerName,
    /// The colour of the teapot.
    pub glaze: Glaze,
    /// Points; stops at the largest number.
    pub score: u16,
    /// How often this player was hit; stops at the largest number.
    pub lost: u16,
    /// The hits that this player has made since it was last hit; stops at the largest number.
    pub streak: u16,
    /// The latest hit this player took, if any.
    pub struck: Option<Strike>,
}

/// A hit that counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// The cube that hit. It is kept so that no cube counts twice, not even at a new host.
    pub shot: Shot,
    /// The session time of the hit, in microseconds.
    pub at: u64,
}

impl Row {
    /// A row without points.
    pub fn new(player: PlayerKey, name: PlayerName, glaze: Glaze) -> Self {
        Self { player, name, glaze, score: 0, lost: 0, streak: 0, struck: None }
    }

    /// The phase of this player's teapot at `now`, by its last hit.
    pub fn phase(&self, now: u64) -> Phase {
        Phase::since(self.struck.map(|strike| strike.at), now)
    }

    /// The bytes of the field of this row, at most 111.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.push(if self.struck.is_some() { WAS_STRUCK } else { 0 });
        self.player.write(&mut out);
        out.push(self.glaze.number());
        for number in [self.score, self.lost, self.streak] {
            out.extend(number.to_le_bytes());
        }
        if let Some(strike) = self.struck {
            strike.shot.shooter.write(&mut out);
            out.extend(strike.shot.launched_at.to_le_bytes());
            out.extend(strike.at.to_le_bytes());
        }
        self.name.write(&mut out);
        out
    }

    /// The row written in a field.
    ///
    /// # Errors
    /// A [`DecodeError`] when the bytes are not what [`encode`](Self::encode) writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8()?;
        if flags > WAS_STRUCK {
            return Err(DecodeError::UnknownTag(flags));
        }
        let player = PlayerKey::read(&mut reader)?;
        let glaze = Glaze::read(&mut reader)?;
        let (score, lost, streak) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let struck = if flags == WAS_STRUCK {
            let shot = Shot { shooter: PlayerKey::read(&mut reader)?, launched_at: reader.u64()? };
            Some(Strike { shot, at: reader.u64()? })
        } else {
            None
        };
        let name = PlayerName::read(&mut reader)?;
        reader.finish()?;
        Ok(Self { player, name, glaze, score, lost, streak, struck })
    }
}
