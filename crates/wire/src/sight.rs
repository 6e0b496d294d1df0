//! A member's area of interest, and what the owners of objects answer (PROTOCOL §4.9).

use crate::{DecodeError, ObjectId, Reader, Stamp, Writer};

/// Most entries of one SIGHT.
pub const SIGHTS_MAX: usize = 64;

/// A ball in the game's world. A member wants to be kept up to date about the objects inside. An object whose place
/// has two numbers has zero as the third.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Focus {
    /// The ball's centre, in the unit of the objects' places.
    pub center: [f32; 3],
    /// The ball's radius, finite and not negative.
    pub radius: f32,
}

impl Focus {
    /// Whether all numbers are finite, and the radius is not negative.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.center.iter().all(|number| number.is_finite()) && self.radius.is_finite() && self.radius >= 0.0
    }

    /// Appends the body of FOCUS; `None` for a member that wants to see everything.
    pub fn encode(focus: Option<&Self>, out: &mut Writer<'_>) {
        out.u8(u8::from(focus.is_some()));
        if let Some(focus) = focus {
            focus.center.iter().for_each(|number| out.u32(number.to_bits()));
            out.u32(focus.radius.to_bits());
        }
    }

    /// Reads the body of FOCUS.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let focus = match reader.u8()? {
            0 => None,
            1 => {
                let mut number = || reader.u32().map(f32::from_bits);
                Some(Self { center: [number()?, number()?, number()?], radius: number()? })
            }
            _ => return Err(DecodeError::Invalid),
        };
        if focus.is_some_and(|focus| !focus.is_valid()) {
            return Err(DecodeError::Invalid);
        }
        Ok(focus)
    }
}

/// An entry of SIGHT. It says whether the sender tells the receiver the object's changes from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The object, which the sender owns.
    pub id: ObjectId,
    /// The stamp of the sender's ownership.
    pub stamp: Stamp,
    /// Whether the sender keeps the receiver up to date.
    pub current: bool,
}

impl Sight {
    /// Appends one entry of a SIGHT. A byte with the number of entries comes before the first.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.object_id(self.id);
        out.stamp(self.stamp);
        out.u8(u8::from(self.current));
    }

    /// Reads one entry.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (id, stamp) = (reader.object_id()?, reader.stamp()?);
        match reader.u8()? {
            current @ (0 | 1) => Ok(Self { id, stamp, current: current == 1 }),
            _ => Err(DecodeError::Invalid),
        }
    }
}
