//! The effect of a missing object on the decisions of a pod, on which it depends what a readiness policy may give up.

/// The effect on a pod's decisions of an object that the pod has not ingested.
///
/// A user who relaxes a rule, so that one pod does not hold up the others, relies on [`MissingSemantics::Looser`]: a policy that
/// is missing denies nothing. A missing exemption denies what it would allow, and missing data can do either. Hence
/// [`crate::readiness::OnError::GiveUp`], [`crate::ReadinessTracker::give_up`], [`crate::Deadline::Activate`] and
/// [`crate::Shape::at_once`] have an effect on kinds that are `Looser` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissingSemantics {
    /// Not known, or different from case to case: data that policies look up, mutators, parameters. Nothing is relaxed.
    #[default]
    Unknown,
    /// The pod denies less: a policy.
    Looser,
    /// The pod denies more: an exemption. Nothing is relaxed.
    Stricter,
}

impl MissingSemantics {
    /// Returns true if a pod may go on without such an object.
    pub(crate) fn is_looser(self) -> bool {
        self == Self::Looser
    }
}
