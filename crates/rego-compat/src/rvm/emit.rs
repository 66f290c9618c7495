//! A plan as Rego v1, in few constructs.
//!
//! Every variable is assigned once, under a name of its own; every comprehension has a variable as its head. There is no
//! `not`, `every`, `else`, unification or partial rule in what is written: `group`, `step` and `expr` say each of
//! them with comprehensions that are empty or not.

mod expr;
mod group;
mod step;

use std::collections::BTreeSet;

use crate::value::Value;

use crate::ir::GroupId;
use crate::plan::{Plan, SlotIndex};

use super::host::{Call, Request};
use super::subset::{OutsideSubset, Reason};

/// The rule that answers the plan's query.
pub(super) const QUERY: &str = "data.plan.query";

/// Rego, and what it refers to.
pub(super) struct Emitted {
    pub(super) text: String,
    pub(super) constants: Vec<Value>,
    /// Names and meanings of the functions that the host answers.
    pub(super) calls: Vec<(String, Call)>,
    /// Whether definitions can give different values where one is wanted.
    pub(super) can_conflict: bool,
}

/// Writes the plan's query and every rule it needs.
pub(super) fn emit(plan: &Plan) -> Result<Emitted, OutsideSubset> {
    let mut emitter = Emitter {
        plan,
        text: "package plan\n".to_owned(),
        constants: Vec::new(),
        calls: Vec::new(),
        names: 0,
        wanted: Vec::new(),
        known: BTreeSet::new(),
        can_conflict: false,
        reasons: BTreeSet::new(),
    };
    if let Some(query) = &plan.query {
        let mut lines = Lines::default();
        let value = emitter.expr(query, &Scope::default(), &mut lines);
        emitter.rule("query", &[], lines, &value);
    }
    while let Some(group) = emitter.wanted.pop() {
        emitter.group(group);
    }
    if emitter.reasons.is_empty() {
        let Emitter { text, constants, calls, can_conflict, .. } = emitter;
        return Ok(Emitted { text, constants, calls, can_conflict });
    }
    Err(OutsideSubset { reasons: emitter.reasons.into_iter().collect() })
}

/// The statements of one body, one a line.
pub(super) type Lines = Vec<String>;

/// Names of the variables that hold the slots' values.
#[derive(Clone, Default)]
pub(super) struct Scope {
    slots: std::collections::BTreeMap<SlotIndex, String>,
}

impl Scope {
    fn bind(&mut self, slot: SlotIndex, name: &str) {
        self.slots.insert(slot, name.to_owned());
    }
}

struct Emitter<'p> {
    plan: &'p Plan,
    text: String,
    constants: Vec<Value>,
    calls: Vec<(String, Call)>,
    names: usize,
    wanted: Vec<GroupId>,
    known: BTreeSet<GroupId>,
    can_conflict: bool,
    reasons: BTreeSet<Reason>,
}

impl Emitter<'_> {
    fn name(&mut self) -> String {
        self.names = self.names.saturating_add(1);
        format!("v{}", self.names)
    }

    /// A variable for a term that has a value.
    fn assign(&mut self, term: &str, lines: &mut Lines) -> String {
        let name = self.name();
        lines.push(format!("{name} := {term}"));
        name
    }

    /// A variable for a term that may have none. The machine assigns "no value" and goes on; an array of it has no
    /// value either, and that ends the body.
    fn assign_defined(&mut self, term: &str, lines: &mut Lines) -> String {
        let name = self.assign(term, lines);
        lines.push(format!("set() != [{name}]"));
        name
    }

    /// A statement that never holds, and a variable to stand where a value was wanted.
    fn fail(&mut self, lines: &mut Lines) -> String {
        lines.push("false".to_owned());
        self.assign("null", lines)
    }

    fn refuse(&mut self, reason: Reason, lines: &mut Lines) -> String {
        self.reasons.insert(reason);
        self.fail(lines)
    }

    /// A variable for what the host answers.
    fn ask(&mut self, request: Request, args: &[String], lines: &mut Lines) -> String {
        let call = Call { request, arity: args.len() };
        self.can_conflict |= matches!(request, Request::Object(_));
        let known = self.calls.iter().find(|(_, known)| *known == call).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = format!("host{}", self.calls.len());
            self.calls.push((name.clone(), call));
            name
        });
        self.assign_defined(&format!("{name}({})", args.join(", ")), lines)
    }

    /// A variable for an array with one element, `head`, for each way the lines hold.
    fn gather(&mut self, head: &str, inner: &Lines, lines: &mut Lines) -> String {
        let term = self.gathered(head, inner);
        self.assign(&term, lines)
    }

    /// The loop around the lines gives the machine a place to go on from when one of them does not hold. Without one
    /// it would leave what is around the comprehension too.
    fn gathered(&mut self, head: &str, inner: &Lines) -> String {
        let once = self.name();
        format!("[{head} |\nsome {once} in [null]\n{}\n]", inner.join("\n"))
    }

    /// The name of a rule or function, which is then written too.
    fn named(&mut self, group: GroupId) -> String {
        if self.known.insert(group) {
            self.wanted.push(group);
        }
        format!("g{group}")
    }

    fn rule(&mut self, name: &str, args: &[String], mut lines: Lines, value: &str) {
        let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
        lines.push(format!("result := {value}"));
        let body = lines.join("\n");
        self.text.push_str(&format!("\n{name}{args} := result if {{\n{body}\n}}\n"));
    }
}
