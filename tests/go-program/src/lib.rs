//! Builds a judge with Go, once per content of its folder, under a file lock.
//!
//! A finished program appears by a rename, under a name derived from its sources and pins, so that a killed
//! build leaves nothing half done and two test programs share one build. It chooses no versions; `go.mod`
//! does.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Error;

/// The program of the judge in `judge/<name>`, built where it is not there yet.
pub(super) fn once(name: &str) -> Result<PathBuf, Error> {
    let source = source_of(name);
    let folder = target_folder().join("conformance");
    let finished = folder.join(format!("{name}-{:016x}", stamp(&source)?));
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
            &source,
            &["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", &output, "."],
        )?;
        fs::rename(&program, &finished).map_err(Error::io(format!("rename to {}", finished.display())))?;
    }
    Ok(finished)
}

/// Where Go keeps the sources of a pinned module.
pub(super) fn module_folder(name: &str, module: &str) -> Result<PathBuf, Error> {
    let source = source_of(name);
    go(&source, &["mod", "download", module])?;
    let output = go(&source, &["list", "-mod=readonly", "-m", "-f={{.Dir}}", module])?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn source_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("judge").join(name)
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

/// A number over the names and contents of a judge's files (FNV-1a: the same in every Rust release).
fn stamp(folder: &Path) -> Result<u64, Error> {
    let reading = || Error::io(format!("read {}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(reading())? {
        files.push(entry.map_err(reading())?.path());
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = fs::read(&file).map_err(Error::io(format!("read {}", file.display())))?;
        let bytes = name.into_bytes().into_iter().chain([0]).chain(content).chain([0]);
        hash = bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
    Ok(hash)
}

/// Cargo's target folder: the nearest one above this executable that Cargo has tagged, or what its own rules
/// say where the executable is elsewhere (a doctest).
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
