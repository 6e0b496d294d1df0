//! Reusable buffers for the coding of frames.

use samovar_wire::PeerId;

use crate::arrival::Arrival;
use crate::baselines::{Last, basis, frames_of};
use crate::coder::{Baseline, Coded, Encoder, Habits, Source};
use crate::object::Object;
use crate::popularity::Popularity;
use crate::predict::Basis;
use crate::replica::Popular;
use crate::schema::Schemas;
use crate::slots::Slots;
use crate::state::State;

/// The most encodings of one frame that are kept for peers that have the same baselines.
const ENCODED_MAX: usize = 8;

/// One state that goes into a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) slot: u32,
    pub(crate) baseline: Baseline,
    pub(crate) texts: u64,
}

/// The states of a frame as they were coded for a peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) picks: Vec<Pick>,
    pub(crate) base: u64,
    pub(crate) baselines: [u8; 3],
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: usize,
}

/// Buffers that are used for one frame after another. They are no part of the replicated state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) encoder: Encoder,
    pub(crate) habits: Habits,
    pub(crate) picks: Vec<Pick>,
    pub(crate) scores: Vec<u64>,
    pub(crate) popularity: Popularity,
    pub(crate) popular: Popular,
    pub(crate) encoded: Vec<Encoded>,
    /// How many of `encoded` belong to this frame.
    pub(crate) valid: usize,
    pub(crate) coded: Coded,
    pub(crate) numbers: Vec<i32>,
    pub(crate) state: State,
    /// The new states of the last datagram.
    pub(crate) arrivals: Vec<Arrival>,
}

impl PartialEq for Scratch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Scratch {}

impl core::hash::Hash for Scratch {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

/// The parameters of a frame's coding.
pub(crate) struct Context<'a> {
    pub(crate) schemas: &'a Schemas,
    pub(crate) slots: &'a Slots,
    pub(crate) me: PeerId,
    pub(crate) frame: u64,
    pub(crate) base: u64,
    pub(crate) baselines: [u8; 3],
}

impl Scratch {
    /// Codes the picked states. If another peer was sent the same states in this frame, returns the bytes that were
    /// coded for it.
    pub(crate) fn encode(&mut self, context: &Context<'_>, room: usize) -> &Encoded {
        let found = self.encoded[..self.valid].iter().position(|encoded| {
            (encoded.base, encoded.baselines) == (context.base, context.baselines)
                && encoded.picks == self.picks
                && encoded.written == self.picks.len()
                && encoded.bytes.len() <= room
        });
        if let Some(found) = found {
            return &self.encoded[found];
        }
        let place = if self.valid < ENCODED_MAX { self.valid } else { ENCODED_MAX - 1 };
        if self.encoded.len() <= place {
            self.encoded.push(Encoded::default());
        }
        self.valid = place + 1;
        let encoded = &mut self.encoded[place];
        (encoded.base, encoded.baselines) = (context.base, context.baselines);
        encoded.picks.clone_from(&self.picks);
        encoded.bytes.clear();
        self.encoder.begin(context.me);
        let mut last = None;
        let sources = self.picks.iter().filter_map(|pick| source(context, pick, &mut last));
        encoded.written = self.encoder.write(&mut self.habits, room, sources, &mut encoded.bytes);
        encoded
    }
}

fn source<'a>(context: &Context<'a>, pick: &Pick, last: &mut Last) -> Option<Source<'a>> {
    let object = context.slots.at(pick.slot)?;
    Some(Source {
        object,
        schema: context.schemas.of(object.traits.kind),
        baseline: pick.baseline,
        basis: basis_of_owner(context, object, pick.baseline, last),
        texts: pick.texts,
        age: context.base.saturating_sub(object.sample()),
    })
}

fn basis_of_owner<'a>(
    context: &Context<'_>,
    object: &'a Object,
    baseline: Baseline,
    last: &mut Last,
) -> Option<Basis<'a>> {
    let width = object.numbers.len();
    if width == 0 {
        return None;
    }
    let frames = frames_of(context.frame, context.baselines, baseline);
    basis(frames, |frame| object.past.as_of(width, frame), object.sample(), last)
}
