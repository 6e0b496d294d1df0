//! How the connection stands, in words for a player.

use core::fmt;

use crate::error::Error;

/// A change of how this program is connected. Print it, or show it to the player.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// This program asks the relay to let it in.
    Connecting,
    /// There are no direct connections here, for example in a worker: packets take the relay alone.
    NoDirectPaths,
    /// The relay cannot be reached; the program tries again by itself. The text says why.
    Unreachable(String),
    /// The relay knows this program. The code lets others join.
    Entered(String),
    /// This program is a member. The name is the host's.
    Joined(String),
    /// The host changed. The name is the new host's, which may be this program.
    HostIs(String),
    /// The relay is lost. The game goes on by direct paths where it can; the program tries again by itself.
    RelayLost,
    /// The relay is back.
    RelayBack,
    /// The relay stops in this number of seconds.
    RelayStops(f64),
    /// The relay does not take this program back; [`Error::OtherVersion`] if it speaks another version now. The game goes on
    /// by direct paths for as long as they hold.
    Refused(Error),
    /// The others went on without this program. It takes its seat back by itself.
    Away {
        /// Whether changes were made here meanwhile. Such changes are lost.
        has_diverged: bool,
    },
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::NoDirectPaths => f.write_str("no direct connections here: packets take the relay alone"),
            Self::Unreachable(why) => write!(f, "{why}; trying again"),
            Self::Entered(code) => write!(f, "others join by the code {code}"),
            Self::Joined(host) => write!(f, "joined; {host} hosts"),
            Self::HostIs(host) => write!(f, "{host} hosts now"),
            Self::RelayLost => f.write_str("the relay is lost; trying again"),
            Self::RelayBack => f.write_str("the relay is back"),
            // Printing a floating-point number would add 16 KB to a page.
            Self::RelayStops(seconds) => write!(f, "the relay stops in {} s", *seconds as u64),
            Self::Refused(why) => write!(f, "{why}; the game goes on by direct paths while they hold"),
            Self::Away { has_diverged: false } => {
                f.write_str("the others went on without you; taking the seat back")
            }
            Self::Away { has_diverged: true } => f.write_str(
                "the others went on without you; your last changes are lost; taking the seat back",
            ),
        }
    }
}
