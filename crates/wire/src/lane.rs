//! How messages travel on a link, and the receipts that their senders keep (PROTOCOL §3).

/// The number of reliable lanes. Each is an ordered stream of messages.
pub const RELIABLE_LANES: u8 = 4;
/// The number of channels for sequenced messages.
pub const SEQUENCED_CHANNELS: u8 = 4;

/// How a message travels on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Each message arrives once, and in order with the others of its lane. The lane's number is below
    /// [`RELIABLE_LANES`]. Lanes do not wait for each other: messages of two lanes may arrive in any order.
    Reliable(u8),
    /// A message arrives at most once, in any order. It fits one packet.
    Unreliable,
    /// A message arrives at most once, and never after a newer one of its channel. The channel's number is below
    /// [`SEQUENCED_CHANNELS`]. Only the newest message of a channel waits to be sent. A message fits one packet.
    Sequenced(u8),
    /// For large messages. They arrive once and in order, but slowly, since everything else is sent first. A message
    /// is delivered after those that were queued before it in [`Lane::SESSION`].
    Bulk,
}

impl Lane {
    /// The lane of control and objects. A game's message in it keeps its order with the sender's object messages, and
    /// waits behind all of them.
    pub const SESSION: Self = Self::Reliable(0);
    /// The game's first own lane.
    pub const GAME: Self = Self::Reliable(1);

    /// Whether the number of the lane or channel exists.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        match self {
            Self::Reliable(lane) => lane < RELIABLE_LANES,
            Self::Sequenced(channel) => channel < SEQUENCED_CHANNELS,
            Self::Unreliable | Self::Bulk => true,
        }
    }

    /// Whether each message of this lane arrives once, unless the link ends.
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
