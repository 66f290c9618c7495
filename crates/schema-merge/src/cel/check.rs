//! Compiles a rule as far as can be done without all of Kubernetes' library: syntax, fields, and that it is a condition.
//!
//! What is not known for certain is left to the server. In particular functions are taken for whatever they need to be.

use std::collections::BTreeMap;
use std::rc::Rc;

use cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, LiteralValue, SourceInfo};
use cel::parser::Parser;

use super::decl::Decl;

/// Functions and operators that give a condition.
const CONDITIONS: [&str; 20] = [
    "_&&_",
    "_||_",
    "!_",
    "_==_",
    "_!=_",
    "_<_",
    "_<=_",
    "_>_",
    "_>=_",
    "@in",
    "startsWith",
    "endsWith",
    "contains",
    "matches",
    "hasValue",
    "isSorted",
    "exists_one",
    "has",
    "isURL",
    "isQuantity",
];
/// Names that stand for types.
const TYPES: [&str; 12] = [
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "optional_type",
    "dyn",
];

/// First words of qualified names: of functions in libraries and of types.
const QUALIFIERS: [&str; 10] =
    ["optional", "format", "math", "sets", "strings", "lists", "google", "kubernetes", "net", "cel"];

/// A rule that can be parsed.
pub(super) struct Compiled {
    pub(super) expression: IdedExpr,
    pub(super) scope: Scope,
    /// Why the server would not compile it.
    pub(super) errors: Vec<String>,
}

/// The variables of an expression.
pub(super) type Scope = BTreeMap<String, Decl>;

/// What an expression is for.
pub(super) struct Goal {
    /// What the server says first when it does not compile.
    pub(super) failure: &'static str,
    outcome: fn(&Decl) -> bool,
    complaint: &'static str,
}

/// A rule.
pub(super) const CONDITION: Goal = Goal {
    failure: "compilation failed",
    outcome: |decl| matches!(decl, Decl::Bool | Decl::Dyn),
    complaint: "cel expression must evaluate to a bool",
};
/// A message.
pub(super) const TEXT: Goal = Goal {
    failure: "messageExpression compilation failed",
    outcome: |decl| matches!(decl, Decl::Text { .. } | Decl::Dyn),
    complaint: "messageExpression must evaluate to a string",
};

/// cel-go stops after so many.
const MAX_ERRORS: usize = 100;

/// Compiles an expression about a value of this type.
///
/// # Errors
/// The syntax error, as a detail.
pub(super) fn compile(rule: &str, this: &Decl, goal: &Goal) -> Result<Compiled, String> {
    let parser = Parser::new().enable_optional_syntax(true).enable_ident_escape_syntax(true);
    let (expression, source) =
        parser.parse_with_source_info(rule).map_err(|errors| format!("{}: {errors}", goal.failure))?;
    let scope = Scope::from([("self".to_owned(), this.clone()), ("oldSelf".to_owned(), Decl::Dyn)]);
    let mut check = Check { rule, source: &source, failure: goal.failure, errors: Vec::new() };
    let outcome = check.infer(&expression, &scope);
    let mut errors = check.errors;
    if errors.is_empty() && !(goal.outcome)(&outcome) {
        errors.push(goal.complaint.to_owned());
    }
    Ok(Compiled { expression, scope, errors })
}

struct Check<'r> {
    rule: &'r str,
    source: &'r SourceInfo,
    failure: &'static str,
    errors: Vec<String>,
}

impl Check<'_> {
    fn infer(&mut self, expr: &IdedExpr, scope: &Scope) -> Decl {
        match &expr.expr {
            Expr::Ident(name) => match scope.get(name) {
                Some(decl) => decl.clone(),
                None => {
                    if !TYPES.contains(&name.as_str()) && !name.starts_with(['@', '_']) && !name.contains('.')
                    {
                        self.error(expr, &format!("undeclared reference to '{name}' (in container '')"));
                    }
                    Decl::Dyn
                }
            },
            Expr::Select(select) => {
                if is_qualifier(&select.operand, scope) {
                    return Decl::Dyn;
                }
                let operand = self.infer(&select.operand, scope);
                let field = match operand {
                    Decl::Object { fields, .. } => match fields.get(&select.field) {
                        Some(field) => field.clone(),
                        None => {
                            self.error(expr, &format!("undefined field '{}'", select.field));
                            Decl::Dyn
                        }
                    },
                    Decl::Map { value, .. } => (*value).clone(),
                    _ => Decl::Dyn,
                };
                if select.test { Decl::Bool } else { field }
            }
            Expr::Call(call) => {
                let target = call.target.as_ref().filter(|target| !is_qualifier(target, scope));
                let target = target.map(|target| self.infer(target, scope));
                let args: Vec<Decl> = call.args.iter().map(|arg| self.infer(arg, scope)).collect();
                outcome(&call.func_name, target, args)
            }
            Expr::List(list) => {
                list.elements.iter().for_each(|element| drop(self.infer(element, scope)));
                Decl::List {
                    item: Rc::new(Decl::Dyn),
                    max: u64::try_from(list.elements.len()).unwrap_or(u64::MAX),
                }
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, scope),
            Expr::Literal(literal) => literal_type(literal),
            _ => Decl::Dyn,
        }
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr, scope: &Scope) -> Decl {
        let range = self.infer(&comprehension.iter_range, scope);
        let mut inner = scope.clone();
        inner.extend(variables(comprehension, &range));
        let start = self.infer(&comprehension.accu_init, &inner);
        inner.insert(comprehension.accu_var.clone(), start);
        self.infer(&comprehension.loop_cond, &inner);
        self.infer(&comprehension.loop_step, &inner);
        self.infer(&comprehension.result, &inner)
    }

    /// An error in the form cel-go gives it: position, line and a mark below.
    fn error(&mut self, expr: &IdedExpr, text: &str) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        let start = self.source.offset_for(expr.id).map_or(0, |(start, _)| start);
        let start = usize::try_from(start).unwrap_or(0);
        let before: String = self.rule.chars().take(start).collect();
        let row = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let line = self.rule.lines().nth(row.saturating_sub(1)).unwrap_or_default();
        let mark = ".".repeat(column);
        let column = column.saturating_add(1);
        self.errors
            .push(format!("{}: ERROR: <input>:{row}:{column}: {text}\n | {line}\n | {mark}^", self.failure));
    }
}

/// Whether this is no value but the first word of a name, as in `optional.none()` and `format.dns1123Label()`.
fn is_qualifier(expr: &IdedExpr, scope: &Scope) -> bool {
    matches!(&expr.expr, Expr::Ident(name) if !scope.contains_key(name) && QUALIFIERS.contains(&name.as_str()))
}

/// The variables a comprehension binds, for a range of this type.
pub(super) fn variables(comprehension: &ComprehensionExpr, range: &Decl) -> Vec<(String, Decl)> {
    let element = match range {
        Decl::List { item, .. } => (**item).clone(),
        _ => Decl::Dyn,
    };
    let second = comprehension.iter_var2.iter().map(|name| (name.clone(), Decl::Dyn));
    let first = if comprehension.iter_var2.is_some() { Decl::Dyn } else { element };
    std::iter::once((comprehension.iter_var.clone(), first)).chain(second).collect()
}

/// The type of what a function gives.
pub(super) fn outcome(function: &str, target: Option<Decl>, args: Vec<Decl>) -> Decl {
    if CONDITIONS.contains(&function) {
        return Decl::Bool;
    }
    match function {
        "size" => Decl::Scalar("int"),
        "_[_]" => match args.into_iter().next() {
            Some(Decl::List { item, .. }) => (*item).clone(),
            Some(Decl::Map { value, .. }) => (*value).clone(),
            _ => Decl::Dyn,
        },
        "lowerAscii" | "upperAscii" | "trim" if matches!(target, Some(Decl::Text { .. })) => {
            target.unwrap_or(Decl::Dyn)
        }
        _ => Decl::Dyn,
    }
}

pub(super) fn literal_type(literal: &LiteralValue) -> Decl {
    match literal {
        LiteralValue::Boolean(_) => Decl::Bool,
        LiteralValue::String(_) => Decl::Text { max: 0 },
        LiteralValue::Int(_) => Decl::Scalar("int"),
        LiteralValue::UInt(_) => Decl::Scalar("uint"),
        LiteralValue::Double(_) => Decl::Scalar("double"),
        LiteralValue::Bytes(_) => Decl::Scalar("bytes"),
        LiteralValue::Null => Decl::Scalar("null_type"),
    }
}
