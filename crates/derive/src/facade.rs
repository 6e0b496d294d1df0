//! The derives of the crate `samovar`: `Object`, `Message` and `Value`.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Path, Result, parse_quote};

use crate::attributes::OfType;
use crate::expand::{at_call, of_type};

/// The role of a type in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Object,
    Message,
    Value,
}

/// The implementations for one type.
pub(crate) fn expand(input: &DeriveInput, part: Part) -> Result<TokenStream> {
    let OfType { krate, orphan, access, reliable, .. } = OfType::parse(&input.attrs)?;
    let root: Path = krate.map_or_else(|| parse_quote!(::samovar), at_call);
    let objects: Path = parse_quote!(#root::objects);
    let own = of_type(&objects, input)?;
    let (name, shape) = (&input.ident, shape(input));
    let tokens = match part {
        Part::Value => TokenStream::new(),
        Part::Message => quote! {
            #[automatically_derived]
            impl #root::Message for #name {
                const SHAPE: u64 = #shape;
            }
        },
        Part::Object => {
            if !matches!(&input.data, Data::Struct(data) if !data.fields.is_empty()) {
                return Err(Error::new(
                    name.span(),
                    "an object is a struct with fields; put the enum into one",
                ));
            }
            let sharing = (orphan_of(&root, orphan.as_ref())?, access_of(&root, access.as_ref())?);
            let waits = orphan.as_ref().is_none_or(|word| word.value() == "seat");
            if let Some(word) = access.as_ref().filter(|word| waits && word.value() != "owner") {
                return Err(Error::new(
                    word.span(),
                    "an object that others may have waits for nobody: state `orphan = \"host\"`, \"nearest\" or \"end\"",
                ));
            }
            let (orphan, access) = sharing;
            let reliable = reliable.is_some();
            quote! {
                #[automatically_derived]
                impl #root::Object for #name {
                    const SHARING: #root::Sharing = #root::Sharing {
                        orphan: #orphan,
                        access: #access,
                        reliable: #reliable,
                    };
                }
            }
        }
    };
    Ok(quote!(#own #tokens))
}

fn orphan_of(root: &Path, word: Option<&LitStr>) -> Result<TokenStream> {
    let Some(word) = word else { return Ok(quote!(#root::Orphaned::WithSeat)) };
    Ok(match word.value().as_str() {
        "seat" => quote!(#root::Orphaned::WithSeat),
        "host" => quote!(#root::Orphaned::ToHost),
        "nearest" => quote!(#root::Orphaned::ToNearest),
        "end" => quote!(#root::Orphaned::Ends),
        _ => {
            return Err(Error::new(
                word.span(),
                "`orphan` is \"seat\" (it waits for its player, and ends with the seat), \"host\" (the host takes it), \
                 \"nearest\" (the nearest member takes it) or \"end\" (it ends at once)",
            ));
        }
    })
}

fn access_of(root: &Path, word: Option<&LitStr>) -> Result<TokenStream> {
    let Some(word) = word else { return Ok(quote!(#root::Access::Exclusive)) };
    Ok(match word.value().as_str() {
        "owner" => quote!(#root::Access::Exclusive),
        "free" => quote!(#root::Access::Free),
        "touch" => quote!(#root::Access::Shared),
        _ => {
            return Err(Error::new(
                word.span(),
                "`access` is \"owner\" (nobody may ask for it), \"free\" (members may ask while the host owns it) \
                 or \"touch\" (whoever touches it first gets it)",
            ));
        }
    })
}

/// A number that differs for types that are written differently: the names, the types and the attributes of all fields.
/// FNV-1a, 64 bits.
fn shape(input: &DeriveInput) -> Literal {
    let mut text = input.ident.to_string();
    let mut add = |fields: &Fields| {
        for field in fields {
            let ours = |attribute: &&Attribute| attribute.path().is_ident("field");
            for attribute in field.attrs.iter().filter(ours) {
                text += &attribute.to_token_stream().to_string();
            }
            if let Some(name) = &field.ident {
                text += &name.to_string();
            }
            text += &field.ty.to_token_stream().to_string();
            text.push(';');
        }
        text.push('|');
    };
    match &input.data {
        Data::Struct(data) => add(&data.fields),
        Data::Enum(data) => data.variants.iter().for_each(|variant| add(&variant.fields)),
        Data::Union(_) => {}
    }
    if let Data::Enum(data) = &input.data {
        data.variants.iter().for_each(|variant| text += &variant.ident.to_string());
    }
    let hash = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    Literal::u64_suffixed(hash)
}
