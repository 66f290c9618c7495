//! Named formats such as `format.dns1123Label()`, and whether a text has one.
//!
//! The patterns and bounds are those of Kubernetes' own validation; a message says which format was missed.

use std::sync::Arc;

use go_compat::strfmt;

use crate::value::Declared;
use crate::value::Value;

use super::super::error::EvalError;
use super::super::meter::Meter;
use super::{Native, pattern};

/// A format that texts can have.
#[derive(Debug, PartialEq, Eq)]
struct Format {
    name: &'static str,
    rule: Rule,
    /// The message about a text that misses it.
    message: &'static str,
    /// Examples that such a message gives; none for formats without a pattern to show.
    examples: &'static [&'static str],
}

#[derive(Debug, PartialEq, Eq)]
enum Rule {
    /// A pattern and the most bytes.
    Pattern(&'static str, usize),
    /// The same, where the text may end in a dash because something will follow.
    Prefix(&'static str, usize),
    QualifiedName,
    /// The format of the same name in Kubernetes' `strfmt`.
    Strfmt,
}

const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const DNS1035: &str = "^[a-z]([-a-z0-9]*[a-z0-9])?$";
const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const NAME: &str = "^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";

const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                          and must start and end with an alphanumeric character";
const DNS1035_RULE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
                            an alphabetic character, and end with an alphanumeric character";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                              or '.', and must start and end with an alphanumeric character";
const NAME_RULE: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                         with an alphanumeric character";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character";

const fn format(
    name: &'static str,
    rule: Rule,
    message: &'static str,
    examples: &'static [&'static str],
) -> Format {
    Format { name, rule, message, examples }
}

static FORMATS: [Format; 13] = [
    format("byte", Rule::Strfmt, "invalid base64", &[]),
    format("date", Rule::Strfmt, "invalid date", &[]),
    format("datetime", Rule::Strfmt, "invalid datetime", &[]),
    format("dns1035Label", Rule::Pattern(DNS1035, 63), DNS1035_RULE, &["my-name", "abc-123"]),
    format("dns1035LabelPrefix", Rule::Prefix(DNS1035, 63), DNS1035_RULE, &["my-name", "abc-123"]),
    format("dns1123Label", Rule::Pattern(LABEL, 63), LABEL_RULE, &["my-name", "123-abc"]),
    format("dns1123LabelPrefix", Rule::Prefix(LABEL, 63), LABEL_RULE, &["my-name", "123-abc"]),
    format("dns1123Subdomain", Rule::Pattern(SUBDOMAIN, 253), SUBDOMAIN_RULE, &["example.com"]),
    format("dns1123SubdomainPrefix", Rule::Prefix(SUBDOMAIN, 253), SUBDOMAIN_RULE, &["example.com"]),
    format("labelValue", Rule::Pattern(LABEL_VALUE, 63), VALUE_RULE, &["MyValue", "my_value", "12345"]),
    format("qualifiedName", Rule::QualifiedName, NAME_RULE, &[]),
    format("uri", Rule::Strfmt, "invalid URI for request", &[]),
    format("uuid", Rule::Strfmt, "does not match the UUID format", &[]),
];

/// A format as a value.
#[derive(Debug, PartialEq, Eq)]
struct Named(&'static Format);

impl Declared for Named {
    const NAME: &'static str = "kubernetes.NamedFormat";
}

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("validate", validate),
    ("format.named", |_, arguments| match arguments {
        [Value::String(name)] => Ok(Value::optional(find(name).map(made))),
        _ => Err(EvalError::no_overload()),
    }),
    ("format.byte", |_, _| one("byte")),
    ("format.date", |_, _| one("date")),
    ("format.datetime", |_, _| one("datetime")),
    ("format.dns1035Label", |_, _| one("dns1035Label")),
    ("format.dns1035LabelPrefix", |_, _| one("dns1035LabelPrefix")),
    ("format.dns1123Label", |_, _| one("dns1123Label")),
    ("format.dns1123LabelPrefix", |_, _| one("dns1123LabelPrefix")),
    ("format.dns1123Subdomain", |_, _| one("dns1123Subdomain")),
    ("format.dns1123SubdomainPrefix", |_, _| one("dns1123SubdomainPrefix")),
    ("format.labelValue", |_, _| one("labelValue")),
    ("format.qualifiedName", |_, _| one("qualifiedName")),
    ("format.uri", |_, _| one("uri")),
    ("format.uuid", |_, _| one("uuid")),
];

fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

fn made(format: &'static Format) -> Value {
    Value::opaque(Named(format))
}

fn one(name: &str) -> Result<Value, EvalError> {
    find(name).map(made).ok_or_else(EvalError::no_overload)
}

/// None where the text has the format, otherwise what is wrong with it.
fn validate(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let [Value::Opaque(opaque), Value::String(subject)] = arguments else {
        return Err(EvalError::no_overload());
    };
    let Some(Named(format)) = opaque.downcast_ref() else {
        return Err(EvalError::no_overload());
    };
    meter.steps(subject.len())?;
    if format.is_met(subject)? {
        return Ok(Value::optional(None));
    }
    Ok(Value::optional(Some(Value::List(Arc::new(vec![Value::string(format.full_message())])))))
}

impl Format {
    fn is_met(&self, subject: &str) -> Result<bool, EvalError> {
        match &self.rule {
            Rule::Pattern(pattern, most) => matches(pattern, *most, subject),
            Rule::Prefix(pattern, most) => matches(pattern, *most, &masked(subject)),
            Rule::QualifiedName => match subject.split_once('/') {
                None => matches(NAME, 63, subject),
                Some((_, name)) if name.contains('/') => Ok(false),
                Some((prefix, name)) => Ok(matches(SUBDOMAIN, 253, prefix)? && matches(NAME, 63, name)?),
            },
            Rule::Strfmt => strfmt::validates(self.name, subject)
                .ok_or_else(|| EvalError::Internal(format!("no format {}", self.name))),
        }
    }

    /// The message in Kubernetes' words, which show the examples and the pattern.
    fn full_message(&self) -> String {
        let pattern = match &self.rule {
            Rule::Pattern(pattern, _) | Rule::Prefix(pattern, _) => pattern,
            _ => return self.message.to_owned(),
        };
        if self.examples.is_empty() {
            return self.message.to_owned();
        }
        let examples: Vec<_> = self.examples.iter().map(|example| format!("'{example}', ")).collect();
        let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
        let examples = examples.join(" or ");
        format!("{} (e.g. {examples}regex used for validation is '{pattern}')", self.message)
    }
}

fn matches(pattern: &str, most: usize, subject: &str) -> Result<bool, EvalError> {
    Ok(subject.len() <= most && pattern::is_match(pattern, subject)?)
}

/// Returns what is left of a prefix when its trailing dash is given a letter. Kubernetes cuts off one character more
/// than the dash, and so do we.
fn masked(subject: &str) -> String {
    match subject.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let kept: String = rest.chars().take(rest.chars().count().saturating_sub(1)).collect();
            format!("{kept}a")
        }
        _ => subject.to_owned(),
    }
}
