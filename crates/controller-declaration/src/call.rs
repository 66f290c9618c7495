//! One way to use the API: a verb on a resource.

use std::fmt;

/// A verb on a resource, as RBAC and the audit log name them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The API group; empty for the core group, `*` in a declaration for every group.
    pub group: String,
    /// The plural name, with the subresource behind a slash (`deployments/scale`). In a declaration `*` stands for every
    /// resource without its subresources, and `*/status` for this subresource of every resource.
    pub resource: String,
    /// The verb, in lower case.
    pub verb: String,
}

// === impl Call ===

impl Call {
    /// Returns a call.
    #[must_use]
    pub fn new(group: impl Into<String>, resource: impl Into<String>, verb: impl Into<String>) -> Self {
        Self { group: group.into(), resource: resource.into(), verb: verb.into() }
    }

    /// Returns true if this declared call, which may hold wildcards, stands for `made`, which holds none.
    ///
    /// `*` covers `pods` and not `pods/exec`: a declaration that reads every kind does not mean every subresource,
    /// although a role with `*` grants both.
    #[must_use]
    pub fn covers(&self, made: &Self) -> bool {
        let resource = match (self.resource.strip_prefix("*/"), made.resource.split_once('/')) {
            (Some(subresource), Some((_, other))) => subresource == other,
            (Some(_), None) => false,
            (None, other) => self.resource == made.resource || (self.resource == "*" && other.is_none()),
        };
        (self.group == "*" || self.group == made.group) && resource && self.verb == made.verb
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(declared: (&str, &str), made: (&str, &str), covered: bool) {
        let call = |(group, resource): (&str, &str)| Call::new(group, resource, "get");
        assert_eq!(call(declared).covers(&call(made)), covered, "{declared:?} {made:?}");
    }

    #[test]
    fn wildcards_stand_for_resources_or_for_one_subresource_of_each() {
        check(("apps", "deployments"), ("apps", "deployments"), true);
        check(("apps", "deployments"), ("", "deployments"), false);
        check(("*", "*"), ("apps", "deployments"), true);
        check(("*", "*"), ("apps", "deployments/scale"), false);
        check(("*", "*/status"), ("apps", "deployments/status"), true);
        check(("*", "*/status"), ("apps", "deployments/scale"), false);
        check(("*", "*/status"), ("apps", "deployments"), false);
    }
}
