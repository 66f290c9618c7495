//! The decision about a constraint CRD. Pure: from the CRD and the template as they were read to one write, or none.

use super::revision::REVISION;

/// The facts about an existing CRD that the decision needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Live {
    pub(super) owner: Owner,
    pub(super) kind: String,
    pub(super) terminating: bool,
    /// Spec and labels are as the template asks for.
    pub(super) matches: bool,
    pub(super) revision: u64,
}

/// The controller of a CRD, as seen by the template that wants it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// This very template.
    Mine,
    /// A template of the same name with another uid. Two objects never share a name, so it does not exist any more
    /// when this template does.
    Predecessor,
    /// No controller, and the label of a constraint CRD: left behind by `kubectl delete --cascade=orphan`.
    None,
    /// Another object; the text names it.
    Other(String),
}

/// The template as the API server has it at the time of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Template {
    /// It has the uid and the generation that the CRD is asked for by.
    Current,
    /// It is deleted, being deleted, replaced or edited: this decision is no longer wanted.
    Superseded,
}

/// The one write to make. Each is conditional on the CRD that was read: its absence, or its resource version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is as asked for.
    Keep,
    /// Create it, which fails where one exists.
    Create,
    /// Replace it, which fails where it has changed since.
    Replace,
    /// Write nothing: another version of the template is in charge.
    Superseded,
    /// Write nothing until the CRD is gone: it is being deleted, or garbage collection is about to.
    AwaitDeletion,
    /// Write nothing; a user has to act.
    Refuse(String),
}

/// Decides. The CRD must have been read *before* the template: if a newer version of the template had already written
/// the CRD that was read, this read of the template sees that version.
pub(super) fn decide(kind: &str, template: Template, live: Option<&Live>) -> Decision {
    if template == Template::Superseded {
        return Decision::Superseded;
    }
    let Some(live) = live else { return Decision::Create };
    if live.terminating {
        return Decision::AwaitDeletion;
    }
    if let Owner::Other(name) = &live.owner {
        return Decision::Refuse(format!("it belongs to {name}; delete it, or choose another kind"));
    }
    if live.kind != kind {
        return other_spelling(kind, live);
    }
    let is_mine = live.owner == Owner::Mine;
    if is_mine && (live.matches || live.revision > REVISION) { Decision::Keep } else { Decision::Replace }
}

/// The API server does not let a CRD change the spelling of its kind.
fn other_spelling(kind: &str, live: &Live) -> Decision {
    if live.owner == Owner::Predecessor {
        return Decision::AwaitDeletion;
    }
    Decision::Refuse(format!(
        "it serves the kind {}, and the API server does not let a CRD change that to {kind}; restore the spelling, or \
         delete the template with its constraints and create it again",
        live.kind
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(owner: Owner) -> Live {
        Live { owner, kind: "Foo".to_owned(), terminating: false, matches: true, revision: REVISION }
    }

    #[track_caller]
    fn assert_decides(live: &Live, decision: &Decision) {
        assert_eq!(&decide("Foo", Template::Current, Some(live)), decision);
    }

    #[test]
    fn a_superseded_version_writes_nothing() {
        for live in [None, Some(live(Owner::Mine)), Some(live(Owner::Predecessor))] {
            assert_eq!(decide("Foo", Template::Superseded, live.as_ref()), Decision::Superseded);
        }
    }

    #[test]
    fn a_predecessors_crd_and_an_orphan_are_taken_over_and_a_strangers_is_not() {
        assert_decides(&live(Owner::Mine), &Decision::Keep);
        assert_decides(&live(Owner::Predecessor), &Decision::Replace);
        assert_decides(&live(Owner::None), &Decision::Replace);
        let other = decide("Foo", Template::Current, Some(&live(Owner::Other("Widget w".to_owned()))));
        assert!(matches!(other, Decision::Refuse(reason) if reason.contains("Widget w")));
    }

    #[test]
    fn a_crd_that_differs_is_restored_unless_a_newer_release_wrote_it() {
        let edited = Live { matches: false, ..live(Owner::Mine) };
        assert_decides(&edited, &Decision::Replace);
        assert_decides(&Live { revision: REVISION + 1, ..edited }, &Decision::Keep);
        for owner in [Owner::Mine, Owner::Other("Widget w".to_owned())] {
            assert_decides(&Live { terminating: true, ..live(owner) }, &Decision::AwaitDeletion);
        }
    }

    #[test]
    fn a_kind_is_spelled_anew_only_when_the_crd_of_a_deleted_template_is_gone() {
        let other = |owner| Live { kind: "FOO".to_owned(), ..live(owner) };
        assert_decides(&other(Owner::Predecessor), &Decision::AwaitDeletion);
        for owner in [Owner::Mine, Owner::None] {
            let decision = decide("Foo", Template::Current, Some(&other(owner)));
            assert!(matches!(decision, Decision::Refuse(reason) if reason.contains("spelling")));
        }
    }
}
