//! The first cause: where to look first.
//!
//! An object waits for what it refers to and for what it owns, and its own conditions often repeat what those say:
//!
//! ```text
//! Deployment web         ReplicaFailure=True
//! └ owns ReplicaSet web-5d8f   ReplicaFailure=True: exceeded quota      <- first cause
//!    └ owns Pod web-5d8f-x     phase Pending
//! ```
//!
//! So what is farthest down comes first, and something that failed comes before anything that merely waits. What an object
//! refers to may be well by its own account, such as a Node that is ready: what else it says explains less than what the object says.
//!
//! An owner that is paused holds up what waits for it, and not what is well: a Job that has run does not wait for the CronJob
//! that is suspended.

use super::diagnostic::{About, Diagnostic, Level};
use super::graph::{Node, Relation};

/// Marks the first cause of a tree, if there is one.
pub(super) fn mark(root: &mut Node) {
    if !waits(root) {
        root.children.iter_mut().filter(|child| child.relation == Relation::OwnedBy).for_each(unpause);
    }
    for level in [Level::Blocking, Level::Waiting] {
        if let Some(diagnostic) = first(root, level) {
            diagnostic.is_first_cause = true;
            return;
        }
    }
}

/// True if the object waits, or what it owns or refers to.
fn waits(node: &Node) -> bool {
    let below = || node.children.iter().filter(|child| child.relation != Relation::OwnedBy).any(waits);
    node.diagnostics.iter().any(|diagnostic| diagnostic.level > Level::Note) || below()
}

/// Makes pauses of owners information.
fn unpause(owner: &mut Node) {
    for diagnostic in owner.diagnostics.iter_mut().filter(|diagnostic| diagnostic.about == About::Paused) {
        diagnostic.level = Level::Note;
    }
    owner.children.iter_mut().for_each(unpause);
}

/// The node and diagnostic that are marked.
pub(super) fn marked(root: &Node) -> Option<(&Node, &Diagnostic)> {
    let own = root
        .diagnostics
        .iter()
        .find(|diagnostic| diagnostic.is_first_cause)
        .map(|diagnostic| (root, diagnostic));
    own.or_else(|| root.children.iter().find_map(marked))
}

fn first(node: &mut Node, level: Level) -> Option<&mut Diagnostic> {
    let Node { children, diagnostics, .. } = node;
    let (owners, others): (Vec<_>, Vec<_>) =
        children.iter_mut().partition(|child| child.relation == Relation::OwnedBy);
    let is_well = |child: &&mut Node| matches!(child.relation, Relation::RefersTo(_)) && child.is_summed_up;
    let (well, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_well);
    let below = others.into_iter().find_map(|child| first(child, level));
    let own = diagnostics.iter_mut().find(|diagnostic| diagnostic.level == level);
    let last = well.into_iter().chain(owners);
    below.or(own).or_else(|| last.into_iter().find_map(|other| first(other, level)))
}

#[cfg(test)]
mod tests {
    use crate::progress::diagnostic::About;
    use crate::progress::graph::Identity;

    use super::*;

    fn node(name: &str, relation: Relation, levels: &[Level], children: Vec<Node>) -> Node {
        let object = Identity {
            group: String::new(),
            kind: "Kind".to_owned(),
            namespace: None,
            name: name.to_owned(),
        };
        let mut node = Node::missing(relation, object, Level::Note, "");
        node.diagnostics = levels.iter().map(|level| Diagnostic::new(*level, About::Condition, "")).collect();
        node.children = children;
        node
    }

    #[track_caller]
    fn check(mut root: Node, expected: Option<&str>) {
        mark(&mut root);
        assert_eq!(marked(&root).map(|(node, _)| node.object.name.as_str()), expected);
    }

    #[test]
    fn what_failed_farthest_down_comes_first() {
        use Level::{Blocking, Note, Waiting};
        use Relation::{OwnedBy, Owns, Subject};
        let pod = || node("pod", Owns, &[Waiting], vec![]);
        let set = |levels: &[Level]| node("set", Owns, levels, vec![pod()]);
        check(node("web", Subject, &[Blocking], vec![set(&[Blocking])]), Some("set"));
        check(node("web", Subject, &[Waiting], vec![set(&[Waiting])]), Some("pod"));
        check(node("web", Subject, &[Blocking], vec![set(&[Waiting])]), Some("web"));
        let owner = || node("owner", OwnedBy, &[Waiting], vec![]);
        check(node("web", Subject, &[Waiting], vec![owner()]), Some("web"));
        check(node("web", Subject, &[Note], vec![owner()]), Some("owner"));
        check(node("web", Subject, &[Note], vec![]), None);
    }

    /// A Pod whose image is fetched does not wait for what else its Node says.
    #[test]
    fn what_is_referred_to_and_ready_comes_last() {
        use Level::{Blocking, Note, Waiting};
        let node = |is_ready: bool, level: Level| {
            let mut node = node("node", Relation::RefersTo("spec.nodeName".to_owned()), &[level], vec![]);
            node.is_summed_up = is_ready;
            node
        };
        let pod = |levels: &[Level], below: Node| self::node("pod", Relation::Subject, levels, vec![below]);
        check(pod(&[Waiting], node(false, Waiting)), Some("node"));
        check(pod(&[Waiting], node(true, Waiting)), Some("pod"));
        check(pod(&[Waiting], node(true, Blocking)), Some("node"));
        check(pod(&[Note], node(true, Waiting)), Some("node"));
    }

    #[test]
    fn a_paused_owner_holds_up_only_what_waits() {
        use Relation::{OwnedBy, Subject};
        let owner = || {
            let mut owner = node("owner", OwnedBy, &[Level::Blocking], vec![]);
            owner.diagnostics.iter_mut().for_each(|diagnostic| diagnostic.about = About::Paused);
            owner
        };
        check(node("job", Subject, &[Level::Note], vec![owner()]), None);
        check(node("job", Subject, &[Level::Waiting], vec![owner()]), Some("owner"));
    }
}
