//! The coded states of a FRAME: how each object differs from a guess (PROTOCOL §4.6).
//!
//! A receiver can parse a whole frame by the schemas alone, without the objects, and so skip objects that it does not
//! know (any more). The guesses are added afterwards. They build on past states of the object that both ends have
//! (moments).

mod decode;
mod encode;
mod models;

pub(crate) use decode::{Coded, Decoder};
pub(crate) use encode::{Encoder, Habits, Source};

/// The past states on which the guess for a state builds. The receiver is known to have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The first one, two or three of the frame's baselines; the number says how many.
    Frames(u8),
    /// A baseline of this object only: its state this many frames back.
    Own(u32),
    /// None: the numbers are sent as they are.
    #[default]
    None,
}
