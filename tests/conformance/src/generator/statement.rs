//! Statements of a rule's body.

use super::expression::COLLECTIONS;
use super::{Author, KINDS, Kind, Scope};

impl Author {
    /// One to `most` statements; the variables they bind are added to the scope.
    pub(super) fn statements(&mut self, scope: &mut Scope, most: usize) -> Vec<String> {
        (0..=self.random.below(most)).map(|_| self.statement(scope)).collect()
    }

    fn statement(&mut self, scope: &mut Scope) -> String {
        match self.random.below(10) {
            0 | 1 => self.iteration(scope),
            2 | 3 => self.assignment(scope),
            4 | 5 => format!("not {}", self.condition(scope, 1)),
            6 => self.indexed(scope),
            7 if !self.v0 => self.every(scope),
            8 => self.with_input(scope),
            _ => self.condition(scope, 2),
        }
    }

    fn iteration(&mut self, scope: &mut Scope) -> String {
        let name = self.fresh("x");
        let source = self.random.pick(COLLECTIONS);
        let elements = scope.iter().find(|(_, kind)| *kind == Kind::Any).map(|(name, _)| name.clone());
        let source = match elements {
            Some(variable) if self.random.once_in(3) => format!("{variable}.ports"),
            _ => source.to_owned(),
        };
        scope.push((name.clone(), Kind::Any));
        if !self.v0 && self.random.once_in(2) {
            return format!("some {name} in {source}");
        }
        format!("{name} := {source}[_]")
    }

    fn assignment(&mut self, scope: &mut Scope) -> String {
        let kind = self.random.pick(&KINDS);
        let value = self.expression(kind, scope, 2);
        let name = self.fresh("v");
        scope.push((name.clone(), kind));
        format!("{name} := {value}")
    }

    /// An index that is bound by the reference it is used in.
    fn indexed(&mut self, scope: &mut Scope) -> String {
        let index = self.fresh("i");
        let source = self.random.pick(COLLECTIONS);
        let other = self.expression(Kind::Any, scope, 1);
        let operator = self.random.pick(&["==", "!=", "="]);
        let declared = if self.random.once_in(2) { format!("some {index}\n  ") } else { String::new() };
        format!("{declared}{source}[{index}] {operator} {other}")
    }

    fn every(&mut self, scope: &Scope) -> String {
        let name = self.fresh("y");
        let source = self.random.pick(COLLECTIONS);
        let mut inner = scope.clone();
        inner.push((name.clone(), Kind::Any));
        let condition = self.condition(&inner, 1);
        if source.contains("[_]") {
            // A variable without a value, which both refuse. Next to a comprehension that reads another variable OPA
            // 1.22 takes it for safe, which is a defect and not asked about.
            return if condition.contains(" | ") { self.condition(scope, 1) } else { condition };
        }
        format!("every {name} in {source} {{ {condition} }}")
    }

    /// A rule of the module under another input.
    fn with_input(&mut self, scope: &Scope) -> String {
        let Some((rule, _)) = self.rules.get(self.random.below(self.rules.len())).cloned() else {
            return self.condition(scope, 2);
        };
        let value = self.expression(Kind::Any, scope, 0);
        let target = self.random.pick(&["input", "input.parameters", "input.review.object"]);
        let object = format!("{{\"a\": {value}, \"name\": \"web\"}}");
        format!("{rule} with {target} as {object}")
    }

    /// A statement that binds nothing.
    pub(super) fn condition(&mut self, scope: &Scope, depth: usize) -> String {
        let kind = self.random.pick(&KINDS);
        match self.random.below(8) {
            0 | 1 => {
                let left = self.expression(kind, scope, depth);
                let right = self.expression(kind, scope, depth);
                let operator = self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!("{left} {operator} {right}")
            }
            2 => {
                let element = self.expression(Kind::Any, scope, 0);
                let elements = self.expression(Kind::Set, scope, depth);
                // OPA 1.22 finds nothing in a set literal that holds a constant and a call (its rule index
                // looks at the constant only), which is a defect and not asked about.
                let literal = elements.starts_with('{') && !elements.contains(" | ");
                if self.v0 || literal {
                    format!("count({elements}) > 0")
                } else {
                    format!("{element} in {elements}")
                }
            }
            3 | 4 => {
                let count = self.functions.len();
                match self.functions.get(self.random.below(count)).cloned() {
                    Some(function) => self.call(&function.name, function.arity, scope, depth),
                    None => self.expression(Kind::Bool, scope, depth),
                }
            }
            5 => self.expression(Kind::Any, scope, depth),
            _ => self.expression(Kind::Bool, scope, depth.max(1)),
        }
    }
}
