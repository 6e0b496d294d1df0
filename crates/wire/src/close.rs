//! The reasons for the end of a link, grouped by the side at fault (PROTOCOL §7).

/// The side at fault for the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Neither side: a planned end.
    Nobody,
    /// The network or a machine: the other end fell silent.
    Network,
    /// Neither end broke the rules, but the two cannot play together.
    Incompatible,
    /// The other end broke the rules.
    Misbehaviour,
}

macro_rules! close_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// A typed reason for the end of a link. Unknown codes are kept as [`CloseCode::Other`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum CloseCode {
            $($(#[$doc])* $name,)*
            /// A code that this version does not know.
            Other(u16),
        }

        impl CloseCode {
            /// The code on the wire.
            #[must_use]
            pub const fn as_u16(self) -> u16 {
                match self { $(Self::$name => $code,)* Self::Other(code) => code }
            }

            /// The reason that a code stands for.
            #[must_use]
            pub const fn from_u16(code: u16) -> Self {
                match code { $($code => Self::$name,)* other => Self::Other(other) }
            }
        }
    };
}

close_codes! {
    /// The peer left for good, of its own will.
    Left = 1000,
    /// A newer peer took the seat with its ticket, for example after a reload or in another tab.
    SeatTaken = 1001,
    /// The peer goes away, for example because its page is unloaded. It may come back as a new peer with its ticket.
    Away = 1003,
    /// The peer is not, or no longer, a member of the session that the other end is in.
    NotAMember = 1002,
    /// The other end was silent for longer than the time-out.
    Silent = 2000,
    /// The first message names another protocol version.
    VersionMismatch = 3000,
    /// The first message names other parameters or another game.
    ParameterMismatch = 3001,
    /// No seat is free.
    Full = 3002,
    /// The host admits no newcomers any more.
    Closed = 3003,
    /// The hash of a newcomer's ticket equals that of another member's ticket.
    BadTicket = 3004,
    /// The host has put the peer out.
    PutOut = 3005,
    /// The relay does not vouch for the peer, and vouches for the host.
    NotVouched = 3006,
    /// A packet or message does not parse.
    Malformed = 4000,
    /// A packet, message or state is larger than the limit.
    TooLarge = 4001,
    /// A count or window was exceeded.
    LimitExceeded = 4002,
    /// A peer spoke for another: it created an object under another's id, or took over one that it was not granted.
    NotYours = 4003,
    /// A peer acted as host without a valid warrant, or showed an invalid one.
    BadWarrant = 4004,
    /// The peer may not send this message, or not now.
    Unexpected = 4005,
    /// A stamp is of a term for which the receiver has no warrant.
    FutureStamp = 4006,
}

impl CloseCode {
    /// Whether the peer itself announced that it goes, so that waiting for it is useless.
    #[must_use]
    pub const fn is_farewell(self) -> bool {
        matches!(self, Self::Left | Self::Away)
    }

    /// The side at fault.
    #[must_use]
    pub const fn blame(self) -> Blame {
        match self.as_u16() {
            2000..3000 => Blame::Network,
            3000..4000 => Blame::Incompatible,
            4000..5000 => Blame::Misbehaviour,
            _ => Blame::Nobody,
        }
    }
}

impl core::fmt::Display for CloseCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{self:?} ({})", self.as_u16())
    }
}
