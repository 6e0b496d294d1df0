//! The form of a field's type, as far as a macro can see it: by its spelling.

use syn::{Expr, GenericArgument, PathArguments, Type};

/// The form of a type.
pub(crate) enum Form<'a> {
    Option(&'a Type),
    List(&'a Type),
    String,
    /// An array of any type but floats. Arrays of floats have the form `Floats`.
    Array(&'a Type, &'a Expr),
    Tuple(Vec<&'a Type>),
    /// `f32`, `f64` or an array of them.
    Floats,
    /// A primitive integer.
    Integer,
    /// `bool`, which no attribute can code in another way.
    Flag,
    /// `usize`, `u128` and the like, whose size is not agreed or not supported.
    Unsupported(&'static str),
    /// Any other type.
    Other,
}

pub(crate) fn form(ty: &Type) -> Form<'_> {
    match ty {
        Type::Group(group) => form(&group.elem),
        Type::Paren(paren) => form(&paren.elem),
        Type::Tuple(tuple) => Form::Tuple(tuple.elems.iter().collect()),
        Type::Array(array) => match form(&array.elem) {
            Form::Floats if !matches!(&*array.elem, Type::Array(_)) => Form::Floats,
            _ => Form::Array(&array.elem, &array.len),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Form::Other };
            let argument = match &last.arguments {
                PathArguments::AngleBracketed(list) => list.args.first(),
                _ => None,
            };
            match (last.ident.to_string().as_str(), argument) {
                ("Option", Some(GenericArgument::Type(inner))) => Form::Option(inner),
                ("Vec", Some(GenericArgument::Type(inner))) => Form::List(inner),
                ("String", None) => Form::String,
                ("f32" | "f64", None) => Form::Floats,
                ("u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "u64" | "i64", None) => Form::Integer,
                ("bool", None) => Form::Flag,
                ("usize" | "isize", None) => {
                    Form::Unsupported("its size differs between machines; use u32 or i32")
                }
                ("u128" | "i128", None) => {
                    Form::Unsupported("128 bits are too wide; use u64, i64 or two of them")
                }
                ("char", None) => Form::Unsupported("a char is not supported; use u32, u8 or a String"),
                _ => Form::Other,
            }
        }
        Type::Reference(_) => {
            Form::Unsupported("a reference cannot be read back; use a type that owns its value")
        }
        _ => Form::Other,
    }
}
