//! One object as this peer sees it.

use samovar_wire::object::{SAMPLE_UNIT, Traits};
use samovar_wire::{ObjectId, PeerId, Stamp, Time};

use crate::past::Past;
use crate::state::StateReader;
use crate::text::Text;

/// One object as this peer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    pub(crate) id: ObjectId,
    pub(crate) owner: PeerId,
    pub(crate) stamp: Stamp,
    pub(crate) traits: Traits,
    pub(crate) sampled: Time,
    pub(crate) revision: u64,
    pub(crate) numbers: Vec<i32>,
    pub(crate) texts: Vec<Text>,
    /// At the owner: the first frame with the present numbers. Elsewhere: the newest frame that brought a state.
    pub(crate) frame: u64,
    /// At the owner: the frame in which it took the object. Elsewhere: the announcement's frame. Earlier frames
    /// belong to an earlier ownership.
    pub(crate) since: u64,
    pub(crate) past: Past,
    /// At the owner: whether the object changed since the last frame began.
    pub(crate) touched: bool,
    /// At the owner, when updates are reliable: each field's version, from a counter that all objects share.
    pub(crate) versions: Vec<u64>,
    /// At the owner: the weight when a packet has no room for all changes; see `Objects::set_priority`.
    pub(crate) priority: u8,
    /// At the owner: the least time between two updates to one peer.
    pub(crate) interval: samovar_wire::Duration,
    /// Whether the owner keeps this peer up to date.
    pub(crate) current: bool,
    /// Whether this peer has asked the host for the object and changes it already, for itself alone.
    pub(crate) claimed: bool,
}

impl Object {
    /// The object's id.
    #[must_use]
    pub const fn id(&self) -> ObjectId {
        self.id
    }

    /// The one peer that may change the object.
    #[must_use]
    pub const fn owner(&self) -> PeerId {
        self.owner
    }

    /// The stamp of the present ownership. Of two stamps the higher one is newer.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The traits that the object's creator chose.
    #[must_use]
    pub const fn traits(&self) -> Traits {
        self.traits
    }

    /// Session time at which the owner sampled the newest value. At other peers this time may be rounded down to a
    /// multiple of 128 µs.
    #[must_use]
    pub const fn sampled(&self) -> Time {
        self.sampled
    }

    /// A number that grows with every change that this peer makes or receives.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The bytes of the text field with this index among the text fields; empty when there is none. Without a schema
    /// all fields are text fields.
    #[must_use]
    pub fn field(&self, index: usize) -> &[u8] {
        self.texts.get(index).map_or(&[], |text| &text.bytes)
    }

    /// How many text fields the object has.
    #[must_use]
    pub const fn field_count(&self) -> usize {
        self.texts.len()
    }

    /// The numbers of the object's fields, quantised as its schema says.
    #[must_use]
    pub fn numbers(&self) -> &[i32] {
        &self.numbers
    }

    /// Reads the object's numbers and texts in the order of its schema.
    #[must_use]
    pub fn reader(&self) -> StateReader<'_> {
        StateReader::of(&self.numbers, &self.texts)
    }

    /// Whether the object's owner keeps this peer up to date; `false` while the object lies outside this peer's
    /// focus. Always `true` at the owner.
    #[must_use]
    pub const fn is_current(&self) -> bool {
        self.current
    }

    /// Whether this peer has asked the host for the object and may change it already. Only this peer sees these
    /// changes.
    #[must_use]
    pub const fn is_claimed(&self) -> bool {
        self.claimed
    }

    /// When the state was sampled, in units of `SAMPLE_UNIT` microseconds.
    pub(crate) fn sample(&self) -> u64 {
        self.sampled.as_micros() / SAMPLE_UNIT
    }

    /// How many bytes the object's texts hold together.
    pub(crate) fn size(&self) -> usize {
        self.texts.iter().map(|text| text.bytes.len()).sum()
    }
}
