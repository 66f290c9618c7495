//! The functions that expressions may call, read once from the table beside this file.
//!
//! The table is what Kubernetes declares; which code answers a call is said in `library`.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::LazyLock;

use super::types::Type;

/// One way to call a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overload {
    /// Types of the arguments; the target of a call on a target comes first.
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
}

/// The ways to call the functions of one name.
#[derive(Debug, Default)]
struct Overloads {
    alone: Vec<Overload>,
    on_target: Vec<Overload>,
}

static TABLE: LazyLock<BTreeMap<&'static str, Overloads>> =
    LazyLock::new(|| read(include_str!("overloads.txt")));

/// The ways to call a function on a target, or without one; empty when there are none.
pub(super) fn overloads(name: &str, on_target: bool) -> &'static [Overload] {
    TABLE.get(name).map_or(&[], |overloads| if on_target { &overloads.on_target } else { &overloads.alone })
}

/// Returns true if a function of that name exists, however it is called.
pub(super) fn is_known(name: &str) -> bool {
    TABLE.contains_key(name)
}

fn read(table: &'static str) -> BTreeMap<&'static str, Overloads> {
    let mut read: BTreeMap<&'static str, Overloads> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        if let Some((name, on_target, overload)) = overload(line) {
            let overloads = read.entry(name).or_default();
            let overloads = if on_target { &mut overloads.on_target } else { &mut overloads.alone };
            overloads.push(overload);
        }
    }
    read
}

/// One line: `name(this type, type) -> type`.
fn overload(line: &'static str) -> Option<(&'static str, bool, Overload)> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(") -> ")?;
    let (on_target, arguments) = match arguments.strip_prefix("this ") {
        Some(arguments) => (true, arguments),
        None => (false, arguments),
    };
    let mut reader = Reader(arguments.chars().peekable());
    let arguments = reader.list()?;
    let result = Reader(result.chars().peekable()).one()?;
    Some((name, on_target, Overload { arguments, result }))
}

struct Reader(Peekable<Chars<'static>>);

impl Reader {
    fn list(&mut self) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        while self.0.peek().is_some() {
            types.push(self.one()?);
            self.separator();
        }
        Some(types)
    }

    fn separator(&mut self) {
        while self.0.next_if(|c| matches!(c, ',' | ' ')).is_some() {}
    }

    fn one(&mut self) -> Option<Type> {
        let mut name = String::new();
        while let Some(c) = self.0.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')) {
            name.push(c);
        }
        if self.0.next_if_eq(&'(').is_none() {
            return simple(&name);
        }
        let first = self.one()?;
        self.separator();
        let composed = match name.as_str() {
            "list" => Type::list(first),
            "optional" => Type::optional(first),
            "map" => Type::map(first, self.one()?),
            "type" => Type::Type,
            _ => return None,
        };
        self.0.next_if_eq(&')')?;
        Some(composed)
    }
}

fn simple(name: &str) -> Option<Type> {
    let opaque = [
        "kubernetes.NamedFormat",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.URL",
        "net.CIDR",
        "net.IP",
    ];
    Some(match name {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        name => match (name.chars().next(), name.len()) {
            (Some(letter), 1) => Type::Parameter(letter),
            _ => Type::Opaque(opaque.into_iter().find(|opaque| *opaque == name)?),
        },
    })
}

/// Returns all ways to call all functions: the name, whether on a target, and the types.
#[cfg(test)]
pub(super) fn all() -> Vec<(&'static str, bool, &'static Overload)> {
    let of = |name, on_target| overloads(name, on_target).iter().map(move |one| (name, on_target, one));
    TABLE.keys().flat_map(|name| of(*name, false).chain(of(*name, true))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines: Vec<&str> =
            include_str!("overloads.txt").lines().filter(|line| !line.starts_with('#')).collect();
        for line in &lines {
            assert!(overload(line).is_some(), "{line}");
        }
        assert_eq!(all().len(), lines.len());
    }
}
