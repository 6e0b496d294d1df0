//! The adaptive models of one frame: each learns how likely the values of one kind of symbol are. They begin anew in
//! each frame, because the frame before may be lost.

use samovar_wire::symbol::Model;
use samovar_wire::{Kind, Stamp, Term};

use crate::schema::{Coding, Schema};

/// The stamp assumed before the first object: that of a creation in the first term.
pub(super) const FIRST_STAMP: Stamp = Stamp::created(Term::FIRST);

/// Models per field: one for the component that a rotation leaves out, and one for all other numbers.
const PER_FIELD: usize = 2;

/// The models that are learned within one frame.
#[derive(Clone, Debug)]
pub(super) struct Models {
    /// Whether kind, origin and baseline differ from those of the object before.
    pub(super) head: Model,
    /// The difference of the object's number from the expected one.
    pub(super) gap: Model,
    /// How old the sample is.
    pub(super) age: Model,
    /// Whether a text, a choice or an exact number differs from the baseline.
    pub(super) changed: Model,
    fields: Vec<Model>,
    kinds: Vec<(Kind, usize)>,
}

impl Models {
    pub(super) const fn new() -> Self {
        let (head, changed) = (Model::FALLING, Model::FALLING);
        let (gap, age) = (Model::of_scale(0), Model::of_scale(0));
        Self { head, gap, age, changed, fields: Vec::new(), kinds: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        let fresh = Self::new();
        (self.head, self.gap, self.age, self.changed) = (fresh.head, fresh.gap, fresh.age, fresh.changed);
        self.fields.clear();
        self.kinds.clear();
    }

    /// The index at which the models of a kind begin; `None` before its first object in this frame.
    pub(super) fn find(&self, kind: Kind) -> Option<usize> {
        self.kinds.iter().find(|(known, _)| *known == kind).map(|&(_, first)| first)
    }

    /// Adds the models of a kind, and returns the index at which they begin. `scale` gives the first scale of a
    /// field's model; it is called in the order of coding, for fields that have a scale.
    pub(super) fn open(&mut self, schema: &Schema, mut scale: impl FnMut(usize) -> u8) -> usize {
        let first = self.fields.len();
        self.kinds.push((schema.kind(), first));
        self.fields.resize(first + schema.fields().len() * PER_FIELD, Model::FALLING);
        for (index, field) in schema.coded() {
            if has_scale(&field.coding) {
                self.fields[first + index * PER_FIELD + 1] = Model::of_scale(scale(index));
            }
        }
        first
    }

    /// The model of a field's numbers.
    pub(super) fn numbers(&mut self, first: usize, field: usize) -> &mut Model {
        &mut self.fields[first + field * PER_FIELD + 1]
    }

    /// The model of the component that a rotation leaves out.
    pub(super) fn left_out(&mut self, first: usize, field: usize) -> &mut Model {
        &mut self.fields[first + field * PER_FIELD]
    }
}

/// Whether a field's numbers are coded by how far they are off a guess.
pub(super) const fn has_scale(coding: &Coding) -> bool {
    matches!(coding, Coding::Grid { .. } | Coding::Angle { .. } | Coding::Rotation { .. })
}

/// How many bits a number takes that is sent as it is.
pub(super) const fn plain_bits(range: (i32, i32)) -> u32 {
    u32::BITS - range.1.wrapping_sub(range.0).cast_unsigned().leading_zeros()
}

/// Bits of a field's scale, of a kind, of a text's length, and of a number of texts.
pub(super) const SCALE_BITS: u32 = 4;
pub(super) const KIND_BITS: u32 = 8;
pub(super) const LENGTH_BITS: u32 = 8;
pub(super) const COUNT_BITS: u32 = 7;

/// The parts of the head symbol: a bit for another kind, a bit for another origin, and above them the baseline.
pub(super) const OTHER_KIND: usize = 1;
pub(super) const OTHER_ORIGIN: usize = 2;
pub(super) const BASELINE_SHIFT: usize = 2;
