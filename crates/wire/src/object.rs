//! Messages about objects (PROTOCOL §4): CREATE, UPDATE, DESTROY, GRANT, MIGRATE, the orphan report, and the head of
//! a FRAME.

pub use crate::traits::{Access, Orphan, Traits};

use crate::limits::{FIELD_MAX, FIELDS_MAX};
use crate::{DecodeError, Duration, Kind, ObjectId, PeerId, Reader, Stamp, Time, Writer};

/// The first byte of every message and datagram between peers (PROTOCOL §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageKind {
    /// A [`crate::control::PeerControl`].
    Control = 1,
    /// An object's creator announces it.
    Create = 2,
    /// An object's new owner announces itself. For a receiver that does not know the object, this acts as CREATE.
    Migrate = 3,
    /// The host gives an object to the receiver.
    Grant = 4,
    /// A member reports to the host an object of a peer that is gone.
    Orphan = 5,
    /// Changed fields of an object whose changes are reliable.
    Update = 6,
    /// An object ends.
    Destroy = 7,
    /// Several announcements in one, for a newcomer.
    Snapshot = 8,
    /// A message of the game.
    App = 9,
    /// Fields of objects that the receiver may lack. This is the only datagram about objects.
    Frame = 10,
    /// Runs of objects that have ended. A host sends them to newcomers, and a new host to all members. A member sends
    /// them to its host when another member is gone or when the host is new.
    Deaths = 11,
    /// A member asks the host to change the owner of an object.
    Request = 12,
    /// The host declines a request for an object.
    Answer = 13,
    /// Asks another peer's game for a result.
    Call = 14,
    /// The answer to a call.
    Reply = 15,
    /// The caller no longer waits for the answer.
    Cancel = 16,
    /// A member's area of interest.
    Focus = 17,
    /// Objects of the sender, and for each whether the sender keeps the receiver up to date about it.
    Sight = 18,
    /// The host reports that it granted objects to other members.
    Granted = 19,
    /// Members' inputs for the host's game.
    Input = 20,
    /// The sender holds the receiver's inputs, up to a number.
    Held = 21,
    /// The sender has sent the receiver, which is a new host, all inputs that the sender holds.
    Told = 22,
    /// A frame of the causal order.
    Causal = 24,
    /// A frame of the total order.
    Total = 25,
    /// A message of the time-stamp order.
    Timed = 26,
    /// The sender's lower bound for its later messages in time-stamp order.
    Promise = 27,
    /// A message of lockstep.
    Lockstep = 28,
}

impl MessageKind {
    /// Reads the kind byte.
    ///
    /// # Errors
    /// `Truncated` or `Invalid`.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Self::Control,
            2 => Self::Create,
            3 => Self::Migrate,
            4 => Self::Grant,
            5 => Self::Orphan,
            6 => Self::Update,
            7 => Self::Destroy,
            8 => Self::Snapshot,
            9 => Self::App,
            10 => Self::Frame,
            11 => Self::Deaths,
            12 => Self::Request,
            13 => Self::Answer,
            14 => Self::Call,
            15 => Self::Reply,
            16 => Self::Cancel,
            17 => Self::Focus,
            18 => Self::Sight,
            19 => Self::Granted,
            20 => Self::Input,
            21 => Self::Held,
            22 => Self::Told,
            24 => Self::Causal,
            25 => Self::Total,
            26 => Self::Timed,
            27 => Self::Promise,
            28 => Self::Lockstep,
            _ => return Err(DecodeError::Invalid),
        })
    }
}

/// An object in full: the body of CREATE, MIGRATE, GRANT and of an orphan report.
#[derive(Clone, Copy, Debug)]
pub struct Announcement<'a> {
    /// The object.
    pub id: ObjectId,
    /// The owner. In a grant this is the receiver, in an orphan report the peer that is gone, otherwise the sender.
    pub owner: PeerId,
    /// The stamp of the ownership.
    pub stamp: Stamp,
    /// The creator's choices.
    pub traits: Traits,
    /// Session time at which the state was sampled.
    pub sampled: Time,
    /// The number of the owner's frame that this state belongs to. Later frames can use it as a baseline. It is zero
    /// in a grant and in an orphan report, because no frame builds on those.
    pub frame: u64,
    /// The fields, still encoded. [`FieldList::iter`] reads them.
    pub fields: FieldList<'a>,
}

/// The fields of an announcement, checked and still encoded.
#[derive(Clone, Copy, Debug)]
pub struct FieldList<'a> {
    count: usize,
    reader: Reader<'a>,
}

impl<'a> FieldList<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = usize::from(reader.u8()?);
        if count > FIELDS_MAX {
            return Err(DecodeError::TooLarge);
        }
        let fields = Self { count, reader: *reader };
        for _ in 0..count {
            reader.prefixed(FIELD_MAX)?;
        }
        Ok(fields)
    }

    /// The fields in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut reader = self.reader;
        (0..self.count).map_while(move |_| reader.prefixed(FIELD_MAX).ok())
    }
}

/// Appends an announcement, without its kind byte.
pub fn encode_announcement<'f>(
    head: &Announcement<'_>,
    fields: impl ExactSizeIterator<Item = &'f [u8]>,
    out: &mut Writer<'_>,
) {
    out.object_id(head.id);
    out.u32(head.owner.0);
    out.stamp(head.stamp);
    out.u8(head.traits.kind.0);
    out.u8(head.traits.flags());
    out.varint(head.sampled.as_micros());
    out.varint(head.frame);
    out.u8(fields.len() as u8);
    fields.for_each(|field| out.prefixed(field));
}

impl<'a> Announcement<'a> {
    /// An announcement without its fields, for encoding.
    #[must_use]
    pub const fn head(id: ObjectId, owner: PeerId, stamp: Stamp, traits: Traits, sampled: Time) -> Self {
        let fields = FieldList { count: 0, reader: Reader::new(&[]) };
        Self { id, owner, stamp, traits, sampled, frame: 0, fields }
    }

    /// The same announcement, as the state in this frame of the owner.
    #[must_use]
    pub const fn in_frame(self, frame: u64) -> Self {
        Self { frame, ..self }
    }

    /// Reads the body after the kind byte.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = reader.object_id()?;
        let owner = PeerId(reader.u32()?);
        let stamp = reader.stamp()?;
        let kind = Kind(reader.u8()?);
        let flags = reader.u8()?;
        if (kind == Kind::SESSION) != (id == ObjectId::SESSION) {
            return Err(DecodeError::Invalid);
        }
        let traits = Traits::from_flags(kind, flags)?;
        let sampled = Time::from_micros(reader.varint()?);
        let frame = reader.varint()?;
        Ok(Self { id, owner, stamp, traits, sampled, frame, fields: FieldList::decode(reader)? })
    }
}

/// Changed fields of one object.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The object.
    pub id: ObjectId,
    /// The stamp of the ownership under which the sender changes the object.
    pub stamp: Stamp,
    /// Session time at which the newest of these fields was sampled.
    pub sampled: Time,
    count: usize,
    reader: Reader<'a>,
}

impl<'a> Update<'a> {
    /// Reads one update of a list whose base time is `base`.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(base: Time, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (id, stamp) = (reader.object_id()?, reader.stamp()?);
        let sampled = base - Duration::from_micros(reader.varint()?);
        let count = usize::from(reader.u8()?);
        let update = Self { id, stamp, sampled, count, reader: *reader };
        for _ in 0..count {
            if usize::from(reader.u8()?) >= FIELDS_MAX {
                return Err(DecodeError::TooLarge);
            }
            reader.prefixed(FIELD_MAX)?;
        }
        Ok(update)
    }

    /// The changed fields: index and value.
    pub fn fields(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let mut reader = self.reader;
        (0..self.count)
            .map_while(move |_| Some((usize::from(reader.u8().ok()?), reader.prefixed(FIELD_MAX).ok()?)))
    }
}

/// Appends the head of an update; `count` pairs of index and prefixed value follow.
pub fn encode_update_head(id: ObjectId, stamp: Stamp, age: Duration, count: u8, out: &mut Writer<'_>) {
    out.object_id(id);
    out.stamp(stamp);
    out.varint(age.as_micros());
    out.u8(count);
}

/// The body of DESTROY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destroy {
    /// The object.
    pub id: ObjectId,
    /// The stamp under which the object was destroyed.
    pub stamp: Stamp,
}

impl Destroy {
    /// Reads the body after the kind byte.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { id: reader.object_id()?, stamp: reader.stamp()? })
    }
}

/// The host's statement that it granted an object. GRANTED is a list of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The object.
    pub id: ObjectId,
    /// The stamp of the granted ownership.
    pub stamp: Stamp,
    /// The member that owns it now.
    pub owner: PeerId,
}

impl Granted {
    /// Appends the entry.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.object_id(self.id);
        out.stamp(self.stamp);
        out.u32(self.owner.0);
    }

    /// Reads one entry.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid`.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { id: reader.object_id()?, stamp: reader.stamp()?, owner: PeerId(reader.u32()?) })
    }
}

/// A run of ended objects: those of one creator from `first` to `last`, without gaps. DEATHS is a list of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deaths {
    /// The creator.
    pub creator: PeerId,
    /// The lowest number.
    pub first: u32,
    /// The highest number.
    pub last: u32,
    /// The stamp under which they ended, or the highest if there were several.
    pub stamp: Stamp,
}

impl Deaths {
    /// Appends the entry.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.u32(self.creator.0);
        out.varint(u64::from(self.first));
        out.varint(u64::from(self.last - self.first));
        out.stamp(self.stamp);
    }

    /// Reads one entry.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid`.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (creator, first) = (PeerId(reader.u32()?), reader.varint_u32()?);
        let last = first.checked_add(reader.varint_u32()?).ok_or(DecodeError::Invalid)?;
        Ok(Self { creator, first, last, stamp: reader.stamp()? })
    }
}

/// Microseconds in a unit of a FRAME's sampling times.
pub const SAMPLE_UNIT: u64 = 128;

/// The head of a FRAME, between its kind byte and the coded states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// The number of the frame. The sender counts the frames to all receivers together.
    pub frame: u64,
    /// Session time in units of [`SAMPLE_UNIT`]; no state of the frame was sampled later.
    pub base: u64,
    /// The number of states that follow.
    pub count: u8,
    /// Distances in frames: from this frame back to the first baseline, from there back to the second, and from there
    /// back to the third. Zero stands for no baseline.
    pub baselines: [u8; 3],
}

impl FrameHead {
    /// The most bytes that the head takes.
    pub const LEN_MAX: usize = 10 + 10 + 4;

    /// Appends the head.
    pub fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.frame);
        out.varint(self.base);
        out.u8(self.count);
        out.bytes(&self.baselines);
    }

    /// Reads the head. The coded states remain in the reader.
    ///
    /// # Errors
    /// `Truncated`, or `Invalid`.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (frame, base, count) = (reader.varint()?, reader.varint()?, reader.u8()?);
        Ok(Self { frame, base, count, baselines: [reader.u8()?, reader.u8()?, reader.u8()?] })
    }

    /// The frames of the baselines, newest first, as many as there are.
    pub fn frames(&self) -> impl Iterator<Item = u64> + use<> {
        let mut at = self.frame;
        self.baselines.into_iter().take_while(|&back| back > 0).map(move |back| {
            at = at.saturating_sub(u64::from(back));
            at
        })
    }
}
