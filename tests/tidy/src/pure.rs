//! Files that compute and do nothing else: no clock, no task, no client. They are the ones that property tests
//! and exhaustive exploration run on.
//!
//! Which files these are is a decision, so the list is here; a file that is gone must leave it.

use crate::{Diagnostic, Edge, Rule, Source, edges};

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
/// The files of `pod-status` that read the wall clock, for times that people read. Clocks of two machines differ and
/// jump, so nothing is decided by them: timers use `tokio::time::Instant`.
const WALL_CLOCK: [&str; 3] = [
    "crates/pod-status/src/cluster.rs",
    "crates/pod-status/src/gatekeeper.rs",
    "crates/pod-status/src/lease.rs",
];
const IMPURE: [&str; 4] = ["futures", "hyper", "tokio", "tokio_util"];
const CLIENT: [&str; 4] = ["Api", "Client", "client", "runtime"];

/// The paths in pure files that lead to a clock, a task or a client, the pure files that are gone, and the files of
/// `pod-status` that read the wall clock without being listed.
#[must_use]
pub fn purity(sources: &[Source]) -> Vec<Diagnostic> {
    let impure = PURE.into_iter().flat_map(|path| of_file(path, sources));
    impure.chain(sources.iter().flat_map(wall_clock)).collect()
}

fn wall_clock(source: &Source) -> Vec<Diagnostic> {
    if !source.path().starts_with("crates/pod-status/src/") || WALL_CLOCK.contains(&source.path()) {
        return Vec::new();
    }
    let clocks = edges(source).into_iter().filter_map(|edge| match edge {
        Edge::Outside { path, line } if is_wall_clock(&path) && !source.is_test(line) => Some(line),
        _ => None,
    });
    let message = "reads the wall clock: decide by `tokio::time::Instant`, see `WALL_CLOCK` in tests/tidy";
    clocks.map(|line| Diagnostic::new(source.path(), line, Rule::ModuleDependency, message)).collect()
}

fn is_wall_clock(path: &[String]) -> bool {
    path.iter().any(|name| ["Timestamp", "SystemTime", "Zoned"].contains(&name.as_str()))
}

fn of_file(path: &str, sources: &[Source]) -> Vec<Diagnostic> {
    let Some(source) = sources.iter().find(|source| source.path() == path) else {
        let message = format!("{path} is gone: remove it from the list of pure files");
        return vec![Diagnostic::new("tests/tidy/src/pure.rs", 1, Rule::ModuleDependency, message)];
    };
    let impure = edges(source).into_iter().filter_map(|edge| match edge {
        Edge::Outside { path, line } if is_impure(&path) => Some((path.join("::"), line)),
        _ => None,
    });
    impure
        .map(|(used, line)| {
            Diagnostic::new(path, line, Rule::ModuleDependency, format!("a pure file must not use `{used}`"))
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
        purity(&sources).iter().map(|diagnostic| diagnostic.line.to_string()).collect()
    }

    #[test]
    fn a_clock_a_task_or_a_client_is_found() {
        let text = "use tokio::time::Instant;\nuse std::collections::BTreeMap;\nfn a(b: kube::Client) {}\nuse kube::core::X;\nuse std::{thread};\n";
        assert_eq!(lines(text), ["1", "3", "5"]);
    }

    #[test]
    fn a_wall_clock_is_found() {
        let text = "use k8s_openapi::jiff::Timestamp;\nfn a() { std::time::SystemTime::now(); }\n";
        let found = |path: &str| wall_clock(&Source::parse(path, text).unwrap()).len();
        assert_eq!(found("crates/pod-status/src/term.rs"), 2);
        assert_eq!(found(WALL_CLOCK[0]), 0);
        assert_eq!(found("operators/policy/src/main.rs"), 0);
    }

    #[test]
    fn a_pure_file_that_is_gone_is_found() {
        assert_eq!(purity(&[]).len(), PURE.len());
    }
}
