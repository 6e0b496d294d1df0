//! The code that the derive writes.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{
    Data, DataEnum, DeriveInput, Error, Fields, Ident, Member, Path, Result, Variant, parse_quote,
    spanned::Spanned,
};

use crate::attributes::OfType;
use crate::plan::{Planned, Way, plan, refuse_motion};

/// The implementations for one type.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let OfType { kind, krate, .. } = OfType::parse(&input.attrs)?;
    let krate = krate.map_or_else(|| parse_quote!(::samovar_objects), at_call);
    let own = of_type(&krate, input)?;
    let name = &input.ident;
    let kinded = kind.map(|kind| {
        let span = kind.span().resolved_at(Span::call_site());
        quote_spanned! {span=>
            #[automatically_derived]
            impl #krate::Kinded for #name {
                const KIND: #krate::Kind = #krate::Kind(#kind);
            }
            const _: () = assert!(
                <#name as #krate::Kinded>::KIND.0 != #krate::Kind::SESSION.0,
                "kind 0 is the session object's; state one from 1 to 255",
            );
        }
    });
    Ok(quote!(#own #kinded))
}

/// `Replicate` and `Pack` for one type.
pub(crate) fn of_type(krate: &Path, input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "a type with parameters cannot derive `Replicate`; write one type for each use, \
             or implement `Replicate` and `Pack` by hand",
        ));
    }
    let name = &input.ident;
    match &input.data {
        Data::Struct(data) => of_struct(krate, name, &data.fields),
        Data::Enum(data) => of_enum(krate, name, data),
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "a union cannot be replicated; use an enum"))
        }
    }
}

/// The path as if the macro had written it: lints leave it alone, and its names are resolved at the macro's call.
pub(crate) fn at_call(mut path: Path) -> Path {
    for segment in &mut path.segments {
        segment.ident.set_span(segment.ident.span().resolved_at(Span::call_site()));
    }
    path
}

fn of_struct(krate: &Path, name: &Ident, fields: &Fields) -> Result<TokenStream> {
    let fields = plan(krate, fields)?;
    let rated = fields.iter().any(|field| field.attributes.rate.is_some());
    let base = rated.then(|| quote!(let base = schema.len();));
    let describe = fields.iter().map(|field| describe(krate, field, &fields)).collect::<Result<Vec<_>>>()?;
    let counts = fields.iter().map(|field| count(krate, field));
    let write = fields.iter().map(|field| write(krate, field));
    let read = fields.iter().map(|field| read(krate, field));
    let members = fields.iter().map(|field| &field.member);
    let pack = packs(krate, &fields, |field| {
        let member = &field.member;
        quote!(&self.#member)
    });
    let (unpack, bits, shape) = (unpacks(krate, &fields), bits(&fields), shapes(krate, &fields));
    let word = name.unraw().to_string();
    let tell_beyond = tells_beyond(krate, &word, &fields, |field| {
        let member = &field.member;
        quote!(&self.#member)
    });
    Ok(quote! {
        #[automatically_derived]
        impl #krate::Replicate for #name {
            const FIELDS: usize = 0 #(+ #counts)*;

            fn describe(schema: &mut #krate::SchemaBuilder, _name: &'static str) {
                #base
                #(#describe)*
            }

            fn write(&self, state: &mut #krate::State) {
                #(#write)*
            }

            fn read(state: &mut #krate::StateReader<'_>) -> ::core::result::Result<Self, #krate::StateError> {
                ::core::result::Result::Ok(Self { #(#members: #read),* })
            }
        }

        #[automatically_derived]
        impl #krate::pack::Pack for #name {
            const BITS_MAX: usize = #bits;

            fn pack(&self, bits: &mut #krate::pack::BitWriter) {
                #pack
            }

            fn unpack(bits: &mut #krate::pack::BitReader<'_>) -> ::core::result::Result<Self, #krate::StateError> {
                ::core::result::Result::Ok(Self { #unpack })
            }

            fn shape(shape: &mut #krate::Shape) {
                shape.word(#word);
                #shape
            }

            fn tell_beyond(&self, tell: #krate::pack::Tell<'_>) {
                let _ = &tell;
                #tell_beyond
            }
        }
    })
}

fn of_enum(krate: &Path, name: &Ident, data: &DataEnum) -> Result<TokenStream> {
    if data.variants.is_empty() {
        return Err(Error::new(name.span(), "an enum without variants has no values; give it one"));
    }
    if data.variants.iter().all(|variant| variant.fields.is_empty()) {
        return Ok(of_choice(krate, name, data));
    }
    let last = Literal::u32_unsuffixed(data.variants.len() as u32 - 1);
    let (count, word) = (Literal::u32_unsuffixed(data.variants.len() as u32), name.unraw().to_string());
    let mut all =
        Arms { bits: quote!(0), shapes: quote!(shape.word(#word); shape.number(#count);), ..Arms::default() };
    for (index, variant) in data.variants.iter().enumerate() {
        all.add(krate, (name, &last), index, variant)?;
    }
    let Arms { packs: packs_all, unpacks: unpacks_all, tells: tells_all, bits: bits_all, shapes: shapes_all } =
        all;
    let own = quote!(#krate::pack::Packer::<Self>);
    Ok(quote! {
        #[automatically_derived]
        impl #krate::Replicate for #name {
            const FIELDS: usize = 1;

            fn describe(schema: &mut #krate::SchemaBuilder, name: &'static str) {
                let max = const { #krate::pack::text_max(<Self as #krate::pack::Pack>::BITS_MAX) };
                schema.field(name, #krate::Coding::Text { max });
            }

            fn write(&self, state: &mut #krate::State) {
                #own::write(&#krate::pack::Own, self, state);
            }

            fn read(state: &mut #krate::StateReader<'_>) -> ::core::result::Result<Self, #krate::StateError> {
                #own::read(&#krate::pack::Own, state)
            }
        }

        #[automatically_derived]
        impl #krate::pack::Pack for #name {
            const BITS_MAX: usize = #krate::pack::bits_for(#last) + #bits_all;

            fn pack(&self, bits: &mut #krate::pack::BitWriter) {
                match self { #(#packs_all)* }
            }

            fn unpack(bits: &mut #krate::pack::BitReader<'_>) -> ::core::result::Result<Self, #krate::StateError> {
                match bits.read(#krate::pack::bits_for(#last))? {
                    #(#unpacks_all)*
                    _ => ::core::result::Result::Err(#krate::StateError::Invalid),
                }
            }

            fn shape(shape: &mut #krate::Shape) {
                #shapes_all
            }

            fn tell_beyond(&self, tell: #krate::pack::Tell<'_>) {
                let _ = &tell;
                match self { #(#tells_all)* }
            }
        }
    })
}

/// The match arms for an enum's variants, and the size and shape of all variants together.
#[derive(Default)]
struct Arms {
    packs: Vec<TokenStream>,
    unpacks: Vec<TokenStream>,
    tells: Vec<TokenStream>,
    bits: TokenStream,
    shapes: TokenStream,
}

impl Arms {
    /// Adds a variant; `last` is the index of the enum's last one.
    fn add(
        &mut self,
        krate: &Path,
        (name, last): (&Ident, &Literal),
        index: usize,
        variant: &Variant,
    ) -> Result<()> {
        let (index, ident) = (Literal::u32_unsuffixed(index as u32), &variant.ident);
        let fields = plan(krate, &variant.fields)?;
        refuse_motion(&fields)?;
        let members: Vec<_> = fields.iter().map(|field| &field.member).collect();
        let values: Vec<_> = fields.iter().map(|field| binding(&field.member)).collect();
        let value = |field: &Planned<'_>| {
            let value = binding(&field.member);
            quote!(#value)
        };
        let pack = packs(krate, &fields, value);
        self.packs.push(quote! {
            Self::#ident { #(#members: #values),* } => {
                bits.write(#index, #krate::pack::bits_for(#last));
                #pack
            }
        });
        let owner = format!("{}::{}", name.unraw(), ident.unraw());
        let tell_beyond = tells_beyond(krate, &owner, &fields, value);
        self.tells.push(quote!(Self::#ident { #(#members: #values),* } => { #tell_beyond }));
        let (unpack, bits, sum) = (unpacks(krate, &fields), bits(&fields), &self.bits);
        self.unpacks.push(quote!(#index => ::core::result::Result::Ok(Self::#ident { #unpack }),));
        self.bits = quote!(#krate::pack::larger(#sum, #bits));
        let (word, shape, before) = (ident.unraw().to_string(), shapes(krate, &fields), &self.shapes);
        self.shapes = quote!(#before shape.word(#word); #shape);
        Ok(())
    }
}

/// The implementations for an enum without data. Its value is one number, the index of the variant.
fn of_choice(krate: &Path, name: &Ident, data: &DataEnum) -> TokenStream {
    let count = Literal::i32_unsuffixed(data.variants.len() as i32);
    let indices: Vec<_> = (0..data.variants.len() as i32).map(Literal::i32_unsuffixed).collect();
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let words = [name].into_iter().chain(variants.iter().copied()).map(|word| word.unraw().to_string());
    let (coder, as_coder) = (quote!(#krate::quantise::Choice), quote!(#krate::quantise::Quantise::<Self>));
    quote! {
        #[automatically_derived]
        impl #krate::quantise::Choices for #name {
            const COUNT: i32 = #count;

            fn index(&self) -> i32 {
                match self { #(Self::#variants { .. } => #indices,)* }
            }

            fn of_index(index: i32) -> ::core::option::Option<Self> {
                match index {
                    #(#indices => ::core::option::Option::Some(Self::#variants {}),)*
                    _ => ::core::option::Option::None,
                }
            }
        }

        #[automatically_derived]
        impl #krate::Replicate for #name {
            const FIELDS: usize = 1;

            fn describe(schema: &mut #krate::SchemaBuilder, name: &'static str) {
                #as_coder::describe(&#coder, schema, name, #krate::Motion::Held);
            }

            fn write(&self, state: &mut #krate::State) {
                #as_coder::write(&#coder, self, state);
            }

            fn read(state: &mut #krate::StateReader<'_>) -> ::core::result::Result<Self, #krate::StateError> {
                #as_coder::read(&#coder, state)
            }
        }

        #[automatically_derived]
        impl #krate::pack::Pack for #name {
            const BITS_MAX: usize = #coder::bits(<Self as #krate::quantise::Choices>::COUNT);

            fn pack(&self, bits: &mut #krate::pack::BitWriter) {
                #as_coder::pack(&#coder, self, bits);
            }

            fn unpack(bits: &mut #krate::pack::BitReader<'_>) -> ::core::result::Result<Self, #krate::StateError> {
                #as_coder::unpack(&#coder, bits)
            }

            fn shape(shape: &mut #krate::Shape) {
                #(shape.word(#words);)*
                shape.number(#count);
            }
        }
    }
}

/// How many fields of the schema a field of the type takes.
fn count(krate: &Path, field: &Planned<'_>) -> TokenStream {
    let ty = field.ty;
    match field.way {
        Way::Own => quote_spanned!(field.span=> <#ty as #krate::Replicate>::FIELDS),
        Way::Number { .. } | Way::Packed { .. } => quote!(1),
    }
}

fn describe(krate: &Path, field: &Planned<'_>, all: &[Planned<'_>]) -> Result<TokenStream> {
    let Planned { ty, span, .. } = *field;
    let name = name_of(&field.member);
    Ok(match &field.way {
        Way::Own => quote_spanned!(span=> <#ty as #krate::Replicate>::describe(schema, #name);),
        Way::Packed { max } => quote!(schema.field(#name, #krate::Coding::Text { max: #max });),
        Way::Number { value, .. } => {
            let (motion, check) = motion(krate, field, all)?;
            let place = field.attributes.place.map(|_| quote!(schema.place(schema.len());));
            quote_spanned! {span=>
                #check
                #place
                #krate::quantise::Quantise::<#ty>::describe(&#value, schema, #name, #motion);
            }
        }
    })
}

/// The `Motion` of a number, and the compile-time check that its rate has as many numbers.
fn motion(krate: &Path, field: &Planned<'_>, all: &[Planned<'_>]) -> Result<(TokenStream, TokenStream)> {
    let (Some(rate), Way::Number { name, .. }) = (&field.attributes.rate, &field.way) else {
        let is_rate = all.iter().any(|other| other.attributes.rate.as_ref() == Some(&field.member));
        let is_smooth = field.attributes.smooth.is_some() || (is_rate && field.attributes.held.is_none());
        let motion = if is_smooth { quote!(#krate::Motion::Smooth) } else { quote!(#krate::Motion::Held) };
        return Ok((motion, TokenStream::new()));
    };
    let wrong = |text| Error::new(rate.span(), text);
    let place = all
        .iter()
        .position(|other| other.member == *rate)
        .ok_or_else(|| wrong("there is no such field here; a rate is a field of the same struct"))?;
    let target = &all[place];
    let Way::Number { coder, name: rate_name, .. } = &target.way else {
        return Err(wrong(
            "a rate is a number with a stated range; add `range` and `precision` to that field",
        ));
    };
    if !coder.is_quantity() {
        return Err(wrong(
            "a rate is stated by `range` and `precision`, not as an angle, a rotation or exact bits",
        ));
    }
    if target.attributes.rate.is_some() {
        return Err(wrong("a rate has no rate itself; drop the `rate` of that field"));
    }
    let before = all[..place].iter().map(|field| count(krate, field));
    let (ty, rate_ty) = (field.ty, target.ty);
    let check = quote_spanned! {rate.span().resolved_at(Span::call_site())=>
        const {
            #krate::quantise::assert_rate(
                <#rate_name as #krate::quantise::Quantise<#rate_ty>>::WIDTH,
                <#name as #krate::quantise::Quantise<#ty>>::RATE_WIDTH,
            )
        };
    };
    Ok((quote!(#krate::Motion::Rated((base + const { 0 #(+ #before)* }) as u8)), check))
}

fn write(krate: &Path, field: &Planned<'_>) -> TokenStream {
    let Planned { member, ty, packing, span, .. } = field;
    let span = *span;
    match &field.way {
        Way::Own => quote_spanned!(span=> <#ty as #krate::Replicate>::write(&self.#member, state);),
        Way::Number { value, .. } => {
            quote_spanned!(span=> #krate::quantise::Quantise::<#ty>::write(&#value, &self.#member, state);)
        }
        Way::Packed { .. } => {
            let packer = &packing.packer;
            quote_spanned!(span=> #krate::pack::Packer::<#ty>::write(&#packer, &self.#member, state);)
        }
    }
}

fn read(krate: &Path, field: &Planned<'_>) -> TokenStream {
    let Planned { ty, packing, span, .. } = field;
    let span = *span;
    match &field.way {
        Way::Own => quote_spanned!(span=> <#ty as #krate::Replicate>::read(state)?),
        Way::Number { value, .. } => {
            quote_spanned!(span=> #krate::quantise::Quantise::<#ty>::read(&#value, state)?)
        }
        Way::Packed { .. } => {
            let packer = &packing.packer;
            quote_spanned!(span=> #krate::pack::Packer::<#ty>::read(&#packer, state)?)
        }
    }
}

fn packs<'a>(
    krate: &Path,
    fields: &'a [Planned<'a>],
    value: impl Fn(&'a Planned<'a>) -> TokenStream,
) -> TokenStream {
    let each = fields.iter().map(|field| {
        let (ty, packer, value) = (field.ty, &field.packing.packer, value(field));
        quote_spanned!(field.span=> #krate::pack::Packer::<#ty>::pack(&#packer, #value, bits);)
    });
    quote!(#(#each)*)
}

fn unpacks(krate: &Path, fields: &[Planned<'_>]) -> TokenStream {
    let each = fields.iter().map(|field| {
        let Planned { member, ty, packing, .. } = field;
        let packer = &packing.packer;
        quote_spanned!(field.span=> #member: #krate::pack::Packer::<#ty>::unpack(&#packer, bits)?)
    });
    quote!(#(#each),*)
}

/// The code that adds the fields' names, and the shapes of their packed values, to the type's shape.
fn shapes(krate: &Path, fields: &[Planned<'_>]) -> TokenStream {
    let each = fields.iter().map(|field| {
        let (word, ty, packer) = (name_of(&field.member), field.ty, &field.packing.packer);
        quote_spanned!(field.span=>
            shape.word(#word);
            #krate::pack::Packer::<#ty>::shape(&#packer, shape);
        )
    });
    quote!(#(#each)*)
}

/// The code that reports the fields whose values are beyond their limits.
fn tells_beyond<'a>(
    krate: &Path,
    owner: &str,
    fields: &'a [Planned<'a>],
    value: impl Fn(&'a Planned<'a>) -> TokenStream,
) -> TokenStream {
    let each = fields.iter().map(|field| {
        let (ty, packer, value) = (field.ty, &field.packing.packer, value(field));
        let name = format!("{owner}.{}", name_of(&field.member));
        quote_spanned! {field.span=>
            #krate::pack::Packer::<#ty>::tell_beyond(&#packer, #value, #name, &mut *tell);
        }
    });
    quote!(#(#each)*)
}

fn bits(fields: &[Planned<'_>]) -> TokenStream {
    let each = fields.iter().map(|field| &field.packing.bits);
    quote!((0 #(+ #each)*))
}

fn name_of(member: &Member) -> String {
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn binding(member: &Member) -> Ident {
    format_ident!("value_{}", name_of(member))
}
