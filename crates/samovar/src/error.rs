//! The errors, in words for the person who must do something about them.

use core::fmt;

use samovar_session::SendError;
#[cfg(feature = "extras")]
use samovar_session::SubmitError;
#[cfg(feature = "ownership")]
use samovar_session::WishError;
use samovar_session::objects::{CreateError, ObjectError};
use samovar_wire::limits::MEMBERS_MAX;

/// Why a game did not begin, or ended other than by leaving it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The program was started with wrong arguments. The text names the right ones.
    Usage(String),
    /// The relay's address is invalid: the address, and the reason.
    BadAddress(String, &'static str),
    /// This is no code of a game.
    BadCode(String),
    /// A game cannot have this number of players.
    BadCapacity(usize),
    /// The program wants direct paths alone, and was built without them.
    NoDirectPaths,
    /// A game is raw ([`Agreed::IS_RAW`](crate::Agreed::IS_RAW)) and was given no values by [`Entry::raw`](crate::Entry::raw), or
    /// it is not and was given some.
    BadRaw,
    /// A part of the game may take more bytes than possible: the part, its bytes, and the most that are possible.
    TooLarge(String, usize, usize),
    /// The file of the seat cannot be read or written.
    SeatFile(String),
    /// The relay was never reached, and another attempt would end alike. The text says why.
    Unreachable(String),
    /// No game has this code.
    NoSuchGame(String),
    /// Another game has this code.
    CodeTaken(String),
    /// No seat is free.
    Full,
    /// The host admits nobody any more.
    Closed,
    /// The host, or the relay's operator, has put this player out.
    PutOut,
    /// The relay or the host speaks another version of the protocol.
    OtherVersion,
    /// The others play another game, another version of it, or a private one with another secret.
    OtherGame,
    /// The relay has as many games or players as it takes, or is about to stop.
    Busy,
    /// The code is kept for the relay's own games.
    Reserved,
    /// The relay's operator lets nobody in from this address.
    Banned,
    /// The relay's operator has ended the game.
    Ended,
    /// The token of the game's own server does not serve. The text says why, and follows "the token".
    BadToken(&'static str),
    /// The game's own server does not let this player in. The text is the server's, for the player; it may be empty.
    NotAllowed(String),
    /// Another program, or another tab, took the seat.
    SeatTaken,
    /// The host is lost, and the rules of this game allow no other.
    HostLost,
    /// The others went on without this program, and it did not get its seat back.
    Removed,
    /// This program, the host or the relay broke the rules. The text says how.
    Misbehaved(String),
    /// The game panicked. In a page it may also be that the browser threw an exception through the game.
    Panicked,
    /// The program runs in no browser.
    NoPage,
    /// The system gives the game no thread. The text says why.
    NoThread(String),
}

impl Error {
    /// The variant's name, for logs and for programs in other languages.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Usage(..) => "Usage",
            Self::BadAddress(..) => "BadAddress",
            Self::BadCode(..) => "BadCode",
            Self::BadCapacity(..) => "BadCapacity",
            Self::NoDirectPaths => "NoDirectPaths",
            Self::BadRaw => "BadRaw",
            Self::TooLarge(..) => "TooLarge",
            Self::SeatFile(..) => "SeatFile",
            Self::Unreachable(..) => "Unreachable",
            Self::NoSuchGame(..) => "NoSuchGame",
            Self::CodeTaken(..) => "CodeTaken",
            Self::Full => "Full",
            Self::Closed => "Closed",
            Self::PutOut => "PutOut",
            Self::OtherVersion => "OtherVersion",
            Self::OtherGame => "OtherGame",
            Self::Busy => "Busy",
            Self::Reserved => "Reserved",
            Self::Banned => "Banned",
            Self::Ended => "Ended",
            Self::BadToken(..) => "BadToken",
            Self::NotAllowed(..) => "NotAllowed",
            Self::SeatTaken => "SeatTaken",
            Self::HostLost => "HostLost",
            Self::Removed => "Removed",
            Self::Misbehaved(..) => "Misbehaved",
            Self::Panicked => "Panicked",
            Self::NoPage => "NoPage",
            Self::NoThread(..) => "NoThread",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadAddress(url, why) => write!(f, "`{url}` is no address of a relay: {why}"),
            Self::BadCode(code) => {
                write!(
                    f,
                    "`{code}` is no code of a game: it has 3 to 12 letters, digits and `-`, and for a private game a dot \
                     and a secret of 8 to 32 letters and digits"
                )
            }
            Self::BadCapacity(count) => {
                write!(f, "a game has 1 to {MEMBERS_MAX} players, and not {count}")
            }
            Self::NoDirectPaths => f.write_str(
                "this program was built without direct paths: build it with the feature `direct` of samovar, or let \
                 packets take the relay",
            ),
            Self::BadRaw => f.write_str("a raw game needs `Entry::raw`, and no other game may have it"),
            Self::TooLarge(what, bytes, most) => write!(
                f,
                "{what} may take {bytes} bytes, and at most {most} are possible: lower the bounds of its texts and lists"
            ),
            Self::Usage(text) | Self::SeatFile(text) => f.write_str(text),
            Self::Unreachable(why) => f.write_str(why),
            Self::NoSuchGame(code) => write!(f, "no game has the code {code}"),
            Self::CodeTaken(code) => write!(f, "another game has the code {code}"),
            Self::Full => f.write_str("the game has no free place, or none for those who watch"),
            Self::Closed => f.write_str("the host admits nobody any more"),
            Self::PutOut => f.write_str("the host, or the relay's operator, has put you out"),
            Self::OtherVersion => {
                f.write_str("the relay or the host has another version of Samovar; update the older one")
            }
            Self::OtherGame => f.write_str(
                "the game with this code is another one, another version of it (update the older program), or private \
                 with another secret behind its code",
            ),
            Self::Busy => f.write_str("the relay takes no more games or players now; try again later"),
            Self::Reserved => f.write_str("the code is kept for the relay's own games"),
            Self::Banned => f.write_str("the relay's operator lets nobody in from this address"),
            Self::Ended => f.write_str("the relay's operator has ended the game"),
            Self::BadToken(fault) => write!(f, "the token {fault}"),
            Self::NotAllowed(why) if why.is_empty() => f.write_str("the game's server does not let you in"),
            Self::NotAllowed(why) => write!(f, "the game's server does not let you in: {why}"),
            Self::SeatTaken => f.write_str("another program or tab of yours took the seat"),
            Self::HostLost => f.write_str("the host is lost, and this game allows no other"),
            Self::Removed => f.write_str("the others went on without you"),
            Self::Misbehaved(what) => write!(f, "the rules were broken: {what}"),
            Self::NoThread(why) => write!(f, "the system gives the game no thread: {why}"),
            Self::NoPage => f.write_str("the program runs in no browser: it needs a page or a worker"),
            Self::Panicked if cfg!(target_arch = "wasm32") => {
                f.write_str("the game was ended by an error; the browser's console says by which")
            }
            Self::Panicked => f.write_str("the game panicked"),
        }
    }
}

/// The same words as [`Display`](fmt::Display): a `main` that returns this error shows them.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Error {}

/// Why a call of a [`Room`](crate::Room) was refused. A refused call has changed nothing and sent nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoomError {
    /// This program is no member now.
    NotJoined,
    /// There is no such member, or it is away.
    NoSuchMember,
    /// There is no such object any more.
    NoSuchObject,
    /// Another member owns the object.
    NotYours,
    /// Only the host may do this.
    NotHost,
    /// This program only watches.
    Watching,
    /// The object cannot be asked for, released or given away, at least not now.
    NotAvailable,
    /// Too much waits to be sent. Try again later.
    WouldBlock,
    /// The message or object is larger than allowed.
    TooLarge,
    /// This program owns as many objects as it may.
    TooManyObjects,
    /// The rules of the game do not name this.
    NotInTheRules,
}

impl RoomError {
    /// The variant's name, for logs and for programs in other languages.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotJoined => "NotJoined",
            Self::NoSuchMember => "NoSuchMember",
            Self::NoSuchObject => "NoSuchObject",
            Self::NotYours => "NotYours",
            Self::NotHost => "NotHost",
            Self::Watching => "Watching",
            Self::NotAvailable => "NotAvailable",
            Self::WouldBlock => "WouldBlock",
            Self::TooLarge => "TooLarge",
            Self::TooManyObjects => "TooManyObjects",
            Self::NotInTheRules => "NotInTheRules",
        }
    }
}

impl fmt::Display for RoomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJoined => "this program is no member now",
            Self::NoSuchMember => "there is no such member, or it is away",
            Self::NoSuchObject => "there is no such object any more",
            Self::NotYours => "another member owns the object",
            Self::NotHost => "only the host may do this",
            Self::Watching => "this program only watches",
            Self::NotAvailable => "the object cannot be asked for, or not now",
            Self::WouldBlock => "too much waits to be sent; try again later",
            Self::TooLarge => "it is larger than allowed",
            Self::TooManyObjects => "this program owns as many objects as it may",
            Self::NotInTheRules => "the rules of the game do not name this",
        })
    }
}

impl core::error::Error for RoomError {}

impl From<ObjectError> for RoomError {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::NotOwner => Self::NotYours,
            ObjectError::NotHost => Self::NotHost,
            ObjectError::NotAMember => Self::NoSuchMember,
            ObjectError::BadField => Self::TooLarge,
            _ => Self::NoSuchObject,
        }
    }
}

impl From<CreateError> for RoomError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::TooMany => Self::TooManyObjects,
            _ => Self::TooLarge,
        }
    }
}

impl From<SendError> for RoomError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::TooLarge => Self::TooLarge,
            SendError::WouldBlock => Self::WouldBlock,
            _ => Self::NotInTheRules,
        }
    }
}

#[cfg(feature = "extras")]
impl From<SubmitError> for RoomError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::NotAMember => Self::NotJoined,
            SubmitError::TooLarge => Self::TooLarge,
            _ => Self::WouldBlock,
        }
    }
}

#[cfg(feature = "ownership")]
impl From<WishError> for RoomError {
    fn from(_: WishError) -> Self {
        Self::NotAvailable
    }
}

/// For results that a game can do nothing about.
pub trait OrLog<T> {
    /// The value; `None` after telling the error to the terminal or the browser's console.
    fn or_log(self) -> Option<T>;
}

impl<T, E: fmt::Display> OrLog<T> for Result<T, E> {
    #[track_caller]
    fn or_log(self) -> Option<T> {
        // Inside a closure, `caller` would return the place of the closure.
        let place = core::panic::Location::caller();
        self.map_err(|error| crate::log(&format!("samovar: {error} ({place})"))).ok()
    }
}
