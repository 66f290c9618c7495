//! Answers of the judges that are kept as test data of the published crates, so that these can be tested without Go.
//!
//! A recording is a file of JSON lines in `tests/recorded` of a crate. `UPDATE_RECORDINGS=1` writes it; without the
//! variable a recording that is not what the judge answers today is an error.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// Compares the rows with the recording `name` of the package `package`, or replaces the recording.
///
/// # Errors
/// The recording cannot be read or written, or differs; the message names the first line that does.
pub fn settle(package: &str, name: &str, rows: &[Json]) -> Result<(), String> {
    let path = path(package, name);
    let wanted: Vec<String> = rows.iter().map(Json::to_string).collect();
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if std::env::var_os("UPDATE_RECORDINGS").is_some() {
        return fs::write(&path, wanted.join("\n") + "\n").map_err(failed);
    }
    let recorded = fs::read_to_string(&path).map_err(failed)?;
    let recorded: Vec<&str> = recorded.lines().collect();
    if recorded == wanted {
        return Ok(());
    }
    let line = recorded.iter().zip(&wanted).take_while(|(a, b)| *a == *b).count();
    let found = recorded.get(line).copied().unwrap_or("nothing");
    let wanted = wanted.get(line).map_or("nothing", String::as_str);
    Err(format!(
        "{}, line {}: recorded\n  {found}\nnow\n  {wanted}\nrun `UPDATE_RECORDINGS=1 cargo test -p conformance -p schema-conformance --test recordings`",
        path.display(),
        line.saturating_add(1)
    ))
}

fn path(package: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates").join(package).join("tests/recorded").join(name)
}
