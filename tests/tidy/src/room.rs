//! The top-level modules of a package that a module may use, for the two packages that have rooms.
//!
//! What a room re-exports at the package's root still belongs to the room: the root is resolved through
//! its `pub use` lines. Tests may look into every room.

use std::collections::BTreeMap;

use crate::edge::module_path;
use crate::{Edge, Finding, Rule, Source, edges};

/// A room and the rooms it may use.
type Doors = &'static [(&'static str, &'static [&'static str])];

/// The rooms of a package are listed completely: a new one is refused until it is here. `error` is what
/// `policyset` reports, made of what the other rooms refuse.
const FRAMEWORK: Doors = &[
    ("api", &[]),
    ("driver", &["api", "inventory", "review"]),
    ("error", &["api", "driver", "review", "target"]),
    ("expansion", &["api", "review"]),
    ("inventory", &["review"]),
    ("policyset", &["api", "review", "inventory", "driver", "target", "error"]),
    ("review", &["api"]),
    ("target", &["api", "review"]),
];

/// `enforce` and `controller` meet in `handle`; no module uses `runtime`.
const OPERATOR: Doors = &[
    ("api", &[]),
    ("api_error", &[]),
    (
        "audit",
        &[
            "api",
            "api_error",
            "budget",
            "cli",
            "config",
            "enforce",
            "established",
            "events",
            "handle",
            "own_watch",
        ],
    ),
    ("budget", &[]),
    ("catalog", &["api", "api_error", "cli"]),
    ("cli", &["api", "budget", "enforce", "handle"]),
    ("config", &[]),
    ("controller", &["api", "api_error", "config", "established", "handle", "own_watch"]),
    ("declaration", &[]),
    ("enforce", &["api", "config", "events", "handle"]),
    ("established", &["own_watch"]),
    ("events", &["api", "api_error"]),
    ("handle", &["api", "config"]),
    ("migrate", &["api", "api_error", "budget", "cli", "config", "enforce"]),
    ("own_watch", &[]),
    ("progress", &["api_error"]),
    (
        "runtime",
        &[
            "api",
            "api_error",
            "audit",
            "catalog",
            "cli",
            "controller",
            "enforce",
            "events",
            "handle",
            "migrate",
            "own_watch",
            "progress",
        ],
    ),
];

/// The items of kube that reach a cluster: `cli` must do without.
const CLUSTER: [&str; 5] = ["Api", "Client", "Config", "client", "runtime"];

fn doors(folder: &str) -> Option<Doors> {
    match folder {
        "crates/constraint-framework" => Some(FRAMEWORK),
        "operators/policy" => Some(OPERATOR),
        _ => None,
    }
}

/// The paths in the files of one package that lead into rooms without a door. `folder` is the package's.
#[must_use]
pub fn room_edges(folder: &str, sources: &[&Source]) -> Vec<Finding> {
    let Some(doors) = doors(folder) else {
        return Vec::new();
    };
    let roots = sources.iter().filter(|source| source.path() == format!("{folder}/src/lib.rs"));
    let shown: BTreeMap<_, _> = roots.flat_map(|root| shown_at_root(root)).collect();
    sources.iter().flat_map(|source| refused(source, doors, &shown)).collect()
}

/// `pub use driver::Budget` at the root: `Budget` leads to `driver`.
fn shown_at_root(root: &Source) -> Vec<(String, String)> {
    let pairs = edges(root).into_iter().filter_map(|edge| match edge {
        Edge::Inside { path, .. } | Edge::Outside { path, .. } => {
            Some((path.last()?.clone(), path.first()?.clone()))
        }
    });
    pairs.collect()
}

fn refused(source: &Source, doors: Doors, shown: &BTreeMap<String, String>) -> Vec<Finding> {
    let Some(room) = module_path(source.path()).into_iter().next() else {
        return Vec::new();
    };
    let Some((_, open)) = doors.iter().find(|(name, _)| *name == room) else {
        let message = format!("`{room}` is not a known room: say in tests/tidy/src/room.rs what it may use");
        return vec![Finding::new(source.path(), 1, Rule::Room, message)];
    };
    let judge = |edge| match edge {
        Edge::Inside { path, line } => leads_to(&path, doors, shown)
            .filter(|used| *used != room && !open.contains(used))
            .map(|used| finding(source, line, &room, &format!("`{used}`"))),
        Edge::Outside { path, line } => reaches_cluster(&room, &path)
            .then(|| finding(source, line, &room, &format!("a cluster (`{}`)", path.join("::")))),
    };
    edges(source).into_iter().filter_map(judge).collect()
}

/// The room a path inside the package leads to.
fn leads_to<'a>(path: &'a [String], doors: Doors, shown: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let first = path.first()?;
    let is_room = |name: &&String| doors.iter().any(|(room, _)| room == name);
    let through_root = || shown.get(first).filter(is_room);
    Some(first).filter(is_room).or_else(through_root).map(String::as_str)
}

fn reaches_cluster(room: &str, path: &[String]) -> bool {
    room == "cli"
        && match path {
            [package, item, ..] => package == "kube" && (CLUSTER.contains(&item.as_str()) || item == "*"),
            _ => false,
        }
}

fn finding(source: &Source, line: usize, room: &str, used: &str) -> Finding {
    let message = format!("`{room}` must not use {used}: see the doors in tests/tidy/src/room.rs");
    Finding::new(source.path(), line, Rule::Room, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_in(folder: &str, files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let parse =
            |(path, text): &(&str, &str)| Source::parse(&format!("{folder}/src/{path}"), text).unwrap();
        let sources: Vec<_> = files.iter().map(parse).collect();
        let found = room_edges(folder, &sources.iter().collect::<Vec<_>>());
        let place =
            |finding: Finding| (finding.path.rsplit('/').next().unwrap_or_default().to_owned(), finding.line);
        found.into_iter().map(place).collect()
    }

    fn at(file: &str, line: usize) -> Vec<(String, usize)> {
        vec![(file.to_owned(), line)]
    }

    #[test]
    fn the_driver_sees_the_review_and_nothing_else() {
        let text = "use crate::review::Review;\nuse crate::policyset::PolicySet;\n";
        assert_eq!(refused_in("crates/constraint-framework", &[("driver/rego.rs", text)]), at("rego.rs", 2));
    }

    #[test]
    fn a_detour_over_the_root_is_seen() {
        let root = ("lib.rs", "pub mod policyset;\npub use policyset::{PolicySet, Builder};\n");
        let detour = ("driver.rs", "use crate::PolicySet;\n");
        assert_eq!(refused_in("crates/constraint-framework", &[root, detour]), at("driver.rs", 1));
        let relative = ("review.rs", "fn a(b: super::driver::B) {}\n");
        assert_eq!(refused_in("crates/constraint-framework", &[root, relative]), at("review.rs", 1));
    }

    #[test]
    fn enforcement_and_controllers_never_see_each_other() {
        let one = [("enforce/webhook.rs", "fn a() { crate::controller::b() }\n")];
        assert_eq!(refused_in("operators/policy", &one), at("webhook.rs", 1));
        let other = [("controller/template.rs", "use crate::{handle, enforce::webhook};\n")];
        assert_eq!(refused_in("operators/policy", &other), at("template.rs", 1));
    }

    #[test]
    fn nobody_uses_the_runtime() {
        for room in ["cli.rs", "controller.rs", "enforce.rs", "handle.rs", "api.rs"] {
            assert_eq!(refused_in("operators/policy", &[(room, "use crate::runtime::Args;\n")]), at(room, 1));
        }
        assert_eq!(refused_in("operators/policy", &[("runtime/args.rs", "use crate::runtime::Args;\n")]), []);
        assert_eq!(refused_in("operators/policy", &[("main.rs", "use webtroller::runtime::Args;\n")]), []);
    }

    #[test]
    fn the_command_line_touches_no_cluster() {
        let text = "use kube::core::ObjectMeta;\nuse kube::{Client};\nfn a() { kube::Api::all(b) }\n";
        let found = refused_in("operators/policy", &[("cli/load.rs", text)]);
        assert_eq!(found, [at("load.rs", 2), at("load.rs", 3)].concat());
        assert_eq!(refused_in("operators/policy", &[("controller.rs", text)]), []);
    }

    #[test]
    fn a_new_room_must_be_listed() {
        assert_eq!(refused_in("operators/policy", &[("attic/box.rs", "")]), at("box.rs", 1));
    }
}
