//! The result of a check: satisfied, violated at these places, or not verifiable for these reasons.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::ContractScope;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The places where the definition breaks the contract.
    pub violations: Vec<ContractViolation>,
    /// The places where the schema does not show if the contract is kept.
    pub unverified: Vec<Unverified>,
}

/// The verdict of a [`Report`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContractVerdict<'a> {
    /// Every object that the definition admits keeps the contract.
    Satisfied,
    /// The definition admits objects that break the contract.
    Violations(&'a [ContractViolation]),
    /// No violation was found, and at these places the schema does not show if the contract is kept.
    Unverified(&'a [Unverified]),
}

/// The diagnostics of a [`Report`] that is not satisfied, at least one. Its `Display` has a line for each.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractErrors(Vec<ContractDiagnostic>);

/// One entry of [`ContractErrors`].
#[derive(Clone, Debug, PartialEq)]
pub enum ContractDiagnostic {
    /// The definition breaks the contract.
    Violation(ContractViolation),
    /// The schema does not show if the contract is kept.
    Unverified(Unverified),
}

/// A place where a definition breaks a contract. Its `Display` names the fix.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ContractViolation {
    /// Pointer in the object, with `*` for any element of a list and any member of a map.
    pub at: String,
    /// JSON pointer in the CustomResourceDefinition.
    pub schema: String,
    /// The use of the field that is violated; `None` if the whole definition is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_use: Option<FieldUse>,
    /// The kind of the violation.
    #[serde(rename = "problem", serialize_with = "as_text")]
    pub kind: ViolationKind,
}

/// The use that a contract makes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldUse {
    /// It is read: each value that the API server may hold must be understood.
    Read,
    /// It is written: each value that is sent must be accepted and kept.
    Write,
}

/// A place that cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unverified {
    /// Pointer in the object.
    pub at: String,
    /// JSON pointer in the CustomResourceDefinition.
    pub schema: String,
    /// The use of the field; `None` for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_use: Option<FieldUse>,
    /// The reason in words: what the contract wants, and what the schema has.
    pub reason: String,
}

/// The kind of a violation.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum ViolationKind {
    /// The version does not exist or has `served: false`.
    NotServed {
        /// The version that was asked for.
        version: String,
        /// The versions that are served.
        served: Vec<String>,
    },
    /// The objects of the kind have another scope.
    Scope {
        /// The scope of the contract.
        wanted: ContractScope,
        /// The scope of the definition.
        found: String,
    },
    /// The schema does not declare the field, so the API server drops it.
    Missing,
    /// The types differ.
    Type {
        /// The types in the contract.
        contract: String,
        /// The types in the schema.
        schema: String,
    },
    /// The content of objects there is not declared, so the API server drops it.
    Pruned,
    /// A field of `status` is written but the version has no status subresource.
    NoStatusSubresource,
    /// Null is possible on one side only.
    Nullable {
        /// True if null is written, false if it is read.
        written: bool,
    },
    /// The reader needs the field, and the schema does not require it.
    Optional,
    /// The schema requires the field, and the writer may leave it out.
    Mandatory,
    /// One side enumerates values, and the other has more.
    Values {
        /// The enumerated values.
        allowed: Vec<Value>,
        /// The values beyond, if the other side is enumerated too.
        extra: Vec<Value>,
        /// True if the values are written, false if they are read.
        written: bool,
    },
    /// A bound of one side is exceeded on the other.
    Bound {
        /// The keyword, such as `maximum`.
        keyword: &'static str,
        /// The bound.
        limit: f64,
        /// True if values are written, false if they are read.
        written: bool,
    },
    /// One side restricts strings by a pattern.
    Pattern {
        /// The pattern.
        pattern: String,
        /// True if values are written, false if they are read.
        written: bool,
    },
    /// One side restricts strings by a format.
    Format {
        /// The format.
        format: String,
        /// True if values are written, false if they are read.
        written: bool,
    },
    /// The list merges in another way than the contract requires.
    ListType {
        /// The keys in the contract; empty for a list that is replaced as a whole.
        keys: Vec<String>,
        /// The list type in the schema.
        found: String,
    },
    /// An object or list on the way is atomic, so an apply takes the whole of it.
    Atomic,
    /// The reader refuses fields that it does not know, and the schema declares one.
    Unknown,
}

impl Report {
    /// Returns the verdict: violations outweigh what is unverified.
    #[must_use]
    pub fn verdict(&self) -> ContractVerdict<'_> {
        match (self.violations.as_slice(), self.unverified.as_slice()) {
            ([], []) => ContractVerdict::Satisfied,
            ([], unverified) => ContractVerdict::Unverified(unverified),
            (violations, _) => ContractVerdict::Violations(violations),
        }
    }

    /// Returns `Ok` if every object that the definition admits keeps the contract.
    ///
    /// # Errors
    /// [`ContractErrors`], with the violations first, then what is unverified.
    pub fn into_result(self) -> Result<(), ContractErrors> {
        let violations = self.violations.into_iter().map(ContractDiagnostic::Violation);
        let all: Vec<_> =
            violations.chain(self.unverified.into_iter().map(ContractDiagnostic::Unverified)).collect();
        if all.is_empty() { Ok(()) } else { Err(ContractErrors(all)) }
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.violations.extend(other.violations);
        self.unverified.extend(other.unverified);
    }
}

impl ContractErrors {
    /// Returns the diagnostics in order.
    pub fn iter(&self) -> std::slice::Iter<'_, ContractDiagnostic> {
        self.0.iter()
    }
}

impl IntoIterator for ContractErrors {
    type Item = ContractDiagnostic;
    type IntoIter = std::vec::IntoIter<ContractDiagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ContractErrors {
    type Item = &'a ContractDiagnostic;
    type IntoIter = std::slice::Iter<'a, ContractDiagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::error::Error for ContractErrors {}

impl fmt::Display for ContractErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for ContractDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => violation.fmt(f),
            Self::Unverified(unverified) => unverified.fmt(f),
        }
    }
}

impl fmt::Display for FieldUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reading",
            Self::Write => "writing",
        })
    }
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { self.kind.fmt(f) } else { write!(f, "{}: {}", self.at, self.kind) }
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { String::new() } else { format!("{}: ", self.at) };
        write!(f, "{at}not verified: {}", self.reason)
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServed { version, served } => {
                write!(f, "version {version} is not served; served: {}", served.join(", "))
            }
            Self::Scope { wanted, found } => write!(f, "the scope must be {wanted:?}, and is {found}"),
            Self::Missing => f.write_str("not in the schema: declare it, or the API server drops it"),
            Self::Type { contract, schema } => {
                write!(f, "the contract says {contract}, and the schema says {schema}")
            }
            Self::Pruned => f.write_str(
                "objects here lose their fields: declare them or set x-kubernetes-preserve-unknown-fields",
            ),
            Self::NoStatusSubresource => {
                f.write_str("written, but the version has no status subresource: enable it")
            }
            Self::Nullable { written: true } => f.write_str("null may be written, and the schema refuses it"),
            Self::Nullable { written: false } => {
                f.write_str("nullable in the schema, and the reader refuses null")
            }
            Self::Optional => {
                f.write_str("the reader needs it: require it in the schema, or give it a default")
            }
            Self::Mandatory => {
                f.write_str("required by the schema, and the contract does not always write it")
            }
            Self::Unknown => {
                f.write_str("declared in the schema, and the reader refuses fields it does not know")
            }
            Self::Atomic => {
                f.write_str("atomic: an apply of a part of it would take the whole; make it granular")
            }
            other => other.fmt_restriction(f),
        }
    }
}

impl ViolationKind {
    fn fmt_restriction(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |written: &bool| if *written { "the schema accepts" } else { "the contract reads" };
        match self {
            Self::Values { allowed, extra, written } => {
                write!(f, "{} only {}", side(written), list(allowed))?;
                if extra.is_empty() { Ok(()) } else { write!(f, ", and not {}", list(extra)) }
            }
            Self::Bound { keyword, limit, written } => {
                write!(f, "{} only values with {keyword} {limit}", side(written))
            }
            Self::Pattern { pattern, written } => {
                write!(f, "{} only strings that match {pattern:?}", side(written))
            }
            Self::Format { format, written } => {
                write!(f, "{} only strings of format {format}", side(written))
            }
            Self::ListType { keys, found } if keys.is_empty() => {
                write!(f, "the list is written as a whole, and its x-kubernetes-list-type is {found}")
            }
            Self::ListType { keys, found } => write!(
                f,
                "the list must have x-kubernetes-list-type map with keys {}, and is {found}",
                keys.join(", ")
            ),
            _ => Ok(()),
        }
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn as_text<S: serde::Serializer>(kind: &ViolationKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}
