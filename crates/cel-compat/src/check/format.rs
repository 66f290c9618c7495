//! Literals in calls of `format`: a template that takes other values than it is given can never succeed.

use super::super::issue::Issue;
use super::super::library::{admits, verbs};
use super::super::syntax::{Expr, ExprKind};
use super::super::types::Type;
use super::super::value::Value;
use super::Checker;

impl Checker<'_> {
    /// Checks `target.format(arguments)` where both are literals.
    pub(super) fn check_format(&mut self, at: usize, target: Option<&Expr>, arguments: &[Expr]) {
        let Some((ExprKind::Literal(Value::String(template)), [list])) =
            target.map(|target| (&target.kind, arguments))
        else {
            return;
        };
        let ExprKind::List(values) = &list.kind else {
            return;
        };
        let verbs = match verbs(template) {
            Ok(verbs) => verbs,
            Err(message) => {
                self.found.literals.push(Issue::new(at, message));
                return;
            }
        };
        // cel-go stops at the first value that does not fit.
        let is_fit = |(verb, (_, value)): (&char, &(bool, Expr))| self.check_part(*verb, value);
        if !verbs.iter().zip(values).all(is_fit) {
            return;
        }
        let (wanted, given) = (verbs.len(), values.len());
        if wanted < given {
            let message =
                format!("too many arguments supplied to string.format (expected {wanted}, got {given})");
            self.found.literals.push(Issue::new(at, message));
        } else if wanted > given {
            self.found.literals.push(Issue::new(at, format!("index {given} out of range")));
        }
    }

    /// Checks a value, and for `%s` the parts of a literal; false after the first issue.
    fn check_part(&mut self, verb: char, value: &Expr) -> bool {
        let of = self.typed.get(&value.address()).map_or(Type::Dyn, |of| self.mapping.settle(of));
        if let Err(message) = admits(verb, &of, &self.printed_name(&of)) {
            self.found.literals.push(Issue::new(value.at, message));
            return false;
        }
        match &value.kind {
            ExprKind::List(parts) if verb == 's' => parts.iter().all(|(_, part)| self.check_part(verb, part)),
            ExprKind::Map(entries) if verb == 's' => {
                entries.iter().all(|(_, key, part)| self.check_part(verb, key) && self.check_part(verb, part))
            }
            _ => true,
        }
    }
}
