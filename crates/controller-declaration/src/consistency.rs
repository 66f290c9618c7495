//! Declarations of controllers that work on the same objects, compared with each other.

use std::fmt;

use crate::{Declaration, DeclaredAccess, field};

/// A dependency between controllers that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnostic {
    /// Two controllers write one field: each undoes what the other does, or server-side apply refuses one of them.
    TwoOwners {
        /// The controllers.
        controllers: [String; 2],
        /// The kind.
        kind: String,
        /// The field, a JSON pointer.
        field: String,
    },
    /// A controller awaits that a finalizer is removed which no controller sets.
    FinalizerWithoutController {
        /// The controller that waits.
        controller: String,
        /// The finalizer.
        finalizer: String,
    },
    /// A controller reads an annotation that no controller writes. Declare the user who does, if it is one.
    AnnotationWithoutWriter {
        /// The controller that reads.
        controller: String,
        /// The key.
        key: String,
    },
}

/// The dependencies that do not work, in the order of the declarations. Never empty. One line each when displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

/// Compares the declarations of controllers with each other. Two that declare no kind in common are not compared; nor is the
/// kind `*`, which is known at run time.
///
/// # Errors
///
/// [`Diagnostics`] with every field that two controllers write, and every finalizer or annotation that a controller depends on
/// and no controller writes.
pub fn check_consistency(all: &[Declaration]) -> Result<(), Diagnostics> {
    let mut found = Vec::new();
    for (index, one) in all.iter().enumerate() {
        for other in all.iter().skip(index.saturating_add(1)) {
            found.extend(two_owners(one, other));
        }
        found.extend(without_controller(one, all));
    }
    if found.is_empty() { Ok(()) } else { Err(Diagnostics(found)) }
}

fn two_owners(one: &Declaration, other: &Declaration) -> Vec<Diagnostic> {
    let pairs = one.all().iter().flat_map(|left| other.all().iter().map(move |right| (left, right)));
    let meet = pairs.filter(|(left, right)| same_kind(left, right));
    let controllers = || [one.name().to_owned(), other.name().to_owned()];
    let clash = |(left, right): (&DeclaredAccess, &DeclaredAccess)| {
        let fields = left.fields.iter().filter(|mine| {
            let overlaps = |theirs: &String| field::is_within(mine, theirs) || field::is_within(theirs, mine);
            right.fields.iter().any(overlaps)
        });
        let kind = left.kind();
        let diagnostic = |field: &String| Diagnostic::TwoOwners {
            controllers: controllers(),
            kind: kind.clone(),
            field: field.clone(),
        };
        fields.map(diagnostic).collect::<Vec<_>>()
    };
    meet.flat_map(clash).collect()
}

fn without_controller(one: &Declaration, all: &[Declaration]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for access in one.all() {
        let kinds = || all.iter().flat_map(Declaration::all).filter(|other| same_kind(access, other));
        for finalizer in &access.finalizers_awaited {
            if finalizer != "*" && !kinds().any(|other| other.finalizers_added.contains(finalizer)) {
                let (controller, finalizer) = (one.name().to_owned(), finalizer.clone());
                found.push(Diagnostic::FinalizerWithoutController { controller, finalizer });
            }
        }
        for key in &access.annotations_read {
            if !kinds().any(|other| other.annotations_written.contains(key)) {
                let (controller, key) = (one.name().to_owned(), key.clone());
                found.push(Diagnostic::AnnotationWithoutWriter { controller, key });
            }
        }
    }
    found
}

fn same_kind(one: &DeclaredAccess, other: &DeclaredAccess) -> bool {
    let same_names = one.named.is_none() || other.named.is_none() || one.named == other.named;
    (&one.group, &one.resource) == (&other.group, &other.resource) && one.resource != "*" && same_names
}

impl Diagnostics {
    /// Returns the diagnostics in the order of the declarations.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoOwners { controllers: [one, other], kind, field } => {
                write!(f, "`{one}` and `{other}` both write {field} of {kind}: give it to one of them")
            }
            Self::FinalizerWithoutController { controller, finalizer } => {
                write!(f, "`{controller}` awaits the finalizer {finalizer}, which no controller sets")
            }
            Self::AnnotationWithoutWriter { controller, key } => {
                write!(f, "`{controller}` reads the annotation {key}, which no controller writes")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines() -> DeclaredAccess {
        DeclaredAccess::to("example.com", "machines").watches()
    }

    #[test]
    fn controllers_that_fit_have_no_diagnostics() {
        let one = Declaration::new("a", "").access(machines().adds_finalizer("x/a").writes(["/status/a"]));
        let other = Declaration::new("b", "").access(
            machines()
                .awaits_finalizer("x/a")
                .awaits_finalizer("*")
                .writes(["/status/b"])
                .adds_finalizer("x/b"),
        );
        assert_eq!(check_consistency(&[one, other]), Ok(()));
    }

    #[test]
    fn objects_with_other_names_are_not_shared() {
        let writer = |name: &str, pattern: &str| {
            Declaration::new(name, "")
                .access(DeclaredAccess::to("", "configmaps").named(pattern).writes(["/data"]))
        };
        assert_eq!(check_consistency(&[writer("a", "a-*"), writer("b", "b-*")]), Ok(()));
        let found = check_consistency(&[writer("a", "a-*"), writer("b", "a-*")]).unwrap_err();
        assert_eq!(found.into_iter().count(), 1);
    }

    #[test]
    fn two_owners_and_dependencies_on_no_one_are_found() {
        let one = Declaration::new("a", "").access(machines().writes(["/status"]).reads_annotation("k"));
        let other = Declaration::new("b", "")
            .access(machines().writes(["/status/b"]).awaits_finalizer("x/gone"))
            .access(DeclaredAccess::to("", "machines").writes(["/status"]).writes_annotation("k"));
        assert_eq!(
            check_consistency(&[one, other]).unwrap_err().to_string(),
            "`a` and `b` both write /status of machines.example.com: give it to one of them\n\
             `a` reads the annotation k, which no controller writes\n\
             `b` awaits the finalizer x/gone, which no controller sets"
        );
    }
}
