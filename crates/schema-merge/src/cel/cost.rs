//! What a rule costs at least, by Kubernetes' own measure.
//!
//! The server estimates what a rule costs at most, from the largest values the schema allows, and refuses what is over its
//! budget. Here only the terms are counted that are certain to be in that estimate, so a rule refused here is refused there
//! as well; the reverse does not hold.

use std::rc::Rc;

use cel::common::ast::{CallExpr, Expr, IdedExpr};

use super::check::{Scope, literal_type, outcome, variables};
use super::decl::Decl;

/// Costs at least this much, with the type of the outcome.
pub(super) fn least(expr: &IdedExpr, scope: &Scope) -> (u64, Decl) {
    match &expr.expr {
        Expr::Ident(name) => (1, scope.get(name).cloned().unwrap_or(Decl::Dyn)),
        Expr::Select(select) => {
            let (cost, operand) = least(&select.operand, scope);
            let field = match operand {
                Decl::Object { fields, .. } => fields.get(&select.field).cloned().unwrap_or(Decl::Dyn),
                Decl::Map { value, .. } => (*value).clone(),
                _ => Decl::Dyn,
            };
            (cost, if select.test { Decl::Bool } else { field })
        }
        Expr::Call(call) => called(call, scope),
        Expr::Comprehension(comprehension) => {
            let (range_cost, range) = least(&comprehension.iter_range, scope);
            let mut inner = scope.clone();
            inner.extend(variables(comprehension, &range));
            let (_, start) = least(&comprehension.accu_init, scope);
            inner.insert(comprehension.accu_var.clone(), start);
            let (step, _) = least(&comprehension.loop_step, &inner);
            let (result, decl) = least(&comprehension.result, &inner);
            let size = range.max_elements().unwrap_or(0);
            (range_cost.saturating_add(size.saturating_mul(step)).saturating_add(result), decl)
        }
        Expr::List(list) => {
            let cost =
                list.elements.iter().fold(0_u64, |sum, element| sum.saturating_add(least(element, scope).0));
            (
                cost,
                Decl::List {
                    item: Rc::new(Decl::Dyn),
                    max: u64::try_from(list.elements.len()).unwrap_or(u64::MAX),
                },
            )
        }
        Expr::Literal(literal) => (0, literal_type(literal)),
        _ => (0, Decl::Dyn),
    }
}

/// A call costs what its operands cost; a choice costs its dearest branch.
fn called(call: &CallExpr, scope: &Scope) -> (u64, Decl) {
    let target = call.target.as_ref().map(|target| least(target, scope));
    let args: Vec<(u64, Decl)> = call.args.iter().map(|arg| least(arg, scope)).collect();
    let mut cost = target.as_ref().map_or(0, |(cost, _)| *cost);
    if call.func_name == "_?_:_" {
        let most = args.iter().map(|(cost, _)| *cost).max().unwrap_or(0);
        return (cost.saturating_add(most), Decl::Dyn);
    }
    cost = args.iter().fold(cost, |sum, (cost, _)| sum.saturating_add(*cost));
    if let ("_==_" | "_!=_", [(_, left), (_, right)]) = (&*call.func_name, &*args) {
        cost = cost.saturating_add(equality(left, right));
    }
    (
        cost,
        outcome(
            &call.func_name,
            target.map(|(_, decl)| decl),
            args.into_iter().map(|(_, decl)| decl).collect(),
        ),
    )
}

/// Two texts are compared character by character, ten for one unit of cost, as far as the shorter one goes. `oldSelf` has
/// the type of `self`, but counts here only where both are known.
fn equality(left: &Decl, right: &Decl) -> u64 {
    match (left, right) {
        (Decl::Text { max: left }, Decl::Text { max: right }) => left.min(right).checked_div(10).unwrap_or(0),
        _ => 0,
    }
}
