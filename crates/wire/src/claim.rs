//! The messages by which members and their host settle the owner of an object (PROTOCOL §4.7).

use crate::{DecodeError, ObjectId, PeerId, Reader, Stamp, Time, Writer};

/// A member's request to the host about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wish {
    /// The member wants to own the object.
    Request,
    /// The member gives the object back: the host shall own it.
    Release,
    /// Another member shall own the object.
    Transfer(PeerId),
    /// The member touches the object and wants to own it. Of several members that touch it, the first wins.
    Touch,
}

impl Wish {
    /// The number of the request's kind on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Request => 0,
            Self::Release => 1,
            Self::Transfer(_) => 2,
            Self::Touch => 3,
        }
    }
}

/// The body of REQUEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The object.
    pub id: ObjectId,
    /// The stamp of the ownership that the member knows.
    pub known: Stamp,
    /// Session time at which the member made the request.
    pub time: Time,
    /// The request itself.
    pub wish: Wish,
}

impl Request {
    /// Appends the body.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.object_id(self.id);
        out.stamp(self.known);
        out.varint(self.time.as_micros());
        out.u8(self.wish.number());
        if let Wish::Transfer(to) = self.wish {
            out.u32(to.0);
        }
    }

    /// Reads the body.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (id, known) = (reader.object_id()?, reader.stamp()?);
        let time = Time::from_micros(reader.varint()?);
        let wish = match reader.u8()? {
            0 => Wish::Request,
            1 => Wish::Release,
            2 => Wish::Transfer(PeerId(reader.u32()?)),
            3 => Wish::Touch,
            _ => return Err(DecodeError::Invalid),
        };
        Ok(Self { id, known, time, wish })
    }
}

/// The reason why a request was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Denial {
    /// A member owns the object, and its traits let members ask for it only while the host owns it.
    NotAvailable,
    /// The host's game refused.
    Refused,
    /// The host knows no such object.
    Unknown,
    /// The member, or the receiver of a transfer, owns as many objects as it may; or the member asks too often.
    TooMany,
    /// The object's traits let no member ask for it.
    Forbidden,
    /// The object is frozen: it waits for its previous owner.
    Frozen,
    /// The object changed its owner only just now.
    TooSoon,
    /// The member that gives the object away does not own it.
    NotOwner,
    /// The receiver of a transfer is no member.
    NotAMember,
    /// Another member was faster: this one.
    LostTo(PeerId),
    /// No host answered in time. Never on the wire.
    NoAnswer,
}

/// The body of ANSWER, by which the host declines a request. When the host grants a request, it sends GRANT instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The object.
    pub id: ObjectId,
    /// The number of the request's kind, as [`Wish::number`] gives it.
    pub wish: u8,
    /// The reason.
    pub denial: Denial,
}

impl Answer {
    /// Appends the body.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.object_id(self.id);
        out.u8(self.wish);
        let number = match self.denial {
            Denial::NotAvailable => 0,
            Denial::Refused | Denial::NoAnswer => 1,
            Denial::Unknown => 2,
            Denial::TooMany => 3,
            Denial::Forbidden => 4,
            Denial::Frozen => 5,
            Denial::TooSoon => 6,
            Denial::NotOwner => 7,
            Denial::NotAMember => 8,
            Denial::LostTo(_) => 9,
        };
        out.u8(number);
        if let Denial::LostTo(peer) = self.denial {
            out.u32(peer.0);
        }
    }

    /// Reads the body.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (id, wish) = (reader.object_id()?, reader.u8()?);
        let denial = match reader.u8()? {
            0 => Denial::NotAvailable,
            1 => Denial::Refused,
            2 => Denial::Unknown,
            3 => Denial::TooMany,
            4 => Denial::Forbidden,
            5 => Denial::Frozen,
            6 => Denial::TooSoon,
            7 => Denial::NotOwner,
            8 => Denial::NotAMember,
            9 => Denial::LostTo(PeerId(reader.u32()?)),
            _ => return Err(DecodeError::Invalid),
        };
        if wish > 3 { Err(DecodeError::Invalid) } else { Ok(Self { id, wish, denial }) }
    }
}
