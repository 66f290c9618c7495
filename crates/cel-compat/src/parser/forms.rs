//! The forms of macros: which arguments have to be names or selections. cel-go looks at them while it parses.

use crate::check::form;
use crate::issue::Issue;
use crate::syntax::{Call, Expr, ExprKind};

/// What is wrong with the form of a call that is a macro.
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

/// What is wrong with the names that a macro binds.
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
