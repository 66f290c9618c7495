//! `policy` held against gator's: the catalogue of a library, what is found in it, and what would be installed.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::program::{GATOR, ours};

fn library() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/catalog").canonicalize().unwrap();
    folder.display().to_string()
}

/// gator with a cache of its own, which `policy update` fills from a file.
fn gator(home: &Path, arguments: &[&str]) -> Output {
    let url = format!("file://{}/catalog.yaml", home.display());
    let mut command = Command::new(&*GATOR);
    command.args(arguments).env("GATOR_HOME", home.join("cache")).env("GATOR_CATALOG_URL", url);
    // No cluster is asked for updates.
    command.env("KUBECONFIG", home.join("none")).output().unwrap()
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

/// A catalogue without the time, and without the words about well-known bundles.
fn catalogue(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    let mut catalogue = go_compat::sigs_yaml::documents(&text).unwrap().remove(0).value;
    catalogue["metadata"]["updatedAt"].take();
    for bundle in catalogue["bundles"].as_array_mut().unwrap() {
        bundle["description"].take();
    }
    catalogue
}

#[test]
fn catalogues_are_those_of_gator() {
    let folder = tempfile::tempdir().unwrap();
    let [theirs, own] = ["theirs.yaml", "own.yaml"].map(|name| folder.path().join(name));
    let (library, base) = (library(), "--base-url=https://example.com/library/");
    for more in [&[][..], &["--name", "shop", "--version", "v2.0.0"], &[base]] {
        let line = |file: &Path| {
            let file = file.display().to_string();
            let fixed = ["policy", "generate-catalog", "--library-path", &library, "--output", &file];
            fixed.iter().chain(more).map(|word| (*word).to_owned()).collect::<Vec<_>>()
        };
        let run = |file: &Path, program: &dyn Fn(&[&str])| {
            let words = line(file);
            program(&words.iter().map(String::as_str).collect::<Vec<_>>());
            catalogue(file)
        };
        let wanted = run(&theirs, &|words| {
            let ran = gator(folder.path(), words);
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        });
        let found = run(&own, &|words| assert_eq!(ours(words, "").code, 0));
        assert_eq!(found, wanted, "{more:?}");
    }
}

#[test]
fn policies_are_found_and_planned_as_by_gator() {
    let folder = tempfile::tempdir().unwrap();
    let library = library();
    // gator reads what it installs from beside its catalogue.
    std::os::unix::fs::symlink(format!("{library}/library"), folder.path().join("library")).unwrap();
    std::fs::copy(format!("{library}/catalog.yaml"), folder.path().join("catalog.yaml")).unwrap();
    let updated = gator(folder.path(), &["policy", "update"]);
    assert!(updated.status.success(), "{}", String::from_utf8_lossy(&updated.stderr));
    for words in [
        &["search", "label", "-o", "json"][..],
        &["search", "REPLICAS", "-o", "json"],
        &["search", "s", "--category", "general", "--bundle", "shop-baseline", "-o", "json"],
        &["install", "--bundle", "shop-baseline", "ownerlabel", "--dry-run", "-o", "json"],
        &["install", "ownerlabel", "--dry-run", "-o", "json"],
    ] {
        let theirs = gator(folder.path(), &[&["policy"], words].concat());
        let own = ours(&[&["policy"], words, &["--catalog", &library]].concat(), "");
        assert_eq!(json(own.out.as_bytes()), json(&theirs.stdout), "{words:?}");
        assert_eq!(Some(own.code), theirs.status.code(), "{words:?}");
    }
    for words in
        [&["search", "label"][..], &["install", "--bundle", "shop-baseline", "ownerlabel", "--dry-run"]]
    {
        let theirs = gator(folder.path(), &[&["policy"], words].concat());
        let own = ours(&[&["policy"], words, &["--catalog", &library]].concat(), "");
        assert_eq!(own.out, String::from_utf8_lossy(&theirs.stdout), "{words:?}");
    }
}
