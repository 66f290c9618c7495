//! Reads this repository from disk and from Cargo, and runs every check on it.
//!
//! Cargo needs the network only for packages that no build has downloaded, such as those of members that were left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use walkdir::WalkDir;

use crate::{
    Diagnostic, Error, Exceptions, Metadata, Package, Source, dependency_trees, file_cycles, habits, links,
    manifest, manifest_edges, module_edges, package_edges, public_name, purity, text, toolchain, tree,
    variable, variables,
};

/// Kinds of files in which white space at the end of a line is a mistake.
const TEXT: [&str; 9] = ["go", "md", "mod", "rego", "rs", "sh", "toml", "yaml", "yml"];
const EXCEPTIONS: &str = "tests/tidy/exceptions.txt";

/// A workspace, read.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    texts: Vec<(String, String)>,
    sources: Vec<Source>,
    metadata: Metadata,
}

// === impl Workspace ===

impl Workspace {
    /// Reads all files below `root` that are not build products, and what Cargo knows about them.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, a Rust file cannot be parsed, or Cargo fails.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let texts = texts(root)?;
        let rust = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
        let mut sources =
            rust.map(|(path, text)| Source::parse(path, text)).collect::<Result<Vec<_>, _>>()?;
        mark_test_modules(&mut sources);
        let metadata = Metadata::parse(&metadata(root)?)?;
        Ok(Self { root: root.to_path_buf(), texts, sources, metadata })
    }

    /// Everything that is wrong and not excepted, in order of place.
    ///
    /// # Errors
    ///
    /// When the list of exceptions cannot be read, or Cargo fails.
    pub fn diagnostics(&self) -> Result<Vec<Diagnostic>, Error> {
        let mut found = self.of_files();
        found.extend(purity(&self.sources));
        found.extend(public_name::duplicates(&self.sources));
        found.extend(variables(&self.sources, self.text(variable::DOCUMENT).unwrap_or_default()));
        found.extend(self.of_packages());
        for package in tree::WITHOUT_A_CLUSTER {
            found.extend(dependency_trees(package, &self.tree(package)?));
        }
        let list = self.text(EXCEPTIONS).map(|text| Exceptions::parse(EXCEPTIONS, text));
        let exceptions = list.transpose()?.unwrap_or_default();
        let mut left = exceptions.apply(found);
        left.sort();
        left.dedup();
        Ok(left)
    }

    /// The Rust files that were read.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The names of the packages of the workspace.
    #[must_use]
    pub fn packages(&self) -> BTreeSet<String> {
        self.metadata.ours().map(|package| package.name.clone()).collect()
    }

    /// The names of these packages of ours and of those that depend on one of them, in tests too.
    #[must_use]
    pub fn dependents(&self, used: &[&str]) -> BTreeSet<String> {
        let of = |package: &&Package| used.contains(&package.name.as_str()) || package.depends_on(used);
        self.metadata.ours().filter(of).map(|package| package.name.clone()).collect()
    }

    /// The features of the crates in `crates` that only a build has which names them, as `crate/feature`.
    #[must_use]
    pub fn features_to_name(&self) -> BTreeSet<String> {
        let crates =
            self.metadata.ours().filter(|package| self.metadata.folder(package).starts_with("crates/"));
        let named = |package: &Package| {
            package.features_to_name().map(|of| format!("{}/{of}", package.name)).collect()
        };
        crates.flat_map(|package| -> Vec<String> { named(package) }).collect()
    }

    fn of_files(&self) -> Vec<Diagnostic> {
        let ours = self.packages();
        let rust =
            self.sources.iter().flat_map(|source| [habits(source), package_edges(source, &ours)].concat());
        let texts = self.texts.iter().flat_map(|(path, content)| {
            let exists = |target: &str| self.root.join(target).exists();
            let links = if path.ends_with(".md") { links(path, content, exists) } else { Vec::new() };
            [text(path, content), links].concat()
        });
        rust.chain(texts).collect()
    }

    fn of_packages(&self) -> Vec<Diagnostic> {
        let mut found = [manifest_edges(&self.metadata), toolchain(&self.metadata)].concat();
        for package in self.metadata.ours() {
            let folder = self.metadata.folder(package);
            let inside = format!("{folder}/src/");
            let sources: Vec<_> =
                self.sources.iter().filter(|source| source.path().starts_with(&inside)).collect();
            found.extend(module_edges(&folder, &sources));
            found.extend(file_cycles(&sources));
            let path = format!("{folder}/Cargo.toml");
            found.extend(manifest::lints(&path, self.text(&path).unwrap_or_default()));
        }
        found
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|(candidate, _)| candidate == path).map(|(_, text)| text.as_str())
    }

    fn tree(&self, package: &str) -> Result<String, Error> {
        let arguments = ["tree", "--package", package, "--edges=normal", "--prefix=none", "--format={p}"];
        cargo(&self.root, &arguments)
    }
}

fn texts(root: &Path) -> Result<Vec<(String, String)>, Error> {
    let ours = |entry: &walkdir::DirEntry| !is_not_ours(root, entry.path());
    let mut texts = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(ours) {
        let entry = entry.map_err(|error| Error::Read { path: root.to_path_buf(), source: error.into() })?;
        let (full, path) = (entry.path(), entry.path().strip_prefix(root).unwrap_or(entry.path()));
        let path = path.display().to_string();
        let kind = full.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if entry.file_type().is_file()
            && (TEXT.contains(&kind) || path == EXCEPTIONS || path.starts_with(".ci/"))
        {
            let read =
                fs::read_to_string(full).map_err(|source| Error::Read { path: full.to_path_buf(), source });
            texts.push((path, read?));
        }
    }
    Ok(texts)
}

/// Cargo tags its target folders; hidden folders are tools' own, except the one of CI; a folder with a `.git` is a clone of another
/// repository.
fn is_not_ours(root: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_hidden = name.starts_with('.') && name != ".ci";
    let has = |name: &str| path.join(name).exists();
    path != root && path.is_dir() && (is_hidden || name == "target" || has("CACHEDIR.TAG") || has(".git"))
}

/// `#[cfg(test)] mod fixture;` makes a test of `fixture.rs` and of everything below `fixture/`.
fn mark_test_modules(sources: &mut [Source]) {
    let modules: Vec<_> = sources.iter().flat_map(Source::test_module_paths).collect();
    let is_one = |path: &str| {
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        modules.iter().any(|module| {
            stem == module || stem.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    for source in sources.iter_mut().filter(|source| is_one(source.path())) {
        source.mark_as_test();
    }
}

/// Restricted to this machine's platform: the packages of others may never have been downloaded.
fn metadata(root: &Path) -> Result<String, Error> {
    let version = cargo(root, &["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    cargo(root, &["metadata", "--format-version=1", "--filter-platform", host])
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<String, Error> {
    let failed = |answer: String| Error::Cargo { command: arguments.join(" "), answer };
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(arguments).current_dir(root).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_declared_for_tests_is_a_test_with_all_below_it() {
        let parse =
            |(path, text): (&str, &str)| Source::parse(&format!("crates/x/src/{path}"), text).unwrap();
        let files = [
            ("lib.rs", "\n#[cfg(test)]\nmod fixture;\n"),
            ("fixture.rs", "\n"),
            ("fixture/a.rs", "\n"),
            ("fixtures.rs", "\n"),
        ];
        let mut sources = files.map(parse);
        mark_test_modules(&mut sources);
        assert_eq!(sources.map(|source| source.is_test(1)), [false, true, true, false]);
    }

    #[test]
    fn build_products_clones_and_hidden_folders_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["src", "target", ".git", ".ci", "built", "clone"] {
            fs::create_dir(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("a.md"), "text").unwrap();
        }
        fs::write(root.path().join("built/CACHEDIR.TAG"), "").unwrap();
        fs::create_dir(root.path().join("clone/.git")).unwrap();
        let read: Vec<_> = texts(root.path()).unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(read, [".ci/a.md", "src/a.md"]);
    }
}
