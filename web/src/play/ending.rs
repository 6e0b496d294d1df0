//! The problem that the player must read when a game is over.

use samovar::Error;
use samovar::raw::Obstacle;

use super::{Ending, Wish};
use crate::page::Problem;

/// How a game ended for the player who had this wish. `obstacle` is the answer that came in place of the relay's.
pub(super) fn of(error: &Error, wish: &Wish, obstacle: Option<Obstacle>) -> Ending {
    let code = wish.code.as_ref().map(|code| code.as_str().to_owned()).unwrap_or_default();
    Ending::Problem(match error {
        Error::NoSuchGame(_) => Problem::UnknownGame { code },
        Error::CodeTaken(_) | Error::Reserved => Problem::CodeTaken { code },
        Error::Full => Problem::FullGame { code },
        Error::Closed => Problem::ClosedGame { code },
        Error::PutOut => Problem::PutOut { code },
        Error::OtherGame if !wish.create && !wish.is_last_guess => return Ending::OtherGame,
        Error::OtherVersion | Error::OtherGame => Problem::VersionMismatch,
        Error::SeatTaken => Problem::Replaced { code },
        Error::HostLost => Problem::HostGone { code },
        Error::Removed => Problem::Removed { code },
        Error::Unreachable(_) => match obstacle {
            Some(Obstacle { status, text }) => Problem::RelayRefuses { status, text },
            None => Problem::RelayLost,
        },
        Error::Busy => {
            Problem::Broken { detail: "the relay takes no more games now; try again in a minute".to_owned() }
        }
        Error::Banned => Problem::NotLetIn {
            why: "The operator of this page lets nobody in from your network.".to_owned(),
        },
        Error::Ended => Problem::NotLetIn { why: "The operator of this page has ended the game.".to_owned() },
        Error::BadToken(fault) => Problem::NotLetIn { why: ["The token in your link ", fault, "."].concat() },
        Error::NotAllowed(why) => Problem::NotLetIn { why: why.clone() },
        Error::Misbehaved(what) => Problem::Broken { detail: what.clone() },
        _ => Problem::Broken { detail: String::new() },
    })
}
