//! Warnings about what is judged, and probably not as its author thinks; and how many such warnings become few lines.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};

use crate::cli::manifest::{Manifest, ManifestError, Place};

use super::text;
use crate::api_version::group;
use crate::text::thousands;

/// The number of warnings of one topic that are printed unless all are requested.
const SHOWN: usize = 3;

/// A warning, and what it is about. Warnings of one topic are counted where there are many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Warning {
    pub(in crate::cli) topic: Topic,
    pub(in crate::cli) diagnostic: ManifestError,
}

/// The topic that warnings have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Topic {
    /// An entry of a folder that was not read.
    Skipped,
    /// A key that is defined twice.
    Key,
    /// An object that is defined more than once.
    Identity,
    /// The code of a template.
    Template,
    /// An unknown `enforcementAction`.
    Action,
    /// A mutator, which has no effect.
    Mutator,
    /// A Provider of external data, which is not asked.
    Provider,
    /// A kind that a group of Gatekeeper's does not have.
    Kind,
    /// Objects that a constraint may match on a cluster only.
    Unplaced(String),
    /// There is nothing to judge by.
    NoConstraint,
    /// There is nothing to judge.
    NoObject,
}

impl Warning {
    /// A warning about a manifest.
    pub(in crate::cli) fn new(topic: Topic, manifest: &Manifest, message: impl Into<String>) -> Self {
        Self { topic, diagnostic: ManifestError::at(manifest, message) }
    }

    /// A warning that is not about a manifest.
    pub(in crate::cli) fn general(topic: Topic, message: impl Into<String>) -> Self {
        Self { topic, diagnostic: ManifestError { place: None, message: message.into() } }
    }

    /// Writes warnings, a line each; of a topic with many the first few and their number, unless `all` is set.
    pub(in crate::cli) fn print(
        warnings: &[Self],
        command: &str,
        all: bool,
        err: &mut dyn Write,
    ) -> io::Result<()> {
        let mut topics: BTreeMap<&Topic, Vec<&ManifestError>> = BTreeMap::new();
        for warning in warnings {
            topics.entry(&warning.topic).or_default().push(&warning.diagnostic);
        }
        for diagnostics in topics.values() {
            // Two lines for two warnings: a count instead of the last one would be no shorter.
            let shown =
                if all || diagnostics.len() <= SHOWN.saturating_add(1) { diagnostics.len() } else { SHOWN };
            for diagnostic in diagnostics.iter().take(shown) {
                writeln!(err, "webtroller {command}: warning: {diagnostic}")?;
            }
            let more = diagnostics.len().saturating_sub(shown);
            if more > 0 {
                let number = thousands(more);
                writeln!(err, "webtroller {command}: warning: and {number} more like this; -v lists them")?;
            }
        }
        Ok(())
    }
}

/// Returns what can be said about manifests without judging anything.
pub(super) fn of(manifests: &[Manifest]) -> Vec<Warning> {
    let keys = manifests.iter().filter_map(|manifest| {
        let duplicate = manifest.duplicate.as_ref()?;
        let message = format!("the key {:?} is defined twice; the last value counts", duplicate.key);
        let place = Place { line: duplicate.line, ..Place::of(manifest) };
        Some(Warning { topic: Topic::Key, diagnostic: ManifestError { place: Some(place), message } })
    });
    let mut warnings: Vec<_> = keys.chain(repetitions(manifests)).collect();
    warnings.dedup();
    warnings
}

/// Objects of one identity, each after its first.
fn repetitions(manifests: &[Manifest]) -> Vec<Warning> {
    let mut first: HashMap<[&str; 4], &Manifest> = HashMap::new();
    let mut found = Vec::new();
    for manifest in manifests.iter().filter(|manifest| !text(&manifest.object, "/metadata/name").is_empty()) {
        let [kind, namespace, name] =
            ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(&manifest.object, pointer));
        let earlier = first.entry([group(&manifest.object), kind, namespace, name]).or_insert(manifest);
        if !std::ptr::eq(*earlier, manifest) {
            let place = Place::of(earlier);
            let group = group(&manifest.object);
            let outcome = if [TEMPLATES_GROUP, CONSTRAINTS_GROUP].contains(&group) {
                "the last one is in force"
            } else {
                "both are judged"
            };
            let message = format!("{kind} {name} is already defined in {place}; {outcome}");
            found.push(Warning::new(Topic::Identity, manifest, message));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_warnings_of_one_topic_are_counted() {
        let many: Vec<_> =
            (0..1554).map(|number| Warning::general(Topic::Identity, format!("w{number}"))).collect();
        let printed = |warnings: &[Warning], all| {
            let mut text = Vec::new();
            Warning::print(warnings, "test", all, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let text = printed(&many, false);
        assert_eq!(text.lines().count(), 4);
        assert!(text.ends_with("warning: and 1,551 more like this; -v lists them\n"), "{text}");
        assert_eq!(printed(&many, true).lines().count(), 1554);
        assert_eq!(printed(many.get(..4).unwrap(), false).lines().count(), 4);
    }
}
