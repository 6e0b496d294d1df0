//! What a game says to lockstep and what it is told.

use samovar_wire::limits::LOCKSTEP_INPUT_MAX;
use samovar_wire::{Duration, Lane, PeerId, SeatId, Term};

use super::Players;

/// How a game wants lockstep. Agreed: all members have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockstepConfig {
    tick: Duration,
    input_size: usize,
    patience: Duration,
}

impl LockstepConfig {
    /// 60 frames a second with inputs of so many bytes, 1 to 64; anything else is taken for the nearest of these.
    #[must_use]
    pub fn new(input_size: usize) -> Self {
        Self {
            tick: Duration::from_micros(16_667),
            input_size: input_size.clamp(1, LOCKSTEP_INPUT_MAX),
            patience: Duration::from_millis(80),
        }
    }

    /// How long a frame lasts; 16.667 ms unless set, at least 5 ms. Packets go at the same rate.
    #[must_use]
    pub fn with_tick(mut self, tick: Duration) -> Self {
        self.tick = tick.max(Duration::from_millis(5));
        self
    }

    /// How long players that are slow or lost hold up a frame at most; 80 ms unless set. With less, a player whose packets
    /// are late for once is more often taken for unchanged. A player that uses this up gets it back an eighth of the time.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long a frame lasts.
    #[must_use]
    pub const fn tick(&self) -> Duration {
        self.tick
    }

    /// Bytes of an input.
    #[must_use]
    pub const fn input_size(&self) -> usize {
        self.input_size
    }

    /// How long a player holds up a frame at most.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        self.patience
    }
}

/// A member, as the session's view has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    /// The member.
    pub peer: PeerId,
    /// Its seat: what the game knows it by, whichever peer sits there.
    pub seat: SeatId,
    /// Whether it has inputs; otherwise it watches.
    pub plays: bool,
}

/// Who is there and who decides.
#[derive(Clone, Copy, Debug)]
pub struct LockstepView<'a> {
    /// The term.
    pub term: Term,
    /// Its host.
    pub host: PeerId,
    /// All members, this peer among them. Who is away is none.
    pub members: &'a [Player],
}

/// One step of the game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number; the first has 1.
    pub number: u64,
    /// The input of everybody who plays.
    pub inputs: Players,
    /// Who plays from this frame on; its input is zeros in it.
    pub joined: Vec<SeatId>,
    /// Who does not play any more.
    pub left: Vec<SeatId>,
}

/// What the game has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Step the game, and tell the checksum of its state by [`super::Lockstep::stepped`].
    Step(Frame),
    /// Take this state, which a game somewhere else answered [`Request::Save`] with, for that behind `frame`.
    Load {
        /// Behind which frame.
        frame: u64,
        /// Who plays there, and with which input.
        players: Players,
        /// The game's own.
        state: Vec<u8>,
    },
    /// Tell the present state by [`super::Lockstep::answer_state`]: somebody needs it.
    Save,
    /// Tell the fields of the state that was there behind `frame`, by [`super::Lockstep::answer_fields`], or none when the
    /// game does not have that state any more. It is one of the last 255; a game that wants to name what differs keeps
    /// so many states, or one of them and the inputs since.
    Fields {
        /// Behind which frame.
        frame: u64,
    },
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// At the host: this player's input comes too late from this frame on, and counts as unchanged.
    Late {
        /// Whose.
        seat: SeatId,
        /// From which frame on.
        frame: u64,
    },
    /// At the host: this player's inputs come in time, from this frame on.
    OnTime {
        /// Whose.
        seat: SeatId,
        /// From which frame on.
        frame: u64,
    },
    /// At the host and at the member: the member's game is in another state than the host's, with the same inputs. It will
    /// load the host's.
    Desync {
        /// The member.
        peer: PeerId,
        /// The first frame behind which their checksums differ, as far as these are kept.
        frame: u64,
        /// The first field whose hash differs; `None` when one of the games does not have that state any more.
        field: Option<String>,
    },
    /// At the host: nobody that it hears has a state of the game, since who had one is gone. It goes on when somebody comes
    /// back who has one, or when the game begins anew by [`super::Lockstep::begin_anew`].
    NoState,
    /// At the host: a member has other frames than this host, or none, and loads a state.
    Loads {
        /// The member.
        peer: PeerId,
    },
}

/// Bytes for another member: the body of LOCKSTEP (PROTOCOL §4.15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// For whom.
    pub to: PeerId,
    /// [`Lane::Unreliable`], [`Lane::SESSION`] or [`Lane::Bulk`].
    pub lane: Lane,
    /// For its [`super::Lockstep::handle_datagram`] in the first case, [`super::Lockstep::handle_message`] otherwise.
    pub bytes: Vec<u8>,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames decided as host.
    pub decided: u64,
    /// Inputs that were taken for unchanged because they were late.
    pub predicted: u64,
    /// How long frames were held up for inputs.
    pub waited: Duration,
    /// The longest that one was.
    pub longest_wait: Duration,
    /// States given to others.
    pub states: u64,
}

/// An input has another size than the game has agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongSize;

impl core::fmt::Display for WrongSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the input has another size than agreed")
    }
}

impl core::error::Error for WrongSize {}

/// Why a state was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// It has more than `LOCKSTEP_STATE_MAX` bytes: who needs it cannot join.
    TooLarge,
    /// The game has been given a frame that it has not stepped.
    NotStepped,
}

impl core::fmt::Display for StateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the state is too large",
            Self::NotStepped => "a frame is not stepped yet",
        })
    }
}

impl core::error::Error for StateError {}
