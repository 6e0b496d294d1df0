//! The macro's refusals.

use crate::expand::expand;
use crate::facade::{self, Part};

fn refusal(input: &str) -> String {
    match expand(&syn::parse_str(input).unwrap()) {
        Ok(tokens) => panic!("{input} was accepted: {tokens}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_refusal_says_what_to_write_instead() {
    let field = |attributes: &str, ty: &str| {
        refusal(&format!("struct Pot {{ #[replicate({attributes})] a: {ty}, b: u8 }}"))
    };
    let cases = [
        ("", "f32", "`range = 64.0, precision = 0.001`, or `exact`"),
        ("", "Option<[f64; 2]>", "`range = 64.0, precision = 0.001`, or `exact`"),
        ("", "String", "`bound = 20`"),
        ("", "Vec<u8>", "`bound = 8`"),
        ("bound = 3", "Vec<String>", "`bound = 20`"),
        ("bound = 3", "u8", "no list and no string"),
        ("precision = 1.0", "f32", "state the range as well"),
        ("range = 1.0", "f32", "a float needs a `precision` as well"),
        ("range = 1", "f32", "a float needs a `precision` beside its range"),
        ("min = 1.0, precision = 1.0", "f32", "state both `min` and `max`"),
        ("range = 1, min = 1", "u8", "not both"),
        ("range = 1.0, precision = 0.1", "u8", "an integer takes `min` and `max` without `precision`"),
        ("range = 1, precision = 0.1", "(u8, bool)", "nothing here is a float"),
        ("min = 0, max = 1", "bool", "nothing here is an integer"),
        ("exact, precision = 1.0", "f32", "drop the `precision`"),
        ("angle, exact", "f32", "state one of"),
        ("rotation", "[f32; 4]", "state the `precision` in radians"),
        ("smooth", "u8", "add `min` and `max`"),
        ("exact, place", "[f32; 3]", "a place is numbers with a stated range"),
        ("exact, smooth", "f32", "instead of `exact`"),
        ("range = 9, smooth", "Option<u8>", "a packed field travels whole"),
        ("range = 9, smooth, rate = b", "u8", "state one of `smooth`, `held` and `rate`"),
        ("range = 9, rate = c", "u8", "no such field"),
        ("range = 9, rate = b", "u8", "add `range` and `precision` to that field"),
        ("range = 9, rate = a", "u8", "a rate has no rate itself"),
        ("range = 9, range = 9", "u8", "state it once"),
        ("accuracy = 9", "u8", "a field takes range, min, max"),
        ("", "usize", "use u32 or i32"),
        ("", "&'static str", "owns its value"),
    ];
    for (attributes, ty, wanted) in cases {
        let said = field(attributes, ty);
        assert!(said.contains(wanted), "{attributes} on {ty}: {said}");
    }
}

#[test]
fn refusal_of_a_type_says_what_is_wrong_with_it() {
    for (input, wanted) in [
        ("struct Pot<T> { a: T }", "a type with parameters"),
        ("union Pot { a: u8 }", "use an enum"),
        ("enum Pot {}", "give it one"),
        ("#[replicate(range = 1)] struct Pot { a: u8 }", "stated on its field"),
        ("enum Pot { A { #[replicate(range = 1, smooth)] a: i8 } }", "what is packed does not move"),
    ] {
        let said = refusal(input);
        assert!(said.contains(wanted), "{input}: {said}");
    }
}

#[test]
fn object_refusals_name_the_attributes_of_samovar() {
    let refusal = |input: &str| {
        let parsed = syn::parse_str(input).unwrap();
        facade::expand(&parsed, Part::Object).unwrap_err().to_string()
    };
    for (input, said) in [
        ("enum Pot { Full, Empty }", "an object is a struct with fields"),
        ("struct Pot;", "an object is a struct with fields"),
        ("#[object(orphan = \"goes\")] struct Pot { a: u8 }", "`orphan` is \"seat\""),
        ("#[object(access = \"all\")] struct Pot { a: u8 }", "`access` is \"owner\""),
        ("#[object(access = \"touch\")] struct Pot { a: u8 }", "waits for nobody"),
        ("#[object(kind = 3)] struct Pot { a: u8 }", "an object takes `orphan = …`"),
        ("struct Pot { #[field(smooth)] a: u8 }", "add `min` and `max`"),
    ] {
        let refusal = refusal(input);
        assert!(refusal.contains(said), "{input}: {refusal}");
    }
}
