//! The top-level modules of a package that a module may use, for two packages.
//!
//! An item that a module re-exports at the package's root still belongs to the module: the root is resolved through
//! its `pub use` lines. Tests may use every module.

use std::collections::BTreeMap;

use crate::edge::module_path;
use crate::{Diagnostic, Edge, Rule, Source, edges};

/// A module and the modules it may use.
type Allowed = &'static [(&'static str, &'static [&'static str])];

/// The top-level modules of a package are listed completely: a new one is refused until it is here. `error` is what
/// `policyset` reports, made of what the other modules refuse.
const FRAMEWORK: Allowed = &[
    ("api", &[]),
    ("driver", &["api", "inventory", "review"]),
    ("error", &["api", "driver", "review", "target"]),
    ("expansion", &["api", "review"]),
    ("inventory", &["review"]),
    ("policyset", &["api", "review", "inventory", "driver", "target", "error"]),
    ("review", &["api"]),
    ("target", &["api", "review"]),
];

/// `enforce` and `controller` meet in `in_force`; no module uses `runtime`.
const OPERATOR: Allowed = &[
    ("api_error", &["text"]),
    ("api_version", &[]),
    (
        "audit",
        &[
            "api_error",
            "api_version",
            "budget",
            "cli",
            "config",
            "enforce",
            "established",
            "events",
            "in_force",
            "own_watch",
            "retry",
            "text",
            "written",
        ],
    ),
    ("budget", &[]),
    ("catalog", &["api_error", "cli", "text", "written"]),
    ("cli", &["api_error", "api_version", "budget", "enforce", "in_force", "text"]),
    ("config", &[]),
    (
        "controller",
        &[
            "api_error",
            "api_version",
            "config",
            "digest",
            "established",
            "in_force",
            "own_watch",
            "retry",
            "written",
        ],
    ),
    ("declaration", &[]),
    ("digest", &[]),
    ("enforce", &["api_error", "config", "events", "in_force"]),
    ("established", &["own_watch"]),
    ("events", &["api_error", "digest", "text"]),
    ("in_force", &["config"]),
    ("migrate", &["api_error", "api_version", "budget", "cli", "config", "enforce"]),
    ("own_watch", &[]),
    ("progress", &["api_error", "api_version"]),
    (
        "runtime",
        &[
            "api_error",
            "audit",
            "catalog",
            "cli",
            "controller",
            "enforce",
            "events",
            "in_force",
            "migrate",
            "own_watch",
            "progress",
            "retry",
            "text",
        ],
    ),
    ("retry", &[]),
    ("text", &[]),
    ("written", &[]),
];

/// The items of kube that reach a cluster: `cli` must do without.
const CLUSTER: [&str; 5] = ["Api", "Client", "Config", "client", "runtime"];

fn allowed(folder: &str) -> Option<Allowed> {
    match folder {
        "crates/constraint-framework" => Some(FRAMEWORK),
        "operators/policy" => Some(OPERATOR),
        _ => None,
    }
}

/// The paths in the files of one package that lead into modules that are not allowed. `folder` is the package's.
#[must_use]
pub fn module_edges(folder: &str, sources: &[&Source]) -> Vec<Diagnostic> {
    let Some(allowed) = allowed(folder) else {
        return Vec::new();
    };
    let roots = sources.iter().filter(|source| source.path() == format!("{folder}/src/lib.rs"));
    let shown: BTreeMap<_, _> = roots.flat_map(|root| shown_at_root(root)).collect();
    sources.iter().flat_map(|source| refused(source, allowed, &shown)).collect()
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

fn refused(source: &Source, allowed: Allowed, shown: &BTreeMap<String, String>) -> Vec<Diagnostic> {
    let Some(module) = module_path(source.path()).into_iter().next() else {
        return Vec::new();
    };
    let Some((_, open)) = allowed.iter().find(|(name, _)| *name == module) else {
        let message = format!(
            "`{module}` is not a known module: say in tests/tidy/src/module_dependencies.rs what it may use"
        );
        return vec![Diagnostic::new(source.path(), 1, Rule::ModuleDependency, message)];
    };
    let judge = |edge| match edge {
        Edge::Inside { path, line } => leads_to(&path, allowed, shown)
            .filter(|used| *used != module && !open.contains(used))
            .map(|used| diagnostic(source, line, &module, &format!("`{used}`"))),
        Edge::Outside { path, line } => reaches_cluster(&module, &path)
            .then(|| diagnostic(source, line, &module, &format!("a cluster (`{}`)", path.join("::")))),
    };
    edges(source).into_iter().filter_map(judge).collect()
}

/// The module a path inside the package leads to.
fn leads_to<'a>(
    path: &'a [String],
    allowed: Allowed,
    shown: &'a BTreeMap<String, String>,
) -> Option<&'a str> {
    let first = path.first()?;
    let is_module = |name: &&String| allowed.iter().any(|(module, _)| module == name);
    let through_root = || shown.get(first).filter(is_module);
    Some(first).filter(is_module).or_else(through_root).map(String::as_str)
}

fn reaches_cluster(module: &str, path: &[String]) -> bool {
    module == "cli"
        && match path {
            [package, item, ..] => package == "kube" && (CLUSTER.contains(&item.as_str()) || item == "*"),
            _ => false,
        }
}

fn diagnostic(source: &Source, line: usize, module: &str, used: &str) -> Diagnostic {
    let message = format!("`{module}` must not use {used}: see tests/tidy/src/module_dependencies.rs");
    Diagnostic::new(source.path(), line, Rule::ModuleDependency, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_in(folder: &str, files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let parse =
            |(path, text): &(&str, &str)| Source::parse(&format!("{folder}/src/{path}"), text).unwrap();
        let sources: Vec<_> = files.iter().map(parse).collect();
        let found = module_edges(folder, &sources.iter().collect::<Vec<_>>());
        let place = |diagnostic: Diagnostic| {
            (diagnostic.path.rsplit('/').next().unwrap_or_default().to_owned(), diagnostic.line)
        };
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
        for module in ["cli.rs", "controller.rs", "enforce.rs", "in_force.rs", "api.rs"] {
            assert_eq!(
                refused_in("operators/policy", &[(module, "use crate::runtime::Args;\n")]),
                at(module, 1)
            );
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
