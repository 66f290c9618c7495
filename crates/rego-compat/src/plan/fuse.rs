//! Joins steps: a value that is made by one step and read once by the next needs no slot in between, and a value
//! that is never read is not kept.
//!
//! Order and meaning stay: the value is computed at the same point, and where it has none, the body fails there.
//!
//! ```text
//! startswith(input.name, "x")
//!
//! Let $0 = input.name               Test startswith(input.name, "x")
//! Test startswith($0, "x")
//!
//! p := input.a; q := f(p); p > q    `p` is read twice, so its slot stays
//! ```

use super::{Collect, CollectKind, Each, Every, Expr, Hop, Override, Pattern, Replacement, SlotIndex, Step};

/// Joins the steps of a body whose end reads `ends`.
pub(super) fn fuse(steps: Vec<Step>, ends: &[&Expr]) -> Vec<Step> {
    let mut uses = Vec::new();
    // Uses are counted over all of the body before anything is joined: joining moves uses, and never adds or drops one.
    count_steps(&steps, &mut uses);
    ends.iter().for_each(|expr| count_expr(expr, &mut uses));
    join(steps, &uses)
}

type Uses = Vec<u32>;

/// Steps that are joined to one. An expression is computed by recursion, and looked through for each step joined
/// to it, so it must not grow without end.
const MOST_JOINED: usize = 16;

/// Parts of an expression that is still moved into another.
const MOST_PARTS: usize = 128;

fn join(steps: Vec<Step>, uses: &Uses) -> Vec<Step> {
    let mut done: Vec<Step> = Vec::with_capacity(steps.len());
    for mut step in steps {
        join_nested(&mut step, uses);
        forget_unread(&mut step, uses);
        // From the back: of `Let $0 = a; Let $1 = b; Test f($0, $1)` first `b` goes in, then `a`, so that what was computed
        // first still is. A `Let` whose value the step does not read ends it: whatever is in front of that may be moved
        // past it no more.
        let mut joined = 0usize;
        while let Some(Step::Let(slot, expr)) = done.last() {
            let slot = *slot;
            joined = joined.saturating_add(1);
            if joined > MOST_JOINED || !is_small(expr) {
                break;
            }
            // Read once in the body, and that by what the step computes first: a use in a block of the step would be computed
            // as often as the block runs, and a failing value would fail there and not here.
            let read_once = uses.get(slot).is_none_or(|count| *count == 1);
            if !read_once || direct_uses(&step, slot) != 1 {
                break;
            }
            let Some(Step::Let(_, expr)) = done.pop() else {
                break;
            };
            substitute(&mut step, slot, expr);
        }
        done.push(step);
    }
    done
}

fn join_nested(step: &mut Step, uses: &Uses) {
    let inner = |block: &mut Vec<Step>| *block = join(std::mem::take(block), uses);
    match step {
        Step::Collect(collect) => inner(&mut collect.body),
        Step::Every(every) => inner(&mut every.body),
        Step::Not(block, _) => inner(block),
        Step::And(blocks) | Step::Or(blocks) => blocks.iter_mut().for_each(inner),
        Step::Test(_)
        | Step::Let(..)
        | Step::Match(..)
        | Step::Each(_)
        | Step::Walk(..)
        | Step::With(..)
        | Step::Mark(_) => {}
    }
}

/// Takes the variables that nothing reads out of an open reference, such as `_`: `input.items[_]` needs no key of an array,
/// and the run is spared making one for each item.
fn forget_unread(step: &mut Step, uses: &Uses) {
    let Step::Each(each) = step else { return };
    let keys = each.path.iter_mut().filter_map(|hop| match hop {
        Hop::Any(pattern) => Some(pattern),
        Hop::Key(_) => None,
    });
    for pattern in keys.chain([&mut each.target]) {
        if matches!(pattern, Pattern::Bind(slot) if uses.get(*slot).is_none_or(|count| *count == 0)) {
            *pattern = Pattern::Any;
        }
    }
}

fn is_small(expr: &Expr) -> bool {
    let mut left = MOST_PARTS;
    fits(expr, &mut left)
}

fn fits(expr: &Expr, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else {
        return false;
    };
    *left = rest;
    expr.all_parts(&mut |part| fits(part, left))
}

/// Returns the expression a step computes first and once. The blocks of the others run in a place of their own: under `not`,
/// under `with`, or once for each solution.
fn leading(step: &Step) -> Option<&Expr> {
    match step {
        Step::Test(expr) | Step::Let(_, expr) | Step::Match(expr, _) | Step::Walk(expr, _) => Some(expr),
        Step::Each(each) => Some(&each.base),
        Step::Every(every) => Some(&every.domain),
        Step::Collect(_) | Step::Not(..) | Step::With(..) | Step::And(..) | Step::Or(..) | Step::Mark(_) => {
            None
        }
    }
}

fn direct_uses(step: &Step, slot: SlotIndex) -> u32 {
    let mut uses = 0u32;
    if let Some(expr) = leading(step) {
        each_use(expr, &mut |used| uses = uses.saturating_add(u32::from(used == slot)));
    }
    uses
}

fn substitute(step: &mut Step, slot: SlotIndex, with: Expr) {
    let mut with = Some(with);
    match step {
        Step::Test(expr) | Step::Let(_, expr) | Step::Match(expr, _) | Step::Walk(expr, _) => {
            replace(expr, slot, &mut with);
        }
        Step::Each(each) => replace(&mut each.base, slot, &mut with),
        Step::Every(every) => replace(&mut every.domain, slot, &mut with),
        Step::Collect(_) | Step::Not(..) | Step::With(..) | Step::And(..) | Step::Or(..) | Step::Mark(_) => {}
    }
}

fn replace(expr: &mut Expr, slot: SlotIndex, with: &mut Option<Expr>) {
    if !matches!(expr, Expr::Slot(found) if *found == slot) {
        expr.each_part_mut(&mut |part| replace(part, slot, with));
    } else if let Some(with) = with.take() {
        *expr = with;
    }
}

fn bump(uses: &mut Uses, slot: SlotIndex) {
    if uses.len() <= slot {
        uses.resize(slot.saturating_add(1), 0);
    }
    if let Some(count) = uses.get_mut(slot) {
        *count = count.saturating_add(1);
    }
}

fn count_expr(expr: &Expr, uses: &mut Uses) {
    each_use(expr, &mut |slot| bump(uses, slot));
}

/// Calls `visit` for each variable that an expression reads, as often as it reads it.
fn each_use(expr: &Expr, visit: &mut dyn FnMut(SlotIndex)) {
    if let Expr::Slot(slot) = expr {
        visit(*slot);
    }
    expr.all_parts(&mut |part| {
        each_use(part, visit);
        true
    });
}

fn count_pattern(pattern: &Pattern, uses: &mut Uses) {
    match pattern {
        Pattern::Any | Pattern::Truthy | Pattern::Bind(_) => {}
        Pattern::Equal(expr) => count_expr(expr, uses),
        Pattern::Array(items) => items.iter().for_each(|item| count_pattern(item, uses)),
        Pattern::Object(pairs) => {
            for (key, value) in pairs {
                count_expr(key, uses);
                count_pattern(value, uses);
            }
        }
    }
}

fn count_steps(steps: &[Step], uses: &mut Uses) {
    for step in steps {
        match step {
            Step::Test(expr) | Step::Let(_, expr) => count_expr(expr, uses),
            Step::Match(expr, pattern) | Step::Walk(expr, pattern) => {
                count_expr(expr, uses);
                count_pattern(pattern, uses);
            }
            Step::Mark(_) => {}
            Step::Each(each) => count_each(each, uses),
            Step::Collect(collect) => count_collect(collect, uses),
            Step::Not(block, _) => count_steps(block, uses),
            Step::Every(every) => count_every(every, uses),
            Step::With(overrides, block) => {
                overrides.iter().for_each(|with| count_override(with, uses));
                count_steps(block, uses);
            }
            Step::And(blocks) | Step::Or(blocks) => {
                blocks.iter().for_each(|block| count_steps(block, uses));
            }
        }
    }
}

fn count_each(each: &Each, uses: &mut Uses) {
    count_expr(&each.base, uses);
    for hop in &each.path {
        match hop {
            Hop::Key(expr) => count_expr(expr, uses),
            Hop::Any(pattern) => count_pattern(pattern, uses),
        }
    }
    count_pattern(&each.target, uses);
}

fn count_collect(collect: &Collect, uses: &mut Uses) {
    count_steps(&collect.body, uses);
    match &collect.kind {
        CollectKind::Array(head) | CollectKind::Set(head) => count_expr(head, uses),
        CollectKind::Object(key, value) => {
            count_expr(key, uses);
            count_expr(value, uses);
        }
    }
    count_pattern(&collect.target, uses);
}

fn count_every(every: &Every, uses: &mut Uses) {
    count_expr(&every.domain, uses);
    count_steps(&every.body, uses);
}

fn count_override(with: &Override, uses: &mut Uses) {
    if let Replacement::Value(expr) = &with.value {
        count_expr(expr, uses);
    }
}
