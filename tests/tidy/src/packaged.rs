//! Files that a published crate reads must be in the crate: `cargo package` takes nothing else.
//!
//! `include_str!("../../docs/guide.md")` in `crates/x/src/a.rs` leads to `crates/docs/guide.md`, outside of `crates/x`.

use crate::{Diagnostic, Rule, Source};

/// The beginnings of a path that the compiler reads; the literal follows at once.
const READERS: [&str; 4] = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];
/// A path that a test reads when it runs, from the folder of the manifest.
const AT_RUN_TIME: &str = "env!(\"CARGO_MANIFEST_DIR\")).join(\"";

/// Checks a file of a package below `crates/`.
pub(crate) fn check(source: &Source) -> Vec<Diagnostic> {
    let mut parts = source.path().split('/');
    let ("crates", Some(_)) = (parts.next().unwrap_or_default(), parts.next()) else { return Vec::new() };
    // Folders between the file and the folder of the crate.
    let depth = parts.count().saturating_sub(1);
    let leaves = |line: &str| {
        let literals = READERS.iter().flat_map(|reader| line.split(reader).skip(1));
        literals.map(climbs).any(|climbs| climbs > depth)
            || line.split(AT_RUN_TIME).skip(1).any(|literal| climbs(literal) > 0)
    };
    let found = source.text().lines().zip(1..).filter(|(line, _)| leaves(line));
    let message = "reads a file outside of its crate, which `cargo package` leaves behind: copy it into the crate, or \
                   move the test to a package below tests/";
    found.map(|(_, line)| Diagnostic::new(source.path(), line, Rule::Packaged, message)).collect()
}

/// The folders that a path goes up at its beginning.
fn climbs(path: &str) -> usize {
    path.split('/').take_while(|part| *part == "..").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::parse(path, text).unwrap()).into_iter().map(|diagnostic| diagnostic.line).collect()
    }

    #[test]
    fn a_file_outside_of_the_crate_is_found() {
        let text = "//! A.\nconst A: &str = include_str!(\"../../README.md\");\n";
        assert_eq!(lines("crates/x/src/a.rs", text), [2]);
        assert_eq!(lines("crates/x/src/a/b.rs", text), [0; 0]);
        assert_eq!(lines("tests/x/src/a.rs", text), [0; 0]);
        let module = "//! A.\n#[path = \"../../../other/mod.rs\"]\nmod other;\n";
        assert_eq!(lines("crates/x/tests/a/main.rs", module), [2]);
    }

    #[test]
    fn a_path_from_the_folder_of_the_manifest_may_not_go_up() {
        let text = "//! A.\nfn a() { Path::new(env!(\"CARGO_MANIFEST_DIR\")).join(\"../x\"); }\n";
        assert_eq!(lines("crates/x/tests/a.rs", text), [2]);
        assert_eq!(lines("crates/x/tests/a.rs", &text.replace("../x", "tests/x")), [0; 0]);
    }
}
