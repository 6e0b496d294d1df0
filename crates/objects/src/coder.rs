//! The coded states of a FRAME: what of each object differs from a guess (PROTOCOL §4.6).
//!
//! What comes can be read whole without any object at hand, by the schemas alone: a receiver skips what it does not
//! know (any more). Only then is a guess added, from the moments that sender and receiver both have.

mod decode;
mod encode;
mod models;

pub(crate) use decode::{Coded, Decoder};
pub(crate) use encode::{Encoder, Habits, Source};

/// What of an object's past the receiver is known to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The frame's first so many baselines: three, two or one.
    Frames(u8),
    /// A frame of its own, so many frames back.
    Own(u32),
    /// None: the numbers come as they are.
    #[default]
    None,
}
