//! A member of the game, as a game sees it.

use core::fmt;

use samovar_session::Session;
use samovar_wire::view::{SPECTATOR, SeatRecord};
use samovar_wire::{PeerId, SeatId};

/// A player of the game, or a spectator. The seat stays the same when the member's page is loaded again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The member's seat.
    pub seat: SeatId,
    /// The member's name.
    pub name: String,
    /// Whether this member is this program.
    pub is_me: bool,
    /// Whether this member hosts.
    pub is_host: bool,
    /// Whether this member is connected. If it is away, its seat waits for it.
    pub is_here: bool,
    /// Whether this member is a spectator: see [`Entry::watch`](crate::Entry::watch).
    pub watches: bool,
    pub(crate) peer: Option<PeerId>,
}

impl Member {
    pub(crate) fn of(session: &Session, record: &SeatRecord) -> Self {
        Self {
            seat: record.seat,
            name: record.name.clone(),
            is_me: record.peer == Some(session.me()),
            is_host: record.peer == Some(session.host()),
            is_here: record.peer.is_some(),
            watches: record.attributes & SPECTATOR != 0,
            peer: record.peer,
        }
    }

    /// The member of a peer; without a name if the peer is no member any more.
    pub(crate) fn of_peer(session: &Session, peer: PeerId) -> Self {
        session.seat_of(peer).map_or_else(|| Self::gone(SeatId(0)), |record| Self::of(session, record))
    }

    /// The member on a seat; without a name if the seat was given up.
    pub(crate) fn of_seat(session: &Session, seat: SeatId) -> Self {
        let mut seats = session.view().seats();
        seats
            .find(|record| record.seat == seat)
            .map_or_else(|| Self::gone(seat), |record| Self::of(session, record))
    }

    const fn gone(seat: SeatId) -> Self {
        Self {
            seat,
            name: String::new(),
            is_me: false,
            is_host: false,
            is_here: false,
            watches: false,
            peer: None,
        }
    }
}

/// A change of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The member is a new player.
    Came,
    /// The member came back to its seat.
    CameBack,
    /// The member is away, and may come back.
    Away,
    /// The member left for good.
    Left,
    /// The host put the member out.
    PutOut,
    /// The member hosts now.
    Hosts,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Came => "came",
            Self::CameBack => "is back",
            Self::Away => "is away",
            Self::Left => "left",
            Self::PutOut => "was put out",
            Self::Hosts => "hosts now",
        })
    }
}
