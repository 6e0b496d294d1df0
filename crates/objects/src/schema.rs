//! Schemas: the fields of the objects of a kind, and how each is coded (PROTOCOL §4.6).
//!
//! Both ends must hold the same schemas, or they read each other's updates wrongly: a game folds [`Schemas::hash`]
//! into its parameters, so that peers that differ refuse each other (PROTOCOL §1.1).
//!
//! A state is a list of *numbers*, quantised and predicted, and a list of *texts*, bytes that travel whole. A kind
//! without a schema has texts only, as many as its objects are created with.

use samovar_wire::limits::{FIELD_MAX, FIELDS_MAX};
use samovar_wire::object::Traits;
use samovar_wire::{Kind, SortedMap, digest};

/// The most numbers that the fields of one object hold together.
pub const NUMBERS_MAX: usize = 64;

/// How the numbers of a field move between two updates; a better guess takes fewer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Motion {
    /// The numbers stay the same until they change.
    Held,
    /// The numbers continue their change: a velocity, a lever.
    Smooth,
    /// The numbers change at the rate, per second, of another field of the same object: a position by its velocity, a
    /// heading by its spin. The rate is a [`Coding::Grid`] of the same width; for a [`Coding::Rotation`] one of width
    /// 3, the angular velocity about the axes of the world.
    Rated(u8),
}

/// How a field is coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coding {
    /// One to four numbers on a grid of steps: each number stands for the value of that many times `step`.
    Grid {
        /// How many numbers.
        width: u8,
        /// The smallest number.
        min: i32,
        /// The largest number.
        max: i32,
        /// The size of one step, in the field's unit.
        step: f64,
        /// How the numbers move.
        motion: Motion,
    },
    /// An angle: one number from 0 to `turn` − 1. A step is a whole turn divided by `turn`. The rate is in radians.
    Angle {
        /// Steps of a whole turn, at least 4.
        turn: i32,
        /// How the angle moves.
        motion: Motion,
    },
    /// A unit quaternion by its smallest three components, in four numbers. The first number says which component (x,
    /// y, z, w) is the largest: it is left out, and positive. The others are the rest in order, where `limit` stands
    /// for √½.
    Rotation {
        /// The largest absolute value of each of the other three numbers.
        limit: i32,
        /// How the rotation moves.
        motion: Motion,
    },
    /// One number from 0 to `count` − 1: a variant, a flag.
    Choice {
        /// How many values there are.
        count: i32,
    },
    /// One to four numbers of 32 bits that are not to be rounded: exact floats.
    Exact {
        /// How many numbers.
        width: u8,
    },
    /// Bytes that travel whole when they change.
    Text {
        /// The most bytes, up to `FIELD_MAX`.
        max: u8,
    },
}

impl Coding {
    /// How many numbers the field has.
    #[must_use]
    pub const fn width(&self) -> usize {
        match *self {
            Self::Grid { width, .. } | Self::Exact { width } => width as usize,
            Self::Angle { .. } | Self::Choice { .. } => 1,
            Self::Rotation { .. } => 4,
            Self::Text { .. } => 0,
        }
    }

    /// How the field's numbers move.
    #[must_use]
    pub const fn motion(&self) -> Motion {
        match *self {
            Self::Grid { motion, .. } | Self::Angle { motion, .. } | Self::Rotation { motion, .. } => motion,
            Self::Choice { .. } | Self::Exact { .. } | Self::Text { .. } => Motion::Held,
        }
    }

    /// The smallest and the largest value of the field's number at `place`.
    #[must_use]
    pub const fn range(&self, place: usize) -> (i32, i32) {
        match *self {
            Self::Grid { min, max, .. } => (min, max),
            Self::Angle { turn, .. } => (0, turn - 1),
            Self::Rotation { .. } if place == 0 => (0, 3),
            Self::Rotation { limit, .. } => (-limit, limit),
            Self::Choice { count } => (0, count - 1),
            Self::Exact { .. } | Self::Text { .. } => (i32::MIN, i32::MAX),
        }
    }

    /// Bytes that differ for any two codings with different wire formats.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        let (tag, first, second, step) = match *self {
            Self::Grid { min, max, step, .. } => (0, min, max, step),
            Self::Angle { turn, .. } => (1, turn, 0, 0.0),
            Self::Rotation { limit, .. } => (2, limit, 0, 0.0),
            Self::Choice { count } => (3, count, 0, 0.0),
            Self::Exact { .. } => (4, 0, 0, 0.0),
            Self::Text { max } => (5, i32::from(max), 0, 0.0),
        };
        let (motion, rate) = match self.motion() {
            Motion::Held => (0, 0),
            Motion::Smooth => (1, 0),
            Motion::Rated(rate) => (2, rate),
        };
        let numbers = [first, second].into_iter().flat_map(i32::to_le_bytes);
        [tag, self.width() as u8, motion, rate].into_iter().chain(numbers).chain(step.to_bits().to_le_bytes())
    }

    const fn is_possible(&self) -> bool {
        match *self {
            Self::Grid { width, min, max, step, .. } => {
                width >= 1 && width <= 4 && min < max && step > 0.0 && step < f64::INFINITY
            }
            Self::Angle { turn, .. } => turn >= 4,
            Self::Rotation { limit, .. } => limit >= 1 && limit <= 1 << 20,
            Self::Choice { count } => count >= 1,
            Self::Exact { width } => width >= 1 && width <= 4,
            Self::Text { max } => max as usize <= FIELD_MAX,
        }
    }
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// The field's name, for people.
    pub name: &'static str,
    /// How the field is coded.
    pub coding: Coding,
    /// The index of its first number among the object's numbers, or of its text among the texts.
    pub at: usize,
    /// The rate by which it moves, if it moves by another field.
    pub(crate) rate: Rate,
}

/// The rate of a field: the index of the rate's first number among the object's numbers, and how many steps a second
/// of the field one step of the rate means. For a rotation the latter is half the rate's step, in radians.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rate {
    pub(crate) at: usize,
    pub(crate) scale: f64,
}

/// The schema of one kind of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    kind: Kind,
    fields: Vec<Field>,
    /// The fields with their indices, in the order of coding: a rate comes before the field that moves by it.
    coded: Vec<(usize, Field)>,
    numbers: usize,
    texts: usize,
    /// Index of the field that says where the object is.
    place: Option<u8>,
}

/// Collects the fields of a [`Schema`], in order.
#[derive(Clone, Debug, Default)]
pub struct SchemaBuilder {
    fields: Vec<Field>,
    numbers: usize,
    texts: usize,
    place: Option<u8>,
}

impl SchemaBuilder {
    /// How many fields there are so far: the index of the next one.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are no fields yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields so far.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Adds a field.
    pub fn field(&mut self, name: &'static str, coding: Coding) {
        let count = if matches!(coding, Coding::Text { .. }) { &mut self.texts } else { &mut self.numbers };
        self.fields.push(Field { name, coding, at: *count, rate: Rate::default() });
        *count += coding.width().max(1);
    }

    /// Makes the field of this index the place of the object: a [`Coding::Grid`] of two or three numbers. Members can
    /// choose to be told only of near objects; see `Objects::set_focus`.
    ///
    /// # Panics
    /// When another field is the place already.
    pub fn place(&mut self, index: usize) {
        let former = self.place.replace(index as u8);
        assert!(former.is_none(), "an object is in one place: two fields say where");
    }

    /// The schema of a kind.
    ///
    /// # Panics
    /// When the schema is impossible: see [`SchemaBuilder::try_build`].
    #[must_use]
    pub fn build(self, kind: Kind) -> Schema {
        match self.try_build(kind) {
            Ok(schema) => schema,
            Err(why) => panic!("{why}"),
        }
    }

    /// The schema of a kind.
    ///
    /// # Errors
    /// A text for people when the schema is impossible: no field, the kind of the session object, more than
    /// `FIELDS_MAX` fields or [`NUMBERS_MAX`] numbers, an empty range, or a rate or a place that is no field of the right
    /// form.
    pub fn try_build(self, kind: Kind) -> Result<Schema, String> {
        let Self { mut fields, numbers, texts, place } = self;
        let check = |holds: bool, why: &dyn Fn() -> String| if holds { Ok(()) } else { Err(why()) };
        if let Some(place) = place {
            let coding = fields.get(usize::from(place)).map(|field| field.coding);
            let fits = matches!(coding, Some(Coding::Grid { width: 2 | 3, .. }));
            check(fits, &|| {
                "the place of an object is a field with a range and two or three numbers".to_owned()
            })?;
        }
        check(kind != Kind::SESSION, &|| "kind 0 is the session object's".to_owned())?;
        let is_counted = !fields.is_empty() && fields.len() <= FIELDS_MAX;
        check(is_counted, &|| format!("an object has 1 to {FIELDS_MAX} fields"))?;
        check(numbers <= NUMBERS_MAX, &|| {
            format!("the fields hold {numbers} numbers, more than {NUMBERS_MAX}")
        })?;
        for field in &fields {
            check(field.coding.is_possible(), &|| format!("field {} cannot be coded so", field.name))?;
            let Motion::Rated(rate) = field.coding.motion() else { continue };
            let wanted =
                if matches!(field.coding, Coding::Rotation { .. }) { 3 } else { field.coding.width() };
            let fits = fields.get(usize::from(rate)).is_some_and(|rate| {
                matches!(rate.coding, Coding::Grid { width, motion, .. }
                    if usize::from(width) == wanted && !matches!(motion, Motion::Rated(_)))
            });
            check(fits, &|| {
                format!(
                    "the rate of field {} is no field of the same width that has no rate itself",
                    field.name
                )
            })?;
        }
        for index in 0..fields.len() {
            fields[index].rate = rate(&fields, &fields[index].coding);
        }
        let indexed = fields.iter().copied().enumerate();
        let is_rated = |(_, field): &(usize, Field)| matches!(field.coding.motion(), Motion::Rated(_));
        let (rated, plain): (Vec<_>, Vec<_>) = indexed.partition(is_rated);
        let coded = plain.into_iter().chain(rated).collect();
        Ok(Schema { kind, fields, coded, numbers, texts, place })
    }
}

fn rate(fields: &[Field], coding: &Coding) -> Rate {
    let Motion::Rated(rate) = coding.motion() else { return Rate::default() };
    let Field { at, coding: Coding::Grid { step: steps, .. }, .. } = fields[usize::from(rate)] else {
        return Rate::default();
    };
    let scale = match *coding {
        Coding::Grid { step, .. } => steps / step,
        Coding::Angle { turn, .. } => steps / core::f64::consts::TAU * f64::from(turn),
        _ => steps / 2.0,
    };
    Rate { at, scale }
}

impl Schema {
    /// The kind of the objects that it describes.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The fields.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The fields with their indices, in the order in which they are coded.
    pub(crate) fn coded(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.coded.iter().map(|(index, field)| (*index, field))
    }

    /// The place of an object with these numbers, in the field's unit; `None` without a field for the place. If that
    /// field has two numbers, the third coordinate is zero.
    #[must_use]
    pub fn place_of(&self, numbers: &[i32]) -> Option<[f32; 3]> {
        let field = self.fields.get(usize::from(self.place?))?;
        let Coding::Grid { width, step, .. } = field.coding else { return None };
        let mut place = [0.0; 3];
        let numbers = numbers.get(field.at..field.at + usize::from(width))?;
        for (axis, &number) in place.iter_mut().zip(numbers) {
            *axis = (f64::from(number) * step) as f32;
        }
        Some(place)
    }

    /// The rate of a field that moves by another: where the rate's first number is among the numbers of the object, and
    /// the steps of this field per second for one step of the rate. `None` for other fields, and for rotations.
    #[must_use]
    pub const fn rate_of(&self, field: &Field) -> Option<(usize, f64)> {
        match field.coding {
            Coding::Grid { motion: Motion::Rated(_), .. }
            | Coding::Angle { motion: Motion::Rated(_), .. } => Some((field.rate.at, field.rate.scale)),
            _ => None,
        }
    }

    /// How many numbers an object has.
    #[must_use]
    pub const fn numbers(&self) -> usize {
        self.numbers
    }

    /// The most bytes that the text with this index among the texts may have.
    pub(crate) fn text_max(&self, index: usize) -> usize {
        let mut texts = self.fields.iter().filter_map(|field| match field.coding {
            Coding::Text { max } => Some(usize::from(max)),
            _ => None,
        });
        texts.nth(index).unwrap_or(0)
    }

    /// How many texts an object has.
    #[must_use]
    pub const fn texts(&self) -> usize {
        self.texts
    }
}

/// The schemas of all kinds that have one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schemas {
    kinds: SortedMap<Kind, Schema>,
    traits: SortedMap<Kind, Traits>,
}

impl Schemas {
    /// No schemas: all objects are made of texts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a schema.
    ///
    /// # Panics
    /// When the kind has one already.
    #[must_use]
    pub fn with(mut self, schema: Schema) -> Self {
        let former = self.kinds.insert(schema.kind, schema);
        assert!(former.is_none(), "two schemas for one kind");
        self
    }

    /// Declares that all objects of this kind have exactly these traits. A game that declares traits for any kind has
    /// objects of the declared kinds only: a member that announces other objects breaks the rules.
    #[must_use]
    pub fn with_traits(mut self, traits: Traits) -> Self {
        self.traits.insert(traits.kind, traits);
        self
    }

    /// The traits that all objects of a kind have, if they are declared ([`Schemas::with_traits`]).
    #[must_use]
    pub fn traits_of(&self, kind: Kind) -> Option<Traits> {
        self.traits.get(&kind).copied()
    }

    /// Whether the game allows objects with these traits.
    pub(crate) fn permits(&self, traits: Traits) -> bool {
        self.traits.is_empty()
            || traits.kind == Kind::SESSION
            || self.traits.get(&traits.kind) == Some(&traits)
    }

    /// The schema of a kind, if it has one.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Option<&Schema> {
        self.kinds.get(&kind)
    }

    /// A number to fold into a game's parameters. It differs if the schemas differ on the wire.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut bytes = Vec::new();
        for schema in self.kinds.values() {
            bytes.extend(schema.kind.0.to_le_bytes());
            // No kind has as many fields as `u8::MAX`, so that stands for no place.
            bytes.extend([schema.fields.len() as u8, schema.place.unwrap_or(u8::MAX)]);
            schema.fields.iter().for_each(|field| bytes.extend(field.coding.bytes()));
        }
        for traits in self.traits.values() {
            bytes.extend([traits.kind.0, traits.flags()]);
        }
        let digest = digest(&[b"samovar schemas", &bytes]);
        u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn grid(step: f64, motion: Motion) -> Coding {
        Coding::Grid { width: 2, min: -10, max: 10, step, motion }
    }

    fn schema(step: f64) -> Schema {
        let mut builder = SchemaBuilder::default();
        builder.field("name", Coding::Text { max: 20 });
        builder.field("place", grid(step, Motion::Rated(2)));
        builder.field("velocity", grid(0.1, Motion::Smooth));
        builder.build(Kind(3))
    }

    #[test]
    fn a_rate_is_coded_before_the_field_it_moves() {
        let schema = schema(0.5);
        let order: Vec<_> = schema.coded().map(|(index, field)| (index, field.at)).collect();
        assert_eq!(order, [(0, 0), (2, 2), (1, 0)]);
        assert_eq!((schema.numbers(), schema.texts()), (4, 1));
    }

    #[test]
    fn schema_hash_differs_for_another_precision() {
        let hash = |step| Schemas::new().with(schema(step)).hash();
        assert_eq!(hash(0.5), hash(0.5));
        assert_ne!(hash(0.5), hash(0.25));
    }

    #[test]
    fn codings_that_differ_on_the_wire_have_different_bytes() {
        let coded = [
            grid(0.5, Motion::Held),
            grid(0.5, Motion::Smooth),
            grid(0.5, Motion::Rated(2)),
            grid(0.5, Motion::Rated(3)),
            Coding::Grid { width: 2, min: -9, max: 10, step: 0.5, motion: Motion::Held },
            Coding::Grid { width: 2, min: -10, max: 11, step: 0.5, motion: Motion::Held },
            Coding::Grid { width: 3, min: -10, max: 10, step: 0.5, motion: Motion::Held },
            Coding::Angle { turn: 20, motion: Motion::Held },
            Coding::Angle { turn: 21, motion: Motion::Held },
            Coding::Rotation { limit: 20, motion: Motion::Held },
            Coding::Choice { count: 20 },
            Coding::Exact { width: 1 },
            Coding::Exact { width: 2 },
            Coding::Text { max: 20 },
            Coding::Text { max: 21 },
        ];
        let bytes: std::collections::BTreeSet<Vec<u8>> = coded.iter().map(|c| c.bytes().collect()).collect();
        assert_eq!(bytes.len(), coded.len());
    }
}
