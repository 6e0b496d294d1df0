//! Writing the states of a frame.

use samovar_wire::range_coder::{Mark, RangeEncoder};
use samovar_wire::symbol::{encode_wide, scale_of};
use samovar_wire::{Kind, ObjectId, PeerId, Stamp};

use super::Baseline;
use super::models::{
    BASELINE_SHIFT, COUNT_BITS, FIRST_STAMP, KIND_BITS, LENGTH_BITS, Models, OTHER_KIND, OTHER_ORIGIN,
    SCALE_BITS, has_scale, plain_bits,
};
use crate::object::Object;
use crate::predict::{Basis, fold, largest, predict, predict_rotation, wrap};
use crate::schema::{Coding, Field, Schema};

/// How far numbers have been off their guesses, for each kind. The next frame's models start from this.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits(Vec<Habit>);

#[derive(Clone, Debug)]
struct Habit {
    kind: Kind,
    /// The mean difference of each field's numbers from their guesses, in sixteenths.
    misses: Vec<u32>,
    /// The mean number of bits that all differences of an object took, in 256ths; one for each number of moments.
    bits: [u32; 4],
}

/// In this many frames each number of moments is tried once.
const TRIAL: u64 = 16;

impl Habits {
    /// The most moments of an object's past to build on in this frame: the number that has guessed best. Smooth
    /// motion is guessed best from three, noisy motion from two or one.
    pub(crate) fn moments(&self, kind: Kind, frame: u64) -> u8 {
        let Some(habit) = self.find(kind) else { return 3 };
        match frame % TRIAL {
            0 => 3,
            5 => 2,
            10 => 1,
            _ => (1..=3).rev().min_by_key(|&count| habit.bits[usize::from(count)]).unwrap_or(3),
        }
    }

    fn find(&self, kind: Kind) -> Option<&Habit> {
        self.0.iter().find(|habit| habit.kind == kind)
    }

    fn of(&mut self, kind: Kind, fields: usize) -> &mut Habit {
        let place = self.0.iter().position(|habit| habit.kind == kind).unwrap_or_else(|| {
            self.0.push(Habit { kind, misses: vec![64; fields], bits: [0; 4] });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

/// The most that a difference counts, so that one leap does not spoil the mean.
const MISS_MAX: u32 = 4_096;

/// One object to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) object: &'a Object,
    pub(crate) schema: Option<&'a Schema>,
    pub(crate) baseline: Baseline,
    /// The basis of the guess, as `baseline` names it.
    pub(crate) basis: Option<Basis<'a>>,
    /// The texts to write, one bit each.
    pub(crate) texts: u64,
    /// The time from the object's sampling to the frame's base, in units.
    pub(crate) age: u64,
}

/// How far a field was off its guess.
struct Miss {
    mean: u32,
    bits: u32,
}

/// Writes the states of frames. Holds the previous object in the frame, and the models learned so far.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    models: Models,
    kind: Kind,
    /// How many texts the previous object had. Objects without a schema differ in this.
    texts: usize,
    creator: PeerId,
    number: u32,
    stamp: Stamp,
}

impl Default for Encoder {
    fn default() -> Self {
        let stamp = FIRST_STAMP;
        Self { models: Models::new(), kind: Kind::SESSION, texts: 0, creator: PeerId(0), number: 0, stamp }
    }
}

impl Encoder {
    /// Begins a frame of this sender.
    pub(crate) fn begin(&mut self, sender: PeerId) {
        self.models.clear();
        (self.kind, self.creator, self.number) = (Kind::SESSION, sender, 0);
        self.stamp = FIRST_STAMP;
    }

    /// Writes objects until one does not fit into `room`; returns how many were written.
    pub(crate) fn write<'a>(
        &mut self,
        habits: &mut Habits,
        room: usize,
        sources: impl Iterator<Item = Source<'a>>,
        out: &mut Vec<u8>,
    ) -> usize {
        let start = out.len();
        let mut coder = RangeEncoder::new(out);
        let mut written = 0;
        for source in sources {
            let mark: Mark = coder.mark();
            self.write_object(habits, &source, &mut coder);
            if coder.len_at_most() - start > room {
                coder.rewind(mark);
                break;
            }
            written += 1;
        }
        coder.finish(start);
        written
    }

    fn write_object(&mut self, habits: &mut Habits, source: &Source<'_>, out: &mut RangeEncoder<'_>) {
        let object = source.object;
        let kind = object.traits.kind;
        let first = self.write_head(habits, source, out);
        // An age is cut to three days. No sample is that old, and a guess would not extrapolate it anyway.
        let age = source.age.min(i32::MAX as u64) as i32;
        self.models.age.encode_number(age, out);
        if let (Some(schema), Some(first)) = (source.schema, first) {
            let habit = habits.of(kind, schema.fields().len());
            let mut bits = 0;
            for (index, field) in schema.coded() {
                match (&source.basis, &field.coding) {
                    (_, Coding::Text { .. }) => {}
                    (None, _) => write_plain(field, &object.numbers, out),
                    (Some(basis), Coding::Choice { .. } | Coding::Exact { .. }) => {
                        self.write_changed(field, basis, &object.numbers, out);
                    }
                    (Some(basis), _) => {
                        let miss = self.write_guessed((first, index), field, (basis, &object.numbers), out);
                        bits += miss.bits;
                        let known = &mut habit.misses[index];
                        *known = known
                            .wrapping_add_signed((miss.mean.min(MISS_MAX) as i32 * 16 - *known as i32) >> 5);
                    }
                }
            }
            if let Baseline::Frames(count) = source.baseline {
                let known = &mut habit.bits[usize::from(count & 3)];
                *known = known.wrapping_add_signed(((bits << 8) as i32 - *known as i32) >> 5);
            }
        }
        for (index, text) in object.texts.iter().enumerate() {
            let is_written = source.texts >> index & 1 == 1;
            self.models.changed.encode(usize::from(is_written), out);
            if is_written {
                out.bits(text.bytes.len() as u32, LENGTH_BITS);
                text.bytes.iter().for_each(|&byte| out.bits(u32::from(byte), 8));
            }
        }
    }

    /// Writes the id, kind and baseline of an object. Returns where the models of its kind begin; `None` without a
    /// schema.
    fn write_head(
        &mut self,
        habits: &Habits,
        source: &Source<'_>,
        out: &mut RangeEncoder<'_>,
    ) -> Option<usize> {
        let object = source.object;
        let (ObjectId { creator, number }, stamp, kind) = (object.id, object.stamp, object.traits.kind);
        let texts = object.texts.len();
        let is_other_kind = kind != self.kind || (source.schema.is_none() && texts != self.texts);
        self.texts = texts;
        let is_other_origin = (creator, stamp) != (self.creator, self.stamp);
        let class = match source.baseline {
            Baseline::Frames(count) => 3 - usize::from(count.clamp(1, 3)),
            Baseline::Own(_) | Baseline::None => 3,
        };
        let head = (class << BASELINE_SHIFT)
            | (usize::from(is_other_kind) * OTHER_KIND)
            | (usize::from(is_other_origin) * OTHER_ORIGIN);
        self.models.head.encode(head, out);
        match source.baseline {
            Baseline::Frames(_) => {}
            Baseline::Own(back) => encode_wide(back, out),
            Baseline::None => encode_wide(0, out),
        }
        if is_other_origin {
            let is_other_creator = creator != self.creator;
            out.bits(u32::from(is_other_creator), 1);
            if is_other_creator {
                out.bits(creator.0, 32);
                self.number = 0;
            }
            encode_wide((stamp.term.0 >> 32) as u32, out);
            encode_wide(stamp.term.0 as u32, out);
            encode_wide(stamp.counter, out);
        }
        let expected = self.number.wrapping_add(1);
        self.models.gap.encode_number(number.wrapping_sub(expected).cast_signed(), out);
        (self.kind, self.creator, self.number, self.stamp) = (kind, creator, number, stamp);
        if is_other_kind {
            out.bits(u32::from(kind.0), KIND_BITS);
        }
        let Some(schema) = source.schema else {
            if is_other_kind {
                out.bits(texts as u32, COUNT_BITS);
            }
            return None;
        };
        Some(self.models.find(kind).unwrap_or_else(|| {
            let misses = habits.find(kind).map(|habit| &habit.misses);
            self.models.open(schema, |field| {
                let scale = scale_of(misses.and_then(|m| m.get(field)).copied().unwrap_or(64));
                out.bits(u32::from(scale), SCALE_BITS);
                scale
            })
        }))
    }

    /// Writes numbers that are not guessed: for each whether it equals the baseline's, and the number if not.
    fn write_changed(
        &mut self,
        field: &Field,
        basis: &Basis<'_>,
        numbers: &[i32],
        out: &mut RangeEncoder<'_>,
    ) {
        for place in 0..field.coding.width() {
            let at = field.at + place;
            let is_other = numbers[at] != basis.then(at);
            self.models.changed.encode(usize::from(is_other), out);
            if is_other {
                let range = field.coding.range(place);
                out.bits(numbers[at].wrapping_sub(range.0).cast_unsigned(), plain_bits(range));
            }
        }
    }

    /// Writes the differences of numbers from a guess.
    fn write_guessed(
        &mut self,
        (first, index): (usize, usize),
        field: &Field,
        (basis, numbers): (&Basis<'_>, &[i32]),
        out: &mut RangeEncoder<'_>,
    ) -> Miss {
        debug_assert!(has_scale(&field.coding));
        let mut guess = [0; 4];
        let (mut sum, mut bits) = (0_u32, 0);
        let mut begin = 0;
        if let Coding::Rotation { limit, .. } = field.coding {
            let quaternion = predict_rotation(field, basis, numbers);
            let left_out = numbers[field.at];
            let turn = (left_out - largest(&quaternion)) & 3;
            self.models.left_out(first, index).encode(turn as usize, out);
            guess[1..].copy_from_slice(&fold(&quaternion, left_out, limit));
            begin = 1;
        } else {
            predict(field, basis, numbers, &mut guess);
        }
        let model = self.models.numbers(first, index);
        for place in begin..field.coding.width() {
            let mut difference = numbers[field.at + place].wrapping_sub(guess[place]);
            if let Coding::Angle { turn, .. } = field.coding {
                difference = wrap(difference, turn);
            }
            model.encode_number(difference, out);
            let size = difference.unsigned_abs();
            sum = sum.saturating_add(size);
            bits += u32::BITS - size.leading_zeros();
        }
        Miss { mean: sum / (field.coding.width() - begin) as u32, bits }
    }
}

fn write_plain(field: &Field, numbers: &[i32], out: &mut RangeEncoder<'_>) {
    for place in 0..field.coding.width() {
        let range = field.coding.range(place);
        out.bits(numbers[field.at + place].wrapping_sub(range.0).cast_unsigned(), plain_bits(range));
    }
}
