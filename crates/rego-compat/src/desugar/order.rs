//! The order of statements in a body: each after those that give its variables their values.
//!
//! The algorithm is OPA's `reorderBodyForSafety`; what it cannot place reads a variable that nothing gives a
//! value to, and is reported as unsafe.
//!
//! ```rego
//! x > 1; x := input.list[i]; y := x + i      # as written
//! x := input.list[i]; y := x + i; x > 1      # as ordered
//! ```
//!
//! The first round over the statements passes `x > 1` over, because nothing gives `x` a value yet; places
//! `x := input.list[i]`, which makes `x` and `i` safe; and places `y := x + i`. The second round places `x > 1`.

mod output;
mod slots;
mod vars;

use crate::diagnostic::Pos;
use crate::ir::{Action, Branch, Collect, CollectKind, Operand, Slot, Statement};

pub(crate) use slots::SlotSet;
pub(crate) use vars::{all_vars, bound_by, visible_vars};

use output::outputs;
pub(crate) use output::same_key;
use vars::closure_vars;

/// Variables that are read without ever getting a value, and where.
type Unsafe = Vec<(Slot, Pos)>;

/// Orders a body whose `given` variables have values; nested bodies are ordered too.
pub(super) fn order(body: Vec<Statement>, given: &SlotSet, found: &mut Unsafe) -> Vec<Statement> {
    let mut known = given.clone();
    let placed = place(body, given, found).into_iter();
    placed
        .map(|(mut statement, own)| {
            // A body inside sees what the statements in front of it gave values to: in `x := 1; not f(x)` it knows `x`.
            order_nested(&mut statement, &known, found);
            known.union(&own);
            statement
        })
        .collect()
}

/// A statement that still has to be placed.
struct Waiting {
    statement: Statement,
    vars: SlotSet,
    /// Variables of the body that a nested body of the statement reads.
    closed: SlotSet,
}

/// Returns the statements in order, each with the variables it mentions.
fn place(body: Vec<Statement>, given: &SlotSet, found: &mut Unsafe) -> Vec<(Statement, SlotSet)> {
    let mut body_vars = SlotSet::default();
    let own: Vec<SlotSet> = body.iter().map(own_vars).collect();
    own.iter().for_each(|vars| body_vars.union(vars));
    let mut waiting: Vec<Option<Waiting>> = body
        .into_iter()
        .zip(own)
        .map(|(statement, vars)| Some(wait(statement, vars, &body_vars, given)))
        .collect();
    // What has a value already and is not mentioned here decides nothing, and would only make the sets larger.
    let mut safe = body_vars.clone();
    safe.intersect(given);
    let mut ordered = Vec::with_capacity(waiting.len());
    let mut rounds = Rounds::new(&waiting);
    while let Some(at) = rounds.next() {
        let Some(place) = waiting.get_mut(at) else { continue };
        let Some(item) = place.take() else { continue };
        match ready(&item, &safe) {
            Some(mut made_safe) => {
                made_safe.subtract(&safe);
                safe.union(&made_safe);
                // Statements that were passed over for one of these may be placed now.
                rounds.placed(at, &made_safe);
                ordered.push((item.statement, item.vars));
            }
            None => *place = Some(item),
        }
    }
    // What is left reads a variable that nothing gives a value to. It stays in the body, so that the checks behind this one
    // see all of it; what the statement itself would give a value to is not reported.
    for item in waiting.into_iter().flatten() {
        let mut missing = item.vars.clone();
        missing.union(&item.closed);
        missing.subtract(&safe);
        missing.subtract(&outputs(&item.statement, &safe));
        found.extend(missing.iter().map(|slot| (slot, item.statement.at)));
        ordered.push((item.statement, item.vars));
    }
    ordered
}

/// The statements to look at next: OPA goes over all that are left, again and again. Whether one can be placed
/// changes only with the variables it mentions, so only those are looked at again; the order comes out the same.
struct Rounds {
    /// Variables and the statements that mention them, by variable.
    users: Vec<(Slot, u32)>,
    now: SlotSet,
    later: SlotSet,
}

impl Rounds {
    fn new(waiting: &[Option<Waiting>]) -> Self {
        // In `a := 1; b > 1; b := a` the users are (a, 0), (a, 2), (b, 1), (b, 2). Statement 0 makes `a` safe, so 2 can be
        // placed in this round; that makes `b` safe, and 1, which is in front of it, is placed in the next: 0, 2, 1.
        let mut users = Vec::new();
        let mut now = SlotSet::default();
        for (at, item) in (0u32..).zip(waiting) {
            now.insert(at);
            let Some(item) = item else { continue };
            let mut mentioned = item.vars.clone();
            mentioned.union(&item.closed);
            users.extend(mentioned.iter().map(|slot| (slot, at)));
        }
        users.sort_unstable();
        Self { users, now, later: SlotSet::default() }
    }

    fn next(&mut self) -> Option<usize> {
        if self.now.is_empty() {
            std::mem::swap(&mut self.now, &mut self.later);
        }
        let first = self.now.iter().next()?;
        self.now.remove(first);
        usize::try_from(first).ok()
    }

    /// Puts the statements on the list that mention what a placed one made safe: those behind it in this round, others in the next.
    fn placed(&mut self, at: usize, made_safe: &SlotSet) {
        for slot in made_safe.iter() {
            let from = self.users.partition_point(|(used, _)| *used < slot);
            let users = self.users.iter().skip(from).take_while(|(used, _)| *used == slot);
            for (_, user) in users {
                let behind = usize::try_from(*user).is_ok_and(|user| user > at);
                if behind { self.now.insert(*user) } else { self.later.insert(*user) }
            }
        }
    }
}

fn own_vars(statement: &Statement) -> SlotSet {
    let mut vars = SlotSet::default();
    visible_vars(statement, &mut vars);
    vars
}

fn wait(statement: Statement, vars: SlotSet, body_vars: &SlotSet, given: &SlotSet) -> Waiting {
    let mut closed = SlotSet::default();
    closure_vars(&statement, &mut closed);
    closed.intersect(body_vars);
    closed.subtract(given);
    Waiting { statement, vars, closed }
}

/// Returns what the statement makes safe, if everything it reads already is.
fn ready(item: &Waiting, safe: &SlotSet) -> Option<SlotSet> {
    let made = outputs(&item.statement, safe);
    if !item.closed.is_empty() && item.closed == made {
        // A comprehension over the very variable it is assigned to: `x := [y | y := x[_]]`.
        return None;
    }
    let mut missing = item.vars.clone();
    missing.union(&item.closed);
    missing.subtract(safe);
    missing.subtract(&made);
    missing.is_empty().then_some(made)
}

fn order_nested(statement: &mut Statement, known: &SlotSet, found: &mut Unsafe) {
    match &mut statement.action {
        Action::Term(operand) => order_operand(operand, known, found),
        Action::Unify { left, right, .. } => {
            order_operand(left, known, found);
            order_operand(right, known, found);
        }
        Action::Call { args, output, .. } => {
            for operand in args.iter_mut().chain(output) {
                order_operand(operand, known, found);
            }
        }
        Action::Every { key, value, domain, body } => {
            order_operand(domain, known, found);
            let mut inner = known.clone();
            inner.insert(*key);
            inner.insert(*value);
            *body = order(std::mem::take(body), &inner, found);
        }
        Action::Not { body, .. } => *body = order(std::mem::take(body), known, found),
        Action::And(branches) | Action::Or(branches) => {
            branches.iter_mut().for_each(|branch| order_branch(branch, known, found));
        }
    }
    for with in &mut statement.with {
        order_operand(&mut with.value, known, found);
    }
}

fn order_branch(branch: &mut Branch, known: &SlotSet, found: &mut Unsafe) {
    branch.body = order(std::mem::take(&mut branch.body), known, found);
}

fn order_operand(operand: &mut Operand, known: &SlotSet, found: &mut Unsafe) {
    match operand {
        Operand::Const(_) | Operand::Var(_) => {}
        Operand::Array(items) | Operand::Set(items) => {
            items.iter_mut().for_each(|item| order_operand(item, known, found));
        }
        Operand::Object(pairs) => {
            for (key, value) in pairs {
                order_operand(key, known, found);
                order_operand(value, known, found);
            }
        }
        Operand::Ref(reference) => {
            reference.path.iter_mut().for_each(|part| order_operand(part, known, found))
        }
        Operand::Collect(collect) => order_collect(collect, known, found),
    }
}

fn order_collect(collect: &mut Collect, known: &SlotSet, found: &mut Unsafe) {
    collect.body = order(std::mem::take(&mut collect.body), known, found);
    // The head is computed where the body holds, so it may read what the body gives values to.
    let mut given = known.clone();
    for statement in &collect.body {
        bound_by(statement, &mut given);
    }
    let mut head = SlotSet::default();
    match &collect.kind {
        CollectKind::Array(operand) | CollectKind::Set(operand) => all_vars(operand, &mut head),
        CollectKind::Object(key, value) => {
            all_vars(key, &mut head);
            all_vars(value, &mut head);
        }
    }
    head.subtract(&given);
    let at = collect.body.first().map_or_else(Pos::default, |statement| statement.at);
    found.extend(head.iter().map(|slot| (slot, at)));
}
