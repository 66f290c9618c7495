//! Builds the programs from the Go modules pinned in this crate's `go.mod`, once per pin and machine.
//!
//! Two test binaries that start together share one build (a file lock), and a build that is killed
//! leaves nothing half done: the finished folder appears by a rename, under a name derived from the pins
//! and flags. It chooses no versions; `go.mod` does.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Error;
use crate::supervisor::Supervised;

const GO_MOD: &str = include_str!("../go.mod");
const GO_SUM: &str = include_str!("../go.sum");
const SOURCE: &str = env!("CARGO_MANIFEST_DIR");

/// Lines of `go build -v` between two signs of life: one line per package, about 1,900 of them.
const PACKAGES_PER_LINE: usize = 250;

/// Returns the folder of the programs under `target`, building them when they are not there.
pub(crate) fn once(target: &Path) -> Result<PathBuf, Error> {
    let root = target.join("control-plane");
    let finished = root.join(stamp());
    if finished.is_dir() {
        return Ok(finished);
    }
    fs::create_dir_all(&root).map_err(Error::io(format!("create {}", root.display())))?;
    let _lock = lock(&root.join("build.lock"))?;
    if !finished.is_dir() {
        build_into(&root, &finished)?;
    }
    Ok(finished)
}

/// The Kubernetes release that `go.mod` pins, such as `v1.36.3`.
pub(crate) fn kubernetes_version() -> &'static str {
    let pinned = GO_MOD.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    pinned.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default()
}

/// Blocks until this process holds the lock; the lock ends with the returned file.
fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::io(format!("create {}", path.display())))?;
    if file.try_lock().is_err() {
        say("waiting for another process to finish building the control plane");
        file.lock().map_err(Error::io(format!("lock {}", path.display())))?;
    }
    Ok(file)
}

/// Builds into a fresh folder beside `finished`, then renames; older builds make room.
fn build_into(root: &Path, finished: &Path) -> Result<(), Error> {
    check_go()?;
    remove_leftovers(root)?;
    let begun = Instant::now();
    say(&format!(
        "building Kubernetes {} with Go: minutes the first time, then never again",
        kubernetes_version()
    ));
    let fresh = tempfile::Builder::new().prefix("building-").tempdir_in(root);
    let fresh = fresh.map_err(Error::io(format!("create a folder in {}", root.display())))?;
    run_go(fresh.path(), begun)?;
    // The module path ends in `server/v3`, so that is what Go calls the program.
    fs::rename(fresh.path().join("server"), fresh.path().join("etcd")).map_err(Error::io("name etcd"))?;
    fs::rename(fresh.keep(), finished).map_err(Error::io(format!("rename to {}", finished.display())))?;
    say(&format!("built in {} s", begun.elapsed().as_secs()));
    Ok(())
}

/// Removes what killed builds and earlier pins left; running programs keep their open files.
fn remove_leftovers(root: &Path) -> Result<(), Error> {
    let reading = || Error::io(format!("read {}", root.display()));
    for entry in fs::read_dir(root).map_err(reading())? {
        let path = entry.map_err(reading())?.path();
        if path.is_dir() {
            fs::remove_dir_all(&path).map_err(Error::io(format!("remove {}", path.display())))?;
        }
    }
    Ok(())
}

fn check_go() -> Result<(), Error> {
    let answer = Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    answer.map(drop).map_err(Error::GoMissing)
}

/// Runs `go build` to its end, with a sign of life from time to time.
fn run_go(output: &Path, begun: Instant) -> Result<(), Error> {
    let mut arguments: Vec<String> = flags().into_iter().map(String::from).collect();
    arguments.extend([format!("-o={}/", output.display()), "tool".to_owned()]);
    let configure = |command: &mut Command| {
        command.current_dir(SOURCE).env("CGO_ENABLED", "0").env("GOWORK", "off");
        command.env_remove("GOOS").env_remove("GOARCH");
    };
    let started = Supervised::start(Path::new("go"), arguments, Stdio::piped(), Stdio::null(), configure);
    let mut go = started.map_err(Error::io("start `go build`"))?;
    let mut tail = VecDeque::with_capacity(40);
    let lines =
        go.take_output().into_iter().flat_map(|pipe| BufReader::new(pipe).lines().map_while(Result::ok));
    for (count, line) in lines.enumerate() {
        if count % PACKAGES_PER_LINE == PACKAGES_PER_LINE.saturating_sub(1) {
            say(&format!("{} packages after {} s", count.saturating_add(1), begun.elapsed().as_secs()));
        }
        if tail.len() == tail.capacity() {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    let status = go.wait().map_err(Error::io("wait for `go build`"))?;
    let output = Vec::from(tail).join("\n");
    if status.success() { Ok(()) } else { Err(Error::GoBuild { status, output }) }
}

/// The flags of `go build`: reproducible, small, and reporting the pinned version as a release does.
fn flags() -> Vec<&'static str> {
    vec!["build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false", linker_flags()]
}

/// Built once: the strings live as long as the process anyway.
fn linker_flags() -> &'static str {
    static FLAGS: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    FLAGS.get_or_init(|| {
        let version = kubernetes_version();
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let base = "-X k8s.io/component-base/version.git";
        format!(
            "-ldflags=-s -w {base}Version={version} {base}Major={major} {base}Minor={minor} \
             {base}TreeState=clean -X k8s.io/client-go/pkg/version.gitVersion={version}"
        )
    })
}

/// Names a build after everything that decides what comes out of it.
fn stamp() -> String {
    let parts = [GO_MOD, GO_SUM].into_iter().chain(flags());
    let hash = parts.flat_map(|part| part.bytes().chain([0])).fold(0xcbf2_9ce4_8422_2325_u64, fnv);
    format!("{}-{hash:016x}", kubernetes_version())
}

/// One step of FNV-1a, which stays the same across Rust releases (the standard hasher may not).
fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// Straight to standard error: minutes of silence look like a hang, and libtest captures `eprintln!`.
fn say(line: &str) {
    let _ignored = writeln!(std::io::stderr(), "control-plane: {line}");
}
