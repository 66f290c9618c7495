//! The values that an expression refers to, so that an explanation can show them.

use crate::parser::{bound, form, parse};
use crate::syntax::{Call, Expr, ExprKind};

/// Returns the names in an expression that no macro binds, each with the names behind its dots and without what is called; in
/// the order of the source, each once.
///
/// ```
/// let source = r"object.spec.names.all(n, n != r'\' && n != variables.own) || object.kind == 'Pod'";
/// assert_eq!(cel_compat::references(source)?, ["object.spec.names", "variables.own", "object.kind"]);
/// # Ok::<_, cel_compat::Issues>(())
/// ```
///
/// # Errors
/// The expression cannot be parsed.
pub fn references(source: &str) -> Result<Vec<String>, crate::Issues> {
    let expr = parse(source, true)?;
    let mut found = Vec::new();
    collect(&expr, &mut Vec::new(), &mut found);
    Ok(found)
}

fn collect(expr: &Expr, bound_names: &mut Vec<String>, found: &mut Vec<String>) {
    if let Some(chain) = expr.dotted() {
        let root = chain.split('.').next().unwrap_or_default();
        if !bound_names.iter().any(|name| name == root) && !found.contains(&chain) {
            found.push(chain);
        }
        return;
    }
    match &expr.kind {
        ExprKind::Call(call) => call_parts(call, bound_names, found),
        kind => kind.parts().for_each(|part| collect(part, bound_names, found)),
    }
}

/// A macro binds its first arguments in the others.
fn call_parts(call: &Call, bound_names: &mut Vec<String>, found: &mut Vec<String>) {
    let names = match (&call.target, call.function.as_str(), call.arguments.len()) {
        (Some(_), "optMap" | "optFlatMap", 2) => 1,
        (Some(_), function, count) => form(function, count).map_or(0, |(_, names, _)| names),
        _ => 0,
    };
    if let Some(target) = &call.target {
        collect(target, bound_names, found);
    }
    let (names, parts) = call.arguments.split_at_checked(names).unwrap_or_default();
    let outside = bound_names.len();
    bound_names.extend(names.iter().map(bound));
    parts.iter().for_each(|part| collect(part, bound_names, found));
    bound_names.truncate(outside);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, wanted: &[&str]) {
        assert_eq!(references(source).unwrap(), wanted, "{source}");
    }

    #[test]
    fn text_and_comments_hold_no_references() {
        check(
            r"object.metadata.name != r'\' && object.metadata.namespace == 'x'",
            &["object.metadata.name", "object.metadata.namespace"],
        );
        check("'object.a' == object.b // object.c", &["object.b"]);
    }

    #[test]
    fn names_of_macros_are_no_references_inside_and_are_outside() {
        check("object.a.exists(params, params > 1) && params.b", &["object.a", "params.b"]);
        check("object.?a.optMap(a, a + object.b).orValue(1)", &["object", "object.b"]);
    }

    #[test]
    fn a_chain_ends_before_a_call_or_an_index() {
        check("object . a.size() > 1 && object.b[object.c].d", &["object.a", "object.b", "object.c"]);
        check("size(object.a + object.a)", &["object.a"]);
    }
}
