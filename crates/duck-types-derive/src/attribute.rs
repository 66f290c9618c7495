//! The attribute `#[duck(…)]`.

use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, LitStr, Token, parenthesized, parse_quote};

/// The attribute, read and checked as far as is possible without knowing what a path may be.
pub(crate) struct Attribute {
    pub(crate) krate: syn::Path,
    pub(crate) name: String,
    pub(crate) paths: Paths,
    pub(crate) list_maps: Vec<(LitStr, Vec<LitStr>)>,
}

pub(crate) enum Paths {
    One(LitStr),
    Several(Vec<LitStr>),
}

impl Paths {
    pub(crate) fn literals(&self) -> &[LitStr] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Several(paths) => paths,
        }
    }
}

impl Attribute {
    pub(crate) fn of(input: &DeriveInput) -> syn::Result<Self> {
        let mut krate = parse_quote!(::duck_types);
        let mut name = input.ident.to_string();
        let mut paths = None;
        let mut list_maps = Vec::new();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("duck")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("path") {
                    once(&mut paths, Paths::One(meta.value()?.parse()?), &meta)
                } else if meta.path.is_ident("paths") {
                    once(&mut paths, Paths::Several(literals(&meta)?), &meta)
                } else if meta.path.is_ident("name") {
                    name = meta.value()?.parse::<LitStr>()?.value();
                    Ok(())
                } else if meta.path.is_ident("crate") {
                    krate = meta.value()?.parse::<LitStr>()?.parse()?;
                    Ok(())
                } else if meta.path.is_ident("list_map") {
                    list_maps.push(list_map(&meta)?);
                    Ok(())
                } else {
                    Err(meta.error("expected path, paths, name, list_map or crate"))
                }
            })?;
        }
        let message = "a duck needs a place: #[duck(path = \"/status/address\")], or paths(…) for several";
        let paths = paths.ok_or_else(|| syn::Error::new(input.ident.span(), message))?;
        disjoint(&paths)?;
        Ok(Self { krate, name, paths, list_maps })
    }
}

fn once(paths: &mut Option<Paths>, found: Paths, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    match paths.replace(found) {
        None => Ok(()),
        Some(_) => Err(meta.error("the place is given twice: use either path or paths, once")),
    }
}

fn literals(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<LitStr>> {
    let content;
    parenthesized!(content in meta.input);
    let found: Vec<LitStr> =
        Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?.into_iter().collect();
    if found.is_empty() { Err(meta.error("expected at least one string")) } else { Ok(found) }
}

fn list_map(meta: &ParseNestedMeta<'_>) -> syn::Result<(LitStr, Vec<LitStr>)> {
    let mut found = literals(meta)?.into_iter();
    let keys_missing =
        || meta.error("expected the pointer of the list and its keys: list_map(\"\", \"type\")");
    let path = found.next().ok_or_else(keys_missing)?;
    let keys: Vec<LitStr> = found.collect();
    if keys.is_empty() {
        return Err(keys_missing());
    }
    if !path.value().is_empty() && !path.value().starts_with('/') {
        return Err(syn::Error::new(
            path.span(),
            "a pointer starts with a slash, or is empty for the duck itself",
        ));
    }
    Ok((path, keys))
}

/// Of two paths, neither may lead below the other.
fn disjoint(paths: &Paths) -> syn::Result<()> {
    let literals = paths.literals();
    let steps = |path: &LitStr| path.value().split('/').map(str::to_owned).collect::<Vec<_>>();
    for (index, path) in literals.iter().enumerate() {
        let below = |above: &LitStr| steps(path).starts_with(&steps(above));
        let others = literals.iter().enumerate().filter(|(other, _)| *other != index);
        if let Some((_, above)) = others.into_iter().find(|(_, above)| below(above)) {
            let message = format!("{:?} lies in {:?}: name each sub-tree once", path.value(), above.value());
            return Err(syn::Error::new(path.span(), message));
        }
    }
    Ok(())
}
