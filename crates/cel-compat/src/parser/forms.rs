//! The forms of macros: which calls are macros, and which of their arguments have to be names or selections. cel-go looks at
//! them while it parses.

use crate::issue::Issue;
use crate::syntax::{Call, Expr, ExprKind};

/// The way a macro treats its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    All,
    Exists,
    ExistsOne,
    Filter,
    List,
    Map,
    Entries,
    SortBy,
}

/// A macro over a range: its form, its number of names, and whether a filter stands before the body.
pub(crate) fn form(function: &str, arguments: usize) -> Option<(Form, usize, bool)> {
    Some(match (function, arguments) {
        ("all", 2) => (Form::All, 1, false),
        ("all", 3) => (Form::All, 2, false),
        ("exists", 2) => (Form::Exists, 1, false),
        ("exists", 3) => (Form::Exists, 2, false),
        ("exists_one", 2) => (Form::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (Form::ExistsOne, 2, false),
        ("filter", 2) => (Form::Filter, 1, false),
        ("map", 2) => (Form::List, 1, false),
        ("map", 3) => (Form::List, 1, true),
        ("transformList", 3) => (Form::List, 2, false),
        ("transformList", 4) => (Form::List, 2, true),
        ("transformMap", 3) => (Form::Map, 2, false),
        ("transformMap", 4) => (Form::Map, 2, true),
        ("transformMapEntry", 3) => (Form::Entries, 2, false),
        ("transformMapEntry", 4) => (Form::Entries, 2, true),
        ("sortBy", 2) => (Form::SortBy, 1, false),
        _ => return None,
    })
}

/// The name that a macro binds; the parser has checked that it is one.
pub(crate) fn bound(name: &Expr) -> String {
    if let ExprKind::Name(name) = &name.kind { name.clone() } else { String::new() }
}

/// Returns what is wrong with the form of a call that is a macro.
pub(super) fn issue(call: &Call) -> Option<Issue> {
    let arguments = call.arguments.as_slice();
    match (&call.target, call.function.as_str(), arguments) {
        (None, "has", [argument]) => {
            let is_selection = matches!(&argument.kind, ExprKind::Select(select) if !select.optional);
            (!is_selection).then(|| Issue::new(argument.at, "invalid argument to has() macro"))
        }
        (None, ..) => None,
        (Some(_), function @ ("optMap" | "optFlatMap"), [name, _]) => {
            let is_name = matches!(name.kind, ExprKind::Name(_));
            let message = format!("{function}() variable name must be a simple identifier");
            (!is_name).then(|| Issue::new(name.at, message))
        }
        (Some(_), function, arguments) => {
            let (_, names, _) = form(function, arguments.len())?;
            bindings(function, arguments.get(..names)?)
        }
    }
}

/// Returns what is wrong with the names that a macro binds.
fn bindings(function: &str, names: &[Expr]) -> Option<Issue> {
    let mut bound = Vec::new();
    for name in names {
        let ExprKind::Name(text) = &name.kind else {
            let is_list = matches!(function, "map" | "filter" | "sortBy");
            let message =
                if is_list { "argument is not an identifier" } else { "argument must be a simple name" };
            return Some(Issue::new(name.at, message));
        };
        if bound.contains(&text) {
            return Some(Issue::new(name.at, format!("duplicate variable name: {text}")));
        }
        bound.push(text);
    }
    let reserved =
        names.iter().find(|name| matches!(&name.kind, ExprKind::Name(text) if text == "__result__"))?;
    Some(Issue::new(reserved.at, "iteration variable overwrites accumulator variable"))
}
