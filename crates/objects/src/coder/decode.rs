//! Reading the states of a frame.

use samovar_wire::limits::{FIELD_MAX, FIELDS_MAX};
use samovar_wire::range_coder::RangeDecoder;
use samovar_wire::symbol::decode_wide;
use samovar_wire::{DecodeError, Kind, ObjectId, PeerId, Stamp, Term};

use super::Baseline;
use super::models::{
    BASELINE_SHIFT, COUNT_BITS, FIRST_STAMP, KIND_BITS, LENGTH_BITS, Models, OTHER_KIND, OTHER_ORIGIN,
    SCALE_BITS, plain_bits,
};
use crate::predict::{Basis, fold, largest, predict, predict_rotation};
use crate::schema::{Coding, Field, Schema, Schemas};

/// A number as it was sent.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// The difference from the guess.
    Off(i32),
    /// The number itself.
    Plain(i32),
}

/// One object as it was sent. Its buffers are used again for the next.
#[derive(Clone, Debug)]
pub(crate) struct Coded {
    pub(crate) id: ObjectId,
    pub(crate) stamp: Stamp,
    pub(crate) kind: Kind,
    pub(crate) baseline: Baseline,
    /// The time from the object's sampling to the frame's base, in units.
    pub(crate) age: u64,
    numbers: Vec<Number>,
    /// The texts that were sent: the index of each, and where in `bytes` it ends.
    ends: Vec<(usize, usize)>,
    bytes: Vec<u8>,
    models: Models,
}

impl Default for Coded {
    fn default() -> Self {
        let stamp = FIRST_STAMP;
        Self {
            id: ObjectId::SESSION,
            stamp,
            kind: Kind::SESSION,
            baseline: Baseline::None,
            age: 0,
            numbers: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            models: Models::new(),
        }
    }
}

impl Coded {
    /// The texts that were sent, with their indices.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.ends.iter().enumerate().map(|(i, &(text, end))| {
            let start = if i == 0 { 0 } else { self.ends[i - 1].1 };
            (text, &self.bytes[start..end])
        })
    }

    /// Computes the numbers. The guesses come from `basis`, which the state's baseline names.
    ///
    /// # Errors
    /// `Invalid` for a number outside the range of its field.
    pub(crate) fn resolve(
        &self,
        schema: &Schema,
        basis: Option<&Basis<'_>>,
        numbers: &mut Vec<i32>,
    ) -> Result<(), DecodeError> {
        numbers.clear();
        numbers.resize(schema.numbers(), 0);
        for (_, field) in schema.coded().filter(|(_, field)| !matches!(field.coding, Coding::Text { .. })) {
            let mut guess = [0; 4];
            if let Some(basis) = basis {
                guess = self.guess(field, basis, numbers);
            }
            for (place, guess) in guess.into_iter().enumerate().take(field.coding.width()) {
                let at = field.at + place;
                let range = field.coding.range(place);
                numbers[at] = match (self.numbers[at], field.coding) {
                    (Number::Plain(number), _) => number,
                    (Number::Off(off), Coding::Angle { turn, .. }) => {
                        (i64::from(guess) + i64::from(off)).rem_euclid(i64::from(turn)) as i32
                    }
                    // A difference may wrap, as it does in the encoder.
                    (Number::Off(off), _) => guess.wrapping_add(off),
                };
                if numbers[at] < range.0 || numbers[at] > range.1 {
                    return Err(DecodeError::Invalid);
                }
            }
        }
        Ok(())
    }

    fn guess(&self, field: &Field, basis: &Basis<'_>, numbers: &[i32]) -> [i32; 4] {
        let mut guess = [0; 4];
        match field.coding {
            Coding::Rotation { limit, .. } => {
                let quaternion = predict_rotation(field, basis, numbers);
                let left_out = match self.numbers[field.at] {
                    Number::Off(off) => (largest(&quaternion) + off) & 3,
                    Number::Plain(number) => number & 3,
                };
                guess[1..].copy_from_slice(&fold(&quaternion, left_out, limit));
                // The first number was coded modulo 4: guess and difference must add up to `left_out`.
                guess[0] = match self.numbers[field.at] {
                    Number::Off(off) => left_out - off,
                    Number::Plain(_) => 0,
                };
            }
            Coding::Choice { .. } | Coding::Exact { .. } => {
                let then = guess.iter_mut().enumerate().take(field.coding.width());
                then.for_each(|(place, guess)| *guess = basis.then(field.at + place));
            }
            _ => predict(field, basis, numbers, &mut guess),
        }
        guess
    }
}

/// Reads the states of one frame.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    from: RangeDecoder<'a>,
    left: u8,
    texts: usize,
}

impl<'a> Decoder<'a> {
    /// Reads `count` states that `sender` coded; `coded` takes one after the other.
    pub(crate) fn new(sender: PeerId, count: u8, bytes: &'a [u8], coded: &mut Coded) -> Self {
        coded.models.clear();
        coded.id = ObjectId { creator: sender, number: 0 };
        (coded.stamp, coded.kind) = (FIRST_STAMP, Kind::SESSION);
        Self { from: RangeDecoder::new(bytes), left: count, texts: 0 }
    }

    /// Reads the next state. Returns whether there was one.
    ///
    /// # Errors
    /// Any [`DecodeError`]. The rest of the frame cannot be read then.
    pub(crate) fn read(&mut self, schemas: &Schemas, coded: &mut Coded) -> Result<bool, DecodeError> {
        if self.left == 0 {
            self.from.end()?;
            return Ok(false);
        }
        self.left -= 1;
        coded.numbers.clear();
        coded.ends.clear();
        coded.bytes.clear();
        let (schema, first) = self.read_head(schemas, coded)?;
        let age = coded.models.age.decode_number(&mut self.from);
        coded.age = u64::try_from(age).map_err(|_| DecodeError::Invalid)?;
        if let Some(schema) = schema {
            coded.numbers.resize(schema.numbers(), Number::Off(0));
            for (index, field) in schema.coded() {
                self.read_numbers(first, index, field, coded);
            }
            self.from.check()?;
        }
        for index in 0..self.texts {
            match coded.models.changed.decode(&mut self.from) {
                0 => continue,
                1 => {}
                _ => return Err(DecodeError::Invalid),
            }
            let len = self.from.bits(LENGTH_BITS) as usize;
            debug_assert!(len <= FIELD_MAX, "eight bits");
            if schema.is_some_and(|schema| len > schema.text_max(index)) {
                return Err(DecodeError::Invalid);
            }
            for _ in 0..len {
                coded.bytes.push(self.from.bits(8) as u8);
            }
            coded.ends.push((index, coded.bytes.len()));
            self.from.check()?;
        }
        Ok(true)
    }

    fn read_head<'s>(
        &mut self,
        schemas: &'s Schemas,
        coded: &mut Coded,
    ) -> Result<(Option<&'s Schema>, usize), DecodeError> {
        let head = coded.models.head.decode(&mut self.from);
        coded.baseline = match head >> BASELINE_SHIFT {
            class @ 0..=2 => Baseline::Frames(3 - class as u8),
            _ => match decode_wide(&mut self.from) {
                0 => Baseline::None,
                back => Baseline::Own(back),
            },
        };
        if head & OTHER_ORIGIN != 0 {
            if self.from.bits(1) == 1 {
                coded.id = ObjectId { creator: PeerId(self.from.bits(32)), number: 0 };
            }
            let high = decode_wide(&mut self.from);
            let term = Term(u64::from(high) << 32 | u64::from(decode_wide(&mut self.from)));
            coded.stamp = Stamp { term, counter: decode_wide(&mut self.from) };
        }
        let gap = coded.models.gap.decode_number(&mut self.from);
        coded.id.number = coded.id.number.wrapping_add(1).wrapping_add_signed(gap);
        let is_other_kind = head & OTHER_KIND != 0;
        if is_other_kind {
            coded.kind = Kind(self.from.bits(KIND_BITS) as u8);
        }
        if coded.kind == Kind::SESSION {
            return Err(DecodeError::Invalid);
        }
        let schema = schemas.of(coded.kind);
        let Some(schema) = schema else {
            if is_other_kind {
                self.texts = self.from.bits(COUNT_BITS) as usize;
            }
            return if self.texts > FIELDS_MAX { Err(DecodeError::TooLarge) } else { Ok((None, 0)) };
        };
        self.texts = schema.texts();
        let (models, from) = (&mut coded.models, &mut self.from);
        let first =
            models.find(coded.kind).unwrap_or_else(|| models.open(schema, |_| from.bits(SCALE_BITS) as u8));
        self.from.check()?;
        Ok((Some(schema), first))
    }

    fn read_numbers(&mut self, first: usize, index: usize, field: &Field, coded: &mut Coded) {
        for place in 0..field.coding.width() {
            let range = field.coding.range(place);
            let plain = |from: &mut RangeDecoder<'_>| {
                Number::Plain(range.0.wrapping_add(from.bits(plain_bits(range)).cast_signed()))
            };
            coded.numbers[field.at + place] = match (coded.baseline, &field.coding) {
                (Baseline::None, _) => plain(&mut self.from),
                (_, Coding::Choice { .. } | Coding::Exact { .. }) => {
                    match coded.models.changed.decode(&mut self.from) {
                        0 => Number::Off(0),
                        _ => plain(&mut self.from),
                    }
                }
                (_, Coding::Rotation { .. }) if place == 0 => {
                    Number::Off((coded.models.left_out(first, index).decode(&mut self.from) & 3) as i32)
                }
                _ => Number::Off(coded.models.numbers(first, index).decode_number(&mut self.from)),
            };
        }
    }
}
