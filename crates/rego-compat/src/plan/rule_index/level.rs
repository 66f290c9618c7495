//! The conditions of all definitions of a group, put together: which conditions of one are checked, and in which order.

use std::cmp::Reverse;

use crate::diagnostic::Pos;
use crate::value::Value;

use super::{Check, Conditions, Place, Want};
use crate::plan::{Expr, Rule};

/// Alternatives of one definition that are still kept apart.
pub(super) const MOST_ALTERNATIVES: usize = 32;

/// The conditions of one definition.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The conditions that always have to hold.
    pub(super) own: Vec<Need>,
    /// Of each of these, one part has to hold.
    pub(super) either: Vec<Vec<Vec<Need>>>,
    pub(super) keyed: Vec<(usize, usize)>,
}

/// A value that a place has to have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Need {
    pub(super) place: usize,
    pub(super) want: Want,
}

impl Needs {
    /// Returns every set of needs that leads to the definition. Past the bound the alternatives are dropped, which only
    /// lets more definitions be tried.
    pub(super) fn alternatives(&self) -> Vec<Vec<Need>> {
        // `x; a or b; c or d` is [x a c], [x a d], [x b c] and [x b d].
        let mut alternatives = vec![self.own.clone()];
        for parts in &self.either {
            if alternatives.len().saturating_mul(parts.len()) > MOST_ALTERNATIVES {
                return vec![self.own.clone()];
            }
            let join =
                |alternative: &Vec<Need>, part: &Vec<Need>| alternative.iter().chain(part).cloned().collect();
            alternatives = alternatives
                .iter()
                .flat_map(|alternative| parts.iter().map(move |part| join(alternative, part)))
                .collect();
        }
        alternatives
    }
}

/// The number of conditions on a place, which decides what is checked first.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    pub(super) count: usize,
    pub(super) alternated: Alternation,
}

/// The treatment of a definition that needs one of several values of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alternation {
    #[default]
    None,
    /// Its other conditions are checked behind each of them.
    Converging,
    /// Its other conditions are not checked.
    Terminal,
}

/// The position at which a place is first written: the file's name and the position.
type Written = (String, Pos);

/// The places of a group.
#[derive(Default)]
pub(super) struct Table {
    places: Vec<(Place, Option<Written>)>,
    pub(super) statistics: Vec<Statistics>,
}

impl Table {
    pub(super) fn number(&mut self, place: &Place, written: Option<Written>) -> usize {
        if let Some(known) = self.places.iter().position(|(known, _)| known == place) {
            return known;
        }
        self.places.push((place.clone(), written));
        self.places.len().saturating_sub(1)
    }

    pub(super) fn place(&self, number: usize) -> Option<&Place> {
        self.places.get(number).map(|(place, _)| place)
    }

    pub(super) fn into_places(self) -> Vec<Place> {
        self.places.into_iter().map(|(place, _)| place).collect()
    }

    /// Returns the places in the order they are asked: first those that a definition needs one value of, then those that
    /// many definitions need, then those that are written first.
    pub(super) fn levels(&self, needs: &[Needs]) -> Levels {
        // Of `allow if { input.name == "a"; input.kind == "Pod" }` and `allow if { input.kind == "Job" }`, OPA makes a tree
        // whose first level is `input.kind`, because two definitions need it:
        //     input.kind = "Pod" -> input.name = "a" -> first definition
        //     input.kind = "Job" -> second definition
        // Here each definition keeps its own way down: [kind = "Pod", name = "a"] and [kind = "Job"].
        let mut sorted: Vec<usize> = (0..self.places.len())
            .filter(|place| self.statistics.get(*place).is_some_and(|known| known.count > 0))
            .collect();
        sorted.sort_by_key(|place| {
            let known = self.statistics.get(*place).cloned().unwrap_or_default();
            let written = self.places.get(*place).and_then(|(_, written)| written.as_ref());
            (known.alternated, Reverse(known.count), written.is_none(), written.cloned(), *place)
        });
        let all = || {
            let either = |needs: &'_ Needs| needs.either.clone().into_iter().flatten().flatten();
            needs.iter().flat_map(move |needs| needs.own.iter().cloned().chain(either(needs)))
        };
        let mut valued = vec![false; self.places.len()];
        for need in all().filter(|need| !matches!(need.want, Want::Open(_))) {
            if let Some(place) = valued.get_mut(need.place) {
                *place = true;
            }
        }
        let (levels, unvalued) =
            sorted.into_iter().partition(|place| valued.get(*place).copied().unwrap_or(false));
        Levels { levels, unvalued }
    }
}

/// The places that values are asked of, in order, and those that only have to be there.
pub(super) struct Levels {
    levels: Vec<usize>,
    unvalued: Vec<usize>,
}

impl Levels {
    pub(super) fn conditions(&self, needs: &Needs) -> Option<Conditions> {
        let alternatives = needs.alternatives();
        let reads = |place: usize| {
            alternatives.iter().all(|alternative| alternative.iter().any(|need| need.place == place))
        };
        let defined: Vec<usize> = self.unvalued.iter().copied().filter(|place| reads(*place)).collect();
        let mut asked: Vec<Vec<Check>> =
            alternatives.iter().map(|alternative| self.checks(alternative)).collect();
        // An alternative without checks always holds, so the others decide nothing.
        if asked.iter().any(Vec::is_empty) {
            asked.clear();
        }
        let conditions = Conditions { defined, keyed: needs.keyed.clone(), alternatives: asked };
        let open = conditions.defined.is_empty()
            && conditions.keyed.is_empty()
            && conditions.alternatives.is_empty();
        (!open).then_some(conditions)
    }

    /// Returns what is asked of one alternative, place by place.
    fn checks(&self, alternative: &[Need]) -> Vec<Check> {
        let mut checks = Vec::new();
        let mut left = alternative.iter().filter(|need| self.levels.contains(&need.place)).count();
        for level in &self.levels {
            let mut wants: Vec<Want> = alternative
                .iter()
                .filter(|need| need.place == *level)
                .map(|need| need.want.clone())
                .collect();
            if wants.is_empty() {
                continue;
            }
            left = left.saturating_sub(wants.len());
            if wants.iter().any(|want| !matches!(want, Want::Open(_))) {
                wants.retain(|want| !matches!(want, Want::Open(_)));
            }
            // Behind one of several arrays or ends of texts, OPA's tree has no further levels.
            let several = wants.len() > 1 && !wants.iter().any(|want| matches!(want, Want::Open(_)));
            let last =
                several && (left == 0 || wants.iter().any(|want| is_affix(want) || is_composite(want)));
            if last {
                wants = one_end(wants);
            }
            checks.push(Check { place: *level, wants });
            if last {
                break;
            }
        }
        checks
    }
}

pub(super) const fn is_affix(want: &Want) -> bool {
    matches!(want, Want::Prefix(_) | Want::Suffix(_))
}

const fn is_composite(want: &Want) -> bool {
    matches!(want, Want::Array(_) | Want::Parts(..) | Want::Anything)
}

/// Keeps only one check where both ends of a text are checked: the one whose shortest text is longer.
fn one_end(wants: Vec<Want>) -> Vec<Want> {
    let shortest = |texts: &dyn Fn(&Want) -> Option<usize>| wants.iter().filter_map(texts).min();
    let prefix = shortest(&|want| if let Want::Prefix(text) = want { Some(text.len()) } else { None });
    let suffix = shortest(&|want| if let Want::Suffix(text) = want { Some(text.len()) } else { None });
    match (prefix, suffix) {
        (Some(prefix), Some(suffix)) if suffix > prefix => {
            wants.into_iter().filter(|want| !matches!(want, Want::Prefix(_))).collect()
        }
        (Some(_), Some(_)) => wants.into_iter().filter(|want| !matches!(want, Want::Suffix(_))).collect(),
        _ => wants,
    }
}

/// Returns the value of each definition with its branches, numbered, where it is written out: definitions of one number agree.
pub(super) fn agreed(rules: &[Rule]) -> Vec<Option<usize>> {
    let mut known: Vec<&Value> = Vec::new();
    let mut agreed = Vec::new();
    for branch in rules.iter().flat_map(|rule| &rule.branches) {
        let Expr::Const(value) = &branch.value else {
            agreed.push(None);
            continue;
        };
        let number = known.iter().position(|other| *other == value);
        if number.is_none() {
            known.push(value);
        }
        agreed.push(number.or_else(|| known.len().checked_sub(1)));
    }
    agreed
}
