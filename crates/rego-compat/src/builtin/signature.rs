//! Names, arities and types of OPA's builtin functions: what the checks need to know of a call.
//!
//! What the functions compute is in `crate::builtins` and `crate::builtin`.

use super::table;

/// The type of an argument or result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spec {
    Any,
    Null,
    Bool,
    Number,
    String,
    Array(&'static Spec),
    Tuple(&'static [Spec]),
    Set(&'static Spec),
    Object(&'static Spec, &'static Spec),
    Or(&'static [Spec]),
}

/// A builtin function.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) args: &'static [Spec],
    pub(crate) result: Spec,
    /// Exists in Rego v0 only.
    pub(crate) removed: bool,
    /// Equal arguments give equal results.
    pub(crate) pure: bool,
}

impl Signature {
    /// `print` takes any number of arguments.
    pub(crate) fn is_variadic(&self) -> bool {
        self.name == "print"
    }
}

/// The builtin of this name.
pub(crate) fn find(name: &str) -> Option<&'static Signature> {
    index_of(name).and_then(|index| table::TABLE.get(index))
}

/// The builtin's place in the table.
pub(crate) fn index_of(name: &str) -> Option<usize> {
    table::TABLE.binary_search_by(|signature| signature.name.cmp(name)).ok()
}

/// All builtins in order of their places.
pub(crate) fn all() -> impl Iterator<Item = &'static Signature> {
    table::TABLE.iter()
}

/// One of OPA's builtin functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltinFunction {
    /// The full name, for example `net.cidr_merge`.
    pub name: &'static str,
    /// The number of arguments, the optional output variable not counted.
    pub arity: usize,
    /// Rego v1 removed it: only a v0 module may call it.
    pub v0_only: bool,
}

/// Returns OPA's builtin functions, ordered by name.
pub fn builtin_functions() -> impl Iterator<Item = BuiltinFunction> {
    all().map(|signature| BuiltinFunction {
        name: signature.name,
        arity: signature.args.len(),
        v0_only: signature.removed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(table::TABLE.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(all().all(|signature| std::ptr::eq(find(signature.name).unwrap(), signature)));
    }

    #[test]
    fn what_v1_removed_is_marked() {
        assert!(find("re_match").unwrap().removed);
        assert!(!find("regex.match").unwrap().removed);
        assert!(!find("time.now_ns").unwrap().pure);
        assert!(find("no.such").is_none());
    }
}
