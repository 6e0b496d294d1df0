//! How each field is carried: by its type's own fields, as numbers, or packed into a text.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Error, Expr, Fields, Member, Path, Result, Type, spanned::Spanned};

use crate::attributes::OfField;
use crate::coder::Coder;
use crate::form::{Form, form};

/// One field and how it is carried.
pub(crate) struct Planned<'a> {
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
    pub(crate) attributes: OfField,
    pub(crate) span: Span,
    pub(crate) way: Way,
    pub(crate) packing: Packing,
}

/// How a field is carried in an object.
pub(crate) enum Way {
    /// As the field's type says, in as many schema fields as the type has.
    Own,
    /// As the numbers of one schema field. `name` is the type of the coder, and `value` is the coder.
    Number { coder: Coder, name: TokenStream, value: TokenStream },
    /// As a text of at most `max` bytes.
    Packed { max: TokenStream },
}

/// How a field's value is packed into bits, alone or as part of a larger value.
pub(crate) struct Packing {
    pub(crate) packer: TokenStream,
    /// The most bits that the field takes.
    pub(crate) bits: TokenStream,
}

/// Plans all fields of a struct or of a variant.
pub(crate) fn plan<'a>(krate: &Path, fields: &'a Fields) -> Result<Vec<Planned<'a>>> {
    fields.members().zip(fields).map(|(member, field)| plan_field(krate, member, field)).collect()
}

fn plan_field<'a>(krate: &Path, member: Member, field: &'a syn::Field) -> Result<Planned<'a>> {
    let attributes = OfField::parse(&field.attrs)?;
    // With this span, errors of the compiler point at the field, and names are resolved at the macro's call.
    let span = field.ty.span().resolved_at(Span::call_site());
    let coder = Coder::of(&attributes)?;
    let mut packer =
        PackerOf { krate, span, coder: coder.as_ref(), used: false, bounds: attributes.bounds.iter() };
    let packing = packer.packing(&field.ty)?;
    if let Some(bound) = packer.bounds.next() {
        return Err(Error::new(bound.span(), "there is no list and no string for this `bound`"));
    }
    if coder.is_some() && !packer.used {
        return Err(Error::new(
            field.ty.span(),
            match coder.as_ref().is_some_and(Coder::is_for_floats) {
                true => {
                    "nothing here is a float; an integer takes `min` and `max` without `precision`, a flag nothing"
                }
                false => "nothing here is an integer that `min` and `max` could bound",
            },
        ));
    }
    let is_stated = attributes.packed.is_some() || coder.is_some() || !attributes.bounds.is_empty();
    let way = match (form(&field.ty), coder) {
        (Form::String, _) if attributes.packed.is_none() => {
            let bound = attributes.bounds.first();
            Way::Packed { max: quote_spanned!(span=> const { #krate::pack::Words::of(#bound).bound() }) }
        }
        (Form::Floats | Form::Integer | Form::Other, Some(coder)) if attributes.packed.is_none() => {
            let (name, value) = coder.tokens(krate, &field.ty, span);
            Way::Number { coder, name, value }
        }
        (Form::Option(_) | Form::List(_), _) => packed(krate, span, &packing),
        _ if is_stated => packed(krate, span, &packing),
        _ => Way::Own,
    };
    check_motion(&attributes, &way)?;
    if let Some(span) = attributes.place
        && !matches!(way, Way::Number { coder: Coder::Grid { .. } | Coder::Whole { .. }, .. })
    {
        return Err(Error::new(span, "a place is numbers with a stated range; add `range` and `precision`"));
    }
    Ok(Planned { member, ty: &field.ty, attributes, span, way, packing })
}

fn packed(krate: &Path, span: Span, Packing { bits, .. }: &Packing) -> Way {
    Way::Packed { max: quote_spanned!(span=> const { #krate::pack::text_max(#bits) }) }
}

fn check_motion(attributes: &OfField, way: &Way) -> Result<()> {
    let rate = attributes.rate.as_ref().map(Spanned::span);
    let mut stated = [attributes.smooth, attributes.held, rate].into_iter().flatten();
    let Some(span) = stated.next() else { return Ok(()) };
    if stated.next().is_some() {
        return Err(Error::new(span, "state one of `smooth`, `held` and `rate`"));
    }
    match way {
        Way::Number { coder: Coder::Exact, .. } => Err(Error::new(
            span,
            "exact numbers are not predicted; state `range` and `precision` instead of `exact`",
        )),
        Way::Number { .. } => Ok(()),
        Way::Own => Err(Error::new(
            span,
            "only a number with a stated range moves; for an integer add `min` and `max`",
        )),
        Way::Packed { .. } => {
            Err(Error::new(span, "a packed field travels whole and does not move; drop this"))
        }
    }
}

/// Refuses attributes that only the fields of a struct can have.
pub(crate) fn refuse_motion(fields: &[Planned<'_>]) -> Result<()> {
    for field in fields {
        let rate = field.attributes.rate.as_ref().map(Spanned::span);
        if let Some(span) = field.attributes.place {
            return Err(Error::new(
                span,
                "an enum with data is packed, and what is packed is no place; drop this",
            ));
        }
        if let Some(span) = field.attributes.smooth.or(field.attributes.held).or(rate) {
            return Err(Error::new(
                span,
                "an enum with data is packed, and what is packed does not move; drop this",
            ));
        }
    }
    Ok(())
}

/// Walks through the parts of a type and builds its packer from theirs.
struct PackerOf<'a> {
    krate: &'a Path,
    span: Span,
    coder: Option<&'a Coder>,
    /// Whether the coder was used for any part of the type.
    used: bool,
    bounds: std::slice::Iter<'a, Expr>,
}

impl PackerOf<'_> {
    fn packing(&mut self, ty: &Type) -> Result<Packing> {
        let Self { krate, span, .. } = *self;
        let (packer, bits) = match form(ty) {
            Form::Option(inner) => {
                let Packing { packer, bits } = self.packing(inner)?;
                (quote!(#krate::pack::Perhaps(#packer)), quote!((1 + #bits)))
            }
            Form::List(inner) => {
                let bound = self.bound(ty, "state the most items it may have, as in `bound = 8`")?;
                let bound = quote_spanned!(span=> const { #krate::pack::list_bound(#bound) });
                let Packing { packer, bits } = self.packing(inner)?;
                let bits = quote!((#krate::pack::bits_for(#bound) + #bound as usize * #bits));
                (quote!(#krate::pack::List::new(#bound, #packer)), bits)
            }
            Form::String => {
                let bound = self.bound(ty, "state the most bytes it may have, as in `bound = 20`")?;
                let words = quote_spanned!(span=> const { #krate::pack::Words::of(#bound) });
                (words.clone(), quote!(#words.bits()))
            }
            Form::Array(inner, length) => {
                let Packing { packer, bits } = self.packing(inner)?;
                (quote!(#krate::pack::Each(#packer)), quote!(((#length) * #bits)))
            }
            Form::Tuple(items) => {
                let all = items.into_iter().map(|item| self.packing(item)).collect::<Result<Vec<_>>>()?;
                let (packers, bits) = (all.iter().map(|p| &p.packer), all.iter().map(|p| &p.bits));
                (quote!((#(#packers,)*)), quote!((0 #(+ #bits)*)))
            }
            Form::Floats => match self.coder {
                Some(coder) if coder.is_for_floats() => self.number(coder, ty),
                Some(_) => {
                    return Err(Error::new(
                        ty.span(),
                        "a float needs a `precision` beside its range, or `exact`",
                    ));
                }
                None => {
                    return Err(Error::new(
                        ty.span(),
                        "state how exact it is to be: `range = 64.0, precision = 0.001`, or `exact`; \
                         or `angle` or `rotation` with a `precision` in radians",
                    ));
                }
            },
            Form::Integer => match self.coder {
                Some(coder) if !coder.is_for_floats() => self.number(coder, ty),
                Some(Coder::Exact) => {
                    self.used = true;
                    self.own(ty)
                }
                _ => self.own(ty),
            },
            Form::Flag => self.own(ty),
            Form::Unsupported(why) => return Err(Error::new(ty.span(), why)),
            Form::Other => match self.coder {
                Some(coder) => self.number(coder, ty),
                None => self.own(ty),
            },
        };
        Ok(Packing { packer, bits })
    }

    fn bound(&mut self, ty: &Type, text: &str) -> Result<&Expr> {
        self.bounds.next().ok_or_else(|| Error::new(ty.span(), text))
    }

    fn number(&mut self, coder: &Coder, ty: &Type) -> (TokenStream, TokenStream) {
        self.used = true;
        let krate = self.krate;
        let (name, value) = coder.tokens(krate, ty, self.span);
        let width = quote!(<#name as #krate::quantise::Quantise<#ty>>::WIDTH);
        (quote_spanned!(self.span=> #krate::pack::Number(#value)), quote!(#value.bits(#width)))
    }

    fn own(&self, ty: &Type) -> (TokenStream, TokenStream) {
        let krate = self.krate;
        (
            quote_spanned!(self.span=> #krate::pack::Own),
            quote_spanned!(self.span=> <#ty as #krate::pack::Pack>::BITS_MAX),
        )
    }
}
