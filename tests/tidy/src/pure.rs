//! Files that compute and do nothing else: no clock, no task, no client. They are the ones that property tests
//! and exhaustive exploration run on.
//!
//! Which files these are is a decision, so the list is here; a file that is gone must leave it.

use crate::{Edge, Finding, Rule, Source, edges};

const PURE: [&str; 12] = [
    "crates/pod-status/src/aggregate.rs",
    "crates/pod-status/src/name.rs",
    "crates/pod-status/src/report_store.rs",
    "crates/watch-manager/src/backlog.rs",
    "crates/watch-manager/src/dispatcher.rs",
    "crates/watch-manager/src/dispatcher/kind.rs",
    "crates/watch-manager/src/intents.rs",
    "crates/watch-manager/src/interest.rs",
    "crates/watch-manager/src/store.rs",
    "crates/watch-manager/src/watcher/machine.rs",
    "crates/watch-manager/src/watcher/machine/failure.rs",
    "crates/watch-manager/src/watcher/pace.rs",
];
const IMPURE: [&str; 4] = ["futures", "hyper", "tokio", "tokio_util"];
const CLIENT: [&str; 4] = ["Api", "Client", "client", "runtime"];

/// The paths in pure files that lead to a clock, a task or a client, and the pure files that are gone.
#[must_use]
pub fn purity(sources: &[Source]) -> Vec<Finding> {
    PURE.into_iter().flat_map(|path| of_file(path, sources)).collect()
}

fn of_file(path: &str, sources: &[Source]) -> Vec<Finding> {
    let Some(source) = sources.iter().find(|source| source.path() == path) else {
        let message = format!("{path} is gone: remove it from the list of pure files");
        return vec![Finding::new("tests/tidy/src/pure.rs", 1, Rule::Room, message)];
    };
    let impure = edges(source).into_iter().filter_map(|edge| match edge {
        Edge::Outside { path, line } if is_impure(&path) => Some((path.join("::"), line)),
        _ => None,
    });
    impure
        .map(|(used, line)| {
            Finding::new(path, line, Rule::Room, format!("a pure file must not use `{used}`"))
        })
        .collect()
}

fn is_impure(path: &[String]) -> bool {
    match path {
        [package, item, ..] if package == "kube" => CLIENT.contains(&item.as_str()),
        [standard, clock, ..] if standard == "std" => ["thread", "fs", "net"].contains(&clock.as_str()),
        [package, ..] => IMPURE.contains(&package.as_str()),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let others = PURE.into_iter().skip(1).map(|path| Source::parse(path, "").unwrap());
        let sources: Vec<_> = others.chain([Source::parse(PURE[0], text).unwrap()]).collect();
        purity(&sources).iter().map(|finding| finding.line.to_string()).collect()
    }

    #[test]
    fn a_clock_a_task_or_a_client_is_found() {
        let text = "use tokio::time::Instant;\nuse std::collections::BTreeMap;\nfn a(b: kube::Client) {}\nuse kube::core::X;\nuse std::{thread};\n";
        assert_eq!(lines(text), ["1", "3", "5"]);
    }

    #[test]
    fn a_pure_file_that_is_gone_is_found() {
        assert_eq!(purity(&[]).len(), PURE.len());
    }
}
