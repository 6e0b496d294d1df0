//! The configuration of lockstep, and its requests and events.

use samovar_wire::limits::LOCKSTEP_INPUT_MAX;
use samovar_wire::{Duration, Lane, PeerId, SeatId, Term};

use super::Players;

/// A game's parameters of lockstep. Agreed: all members have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockstepConfig {
    tick: Duration,
    input_size: usize,
    patience: Duration,
}

impl LockstepConfig {
    /// A game of 60 frames a second, with inputs of 1 to 64 bytes. A size outside these bounds becomes the nearest
    /// one.
    #[must_use]
    pub fn new(input_size: usize) -> Self {
        Self {
            tick: Duration::from_micros(16_667),
            input_size: input_size.clamp(1, LOCKSTEP_INPUT_MAX),
            patience: Duration::from_millis(80),
        }
    }

    /// Sets how long a frame lasts; 16.667 ms unless set, at least 5 ms. Packets go at the same rate.
    #[must_use]
    pub fn with_tick(mut self, tick: Duration) -> Self {
        self.tick = tick.max(Duration::from_millis(5));
        self
    }

    /// Sets how long slow or lost players may delay a frame; 80 ms unless set. With less, a single late packet
    /// more often makes a player count as unchanged. A player that uses this up regains it at an eighth of the
    /// passing time.
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

    /// How long a player may delay a frame.
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
    /// The seat, by which the game knows the player whichever peer sits there.
    pub seat: SeatId,
    /// Whether this member plays, and so has inputs; otherwise it only watches.
    pub plays: bool,
}

/// The members and the host.
#[derive(Clone, Copy, Debug)]
pub struct LockstepView<'a> {
    /// The term.
    pub term: Term,
    /// The host of this term.
    pub host: PeerId,
    /// All members, this peer among them, without those that are away.
    pub members: &'a [Player],
}

/// One step of the game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The frame's number; the first frame has 1.
    pub number: u64,
    /// The input of each player.
    pub inputs: Players,
    /// Seats that play from this frame on. Their input in it is zeros.
    pub joined: Vec<SeatId>,
    /// Seats that no longer play.
    pub left: Vec<SeatId>,
}

/// A task for the game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Step the game, and tell the checksum of its state by [`super::Lockstep::stepped`].
    Step(Frame),
    /// Load this state as the one after `frame`; another member's game answered [`Request::Save`] with it.
    Load {
        /// The frame that the state follows.
        frame: u64,
        /// The players after it, with their inputs.
        players: Players,
        /// The game's own bytes.
        state: Vec<u8>,
    },
    /// Give the present state by [`super::Lockstep::answer_state`]: a member needs it.
    Save,
    /// Give the fields of the state after `frame`, by [`super::Lockstep::answer_fields`], or none when the game no
    /// longer has that state. It is one of the last 255; a game that wants to name differences keeps that many
    /// states, or one of them and the inputs since.
    Fields {
        /// The frame that the state follows.
        frame: u64,
    },
}

/// An event of lockstep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// At the host: this player's input comes too late from this frame on, and counts as unchanged.
    Late {
        /// The player's seat.
        seat: SeatId,
        /// The first such frame.
        frame: u64,
    },
    /// At the host: this player's inputs come in time, from this frame on.
    OnTime {
        /// The player's seat.
        seat: SeatId,
        /// The first such frame.
        frame: u64,
    },
    /// At the host and at the member: the member's game state differs from the host's, with the same inputs. The
    /// member will load the host's state.
    Desync {
        /// The member.
        peer: PeerId,
        /// The first frame after which their checksums differ, as far as these are kept.
        frame: u64,
        /// The first field whose hash differs; `None` when one of the games no longer has that state.
        field: Option<String>,
    },
    /// At the host: no member that it hears has a state of the game. The host goes on when a member with a state
    /// comes back, or when the game begins anew by [`super::Lockstep::begin_anew`].
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
    /// The receiver.
    pub to: PeerId,
    /// [`Lane::Unreliable`], [`Lane::SESSION`] or [`Lane::Bulk`].
    pub lane: Lane,
    /// For the receiver's [`super::Lockstep::handle_datagram`] on the first lane, [`super::Lockstep::handle_message`]
    /// on the others.
    pub bytes: Vec<u8>,
}

/// Counters of one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames decided as host.
    pub decided: u64,
    /// Inputs that counted as unchanged because they were late.
    pub predicted: u64,
    /// How long frames waited for inputs.
    pub waited: Duration,
    /// The longest wait of one frame.
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
    /// The state has more than `LOCKSTEP_STATE_MAX` bytes, so the member that needs it cannot join.
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
