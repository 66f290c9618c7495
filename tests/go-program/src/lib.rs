//! Go programs for tests, such as the reference implementations and helm, built once per content of the folder that
//! pins them.
//!
//! ```no_run
//! # fn main() -> Result<(), go_program::Error> {
//! // The folder holds go.mod and go.sum; "." is its own package.
//! let judge = go_program::build("tests/conformance/judge/opa".as_ref(), ".", "conformance", "opa")?;
//! # let _ = judge;
//! # Ok(())
//! # }
//! ```
//!
//! A finished program appears by a rename, under a name derived from its sources and pins, so a killed build leaves
//! nothing half done and test programs that start together share one build. Versions are chosen by `go.mod` alone.

pub mod recording;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// The reason why a program is not available. `Debug` prints the message, because a test that unwraps it shows `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Go is not installed.
    #[error(
        "this test runs a Go program: install Go 1.26 or newer (https://go.dev/dl) and put `go` on the PATH ({0})"
    )]
    GoMissing(#[source] std::io::Error),
    /// The Go compiler failed, or a pinned module could not be fetched.
    #[error("`go {command}` ended with {status}:\n{output}")]
    GoFailed {
        /// The arguments of `go`.
        command: String,
        /// The exit status.
        status: ExitStatus,
        /// The standard error output.
        output: String,
    },
    /// A file could not be read or written.
    #[error("cannot {what}")]
    Io {
        /// The attempted operation.
        what: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")?;
        match std::error::Error::source(self) {
            Some(source) if !matches!(self, Self::GoMissing(_)) => write!(f, ": {source}"),
            _ => Ok(()),
        }
    }
}

impl Error {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Returns the program built from `package` in the module at `source`, building it into `folder` of Cargo's target
/// folder when it is not there yet. Blocks for minutes on the first run on a machine.
///
/// # Errors
/// Go is missing, the build failed, or a file could not be written.
pub fn build(source: &Path, package: &str, folder: &str, name: &str) -> Result<PathBuf, Error> {
    let folder = target_folder().join(folder);
    let finished = folder.join(format!("{name}-{:016x}", stamp(source)?));
    if finished.is_file() {
        return Ok(finished);
    }
    fs::create_dir_all(&folder).map_err(Error::io(format!("create {}", folder.display())))?;
    let path = folder.join(format!("{name}.lock"));
    let lock = File::create(&path).map_err(Error::io(format!("create {}", path.display())))?;
    lock.lock().map_err(Error::io(format!("lock {}", path.display())))?;
    if !finished.is_file() {
        let fresh =
            tempfile::tempdir_in(&folder).map_err(Error::io(format!("write in {}", folder.display())))?;
        let program = fresh.path().join(name);
        let output = format!("-o={}", program.display());
        go(
            source,
            &["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", &output, package],
        )?;
        fs::rename(&program, &finished).map_err(Error::io(format!("rename to {}", finished.display())))?;
    }
    Ok(finished)
}

/// Returns the folder in which Go keeps the sources of `module`, which the module at `source` pins.
///
/// # Errors
/// Go is missing or cannot fetch the module.
pub fn module_folder(source: &Path, module: &str) -> Result<PathBuf, Error> {
    go(source, &["mod", "download", module])?;
    let output = go(source, &["list", "-mod=readonly", "-m", "-f={{.Dir}}", module])?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn go(folder: &Path, arguments: &[&str]) -> Result<Output, Error> {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(folder);
    command.env("CGO_ENABLED", "0").env("GOWORK", "off").env_remove("GOOS").env_remove("GOARCH");
    let output = command.output().map_err(Error::GoMissing)?;
    if output.status.success() {
        return Ok(output);
    }
    Err(Error::GoFailed {
        command: arguments.join(" "),
        status: output.status,
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Hashes the names and contents of a folder's files (FNV-1a: the same in every Rust release).
fn stamp(folder: &Path) -> Result<u64, Error> {
    let reading = || Error::io(format!("read {}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(reading())? {
        files.push(entry.map_err(reading())?.path());
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files.into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = fs::read(&file).map_err(Error::io(format!("read {}", file.display())))?;
        let bytes = name.into_bytes().into_iter().chain([0]).chain(content).chain([0]);
        hash = bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
    Ok(hash)
}

/// Returns Cargo's target folder: the nearest one above this executable that Cargo has tagged, or the one that Cargo's
/// own rules name where the executable is elsewhere (a doctest).
fn target_folder() -> PathBuf {
    let running = std::env::current_exe().unwrap_or_default();
    let tagged = running.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match (tagged, std::env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty())) {
        (Some(tagged), _) => tagged.to_path_buf(),
        (None, Some(configured)) => workspace.join(configured),
        (None, None) => workspace.join("target"),
    }
}
