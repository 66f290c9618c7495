//! The errors of a document, and how well it fits otherwise.

use std::fmt::Write;

use crate::error::EvalError;
use crate::meter::Meter;

/// The place of a value in a document.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    name: &'a str,
    parent: Option<&'a Place<'a>>,
}

impl<'a> Place<'a> {
    pub(super) const ROOT: Place<'static> = Place { name: "(Root)", parent: None };

    pub(super) const fn below(parent: &'a Place<'a>, name: &'a str) -> Self {
        Self { name, parent: Some(parent) }
    }

    /// Returns the names from the root on, which itself is named only where there are no others.
    fn field(&self) -> String {
        let mut names = vec![self.name];
        let mut parent = self.parent;
        while let Some(place) = parent {
            if place.parent.is_some() {
                names.push(place.name);
            }
            parent = place.parent;
        }
        names.reverse();
        names.join(".")
    }
}

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diagnostic {
    pub(super) kind: &'static str,
    pub(super) field: String,
    pub(super) description: String,
}

/// All of them, and a score by which the closest of several schemas is chosen.
#[derive(Default)]
pub(super) struct Report {
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) score: i64,
}

impl Report {
    pub(super) const fn is_valid(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Counts a check.
    pub(super) const fn passed(&mut self) {
        self.score = self.score.saturating_add(1);
    }

    pub(super) fn add(
        &mut self,
        kind: &'static str,
        place: &Place<'_>,
        description: String,
        meter: &Meter,
    ) -> Result<(), EvalError> {
        let field = place.field();
        meter.charge(field.len().saturating_mul(2).saturating_add(description.len()).saturating_add(96))?;
        self.diagnostics.push(Diagnostic { kind, field, description });
        self.score = self.score.saturating_sub(2);
        Ok(())
    }

    /// Adds a diagnostic that begins with the field's name.
    pub(super) fn add_named(
        &mut self,
        kind: &'static str,
        place: &Place<'_>,
        rest: &str,
        meter: &Meter,
    ) -> Result<(), EvalError> {
        let mut description = place.field();
        let _ = write!(description, " {rest}");
        self.add(kind, place, description, meter)
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.diagnostics.extend(other.diagnostics);
        self.score = self.score.saturating_add(other.score);
    }
}
