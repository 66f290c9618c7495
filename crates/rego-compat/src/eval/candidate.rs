//! The definitions that are tried at all: those whose conditions the documents and arguments meet.

use crate::value::Value;

use crate::error::EvalError;
use crate::lookup;
use crate::plan::{
    Check, Conditions, Expr, Group, Pattern, Place, PlaceRoot, Rule, Want, missing, split_escaped,
};

use super::EvalContext;

/// The branches of a group that are tried, in the order of the definitions, `else` branches behind theirs; nothing
/// where all are, because nothing shows.
pub(super) struct Candidates(Option<Vec<bool>>);

/// Those of one definition after the other.
#[derive(Default)]
pub(super) struct Tried<'c> {
    branches: Option<&'c [bool]>,
    left: &'c [bool],
    /// All that are tried give one value, so the first that holds settles it.
    pub(super) once: bool,
}

impl Candidates {
    pub(super) fn of(context: &EvalContext<'_>, group: &Group, args: &[Value]) -> Result<Self, EvalError> {
        if !group.exact {
            return Ok(Self(None));
        }
        let tried = context.candidates(group, args)?;
        if group.agreed.len() != tried.len() {
            return Err(missing("number for the value of branch", group.agreed.len()));
        }
        Ok(Self(Some(tried)))
    }

    pub(super) fn tried(&self, group: &Group) -> Tried<'_> {
        let once = match &self.0 {
            None => group.settled,
            Some(tried) => {
                let tried = group.agreed.iter().zip(tried).filter(|(_, tried)| **tried);
                let mut values = tried.map(|(value, _)| *value);
                let first = values.next();
                !matches!(first, Some(None)) && values.all(|value| Some(value) == first)
            }
        };
        Tried { branches: None, left: self.0.as_deref().unwrap_or_default(), once }
    }
}

impl Tried<'_> {
    /// Goes on to the next definition.
    pub(super) fn next(&mut self, rule: &Rule) {
        // Past the end of the list all branches are tried. That costs time and does not change the result.
        let next = self.left.split_at_checked(rule.branches.len());
        (self.branches, self.left) =
            next.map_or((None, [].as_slice()), |(branches, left)| (Some(branches), left));
    }

    /// Returns true if a branch of this definition is tried.
    pub(super) fn passes(&self, branch: usize) -> bool {
        self.branches.is_none_or(|tried| tried.get(branch).copied().unwrap_or(true))
    }
}

impl EvalContext<'_> {
    fn candidates(&self, group: &Group, args: &[Value]) -> Result<Vec<bool>, EvalError> {
        let branches = group.rules.iter().flat_map(|rule| &rule.branches);
        branches
            .map(|branch| {
                branch.conditions.as_ref().map_or(Ok(true), |conditions| self.passes(group, conditions, args))
            })
            .collect()
    }

    fn passes(&self, group: &Group, conditions: &Conditions, args: &[Value]) -> Result<bool, EvalError> {
        self.meter.spend(1)?;
        for place in &conditions.defined {
            if self.at(group, *place, args)?.is_none() {
                return Ok(false);
            }
        }
        for (key, collection) in &conditions.keyed {
            let (Some(key), Some(collection)) =
                (self.at(group, *key, args)?, self.at(group, *collection, args)?)
            else {
                return Ok(false);
            };
            if !self.may_hold(collection, key)? {
                return Ok(false);
            }
        }
        for alternative in &conditions.alternatives {
            if self.agrees(group, alternative, args)? {
                return Ok(true);
            }
        }
        Ok(conditions.alternatives.is_empty())
    }

    /// Returns true if a key may be in a collection; what is neither an object nor a set is not looked at.
    fn may_hold(&self, collection: &Value, key: &Value) -> Result<bool, EvalError> {
        self.pay_element(key)?;
        Ok(match collection {
            Value::Object(pairs) => pairs.get(key).is_some(),
            Value::Set(items) => items.get(key).is_some(),
            _ => true,
        })
    }

    /// Returns true if all checks of one alternative of the branch hold.
    fn agrees(&self, group: &Group, alternative: &[Check], args: &[Value]) -> Result<bool, EvalError> {
        for check in alternative {
            let Some(value) = self.at(group, check.place, args)? else { return Ok(false) };
            self.meter.spend(u64::try_from(check.wants.len()).unwrap_or(u64::MAX))?;
            let mut any = false;
            for want in &check.wants {
                any = any || self.is_wanted(value, want)?;
            }
            if !any {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the value at a place that the rule's conditions look at.
    fn at<'a>(
        &'a self,
        group: &Group,
        place: usize,
        args: &'a [Value],
    ) -> Result<Option<&'a Value>, EvalError> {
        match group.places.get(place) {
            Some(place) => self.found_at(place, args),
            None => Err(missing("place", place)),
        }
    }

    fn found_at<'a>(&'a self, place: &Place, args: &'a [Value]) -> Result<Option<&'a Value>, EvalError> {
        let root = match place.root {
            PlaceRoot::Input => &self.input,
            PlaceRoot::Data => &self.data,
            PlaceRoot::Argument(argument) => match args.get(argument) {
                Some(arg) => arg,
                None => return Err(missing("argument", argument)),
            },
        };
        let lookup = if place.root == PlaceRoot::Data { self.lookup_below(&Expr::Data) } else { lookup::get };
        let found = place.path.iter().try_fold(root, lookup);
        Ok(found.filter(|value| !matches!(value, Value::Undefined)))
    }

    fn is_wanted(&self, value: &Value, want: &Want) -> Result<bool, EvalError> {
        Ok(match want {
            Want::Open(_) | Want::Anything => true,
            Want::Scalar(scalar) => value == scalar,
            Want::Array(parts) => matches!(value, Value::Array(items) if fits(parts, items.iter())),
            Want::Member(member) => self.any_element(value, &|element| element == member)?,
            Want::Prefix(prefix) => self.any_text(value, &|text| text.starts_with(prefix.as_str()))?,
            Want::Suffix(suffix) => self.any_text(value, &|text| text.ends_with(suffix.as_str()))?,
            Want::Parts(delimiters, parts) => match value {
                Value::Array(items) => fits(parts, items.iter()),
                Value::String(text) => {
                    self.meter.charge(text.len())?;
                    let found: Vec<Value> =
                        split_escaped(text, delimiters).into_iter().map(Value::from).collect();
                    fits(parts, found.iter())
                }
                _ => false,
            },
        })
    }

    fn any_text(&self, value: &Value, test: &dyn Fn(&str) -> bool) -> Result<bool, EvalError> {
        let test = |element: &Value| matches!(element, Value::String(text) if test(text));
        if matches!(value, Value::String(_)) { Ok(test(value)) } else { self.any_element(value, &test) }
    }

    fn any_element(&self, value: &Value, test: &dyn Fn(&Value) -> bool) -> Result<bool, EvalError> {
        let (count, found) = match value {
            Value::Array(items) => (items.len(), items.iter().any(test)),
            Value::Set(items) => (items.len(), items.iter().any(test)),
            Value::Object(pairs) => (pairs.len(), pairs.iter().any(|(_, element)| test(element))),
            _ => (0, false),
        };
        self.meter.spend(u64::try_from(count).unwrap_or(u64::MAX))?;
        Ok(found)
    }
}

/// Returns true if elements are the ones that are known, one for one.
fn fits<'v>(parts: &[Option<Value>], mut elements: impl ExactSizeIterator<Item = &'v Value>) -> bool {
    parts.len() == elements.len()
        && parts.iter().all(|part| {
            let element = elements.next();
            part.as_ref().is_none_or(|part| element == Some(part))
        })
}

/// Returns true if an argument is a scalar other than the one a definition is for: functions that tell cases apart by a
/// name have many definitions, and most of them are passed over here.
pub(super) fn is_excluded(rule: &Rule, args: &[Value]) -> bool {
    rule.args.iter().zip(args).any(|(pattern, arg)| match pattern {
        Pattern::Equal(Expr::Const(Value::Array(_) | Value::Set(_) | Value::Object(_))) => false,
        Pattern::Equal(Expr::Const(scalar)) => scalar != arg,
        _ => false,
    })
}
