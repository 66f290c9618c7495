//! The derive macro of the `duck-types` crate, which re-exports it.
//!
// The example runs as a test of the package `duck-types-tests`: it needs `duck-types`, which this crate cannot depend on.
#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]

mod attribute;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote_spanned;
use syn::DeriveInput;

use attribute::{Attribute, Paths};

/// Derives `duck_types::DuckType`. The attribute `#[duck(…)]` is described on the crate's page.
#[proc_macro_derive(DuckType, attributes(duck))]
pub fn duck_type(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let Attribute { krate, name, paths, list_maps } = Attribute::of(input)?;
    let path = |literal: &syn::LitStr| {
        quote_spanned! {literal.span()=> #krate::DuckPath::from_static(#literal) }
    };
    let place = match &paths {
        Paths::One(literal) => {
            let path = path(literal);
            quote_spanned! {literal.span()=> #krate::Place::At(#path) }
        }
        Paths::Several(literals) => {
            let paths = literals.iter().map(path);
            quote_spanned! {input.ident.span()=> {
                const PATHS: &[#krate::DuckPath] = &[#(#paths),*];
                #krate::Place::Across(PATHS)
            } }
        }
    };
    let lists = list_maps.iter().map(|(path, keys)| {
        quote_spanned! {path.span()=> #krate::ListMap { path: #path, keys: &[#(#keys),*] } }
    });
    let ident = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let literals = paths.literals();
    Ok(quote_spanned! {ident.span()=>
        // A constant of a generic type is evaluated where it is used; this one always is.
        const _: &[#krate::DuckPath] = &[#(#krate::DuckPath::from_static(#literals)),*];

        impl #generics #krate::DuckType for #ident #arguments #bounds {
            const NAME: &'static str = #name;
            const PLACE: #krate::Place = #place;
            const LIST_MAPS: &'static [#krate::ListMap] = &[#(#lists),*];
        }
    })
}

#[cfg(test)]
mod tests;
