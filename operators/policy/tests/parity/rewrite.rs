//! Templates that `webtroller lint --fix` rewrote mean what they did: gator, with OPA's own parser of Rego v1, finds in their
//! suites what it found before.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::program::{gator, ours};

fn copy(from: &Path, to: &Path) {
    for entry in WalkDir::new(from).into_iter().filter_map(Result::ok) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn templates(folder: &Path) -> Vec<PathBuf> {
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let named = files.filter(|entry| entry.file_name().to_string_lossy().starts_with("template"));
    named.map(walkdir::DirEntry::into_path).collect()
}

fn texts(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Rewrites a copy of a folder with suites.
fn check(folder: &Path, least: usize) {
    let copied = tempfile::tempdir().unwrap();
    copy(folder, copied.path());
    let suites = format!("{}/...", copied.path().display());
    assert_eq!(gator(&["verify", &suites], "").code, 0, "before anything is rewritten");
    let files = templates(copied.path());
    let names: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let fix = || ours(&[&["lint", "--fix"][..], &names].concat(), "");
    let fixed = fix();
    let count = fixed.err.matches(": rewritten in Rego v1").count();
    assert!(count >= least && !fixed.err.contains("not rewritten"), "{}", fixed.err);
    let [theirs, own] = [gator(&["verify", &suites], ""), ours(&["verify", &suites], "")];
    assert_eq!((theirs.code, own.code), (0, 0), "{}{}{}", theirs.out, theirs.err, own.out);
    let before = texts(&files);
    let again = fix();
    assert!(!again.err.contains("rewritten"), "{}", again.err);
    assert_eq!(texts(&files), before, "a second run changes nothing");
}

#[test]
fn rewritten_examples_pass_their_suites_under_gator() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    check(&examples.join("policies"), 5);
    check(&examples.join("quickstart"), 1);
}

#[test]
#[ignore = "needs a checkout of open-policy-agent/gatekeeper-library, named by GATEKEEPER_LIBRARY"]
fn the_rewritten_public_library_passes_its_suites_under_gator() {
    let library =
        std::env::var_os("GATEKEEPER_LIBRARY").expect("GATEKEEPER_LIBRARY names a checkout of the library");
    check(&Path::new(&library).join("library"), 40);
}
