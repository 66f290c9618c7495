//! Programs as plug-ins, as those of CNI and Velero: found in a folder, asked for their version, called with JSON over standard
//! input and output.
//!
//! A program gets no environment, ten seconds, and 64 KiB of output, and everything that it has started ends with it,
//! unless the controller itself is killed while the program runs.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use examples::ranking::{Answer, Question};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);
const OUTPUT_BYTES: u64 = 64 << 10;
const PROTOCOL: &str = "v1";

/// A program that has said that it speaks our protocol.
pub(crate) struct Executable(PathBuf);

#[derive(Deserialize)]
struct Version {
    protocol: String,
}

/// The executable files of a folder by name, each with the reason if it cannot be used.
pub(crate) async fn discover(folder: &Path) -> std::io::Result<BTreeMap<String, Result<Executable, String>>> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        let usable = match file.path().metadata() {
            Ok(metadata) if !metadata.is_file() || !is_executable(&metadata.permissions()) => continue,
            Ok(_) => handshake(file.path()).await,
            // A link that leads nowhere, or a file that has just been replaced.
            Err(error) => Err(format!("cannot be read: {error}")),
        };
        found.insert(file.file_name().to_string_lossy().into_owned(), usable);
    }
    Ok(found)
}

fn is_executable(permissions: &Permissions) -> bool {
    permissions.mode() & 0o111 != 0
}

async fn handshake(path: PathBuf) -> Result<Executable, String> {
    let said = run(&path, "version", &[]).await?;
    let version: Version = serde_json::from_slice(&said).map_err(|error| format!("no version: {error}"))?;
    if version.protocol != PROTOCOL {
        return Err(format!("speaks protocol {}, and {PROTOCOL} is spoken here", version.protocol));
    }
    Ok(Executable(path))
}

// === impl Executable ===

impl Executable {
    pub(crate) async fn ask(&self, question: &Question) -> Result<Answer, String> {
        let mut question = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        question.push(b'\n');
        let answer = run(&self.0, "rank", &question).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| format!("its answer is not of protocol {PROTOCOL}: {error}"))
    }
}

/// Kills a program with everything that it has started.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        // It is gone if the program has ended and started nothing.
        let _gone = self.0.map(|group| kill_process_group(group, Signal::KILL));
    }
}

async fn run(program: &Path, verb: &str, input: &[u8]) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    command.arg(verb).env_clear().process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let _group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let talk = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program may answer without reading the question.
                let _closed = stdin.write_all(input).await;
            }
        };
        let mut output = Vec::new();
        let read = async {
            let Some(stdout) = stdout else { return Ok(0) };
            stdout.take(OUTPUT_BYTES.saturating_add(1)).read_to_end(&mut output).await
        };
        let ((), read) = tokio::join!(write, read);
        read.map_err(|error| error.to_string())?;
        if u64::try_from(output.len()).unwrap_or(u64::MAX) > OUTPUT_BYTES {
            return Err(format!("answered with more than {OUTPUT_BYTES} bytes"));
        }
        let status = child.wait().await.map_err(|error| error.to_string())?;
        if status.success() { Ok(output) } else { Err(format!("ended with {status}")) }
    };
    timeout(PATIENCE, talk)
        .await
        .unwrap_or_else(|_| Err(format!("did not answer in {} s", PATIENCE.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_used_is_named_and_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/nowhere", folder.path().join("dangling")).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        std::fs::write(folder.path().join("notes.txt"), "not a program").unwrap();
        write(folder.path(), "empty", "");
        write(folder.path(), "not-a-program", "\x7fELF");
        write(folder.path(), "good", "#!/bin/sh\necho '{\"protocol\": \"v1\"}'\n");
        let found = discover(folder.path()).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|(name, found)| (name, found.err())).collect();
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["dangling", "empty", "good", "not-a-program"]);
        for (name, error) in found {
            let expected = match name.as_str() {
                "dangling" => "cannot be read: No such file",
                "good" => "",
                _ => "cannot be started: Exec format error",
            };
            assert!(error.unwrap_or_default().starts_with(expected), "{name}");
        }
    }
}
