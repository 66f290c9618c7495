//! Tests of how the programs are built, with a stand-in for Go: the real build is what all other tests run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Builds four empty programs, one line in `calls` per build.
const BUILDS: &str = r#"
[ "$1" = version ] && exit 0
echo built >>"$CALLS"
for argument; do case $argument in -o=*) out=${argument#-o=};; esac; done
for program in server kube-apiserver kube-controller-manager kubectl; do : >"$out$program"; done
"#;
const FAILS: &str = "[ \"$1\" = version ] && exit 0\necho 'no such module' >&2; exit 3\n";

/// A machine on which nothing was built yet.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// `go` is the script that stands for Go; without one there is no Go.
    fn with(go: Option<&str>) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        // Outside of this workspace's target folder, which would be found from the program's own place.
        install(Path::new(env!("CARGO_BIN_EXE_control-plane")), &machine.path("control-plane"));
        fs::create_dir(machine.path("bin")).unwrap();
        if let Some(script) = go {
            fs::write(machine.path("script"), format!("#!/bin/sh\n{script}")).unwrap();
            install(&machine.path("script"), &machine.path("bin/go"));
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.path("control-plane"));
        command.arg("build").env("PATH", self.path("bin")).env("CALLS", self.path("calls"));
        command.env("CARGO_TARGET_DIR", self.path("target")).env_remove("KUBEBUILDER_ASSETS");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.path("calls")).unwrap_or_default().lines().count()
    }
}

/// Copies a program. Another process does it: a child that another test starts meanwhile would inherit a file that is open
/// for writing, and the system refuses to run such a file ("text file busy").
fn install(from: &Path, to: &Path) {
    let status = Command::new("install").arg("-m755").args([from, to]).status().unwrap();
    assert!(status.success(), "{status}");
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn printed(output: &Output) -> &Path {
    assert!(output.status.success(), "{}", said(output));
    Path::new(std::str::from_utf8(&output.stdout).unwrap().trim())
}

#[test]
fn without_go_the_error_says_what_to_install_and_the_way_around() {
    let output = Machine::with(None).command().output().unwrap();
    assert!(!output.status.success());
    for hint in ["Go 1.26", "https://go.dev/dl", "KUBEBUILDER_ASSETS"] {
        assert!(said(&output).contains(hint), "{hint}: {}", said(&output));
    }
}

#[test]
fn a_failed_build_shows_what_go_said_and_leaves_nothing() {
    let machine = Machine::with(Some(FAILS));
    let output = machine.command().output().unwrap();
    assert!(!output.status.success());
    assert!(said(&output).contains("no such module"), "{}", said(&output));
    let left: Vec<_> = fs::read_dir(machine.path("target/control-plane"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, [machine.path("target/control-plane/build.lock")]);
}

#[test]
fn two_processes_share_one_build_and_a_third_needs_none() {
    let machine = Machine::with(Some(BUILDS));
    let both = [machine.command().spawn().unwrap(), machine.command().spawn().unwrap()];
    let [one, other] = both.map(|process| process.wait_with_output().unwrap());
    assert_eq!(printed(&one), printed(&other));
    let third = machine.command().output().unwrap();
    assert_eq!(printed(&third), printed(&one));
    assert_eq!(machine.builds(), 1);
    assert!(printed(&one).join("etcd").is_file(), "Go calls it `server`");
}

#[test]
fn a_killed_build_is_begun_again() {
    // The stand-in says that it has begun, then waits for a pipe that never ends.
    let machine = Machine::with(Some(
        "[ \"$1\" = version ] && exit 0\necho 'half done' >&2; read -r end <\"$CALLS\"\n",
    ));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        machine.path("calls"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let mut first = machine.command().spawn().unwrap();
    // The process says that it builds right before it starts Go.
    let mut begun = [0; 30];
    std::io::Read::read_exact(first.stderr.as_mut().unwrap(), &mut begun).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();

    fs::remove_file(machine.path("calls")).unwrap();
    fs::write(machine.path("bin/go"), format!("#!/bin/sh\n{BUILDS}")).unwrap();
    let second = machine.command().output().unwrap();
    assert!(printed(&second).join("kubectl").is_file());
    let left = fs::read_dir(machine.path("target/control-plane")).unwrap().count();
    assert_eq!(left, 2, "the lock and the finished build");
}

#[test]
fn incomplete_assets_are_named() {
    let assets = tempfile::tempdir().unwrap();
    let output = Machine::with(None).command().env("KUBEBUILDER_ASSETS", assets.path()).output().unwrap();
    assert!(
        said(&output).contains("no etcd, kube-apiserver, kube-controller-manager, kubectl there"),
        "{}",
        said(&output)
    );
}
