//! Cargo's metadata of the workspace: which package depends on which, for which Rust, with which lints.
//!
//! It reads the output of `cargo metadata`; running that is the work of `workspace.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Diagnostic, Error, Rule, package_dependencies};

/// The part of `cargo metadata` that is judged.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Metadata {
    /// All packages, those from outside included.
    pub packages: Vec<Package>,
    /// The folder of the workspace.
    pub workspace_root: PathBuf,
}

/// A package, ours or not.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The path of its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// The oldest Rust it promises to build with.
    pub rust_version: Option<String>,
    /// The registry it came from; packages of the workspace have none.
    pub source: Option<String>,
    dependencies: Vec<Dependency>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Dependency {
    name: String,
    path: Option<PathBuf>,
}

// === impl Package ===

impl Package {
    /// Returns true if it names one of these packages as a dependency of any kind.
    pub(crate) fn depends_on(&self, names: &[&str]) -> bool {
        self.dependencies.iter().any(|dependency| names.contains(&dependency.name.as_str()))
    }

    /// The features that are off in a build that names none.
    pub(crate) fn features_to_name(&self) -> impl Iterator<Item = &str> {
        let mut on = BTreeSet::new();
        let mut left = vec!["default"];
        while let Some(feature) = left.pop() {
            if on.insert(feature) {
                left.extend(self.features.get(feature).into_iter().flatten().map(String::as_str));
            }
        }
        self.features.keys().map(String::as_str).filter(move |feature| !on.contains(feature))
    }
}

// === impl Metadata ===

impl Metadata {
    /// Reads what `cargo metadata --format-version 1` prints.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn parse(json: &str) -> Result<Self, Error> {
        Ok(serde_json::from_str(json)?)
    }

    /// The packages of the workspace.
    pub fn ours(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_none())
    }

    /// A path inside the workspace, relative to it.
    #[must_use]
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace_root).unwrap_or(path).display().to_string()
    }

    /// The folder of a package, relative to the workspace.
    #[must_use]
    pub fn folder(&self, package: &Package) -> String {
        package.manifest_path.parent().map(|folder| self.relative(folder)).unwrap_or_default()
    }
}

/// The dependencies between packages of ours that are not allowed. One of a crate on itself, to switch features on for its
/// tests, is not: `cargo package` leaves it out, and the tests of the published crate do not compile.
#[must_use]
pub fn manifest_edges(metadata: &Metadata) -> Vec<Diagnostic> {
    let edges =
        metadata.ours().flat_map(|package| package.dependencies.iter().map(move |used| (package, used)));
    let ours = edges.filter(|(_, used)| used.path.is_some());
    let refused = ours.filter(|(package, used)| {
        let folder = metadata.folder(package);
        used.name == package.name && folder.starts_with("crates/")
            || !package_dependencies::may_use(&folder, &package.name, &used.name)
    });
    refused
        .map(|(package, used)| {
            package_dependencies::diagnostic(&manifest(metadata, package), 1, &package.name, &used.name)
        })
        .collect()
}

/// Checks that every package of ours asks for the Rust that kube asks for: it is the lowest that can work,
/// and a higher one would shut out users of kube.
#[must_use]
pub fn toolchain(metadata: &Metadata) -> Vec<Diagnostic> {
    let Some(kube) = metadata.packages.iter().find(|package| package.name == "kube") else {
        return vec![Diagnostic::new(
            "Cargo.toml",
            1,
            Rule::Manifest,
            "kube is not in the workspace's dependencies",
        )];
    };
    let wanted = release(kube.rust_version.as_deref());
    let differing = metadata.ours().filter(|package| release(package.rust_version.as_deref()) != wanted);
    let message =
        format!("rust-version must be kube's, {}.{}: `rust-version.workspace = true`", wanted.0, wanted.1);
    differing
        .map(|package| Diagnostic::new(&manifest(metadata, package), 1, Rule::Manifest, message.as_str()))
        .collect()
}

/// Checks that a package takes over the workspace's lints. `path` is that of its `Cargo.toml`.
pub(crate) fn lints(path: &str, text: &str) -> Vec<Diagnostic> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    if lines.windows(2).any(|pair| pair == ["[lints]", "workspace = true"]) {
        return Vec::new();
    }
    vec![Diagnostic::new(
        path,
        1,
        Rule::Manifest,
        "does not inherit the lints: `[lints]`, then `workspace = true`",
    )]
}

fn manifest(metadata: &Metadata, package: &Package) -> String {
    metadata.relative(&package.manifest_path)
}

/// Major and minor: `1.89` and `1.89.0` are the same promise.
fn release(version: Option<&str>) -> (&str, &str) {
    let mut numbers = version.unwrap_or_default().split('.');
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn metadata(packages: &[Value]) -> Metadata {
        Metadata::parse(&json!({"workspace_root": "/w", "packages": packages}).to_string()).unwrap()
    }

    fn package(folder: &str, name: &str, dependencies: &[&str]) -> Value {
        let of_ours = |name: &&str| json!({"name": name, "path": "/w/x"});
        let dependencies: Vec<_> = dependencies.iter().map(of_ours).collect();
        let manifest = format!("/w/{folder}/Cargo.toml");
        json!({"name": name, "manifest_path": manifest, "rust_version": "1.89", "dependencies": dependencies})
    }

    fn kube(rust_version: &str) -> Value {
        json!({"name": "kube", "manifest_path": "/r/kube/Cargo.toml", "rust_version": rust_version,
               "source": "registry", "dependencies": []})
    }

    #[test]
    fn what_the_default_features_switch_on_need_not_be_named() {
        let mut package = package("crates/x", "x", &[]);
        package["features"] =
            json!({"default": ["full"], "full": ["part"], "part": [], "more": ["part"], "other": []});
        let metadata = metadata(&[package]);
        assert_eq!(metadata.packages[0].features_to_name().collect::<Vec<_>>(), ["more", "other"]);
    }

    #[test]
    fn a_dependency_has_to_be_allowed() {
        let framework =
            package("crates/constraint-framework", "constraint-framework", &["rego-compat", "duck-types"]);
        let found = manifest_edges(&metadata(&[framework]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/constraint-framework/Cargo.toml");
        assert!(found[0].message.contains("must not use duck-types"), "{}", found[0]);
    }

    #[test]
    fn a_crate_does_not_depend_on_itself() {
        let with_itself = package("crates/watch-manager", "watch-manager", &["watch-manager"]);
        assert_eq!(manifest_edges(&metadata(&[with_itself])).len(), 1);
        let unpublished = package("tests/go-program", "go-program", &["go-program"]);
        assert!(manifest_edges(&metadata(&[unpublished])).is_empty());
    }

    #[test]
    fn a_package_from_outside_is_not_judged() {
        let outside = json!({"name": "serde", "path": null});
        let mut package = package("crates/schema-merge", "schema-merge", &[]);
        package["dependencies"] = json!([outside]);
        assert_eq!(manifest_edges(&metadata(&[package])), []);
    }

    #[test]
    fn the_promised_rust_is_the_one_of_kube() {
        let ours = package("crates/schema-merge", "schema-merge", &[]);
        assert_eq!(toolchain(&metadata(&[ours.clone(), kube("1.89.0")])), []);
        assert_eq!(toolchain(&metadata(&[ours.clone(), kube("1.90")])).len(), 1);
        assert_eq!(toolchain(&metadata(&[ours])).len(), 1, "without kube nothing is proven");
    }

    #[test]
    fn lints_are_inherited() {
        assert_eq!(lints("a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n"), []);
        assert_eq!(lints("a/Cargo.toml", "[package]\nversion.workspace = true\n").len(), 1);
        assert_eq!(lints("a/Cargo.toml", "[lints.clippy]\nworkspace = true\n").len(), 1);
    }
}
