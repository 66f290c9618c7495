//! Rules and functions: every definition gathers its values, and one body puts them together.
//!
//! What OPA calls a conflict is found where the values of a group meet, by the host.

use crate::ir::{GroupId, Kind};
use crate::plan::{Branch, Group, Rule, can_conflict};

use super::super::host::Request;
use super::super::subset::Reason;
use super::{Emitter, Lines, Scope};

impl Emitter<'_> {
    pub(super) fn group(&mut self, id: GroupId) {
        let plan = self.plan;
        let Some(group) = plan.groups.get(id) else {
            return;
        };
        let arity = match group.kind {
            Kind::Function { arity } => arity,
            Kind::Complete | Kind::Set | Kind::Object => 0,
        };
        let args: Vec<String> = (0..arity).map(|place| format!("a{place}")).collect();
        let mut lines = Lines::new();
        let value = match group.kind {
            Kind::Complete | Kind::Function { .. } => self.one_value(id, group, &args, &mut lines),
            Kind::Set => self.set_rule(group, &mut lines),
            Kind::Object => self.object_rule(id, group, &mut lines),
        };
        let name = self.named(id);
        self.rule(&name, &args, lines, &value);
    }

    /// The one value that all definitions give, or the default's. Definitions after the first that holds are not
    /// tried where all give the same constant.
    fn one_value(&mut self, id: GroupId, group: &Group, args: &[String], lines: &mut Lines) -> String {
        self.can_conflict |= can_conflict(group);
        let mut gathered: Vec<String> = Vec::new();
        for rule in &group.rules {
            let without = if group.settled { gathered.clone() } else { Vec::new() };
            gathered.extend(self.definition(rule, args, &without, lines));
        }
        if let Some(default) = &group.default {
            let without = gathered.clone();
            gathered.extend(self.definition(default, args, &without, lines));
        }
        let all = self.assign(&format!("[{}]", gathered.join(", ")), lines);
        self.ask(Request::Only(id), &[all], lines)
    }

    /// Variables for the values of each branch of a definition; a branch is tried where those before it and the
    /// arrays in `without` are empty.
    fn definition(
        &mut self,
        rule: &Rule,
        args: &[String],
        without: &[String],
        lines: &mut Lines,
    ) -> Vec<String> {
        let mut gathered: Vec<String> = without.to_vec();
        for branch in &rule.branches {
            let (mut inner, mut scope) = (Lines::new(), Scope::default());
            for (pattern, arg) in rule.args.iter().zip(args) {
                self.pattern(pattern, arg, &mut scope, &mut inner);
            }
            self.steps(&branch.body, &mut scope, &mut inner);
            let value = self.expr(&branch.value, &scope, &mut inner);
            let call = self.apart(args, &value, &inner);
            let made = self.provided(&call, &gathered, lines);
            gathered.push(made);
        }
        gathered.split_off(without.len().min(gathered.len()))
    }

    /// A rule or function of its own that gathers a definition's values: registers are counted by the rule. Answers
    /// the term that asks it.
    fn apart(&mut self, args: &[String], head: &str, inner: &Lines) -> String {
        let name = self.name().replace('v', "d");
        let gathered = self.gathered(head, inner);
        self.rule(&name, args, Lines::new(), &gathered);
        if args.is_empty() { name } else { format!("{name}({})", args.join(", ")) }
    }

    /// A variable for an array that is empty where one of the others is not.
    fn provided(&mut self, array: &str, without: &[String], lines: &mut Lines) -> String {
        if without.is_empty() {
            return self.assign(array, lines);
        }
        let mut inner: Lines = without.iter().map(|array| format!("{array} == []")).collect();
        let made = self.assign(array, &mut inner);
        let item = self.name();
        inner.push(format!("some {item} in {made}"));
        self.gather(&item, &inner, lines)
    }

    fn set_rule(&mut self, group: &Group, lines: &mut Lines) -> String {
        let mut gathered = Vec::new();
        for rule in &group.rules {
            if rule.branches.len() > 1 {
                return self.refuse(Reason::ElseOfMany(group.name()), lines);
            }
            gathered.extend(self.definition(rule, &[], &[], lines));
        }
        let all = self.assign(&format!("[{}]", gathered.join(", ")), lines);
        let (each, item) = (self.name(), self.name());
        self.assign(&format!("{{{item} |\nsome {each} in {all}\nsome {item} in {each}\n}}"), lines)
    }

    fn object_rule(&mut self, id: GroupId, group: &Group, lines: &mut Lines) -> String {
        let flat = |branch: &Branch| branch.keys.len() == 1 && !branch.element;
        let is_flat = group.rules.iter().flat_map(|rule| &rule.branches).all(flat);
        if !is_flat || group.default.is_some() {
            return self.refuse(Reason::ObjectRule(group.name()), lines);
        }
        let mut gathered = Vec::new();
        for rule in &group.rules {
            let [branch] = rule.branches.as_slice() else {
                return self.refuse(Reason::ElseOfMany(group.name()), lines);
            };
            let (mut inner, mut scope) = (Lines::new(), Scope::default());
            self.steps(&branch.body, &mut scope, &mut inner);
            let Some(key) = branch.keys.first() else { continue };
            let pair = self.pair(key, &branch.value, &scope, &mut inner);
            gathered.push(self.apart(&[], &pair, &inner));
        }
        let all = self.assign(&format!("[{}]", gathered.join(", ")), lines);
        let (each, item) = (self.name(), self.name());
        let pairs = format!("[{item} |\nsome {each} in {all}\nsome {item} in {each}\n]");
        let pairs = self.assign(&pairs, lines);
        self.ask(Request::Object(Some(id)), &[pairs], lines)
    }
}
