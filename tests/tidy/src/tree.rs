//! Packages from outside that a crate must do without, through any dependency.
//!
//! It reads `cargo tree -p crate -e normal`, which is what a user of that one crate builds: the features that
//! other members of the workspace switch on are not in it.

use crate::{Diagnostic, Rule};

const CLUSTER: [&str; 4] = ["kube-client", "kube-runtime", "hyper", "tokio"];

/// The crates that are judged. They know nothing about clients, so they build without one.
pub(crate) const WITHOUT_A_CLUSTER: [&str; 5] =
    ["constraint-framework", "controller-declaration", "duck-types", "rego-compat", "schema-merge"];

/// Reports what `tree`, the output of `cargo tree --prefix none` for a crate, holds and must not.
#[must_use]
pub fn dependency_trees(package: &str, tree: &str) -> Vec<Diagnostic> {
    let path = format!("crates/{package}/Cargo.toml");
    let mut names = tree.lines().filter_map(|line| line.split_whitespace().next());
    if names.next() != Some(package) {
        let message = format!("`cargo tree` did not begin with {package}: nothing is proven");
        return vec![Diagnostic::new(&path, 1, Rule::Tree, message)];
    }
    let refused = CLUSTER
        .into_iter()
        .filter(|refused| tree.lines().any(|line| line.split(' ').next() == Some(refused)));
    let message =
        |name| format!("{package} builds {name}: see `cargo tree -p {package} -e normal -i {name}`");
    refused.map(|name| Diagnostic::new(&path, 1, Rule::Tree, message(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_anywhere_in_the_tree_is_found() {
        let tree = "schema-merge v0.1.0 (/w)\nkube v5.0.0\nkube-core v5.0.0\ntokio v1.2.3\ntokio-macros v1.0.0 (*)\n";
        let found = dependency_trees("schema-merge", tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("builds tokio"), "{}", found[0]);
    }

    #[test]
    fn a_tree_without_a_client_passes() {
        assert_eq!(dependency_trees("schema-merge", "schema-merge v0.1.0 (/w)\ntokio-macros v1.0.0\n"), []);
    }

    #[test]
    fn no_tree_is_no_proof() {
        assert_eq!(dependency_trees("schema-merge", "").len(), 1);
    }
}
