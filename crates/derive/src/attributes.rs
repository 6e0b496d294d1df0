//! The `#[replicate(…)]` attributes, as they are written.

use proc_macro2::Span;
use syn::{
    Attribute, Expr, Ident, LitInt, LitStr, Member, Path, Result, meta::ParseNestedMeta, spanned::Spanned,
};

/// The names of our attributes: `replicate` of `Replicate`, the others of the derives of `samovar`.
const NAMES: [&str; 3] = ["replicate", "object", "field"];

/// The attributes of a struct or an enum.
#[derive(Default)]
pub(crate) struct OfType {
    /// The kind of the type's objects.
    pub(crate) kind: Option<Expr>,
    /// The path of `samovar_objects`; for the derives of `samovar`, the path of `samovar`.
    pub(crate) krate: Option<Path>,
    /// The fate of an object when its owner goes.
    pub(crate) orphan: Option<LitStr>,
    /// Which members may ask for an object.
    pub(crate) access: Option<LitStr>,
    /// Whether changes travel on the reliable lane.
    pub(crate) reliable: Option<Span>,
}

impl OfType {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut all = Self::default();
        for attribute in ours(attributes) {
            let is_object = attribute.path().is_ident("object");
            attribute.parse_nested_meta(|meta| {
                if !is_object && meta.path.is_ident("kind") {
                    once(&mut all.kind, &meta, |meta| meta.value()?.parse())
                } else if meta.path.is_ident("crate") {
                    once(&mut all.krate, &meta, |meta| meta.value()?.call(Path::parse_mod_style))
                } else if is_object && meta.path.is_ident("orphan") {
                    once(&mut all.orphan, &meta, |meta| meta.value()?.parse())
                } else if is_object && meta.path.is_ident("access") {
                    once(&mut all.access, &meta, |meta| meta.value()?.parse())
                } else if is_object && meta.path.is_ident("reliable") {
                    once(&mut all.reliable, &meta, |meta| Ok(meta.path.span()))
                } else if is_object {
                    Err(meta.error("an object takes `orphan = …`, `access = …`, `reliable` and `crate = …`"))
                } else {
                    Err(meta.error("a type takes `kind = …` and `crate = …`; how a value is coded is stated on its field"))
                }
            })?;
        }
        Ok(all)
    }
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct OfField {
    /// The span of the first of these attributes.
    pub(crate) span: Option<Span>,
    pub(crate) range: Option<Expr>,
    pub(crate) min: Option<Expr>,
    pub(crate) max: Option<Expr>,
    pub(crate) precision: Option<Expr>,
    pub(crate) rate: Option<Member>,
    pub(crate) smooth: Option<Span>,
    pub(crate) held: Option<Span>,
    pub(crate) exact: Option<Span>,
    pub(crate) angle: Option<Span>,
    pub(crate) rotation: Option<Span>,
    pub(crate) packed: Option<Span>,
    pub(crate) place: Option<Span>,
    /// The bounds of the lists and strings in the type, the outermost first.
    pub(crate) bounds: Vec<Expr>,
}

impl OfField {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut all = Self::default();
        for attribute in ours(attributes) {
            all.span.get_or_insert(attribute.span());
            attribute.parse_nested_meta(|meta| all.take(&meta))?;
        }
        Ok(all)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let value = |meta: &ParseNestedMeta<'_>| meta.value()?.parse();
        let flag = |meta: &ParseNestedMeta<'_>| Ok(meta.path.span());
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("range") => once(&mut self.range, meta, value),
            Some("min") => once(&mut self.min, meta, value),
            Some("max") => once(&mut self.max, meta, value),
            Some("precision") => once(&mut self.precision, meta, value),
            Some("rate") => once(&mut self.rate, meta, member),
            Some("smooth") => once(&mut self.smooth, meta, flag),
            Some("held") => once(&mut self.held, meta, flag),
            Some("exact") => once(&mut self.exact, meta, flag),
            Some("angle") => once(&mut self.angle, meta, flag),
            Some("rotation") => once(&mut self.rotation, meta, flag),
            Some("place") => once(&mut self.place, meta, flag),
            Some("packed") => once(&mut self.packed, meta, flag),
            Some("bound") => {
                self.bounds.push(value(meta)?);
                Ok(())
            }
            _ => Err(meta.error(
                "a field takes range, min, max, precision, smooth, held, rate, exact, angle, rotation, bound, packed and place",
            )),
        }
    }
}

fn ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| NAMES.iter().any(|name| attribute.path().is_ident(name)))
}

fn once<'a, T>(
    slot: &mut Option<T>,
    meta: &ParseNestedMeta<'a>,
    read: impl FnOnce(&ParseNestedMeta<'a>) -> Result<T>,
) -> Result<()> {
    let value = read(meta)?;
    if slot.replace(value).is_some() {
        return Err(meta.error("this is stated twice; state it once"));
    }
    Ok(())
}

/// The name of a field, or its number in a tuple struct.
fn member(meta: &ParseNestedMeta<'_>) -> Result<Member> {
    let input = meta.value()?;
    if input.peek(LitInt) { input.parse() } else { input.parse::<Ident>().map(Member::Named) }
}
