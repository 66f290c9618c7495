//! Nothing survives the owner: after a drop, after a panic, after SIGKILL.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use control_plane::{Component, ControlPlane};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

const COMPONENTS: [Component; 3] = [Component::Etcd, Component::ApiServer, Component::ControllerManager];

/// Handles that tell the processes themselves from later ones with the same number.
struct Processes(Vec<OwnedFd>);

impl Processes {
    fn open(ids: impl IntoIterator<Item = u32>) -> Self {
        let open = |id: u32| pidfd_open(Pid::from_raw(id.try_into().unwrap()).unwrap(), PidfdFlags::empty());
        Self(ids.into_iter().map(|id| open(id).unwrap()).collect())
    }

    fn of(plane: &ControlPlane) -> Self {
        Self::open(COMPONENTS.map(|component| plane.process_id(component).unwrap()))
    }

    /// Returns true if all of them end within `limit`.
    fn end_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).unwrap();
        self.0
            .iter()
            .all(|process| poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)).unwrap() == 1)
    }
}

fn folder(kubeconfig: &Path) -> PathBuf {
    kubeconfig.parent().unwrap().to_path_buf()
}

#[tokio::test]
async fn a_drop_ends_the_processes_and_removes_the_folder() {
    let plane = ControlPlane::start().await.unwrap();
    let (processes, folder) = (Processes::of(&plane), folder(plane.kubeconfig()));
    assert!(folder.is_dir() && !processes.end_within(Duration::ZERO));
    drop(plane);
    assert!(processes.end_within(Duration::ZERO), "already gone when drop returns");
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_paused_component_ends_too() {
    let mut plane = ControlPlane::start().await.unwrap();
    let processes = Processes::of(&plane);
    for component in COMPONENTS {
        plane.pause(component).unwrap();
    }
    drop(plane);
    assert!(processes.end_within(Duration::ZERO));
}

#[tokio::test]
async fn a_panic_ends_the_processes() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let panicking = tokio::spawn(async move {
        let plane = ControlPlane::start().await.unwrap();
        assert!(sender.send((Processes::of(&plane), folder(plane.kubeconfig()))).is_ok());
        panic!("as a failing test does");
    });
    let (processes, folder) = receiver.await.unwrap();
    assert!(panicking.await.unwrap_err().is_panic());
    assert!(processes.end_within(Duration::ZERO));
    assert!(!folder.exists());
}

#[test]
fn a_killed_owner_takes_everything_along() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ids: Vec<u32> =
        lines.by_ref().take(3).map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    let processes = Processes::open(ids);
    let folder = folder(Path::new(lines.next().unwrap().strip_prefix("export KUBECONFIG=").unwrap()));
    assert!(folder.is_dir() && !processes.end_within(Duration::ZERO));

    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(processes.end_within(Duration::from_secs(60)), "the watchers saw the pipe close");
    assert!(is_removed_within(&folder, Duration::from_secs(60)), "{}", folder.display());
}

/// The kernel says when a name disappears from a folder; the check before it covers the time until the watch.
fn is_removed_within(folder: &Path, limit: Duration) -> bool {
    use rustix::fs::inotify;
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    let added = inotify::add_watch(&watch, folder, inotify::WatchFlags::DELETE_SELF);
    if added.is_err() {
        return !folder.exists();
    }
    let limit = Timespec::try_from(limit).unwrap();
    poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&limit)).unwrap() == 1 && !folder.exists()
}
