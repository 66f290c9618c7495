//! Child processes that do not outlive this one.
//!
//! A static is never dropped, a SIGKILLed test drops nothing, and `PR_SET_PDEATHSIG` needs `unsafe`. So
//! each child starts as `sh`, which leaves a watcher behind and then becomes the program (same pid): the
//! watcher reads a pipe whose other end only this process holds, and when that end closes, for whatever
//! reason, kills the process group. The group's id is not used for another process while the watcher is in
//! the group, so the kill never hits another process. It knows nothing of what the program is.

use std::ffi::OsStr;
use std::fs::File;
use std::io::PipeWriter;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

/// `$0` reads the pipe on standard input; descriptor 4 is what [`Janitor`] waits for.
const BECOME: &str = r#"
exec 3<&0 4>&1 </dev/null >&2
{ read -r end <&3; kill -KILL 0; } >/dev/null 2>&1 4>&- &
exec "$@" 3<&-
"#;

/// Waits until the owner and every component are gone, then removes the folder.
const SWEEP: &str = r#"read -r end; rm -rf -- "$1""#;

/// A running program that dies with this process.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    pid: Pid,
}

// === impl Supervised ===

impl Supervised {
    /// Starts `program` with `arguments`. Its output goes to `log`. `witness` is inherited by the
    /// program: the other end of that pipe reads end-of-file once the program is gone.
    pub(crate) fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: Stdio,
        witness: Stdio,
        configure: impl FnOnce(&mut Command),
    ) -> std::io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        configure(&mut command);
        command.args(["-c", BECOME, "supervised"]).arg(program).args(arguments);
        // An own process group: Ctrl-C reaches the test alone, and the pipe tells the others.
        let child = command.stdin(Stdio::piped()).stdout(witness).stderr(log).process_group(0).spawn()?;
        let pid = Pid::from_child(&child);
        Ok(Self { child, pid })
    }

    /// The process id of the program.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends `signal` to the program alone.
    pub(crate) fn signal(&self, signal: Signal) -> std::io::Result<()> {
        kill_process(self.pid, signal).map_err(std::io::Error::from)
    }

    /// Freezes the program, and returns once it is frozen.
    pub(crate) fn pause(&self) -> std::io::Result<()> {
        self.signal(Signal::STOP)?;
        // Without reaping, so that an end is still there for `try_wait`.
        let stopped_or_ended = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid), stopped_or_ended).map(drop).map_err(std::io::Error::from)
    }

    /// Returns how the program ended, if it has.
    pub(crate) fn try_wait(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// The pipe of a program started with `Stdio::piped()` as its log.
    pub(crate) fn take_output(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// Blocks until the program ends by itself.
    pub(crate) fn wait(&mut self) -> std::io::Result<ExitStatus> {
        // `Child::wait` closes standard input first, which would make the watcher kill the program.
        let pipe = self.child.stdin.take();
        let status = self.child.wait();
        self.child.stdin = pipe;
        status
    }
}

impl Drop for Supervised {
    /// Kills the program and what it started, and reaps it.
    fn drop(&mut self) {
        // The watcher is still in the group, so the group exists even when the program has ended.
        let _gone = kill_process_group(self.pid, Signal::KILL);
        let _reaped = self.child.wait();
    }
}

/// Removes a folder when this process and everything that inherited [`Janitor::witness`] are gone.
#[derive(Debug)]
pub(crate) struct Janitor {
    child: Child,
    witness: Option<PipeWriter>,
}

// === impl Janitor ===

impl Janitor {
    /// Takes over the removal of `folder`.
    pub(crate) fn hire(folder: &Path) -> std::io::Result<Self> {
        let (waiting, witness) = std::io::pipe()?;
        let child = Command::new("/bin/sh")
            .args(["-c", SWEEP, "janitor"])
            .arg(folder)
            .stdin(waiting)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { child, witness: Some(witness) })
    }

    /// A handle for a component to hold while it lives.
    pub(crate) fn witness(&self) -> std::io::Result<Stdio> {
        self.witness.as_ref().map_or_else(|| Ok(Stdio::null()), |held| held.try_clone().map(Stdio::from))
    }
}

impl Drop for Janitor {
    /// Waits for the folder's removal. The components must be gone before.
    fn drop(&mut self) {
        self.witness = None;
        let _removed = self.child.wait();
    }
}

/// Opens a log file for appending, so that a restart continues it.
pub(crate) fn append(path: &Path) -> std::io::Result<File> {
    File::options().create(true).append(true).open(path)
}
