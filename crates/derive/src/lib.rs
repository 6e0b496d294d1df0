//! The derive macros of `samovar-objects` ([`macro@Replicate`]) and of `samovar` ([`macro@Object`],
//! [`macro@Message`], [`macro@Value`]).

mod attributes;
mod coder;
mod expand;
mod facade;
mod form;
mod plan;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a plain struct or enum part of replicated objects: implements `Replicate` and `Pack` for it, and `Kinded`
/// when the type states its kind.
///
/// ```
/// use samovar_objects::{Kinded, Replicate, State};
///
/// #[derive(Replicate, Debug, PartialEq)]
/// #[replicate(kind = 3)]
/// struct Teapot {
///     #[replicate(range = 64.0, precision = 0.001, rate = velocity)]
///     place: [f32; 3],
///     #[replicate(range = 20.0, precision = 0.01)]
///     velocity: [f32; 3],
///     #[replicate(bound = 20)]
///     name: String,
///     spout: Spout,
/// }
///
/// #[derive(Replicate, Debug, PartialEq)]
/// enum Spout { Cold, Hot }
///
/// let (place, velocity) = ([1.0, 2.0, 99.0], [0.0; 3]);
/// let betty = Teapot { place, velocity, name: "Betty".to_owned(), spout: Spout::Hot };
/// let mut state = State::default();
/// betty.write(&mut state);
/// assert_eq!(state.numbers(), [1_000, 2_000, 64_000, 0, 0, 0, 1]);
/// assert_eq!(Teapot::read(&mut state.reader())?.place, [1.0, 2.0, 64.0]);
/// assert_eq!(Teapot::schema().fields()[0].name, "place");
/// # Ok::<(), samovar_objects::StateError>(())
/// ```
///
/// # On a type
///
/// | attribute | meaning |
/// |---|---|
/// | `kind = 3` | its objects are of this kind, 1 to 255; implements `Kinded` |
/// | `crate = path` | where `samovar_objects` is found, when not under its own name: `samovar_session::objects` |
///
/// # On a field
///
/// Values of bounds and precisions are constant expressions.
///
/// | type of the field | attributes | how it travels |
/// |---|---|---|
/// | `f32`, `f64`, arrays of 1 to 4 of them, your own `Floats` | `range = 64.0, precision = 0.001`, or `min = …, max = …, precision = …` | rounded to the nearest multiple of the precision; `range` is to both sides of zero |
/// | the same, up to 128 bits | `exact` | all bits |
/// | `f32`, `f64` | `angle, precision = 0.001` | radians, wrapped, read back above −π and up to π |
/// | `[f32; 4]` | `rotation, precision = 0.0087` | a unit quaternion (x, y, z, w) by its smallest three components; the precision is in radians, and the error is 0.6 of it on average. Other quaternions are scaled to length 1; one without length becomes the identity |
/// | `u8`, `i8`, `u16`, `i16` | | unchanged |
/// | `u32`, `i32`, `u64`, `i64` | | all bits |
/// | integers | `min = 0, max = 10`, or `range = 10` | clamped to the bounds |
/// | `bool`, enums without data that derive `Replicate` | | one number: which of the values it is |
/// | `PeerId`, `SeatId`, `ObjectId`, `Term`, `Time`, `Duration` | | unchanged |
/// | structs that derive `Replicate` | | their fields in line |
/// | arrays, and tuples of up to four, of types that need no attribute | | in line, one after the other |
/// | `String` | `bound = 20` | UTF-8 of at most this many bytes; a longer text is cut between two characters |
/// | `Option<…>` | those of the inner type | packed |
/// | `Vec<…>` | `bound = 8`, and those of the items | packed; items beyond the bound are left off |
/// | enums with data that derive `Replicate` | stated on the fields of their variants | packed |
/// | any of these | `packed` | packed instead of in line |
/// | arrays and tuples of numbers | those of their numbers | packed |
///
/// A *packed* value is one text of at most 255 bytes, bit by bit, and travels whole when it changes. A list of lists
/// or of strings states a `bound` for each level, the outermost first. `usize`, `char`, maps and references are
/// refused.
///
/// # How a number moves
///
/// Between two updates a number is predicted, and only the prediction's error is sent.
///
/// | attribute | meaning |
/// |---|---|
/// | none | the number stays as it is; a rate behaves as with `smooth` |
/// | `smooth` | the number goes on changing as before |
/// | `rate = velocity` | the number changes each second by the value of that field of the same struct. The rate has a range, no rate of its own, and as many numbers. The rate of an `angle` is in radians. The rate of a `rotation` is three numbers: the angular velocity about the axes of the world |
/// | `held` | on a rate: the number stays as it is |
///
/// These attributes apply to numbers with a stated range, to angles and to rotations, unless these are packed.
///
/// # The place of an object
///
/// `place` on a field of two or three numbers of a stated range makes that field the object's place. Members can then
/// choose to be told only of near objects. A type has at most one place, which may be that of a nested struct. Two
/// places are refused when the schema is made.
///
/// ```
/// use samovar_objects::{Replicate, State};
///
/// #[derive(Replicate, Debug, PartialEq)]
/// enum Order {
///     Wait,
///     Pour { #[replicate(min = 0.0, max = 1.0, precision = 0.01)] much: f32 },
/// }
///
/// #[derive(Replicate, Debug, PartialEq)]
/// struct Cup {
///     #[replicate(angle, precision = 0.001, rate = turning)]
///     handle: f32,
///     #[replicate(range = 10.0, precision = 0.01, held)]
///     turning: f32,
///     #[replicate(exact)]
///     volume: f64,
///     #[replicate(min = 0, max = 3)]
///     sugar: u32,
///     order: Order,
///     #[replicate(range = 1.0, precision = 0.1)]
///     stain: Option<[f32; 2]>,
///     #[replicate(bound = 4, bound = 12)]
///     drinkers: Vec<String>,
/// }
///
/// let cup = Cup {
///     handle: 1.0,
///     turning: -2.5,
///     volume: 0.1,
///     sugar: 2,
///     order: Order::Pour { much: 0.5 },
///     stain: None,
///     drinkers: vec!["Ann".to_owned(), "Bo".to_owned()],
/// };
/// let mut state = State::default();
/// cup.write(&mut state);
/// let arrived = Cup::read(&mut state.reader())?;
/// assert_eq!((arrived.sugar, &arrived.order, &arrived.drinkers), (2, &cup.order, &cup.drinkers));
/// # Ok::<(), samovar_objects::StateError>(())
/// ```
///
/// # Errors at compile time
///
/// A float without a stated precision:
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { place: [f32; 3] }
/// ```
/// A string or a list without a bound, also in an option:
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { names: Option<Vec<u8>> }
/// ```
/// A rate that does not exist, whose numbers do not match in count, or that has no range:
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(range = 1.0, precision = 0.1, rate = speed)] place: f32 }
/// ```
/// ```compile_fail,E0080
/// #[derive(samovar_objects::Replicate)]
/// struct Pot {
///     #[replicate(range = 1.0, precision = 0.1, rate = speed)]
///     place: [f32; 2],
///     #[replicate(range = 1.0, precision = 0.1)]
///     speed: f32,
/// }
/// ```
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(range = 1.0, precision = 0.1, rate = speed)] place: f32, speed: u8 }
/// ```
/// A range with more steps than the type can tell apart, a range without steps, a list that no field can hold:
/// ```compile_fail,E0080
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(range = 1e6, precision = 0.001)] place: f32 }
/// ```
/// ```compile_fail,E0080
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(min = 3, max = 3)] level: u8 }
/// ```
/// ```compile_fail,E0080
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(bound = 65)] peers: Vec<u32> }
/// ```
/// Motion of a packed value, contradicting attributes, and unknown ones:
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(range = 1.0, precision = 0.1, smooth)] place: Option<f32> }
/// ```
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(exact, precision = 0.1)] place: f32 }
/// ```
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { #[replicate(accurate)] place: f32 }
/// ```
/// Types of no agreed size, type parameters, the session object's kind:
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot { level: usize }
/// ```
/// ```compile_fail
/// #[derive(samovar_objects::Replicate)]
/// struct Pot<T> { inside: T }
/// ```
/// ```compile_fail,E0080
/// #[derive(samovar_objects::Replicate)]
/// #[replicate(kind = 0)]
/// struct Pot { level: u8 }
/// ```
#[proc_macro_derive(Replicate, attributes(replicate))]
pub fn replicate(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct an object of a game by the crate `samovar`: every member sees it, one of them owns and changes it.
///
/// Fields take the attributes that [`macro@Replicate`] lists, under the name `field`. The struct takes `object`:
///
/// | attribute | meaning |
/// |---|---|
/// | `orphan = "seat"` | the default: when its owner goes, it waits for the owner's return, and ends when the seat is given up |
/// | `orphan = "host"` | the host takes it over |
/// | `orphan = "nearest"` | the member that is nearest to it takes it over; a field is its `place` |
/// | `orphan = "end"` | it ends when its owner goes |
/// | `access = "owner"` | the default: no member may ask for it |
/// | `access = "free"` | members may ask for it while the host owns it |
/// | `access = "touch"` | the member that touches it first gets it |
/// | `reliable` | all its changes are delivered, in order; without this attribute only the newest one is |
/// | `crate = path` | where `samovar` is found, when not under its own name |
#[proc_macro_derive(Object, attributes(object, field))]
pub fn object(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    facade::expand(&input, facade::Part::Object).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct or an enum a message of a game by the crate `samovar`, or a request that members send to the game's
/// host. Fields take the attributes that [`macro@Replicate`] lists, under the name `field`.
#[proc_macro_derive(Message, attributes(object, field))]
pub fn message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    facade::expand(&input, facade::Part::Message).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct or an enum a part of objects and messages of a game by the crate `samovar`. Fields take the
/// attributes that [`macro@Replicate`] lists, under the name `field`.
#[proc_macro_derive(Value, attributes(object, field))]
pub fn value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    facade::expand(&input, facade::Part::Value).unwrap_or_else(syn::Error::into_compile_error).into()
}
