//! The derives of the crate `samovar`: `Object`, `Message` and `Value`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, LitStr, Path, Result, parse_quote};

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
    let name = &input.ident;
    let tokens = match part {
        Part::Value => TokenStream::new(),
        Part::Message => quote! {
            #[automatically_derived]
            impl #root::Message for #name {}
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
