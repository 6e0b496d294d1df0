//! The coded states of a FRAME: how each object differs from a guess (PROTOCOL §4.6).
//!
//! A receiver can parse a whole frame by the schemas alone, without the objects, and so skip objects that it does not
//! know (any more). Guesses are added afterwards, from the moments that both ends have.

mod decode;
mod encode;
mod models;

pub(crate) use decode::{Coded, Decoder};
pub(crate) use encode::{Encoder, Habits, Source};

/// The part of an object's past that the receiver is known to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The first three, two or one of the frame's baselines.
    Frames(u8),
    /// One moment of the object itself, this many frames back.
    Own(u32),
    /// None: the numbers are sent as they are.
    #[default]
    None,
}
