//! The fields of the session object: the agreed member list (PROTOCOL §4.4).

use bincode::{Decode, Encode};

use crate::control::{Message, Standing, decode, encode};
use crate::limits::{BACKUPS_MAX, FIELD_MAX, MEMBERS_MAX};
use crate::{DecodeError, PeerId, SeatId, TicketHash};

/// Field 0 of the session object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct ViewHeader {
    /// Grows with every change of the view.
    pub number: u64,
    /// The number of the view in which members or backups last changed. For orders, this is the number of the view
    /// (PROTOCOL §4.13).
    pub roll: u64,
    /// The backups in the order of succession; each holds what the host has accepted.
    pub backups: Vec<PeerId>,
    /// The largest number of members.
    pub capacity: u8,
    /// The number of the next new seat.
    pub next_seat: u16,
    /// The members that elect a host while the relay is away (PROTOCOL §4.10).
    pub electorate: Electorate,
    /// Whether members whose policy leaves the choice open have direct paths with the host and its backups only. The
    /// host and its backups then carry packets between the other members (PROTOCOL §2.6).
    pub by_host: bool,
    /// Whether another member succeeds a lost host. The founder decides it, and it does not change.
    pub migrates: bool,
    /// Whether each side of a partition goes on by itself. The founder decides it, and it does not change.
    pub forks: bool,
}

/// The members whose votes count. An electorate changes by one peer at a time, and only when more than half of its
/// peers know its last change. So the majorities of any two electorates that members may know have a voter in common.
/// Each witnessed term begins with a new electorate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Electorate {
    /// Grows with each change.
    pub number: u64,
    /// The peers in ascending order.
    pub peers: Vec<PeerId>,
}

/// A bit of a member's attributes that is not the game's own: the member only watches, or only hosts, and does not
/// count among the players that the relay lists.
pub const SPECTATOR: u32 = 1 << 31;

/// A bit of a seat's attributes that the host sets: its member has left for good. Its ticket still opens the seat
/// while the seat is kept.
pub const LEFT: u32 = 1 << 30;

/// A bit of a seat's attributes that the host sets beside [`LEFT`]: it has put the member out, and no ticket opens the
/// seat.
pub const PUT_OUT: u32 = 1 << 29;

/// A further field of the session object: one seat. An empty field stands for no seat.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct SeatRecord {
    /// The seat's number.
    pub seat: SeatId,
    /// The peer on the seat; `None` while its member is away.
    pub peer: Option<PeerId>,
    /// The member's name.
    pub name: String,
    /// The game's own bits, and [`SPECTATOR`], [`LEFT`] and [`PUT_OUT`].
    pub attributes: u32,
    /// The member's fitness to host.
    pub standing: Standing,
    /// The hash of the member's ticket.
    pub ticket: TicketHash,
    /// Session time in microseconds at which the member last came or was lost.
    pub since: u64,
}

impl SeatRecord {
    /// Whether the seat is empty because its member left for good.
    #[must_use]
    pub const fn has_left(&self) -> bool {
        self.peer.is_none() && self.attributes & LEFT != 0
    }

    /// Whether the seat is empty because the host put its member out.
    #[must_use]
    pub const fn was_put_out(&self) -> bool {
        self.has_left() && self.attributes & PUT_OUT != 0
    }
}

impl Message for ViewHeader {
    fn check(&self) -> Result<(), DecodeError> {
        let voters = &self.electorate.peers;
        if usize::from(self.capacity) > MEMBERS_MAX
            || self.backups.len() > BACKUPS_MAX
            || voters.len() > MEMBERS_MAX
        {
            return Err(DecodeError::TooLarge);
        }
        if voters.is_sorted_by(|a, b| a < b) { Ok(()) } else { Err(DecodeError::Invalid) }
    }
}

impl Message for SeatRecord {
    fn check(&self) -> Result<(), DecodeError> {
        if crate::name::is_valid(&self.name) { Ok(()) } else { Err(DecodeError::Invalid) }
    }
}

macro_rules! field_codec {
    ($($name:ident),*) => { $(
        impl $name {
            /// Reads the field.
            ///
            /// # Errors
            /// As [`decode`].
            pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
                decode::<Self, FIELD_MAX>(bytes)
            }

            /// The field's bytes; at most `FIELD_MAX` for a record that passes its own check.
            #[must_use]
            pub fn encode(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                encode(self, &mut bytes);
                bytes
            }
        }
    )* };
}
field_codec!(ViewHeader, SeatRecord);
