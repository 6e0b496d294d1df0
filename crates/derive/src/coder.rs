//! The coder of `samovar_objects::quantise` that a field's attributes ask for.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Expr, ExprLit, Lit, Path, Result, Type, spanned::Spanned};

use crate::attributes::OfField;

/// A coder that a field asks for, before the field's type is known.
pub(crate) enum Coder {
    Grid { min: TokenStream, max: TokenStream, precision: TokenStream },
    Whole { min: TokenStream, max: TokenStream },
    Angle { precision: TokenStream },
    Rotation { precision: TokenStream },
    Exact,
}

impl Coder {
    /// The coder that the attributes ask for, if they ask for any.
    pub(crate) fn of(attributes: &OfField) -> Result<Option<Self>> {
        let a = attributes;
        let wrong = |span: Option<Span>, text| Error::new(span.unwrap_or_else(Span::call_site), text);
        let bounded = a.range.is_some() || a.min.is_some() || a.max.is_some();
        let ways = [a.exact.is_some(), a.angle.is_some(), a.rotation.is_some(), bounded];
        if ways.iter().filter(|&&stated| stated).count() > 1 {
            return Err(wrong(
                a.span,
                "state one of `range` (or `min` and `max`), `angle`, `rotation` and `exact`",
            ));
        }
        if a.exact.is_some() {
            return match &a.precision {
                Some(precision) => {
                    Err(Error::new(precision.span(), "`exact` rounds nothing; drop the `precision`"))
                }
                None => Ok(Some(Self::Exact)),
            };
        }
        if a.angle.is_some() || a.rotation.is_some() {
            let Some(precision) = a.precision.as_ref().map(ToTokens::to_token_stream) else {
                return Err(wrong(
                    a.span,
                    "state the `precision` in radians, as in `angle, precision = 0.001`",
                ));
            };
            let is_angle = a.angle.is_some();
            return Ok(Some(if is_angle { Self::Angle { precision } } else { Self::Rotation { precision } }));
        }
        let (min, max) = match (&a.range, &a.min, &a.max) {
            (Some(range), None, None) => (quote!(-(#range)), quote!(#range)),
            (None, Some(min), Some(max)) => (quote!(#min), quote!(#max)),
            (None, None, None) => {
                return match &a.precision {
                    Some(precision) => Err(Error::new(
                        precision.span(),
                        "state the range as well: `range = 64.0` for -64 to 64, or `min = …, max = …`",
                    )),
                    None => Ok(None),
                };
            }
            (Some(_), ..) => return Err(wrong(a.span, "state `range`, or `min` and `max`, not both")),
            _ => return Err(wrong(a.span, "state both `min` and `max`")),
        };
        match a.precision.as_ref().map(ToTokens::to_token_stream) {
            Some(precision) => Ok(Some(Self::Grid { min, max, precision })),
            None => {
                let fraction =
                    [&a.range, &a.min, &a.max].into_iter().flatten().find(|expr| is_fraction(expr));
                match fraction {
                    Some(expr) => Err(Error::new(
                        expr.span(),
                        "a float needs a `precision` as well, as in `range = 64.0, precision = 0.001`; \
                         an integer's bounds are whole",
                    )),
                    None => Ok(Some(Self::Whole { min, max })),
                }
            }
        }
    }

    /// Whether this coder is for floats. It rounds them, or keeps them exactly.
    pub(crate) const fn is_for_floats(&self) -> bool {
        !matches!(self, Self::Whole { .. })
    }

    /// Whether a field with this coder can be another field's rate: its numbers are quantities with bounds.
    pub(crate) const fn is_quantity(&self) -> bool {
        matches!(self, Self::Grid { .. } | Self::Whole { .. })
    }

    /// The coder's type and its value for fields of type `ty`.
    pub(crate) fn tokens(&self, krate: &Path, ty: &Type, span: Span) -> (TokenStream, TokenStream) {
        let name = match self {
            Self::Grid { .. } => quote_spanned!(span=> #krate::quantise::Grid),
            Self::Whole { .. } => quote_spanned!(span=> #krate::quantise::Whole),
            Self::Angle { .. } => quote_spanned!(span=> #krate::quantise::Angle),
            Self::Rotation { .. } => quote_spanned!(span=> #krate::quantise::Rotation),
            Self::Exact => quote_spanned!(span=> #krate::quantise::Exact),
        };
        let value = match self {
            Self::Grid { min, max, precision } => quote_spanned! {span=>
                const { #name::of::<#ty>((#min) as f64, (#max) as f64, (#precision) as f64) }
            },
            Self::Whole { min, max } => quote_spanned! {span=>
                const {
                    let (min, max): (#ty, #ty) = (#min, #max);
                    #name::of(min as i128, max as i128)
                }
            },
            Self::Angle { precision } | Self::Rotation { precision } => quote_spanned! {span=>
                const { #name::of((#precision) as f64) }
            },
            Self::Exact => name.clone(),
        };
        (name, value)
    }
}

fn is_fraction(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Float(_), .. }) => true,
        Expr::Unary(unary) => is_fraction(&unary.expr),
        _ => false,
    }
}
