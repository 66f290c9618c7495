//! Definitions of one object whose first keys are constants, in the tree of rules that OPA makes of them.
//!
//! In that tree (OPA `ast/compile.go`, `NewRuleTree`) each scalar at the beginning of a head leads to a node, and a node is
//! there also when no definition of it holds:
//!
//! ```text
//! q[1] contains 2 if false        q is {1: set()}
//! q[1][x] := 2 if { x := [][_] }  q is {1: {}}
//! q[1].a := 2 if false            q is {1: {}}
//! ```
//!
//! A definition with a variable takes in the nodes below its own. With `q[x] := 3` beside it, `q[1] contains 2` is not a node,
//! and an `else` of `q.a := 1` is not tried (`topdown/eval.go`, `evalVirtualPartial`).

use std::collections::BTreeSet;

use crate::builtin::is_scalar;
use crate::ir::{Group, Leaf, Operand, Rule, RuleNode};
use crate::value::Value;

/// The beginning of a definition's head.
struct Head {
    fixed: Vec<Value>,
    /// True if other keys follow the fixed ones.
    is_open: bool,
    is_set: bool,
}

/// Orders the definitions of an object as OPA's tree has them, and collects the nodes of it that exist where nothing holds.
pub(super) fn arrange(group: &mut Group) {
    group.rules.sort_by_cached_key(fixed_keys);
    let heads: Vec<Option<Head>> = group.rules.iter().map(Head::of).collect();
    let open: BTreeSet<Vec<Value>> =
        heads.iter().flatten().filter(|head| head.is_open).map(|head| head.fixed.clone()).collect();
    let mut known = BTreeSet::new();
    for (rule, head) in group.rules.iter_mut().zip(heads) {
        let Some(head) = head else { continue };
        if head.is_below(&open) {
            rule.branches.truncate(1);
        } else if !rule.default {
            group.nodes.extend(head.node().filter(|node| known.insert(node.clone())));
        }
    }
}

/// Returns the keys an object's definition is known to be under. OPA goes through the tree of them from the root.
fn fixed_keys(rule: &Rule) -> Vec<Value> {
    let keys = rule.branches.first().into_iter().flat_map(|branch| &branch.keys);
    let known = keys.map_while(|key| if let Operand::Const(key) = key { Some(key.clone()) } else { None });
    known.collect()
}

impl Head {
    fn of(rule: &Rule) -> Option<Self> {
        let branch = rule.branches.first()?;
        let fixed: Vec<Value> = fixed_keys(rule).into_iter().take_while(is_scalar).collect();
        let is_open = fixed.len() < branch.keys.len();
        Some(Self { fixed, is_open, is_set: matches!(branch.leaf, Leaf::Element(_)) && !is_open })
    }

    /// Returns true if another definition's head has a variable where this one has a key: `open` is where such variables stand.
    fn is_below(&self, open: &BTreeSet<Vec<Value>>) -> bool {
        (0..self.fixed.len()).any(|length| self.fixed.get(..length).is_some_and(|keys| open.contains(keys)))
    }

    fn node(self) -> Option<RuleNode> {
        let Self { fixed: mut keys, is_open, is_set } = self;
        if !is_open && !is_set {
            keys.pop();
        }
        (!keys.is_empty()).then_some(RuleNode { keys, is_set })
    }
}
