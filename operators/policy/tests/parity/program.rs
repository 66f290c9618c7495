//! Both programs, and what is compared of a run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

pub(crate) const OURS: &str = env!("CARGO_BIN_EXE_webtroller");

/// The folder that pins gator.
pub(crate) fn judge() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/judge/gator").canonicalize().unwrap()
}

/// The pinned gator.
pub(crate) static GATOR: LazyLock<PathBuf> =
    LazyLock::new(|| go_program::build(&judge(), ".", "conformance", "gator").unwrap());

/// A run of one program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn gator(arguments: &[&str], input: &str) -> Ran {
    run(&GATOR, arguments, input)
}

pub(crate) fn ours(arguments: &[&str], input: &str) -> Ran {
    run(Path::new(OURS), arguments, input)
}

/// Both programs at once: each waits for the other's core only.
pub(crate) fn both(arguments: &[&str], input: &str) -> [Ran; 2] {
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| gator(arguments, input));
        let own = ours(arguments, input);
        [theirs.join().unwrap(), own]
    })
}

fn run(program: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // A program that does not read its input closes the pipe.
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().unwrap()
    });
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// The violations of `test -o json`: action, constraint, message and object of each, sorted.
pub(crate) fn violations(ran: &Ran) -> Vec<String> {
    let list: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let line = |entry: &Value| {
        let at = |pointer: &str| entry.pointer(pointer).cloned().unwrap_or_default();
        let object = |field: &str| at(&format!("/violatingObject/{field}"));
        format!(
            "{} {}/{} {} on {} {} {}/{}",
            at("/enforcementAction"),
            at("/constraint/kind"),
            at("/constraint/metadata/name"),
            at("/msg"),
            object("apiVersion"),
            object("kind"),
            object("metadata/namespace"),
            object("metadata/name"),
        )
    };
    let mut lines: Vec<_> = list.as_array().into_iter().flatten().map(line).collect();
    lines.sort();
    lines
}

/// Returns what differs between two runs of `test -o json`.
pub(crate) fn difference([theirs, own]: &[Ran; 2]) -> Option<String> {
    let [wanted, found] = [violations(theirs), violations(own)];
    if theirs.code == own.code && wanted == found {
        return None;
    }
    let only = |list: &[String], other: &[String]| {
        list.iter().filter(|line| !other.contains(line)).cloned().collect::<Vec<_>>()
    };
    Some(format!(
        "exit {} and {}; only gator: {:?}; only webtroller: {:?}\n  gator: {}\n  webtroller: {}",
        theirs.code,
        own.code,
        only(&wanted, &found),
        only(&found, &wanted),
        theirs.err.trim(),
        own.err.trim()
    ))
}
