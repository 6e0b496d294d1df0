//! The ways of a message on a link, and the receipt that its sender keeps (PROTOCOL §3).

/// The streams that a reliable message can be ordered in.
pub const RELIABLE_LANES: u8 = 4;
/// The channels of sequenced messages.
pub const SEQUENCED_CHANNELS: u8 = 4;

/// The way of a message on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Once and in order with the others of the same lane, below [`RELIABLE_LANES`]. Lanes do not wait for each other:
    /// messages of two lanes may arrive in any order.
    Reliable(u8),
    /// At most once, in any order, or not at all. Fits one packet.
    Unreliable,
    /// At most once, never after a newer one of the same channel, below [`SEQUENCED_CHANNELS`]. Only the newest
    /// message of a channel waits to be sent. Fits one packet.
    Sequenced(u8),
    /// Large messages, once and in order, slowly: after everything else. A message is delivered after those that were
    /// queued before it in [`Lane::SESSION`].
    Bulk,
}

impl Lane {
    /// The lane of control and objects. A game's message in it keeps its order with the sender's object messages, and
    /// waits behind all of them.
    pub const SESSION: Self = Self::Reliable(0);
    /// The game's first own lane.
    pub const GAME: Self = Self::Reliable(1);

    /// Whether such a lane exists.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        match self {
            Self::Reliable(lane) => lane < RELIABLE_LANES,
            Self::Sequenced(channel) => channel < SEQUENCED_CHANNELS,
            Self::Unreliable | Self::Bulk => true,
        }
    }

    /// Whether each of its messages arrives once, unless the link ends.
    #[must_use]
    pub const fn is_reliable(self) -> bool {
        matches!(self, Self::Reliable(_) | Self::Bulk)
    }
}

/// The sender's receipt for a message, to ask later whether it was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receipt {
    /// The number of the message's last segment in [`Lane::SESSION`].
    Lane(u64),
    /// Another reliable lane, and the number of the message's last segment in it.
    Game(u8, u64),
    /// The offset just after the message in the bulk stream.
    Bulk(u64),
    /// An unreliable or sequenced message; its delivery is unknown.
    Untracked,
}
