//! Gatekeeper's `Suite` files (`test.gatekeeper.sh/v1alpha1`): their shape, and what one case expects.

use constraint_framework::review::Verdict;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use go_compat::regexp;
use go_compat::sigs_yaml::{self, Placed, Words};

const GROUP: &str = "test.gatekeeper.sh/";

/// A file of tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Suite {
    #[serde(rename = "apiVersion")]
    pub(super) _api_version: String,
    #[serde(rename = "kind")]
    pub(super) _kind: String,
    #[serde(rename = "metadata", default)]
    pub(super) _metadata: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) skip: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) tests: Vec<Test>,
}

/// A template and a constraint, tried on several objects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) template: Option<String>,
    pub(super) constraint: Option<String>,
    /// A file of ExpansionTemplates: what the objects of cases generate is reviewed with them.
    pub(super) expansion: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) invalid: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) skip: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) cases: Vec<Case>,
}

/// One object and what must come of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) object: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) inventory: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) assertions: Vec<Assertion>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) skip: bool,
}

/// The number of violations that there must be, among those whose message matches.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assertion {
    violations: Option<Value>,
    message: Option<String>,
}

/// `null` is as good as nothing, as it is to gator.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(reader: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(reader)?.unwrap_or_default())
}

impl Suite {
    /// Returns true if a manifest is a suite.
    pub(super) fn is(value: &Value) -> bool {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        text("kind") == "Suite" && text("apiVersion").starts_with(GROUP)
    }

    /// Returns true if a text that is not YAML was meant to hold a suite, which must not count as passed.
    pub(super) fn was_meant(text: &str) -> bool {
        let group = |line: &str| {
            line.strip_prefix("apiVersion:")
                .is_some_and(|version| version.trim_start_matches([' ', '"', '\'']).starts_with(GROUP))
        };
        text.lines().any(group)
    }

    /// Reads the suites in a text: words as YAML 1.2 has them, so that `no` is the word that assertions know.
    ///
    /// # Errors
    /// There is none, or one of them cannot be used.
    pub(super) fn read(text: &str) -> Result<Vec<Self>, String> {
        let documents = sigs_yaml::documents_with(text, Words::Yaml12).map_err(|error| error.to_string())?;
        let suites = documents.into_iter().filter(|document| Self::is(&document.value));
        let read = |document: Placed| match document.duplicate {
            Some(duplicate) => Err(duplicate.to_string()),
            None => serde_json::from_value(document.value).map_err(|error| error.to_string()),
        };
        let suites = suites.map(read).collect::<Result<Vec<_>, _>>()?;
        if suites.is_empty() { Err("no Suite in the file".to_owned()) } else { Ok(suites) }
    }
}

impl Assertion {
    /// Checks that the verdict is as expected.
    ///
    /// # Errors
    /// The expected and the actual result, or the reason why the assertion makes no sense.
    pub(super) fn check(&self, verdict: &Verdict) -> Result<(), Mismatch> {
        let pattern = self.message.as_ref().map(|message| regexp::compile(message)).transpose();
        let pattern = pattern.map_err(|error| Mismatch::bare(format!("message is not a regex: {error}")))?;
        let matches = |message: &str| pattern.as_ref().is_none_or(|pattern| pattern.regex.is_match(message));
        let messages: Vec<_> =
            verdict.violations().iter().map(|violation| violation.message.as_str()).collect();
        let matching = messages.iter().filter(|message| matches(message)).count();
        let (holds, wanted) = match Expected::read(self.violations.as_ref()).map_err(Mismatch::bare)? {
            Expected::Some => (matching > 0, "at least 1".to_owned()),
            Expected::Exactly(number) => (matching == number, format!("exactly {number}")),
        };
        if holds {
            return Ok(());
        }
        let about =
            self.message.as_ref().map(|message| format!(" containing {message:?}")).unwrap_or_default();
        let summary = format!(
            "unexpected number of violations: got {matching} violations{about} but want {wanted}: got messages {messages:?}"
        );
        let mut diff = vec![format!("- wanted {wanted}{about}")];
        diff.extend(messages.iter().map(|message| {
            let mark = if matches(message) { "+ found " } else { "  other " };
            format!("{mark} {message:?}")
        }));
        if messages.is_empty() {
            diff.push("+ found no violation".to_owned());
        }
        Err(Mismatch { summary, diff })
    }
}

/// The reason why an assertion does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// In one line.
    pub(super) summary: String,
    /// The expected and the actual value, a line each.
    pub(super) diff: Vec<String>,
}

impl Mismatch {
    fn bare(summary: String) -> Self {
        Self { summary, diff: Vec::new() }
    }
}

enum Expected {
    Some,
    Exactly(usize),
}

impl Expected {
    /// `yes`, `no`, or a number, however the number is written. Other words for them are not known.
    fn read(value: Option<&Value>) -> Result<Self, String> {
        match value {
            None | Some(Value::Null) => Ok(Self::Some),
            Some(Value::String(word)) if word == "yes" => Ok(Self::Some),
            Some(Value::String(word)) if word == "no" => Ok(Self::Exactly(0)),
            Some(Value::Number(number)) if count(number).is_some() => {
                Ok(Self::Exactly(count(number).unwrap_or_default()))
            }
            Some(other) => Err(format!("violations must be yes, no or a count, not {other}")),
        }
    }
}

fn count(number: &Number) -> Option<usize> {
    // `1.0` and `1e0` are whole numbers, too. What is beyond is not a count of violations.
    let whole = number.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e9).contains(number))?;
    format!("{whole}").parse().ok()
}

#[cfg(test)]
mod tests {
    use constraint_framework::api::ConstraintRef;
    use constraint_framework::review::{Action, Violation};
    use serde_json::json;

    use go_compat::sigs_yaml::documents_with;

    use super::*;

    fn verdict(messages: &[&str]) -> Verdict {
        let violation = |message: &&str| Violation {
            constraint: ConstraintRef { kind: "K".to_owned(), name: "c".to_owned() },
            message: (*message).to_owned(),
            details: None,
            actions: vec![Action::Deny],
        };
        Verdict::new(messages.iter().map(violation).collect())
    }

    #[track_caller]
    fn check(assertion: Value, messages: &[&str], holds: bool) {
        let parsed: Assertion = serde_json::from_value(assertion.clone()).unwrap();
        assert_eq!(parsed.check(&verdict(messages)).is_ok(), holds, "{assertion} on {messages:?}");
    }

    #[test]
    fn the_default_wants_at_least_one() {
        check(json!({}), &["a"], true);
        check(json!({}), &[], false);
        check(json!({"violations": "yes"}), &["a", "b"], true);
    }

    #[test]
    fn no_wants_none() {
        for spelling in [json!("no"), json!(0), json!(0.0)] {
            check(json!({"violations": spelling}), &[], true);
            check(json!({"violations": spelling}), &["a"], false);
        }
    }

    #[test]
    fn a_number_counts_the_matching_messages() {
        check(json!({"violations": 1, "message": "^a"}), &["ab", "b"], true);
        check(json!({"violations": 2, "message": "^a"}), &["ab", "b"], false);
        check(json!({"violations": "no", "message": "^c"}), &["ab", "b"], true);
    }

    #[test]
    fn messages_are_patterns_of_go() {
        check(json!({"violations": 1, "message": "{x}"}), &["{x}"], true);
        check(json!({"violations": 1, "message": r"\Q[x\E$"}), &["[x"], true);
        check(json!({"violations": 1, "message": r"\d"}), &["٣"], false);
    }

    #[test]
    fn nonsense_never_holds() {
        for assertion in [json!({"violations": "maybe"}), json!({"violations": -1}), json!({"message": "("})]
        {
            check(assertion, &["a"], false);
        }
        for written in ["true", "false", "No", "on", "\"1\"", "1.5", "[1]", "99999999999"] {
            let value = documents_with(written, Words::Yaml12).unwrap().remove(0).value;
            check(json!({"violations": value}), &["a"], false);
            check(json!({"violations": value}), &[], false);
        }
    }

    #[test]
    fn counts_are_read_as_gator_reads_them() {
        for written in ["1", "1.0", "1e0", "0x1", "01"] {
            let value = documents_with(written, Words::Yaml12).unwrap().remove(0).value;
            check(json!({"violations": value}), &["a"], true);
            check(json!({"violations": value}), &[], false);
        }
    }
}
