//! The requests and their answers.

use samovar_wire::GameCode;
use serde::{Deserialize, Serialize};

pub use crate::bans::Ban;
use crate::network::Network;
pub use crate::reports::{GameRow, MemberRow, Path, Queue, Status};
use crate::value::Code;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// How the relay is.
    Status,
    /// The games with at least one connection.
    Games,
    /// The connected members of a game.
    Members {
        /// The game's code.
        game: Code,
    },
    /// Puts a member out of its game. It may come back as a newcomer.
    Kick {
        /// The game's code.
        game: Code,
        /// The member's id.
        member: u32,
    },
    /// Lets nobody in from an address or a network, and closes the connections from there.
    Ban {
        /// The address or the network.
        network: Network,
        /// How long, in seconds; without end if it is not told.
        seconds: Option<u64>,
        /// The reason, for the operator's own list.
        reason: Option<String>,
    },
    /// Bans the address of a member.
    BanMember {
        /// The game's code.
        game: Code,
        /// The member's id.
        member: u32,
        /// As for [`Ask::Ban`].
        seconds: Option<u64>,
        /// As for [`Ask::Ban`].
        reason: Option<String>,
    },
    /// Takes a ban back.
    Unban {
        /// The address or the network, as in the list of bans.
        network: Network,
    },
    /// The bans.
    Bans,
    /// Ends a game: all its members are refused, and its code leads nowhere for a day.
    Close {
        /// The game's code.
        game: Code,
    },
    /// Founds no more games, and stops when no game is left or the time is over.
    Drain,
    /// The limits in force.
    Limits,
    /// Changes a limit until the relay restarts or reads its file of settings again.
    SetLimit {
        /// The key, as in the file of settings.
        key: String,
        /// The value, as in the file of settings.
        value: String,
    },
    /// Sets the filter of the log until the relay restarts.
    Log {
        /// The filter.
        filter: String,
    },
}

impl Ask {
    /// The order in a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Games => "games",
            Self::Members { .. } => "members",
            Self::Kick { .. } => "kick",
            Self::Ban { .. } | Self::BanMember { .. } => "ban",
            Self::Unban { .. } => "unban",
            Self::Bans => "bans",
            Self::Close { .. } => "close",
            Self::Drain => "drain",
            Self::Limits | Self::SetLimit { .. } => "limits",
            Self::Log { .. } => "log",
        }
    }

    /// Whether this is an order, which changes something.
    #[must_use]
    pub const fn is_order(&self) -> bool {
        !matches!(self, Self::Status | Self::Games | Self::Members { .. } | Self::Bans | Self::Limits)
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// How the relay is.
    Status(Status),
    /// The games, by code.
    Games(Vec<GameRow>),
    /// The members of a game, by id.
    Members(Vec<MemberRow>),
    /// The bans, by network.
    Bans(Vec<Ban>),
    /// The limits, as a file of settings.
    Limits(String),
    /// The order is carried out; the text says what was done.
    Done(String),
    /// The request cannot be fulfilled; the text says why.
    Error(String),
}

pub(super) fn code(game: &Code) -> &GameCode {
    &game.0
}
