//! Frames of ordered delivery (PROTOCOL §4.13): the messages by which the members of a group deliver the same messages
//! in one agreed order.
//!
//! An *item* is one entry of a stream; only the order that carries it reads its bytes.

use crate::limits::{ITEM_MAX, MEMBERS_MAX, MESSAGE_MAX};
use crate::{DecodeError, PeerId, Reader, Term, Writer};

/// The most bytes of items in one frame: they fit even with the longest head.
pub const ITEMS_BYTES_MAX: usize = MESSAGE_MAX - 64;

/// Identifies a view across terms: all views of a later term come after those of an earlier term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId {
    /// The term in which the view was published.
    pub term: Term,
    /// The number of the view.
    pub number: u64,
}

impl ViewId {
    fn encode(self, out: &mut Writer<'_>) {
        out.varint(self.term.0);
        out.varint(self.number);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { term: Term(reader.varint()?), number: reader.varint()? })
    }
}

/// Consecutive items of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// The epoch of the group.
    pub epoch: u64,
    /// The number of the first of the items, from 1.
    pub first: u64,
    /// The encoded items, to be read with [`Run::items`].
    pub encoded: &'a [u8],
}

impl<'a> Run<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (epoch, first) = (decode_count(reader)?, decode_count(reader)?);
        let run = Self { epoch, first, encoded: reader.rest() };
        let mut reader = Reader::new(run.encoded);
        while !reader.is_empty() {
            reader.prefixed(ITEM_MAX)?;
        }
        if run.first == 0 { Err(DecodeError::Invalid) } else { Ok(run) }
    }

    fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.epoch);
        out.varint(self.first);
        out.bytes(self.encoded);
    }

    /// The items with their numbers.
    pub fn items(&self) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        let (mut reader, mut number) = (Reader::new(self.encoded), self.first);
        core::iter::from_fn(move || {
            let item = if reader.is_empty() { None } else { reader.prefixed(ITEM_MAX).ok() }?;
            let numbered = (number, item);
            number = number.saturating_add(1);
            Some(numbered)
        })
    }
}

/// The sender's position in all streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The newest view that the sender knows.
    pub view: ViewId,
    /// The sender's epoch; 0 for a newcomer without one.
    pub epoch: u64,
    /// Whether the receiver shall send again the items that the sender lacks: on a new link, or after a gap.
    pub again: bool,
    /// How many items of the sender's own stream all members have.
    pub stable: u64,
    /// How many items the sender has of each stream of the epoch, in the order of their owners.
    pub counts: Vec<u64>,
}

/// Asks for items of a stream, because its owner may have left before all members had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// The owner of the stream.
    pub owner: PeerId,
    /// The epoch.
    pub epoch: u64,
    /// The first item.
    pub first: u64,
    /// The last item.
    pub last: u64,
}

/// The end of an epoch and the beginning of the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// The number of the new epoch.
    pub epoch: u64,
    /// The view of the new epoch.
    pub view: ViewId,
    /// The host of that view.
    pub host: PeerId,
    /// The members of that view, in ascending order.
    pub members: Vec<PeerId>,
    /// The receiver's epoch in the report that this message answers. By it the receiver recognises the answer to an
    /// older report.
    pub asked: u64,
    /// How many items of each stream belong to the previous epoch; members drop the items after them. `None` for a
    /// receiver that was not in that epoch.
    pub cut: Option<Vec<u64>>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The next item of the sender's own stream, in the fewest bytes: its number modulo 128, and the item. It belongs
    /// to the epoch of the last [`Frame::Items`] before it on the same link.
    Item(u8, &'a [u8]),
    /// Items of the sender's own stream.
    Items {
        /// How many items of the stream are safe: so many members hold them that they cannot be lost.
        safe: u64,
        /// How many items of the stream all members have.
        stable: u64,
        /// The items.
        run: Run<'a>,
    },
    /// The sender's position in all streams.
    Report(Report),
    /// Asks for items.
    Want(Want),
    /// Items of another member's stream.
    Fill(PeerId, Run<'a>),
    /// A new epoch.
    Install(Install),
    /// Messages for the host to order, under numbers of the sender's own. The first field says how many items of the
    /// host's stream the sender has.
    Submit(u64, Run<'a>),
}

const ITEMS: u8 = 0x80;
const REPORT: u8 = 0x81;
const WANT: u8 = 0x82;
const FILL: u8 = 0x83;
const INSTALL: u8 = 0x84;
const SUBMIT: u8 = 0x85;

/// Numbers of epochs and frames, and counts of items, stay below this, so that adding to one cannot overflow.
const COUNT_END: u64 = 1 << 56;

/// Bits of an item's number in [`Frame::Item`].
pub const NUMBER_BITS: u32 = 7;

pub(crate) fn decode_count(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let count = reader.varint()?;
    if count < COUNT_END { Ok(count) } else { Err(DecodeError::Invalid) }
}

fn encode_counts(counts: &[u64], out: &mut Writer<'_>) {
    out.u8(counts.len() as u8);
    counts.iter().for_each(|&count| out.varint(count));
}

fn decode_counts(reader: &mut Reader<'_>) -> Result<Vec<u64>, DecodeError> {
    let count = usize::from(reader.u8()?);
    if count > MEMBERS_MAX {
        return Err(DecodeError::TooLarge);
    }
    (0..count).map(|_| decode_count(reader)).collect()
}

fn decode_bool(reader: &mut Reader<'_>) -> Result<bool, DecodeError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError::Invalid),
    }
}

impl Report {
    fn encode(&self, out: &mut Writer<'_>) {
        self.view.encode(out);
        out.varint(self.epoch);
        out.u8(self.again.into());
        out.varint(self.stable);
        encode_counts(&self.counts, out);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let view = ViewId::decode(reader)?;
        let (epoch, again) = (decode_count(reader)?, decode_bool(reader)?);
        Ok(Self { view, epoch, again, stable: decode_count(reader)?, counts: decode_counts(reader)? })
    }
}

impl Want {
    fn encode(&self, out: &mut Writer<'_>) {
        out.u32(self.owner.0);
        out.varint(self.epoch);
        out.varint(self.first);
        out.varint(self.last);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let owner = PeerId(reader.u32()?);
        let epoch = decode_count(reader)?;
        let want = Self { owner, epoch, first: decode_count(reader)?, last: decode_count(reader)? };
        if want.first == 0 || want.last < want.first { Err(DecodeError::Invalid) } else { Ok(want) }
    }
}

impl Install {
    fn encode(&self, out: &mut Writer<'_>) {
        out.varint(self.epoch);
        self.view.encode(out);
        out.u32(self.host.0);
        out.u8(self.members.len() as u8);
        self.members.iter().for_each(|peer| out.u32(peer.0));
        out.varint(self.asked);
        out.u8(self.cut.is_some().into());
        if let Some(cut) = &self.cut {
            encode_counts(cut, out);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let epoch = decode_count(reader)?;
        let view = ViewId::decode(reader)?;
        let host = PeerId(reader.u32()?);
        let count = usize::from(reader.u8()?);
        if count > MEMBERS_MAX {
            return Err(DecodeError::TooLarge);
        }
        let members: Vec<_> = (0..count).map(|_| reader.u32().map(PeerId)).collect::<Result<_, _>>()?;
        let asked = decode_count(reader)?;
        let cut = if decode_bool(reader)? { Some(decode_counts(reader)?) } else { None };
        let is_valid =
            epoch > 0 && members.is_sorted_by(|a, b| a < b) && members.binary_search(&host).is_ok();
        if is_valid { Ok(Self { epoch, view, host, members, asked, cut }) } else { Err(DecodeError::Invalid) }
    }
}

impl<'a> Frame<'a> {
    /// The frame of one item of the sender's own stream.
    #[must_use]
    pub const fn item(number: u64, item: &'a [u8]) -> Self {
        Self::Item((number % (1 << NUMBER_BITS)) as u8, item)
    }

    /// The bytes of the frame.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        match self {
            Self::Item(number, item) => {
                out.u8(number & !ITEMS);
                out.bytes(item);
            }
            Self::Items { safe, stable, run } => {
                out.u8(ITEMS);
                out.varint(*safe);
                out.varint(*stable);
                run.encode(&mut out);
            }
            Self::Report(report) => {
                out.u8(REPORT);
                report.encode(&mut out);
            }
            Self::Want(want) => {
                out.u8(WANT);
                want.encode(&mut out);
            }
            Self::Fill(owner, run) => {
                out.u8(FILL);
                out.u32(owner.0);
                run.encode(&mut out);
            }
            Self::Install(install) => {
                out.u8(INSTALL);
                install.encode(&mut out);
            }
            Self::Submit(count, run) => {
                out.u8(SUBMIT);
                out.varint(*count);
                run.encode(&mut out);
            }
        }
        bytes
    }

    /// Reads a whole frame; allocates at most in proportion to [`MEMBERS_MAX`].
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let frame = match reader.u8()? {
            number @ 0..ITEMS => {
                let item = reader.rest();
                if item.len() > ITEM_MAX {
                    return Err(DecodeError::TooLarge);
                }
                Self::Item(number, item)
            }
            ITEMS => {
                let (safe, stable) = (decode_count(&mut reader)?, decode_count(&mut reader)?);
                Self::Items { safe, stable, run: Run::decode(&mut reader)? }
            }
            REPORT => Self::Report(Report::decode(&mut reader)?),
            WANT => Self::Want(Want::decode(&mut reader)?),
            FILL => Self::Fill(PeerId(reader.u32()?), Run::decode(&mut reader)?),
            INSTALL => Self::Install(Install::decode(&mut reader)?),
            SUBMIT => Self::Submit(decode_count(&mut reader)?, Run::decode(&mut reader)?),
            _ => return Err(DecodeError::Invalid),
        };
        reader.end()?;
        Ok(frame)
    }
}
/// A game's message in an order, with its receiver. A session's orders carry letters as their items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Letter<'a> {
    /// The receiver; `None` for all.
    pub to: Option<PeerId>,
    /// The message; only the game reads it.
    pub message: &'a [u8],
}

impl<'a> Letter<'a> {
    /// The most bytes in front of the message.
    pub const HEAD_MAX: usize = 5;

    /// The letter's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::HEAD_MAX + self.message.len());
        let mut out = Writer::new(&mut bytes);
        match self.to {
            None => out.u8(0),
            Some(peer) => {
                out.u8(1);
                out.u32(peer.0);
            }
        }
        out.bytes(self.message);
        bytes
    }

    /// Reads a letter.
    ///
    /// # Errors
    /// `Truncated` or `Invalid`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let to = match reader.u8()? {
            0 => None,
            1 => Some(PeerId(reader.u32()?)),
            _ => return Err(DecodeError::Invalid),
        };
        Ok(Self { to, message: reader.rest() })
    }
}
