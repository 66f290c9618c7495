//! A reader's new cluster, in which programs run against its kubeconfig as the pages in `docs/patterns` say.

use std::path::Path;

use control_plane::{ControlPlane, Options};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::demo::program;

pub(crate) struct Reader {
    plane: ControlPlane,
    /// The folder for temporary files of the programs.
    temporary: TempDir,
}

impl Reader {
    pub(crate) async fn start() -> Self {
        Self { plane: Options::default().start().await.unwrap(), temporary: tempfile::tempdir().unwrap() }
    }

    /// Starts a program, which installs its definitions, and others with these arguments; creates the objects beside its source
    /// in `folder`, and waits until an object fulfils a condition in the notation of `kubectl wait --for`. Returns the processes.
    pub(crate) async fn follow(
        &self,
        name: &str,
        folder: &Path,
        others: &[&[&str]],
        (object, condition): (&str, &str),
    ) -> Vec<Child> {
        let path = |file: &str| folder.join(file).display().to_string();
        let mut processes = vec![self.run(name, &[])];
        let (definitions, roles) = (path("definitions.yaml"), path("roles.yaml"));
        let names = self.kubectl(&["create", "--dry-run=client", "-o", "name", "-f", &definitions]).await;
        // One at a time: with several names, `--for=create` fails for those that are not there when the first is.
        for definition in names.lines() {
            for what in ["--for=create", "--for=condition=Established"] {
                self.kubectl(&["wait", "--timeout=60s", what, definition]).await;
            }
        }
        // Without `--force-conflicts`: the committed definitions are those that the program has installed.
        self.kubectl(&["apply", "--server-side", "-f", &definitions, "-f", &roles]).await;
        processes.extend(others.iter().map(|arguments| self.run(name, arguments)));
        self.kubectl(&["apply", "-f", &path("objects.yaml")]).await;
        self.kubectl(&["wait", "--timeout=120s", &format!("--for={condition}"), object]).await;
        for process in &mut processes {
            assert!(process.try_wait().unwrap().is_none(), "{name} has ended");
        }
        processes
    }

    /// Types the blocks of commands of a page after the first one for a cluster of the reader, each into a shell of its own.
    pub(crate) async fn type_in_the_rest(&self, page: &str) {
        let in_a_cluster = page.split("In the cluster of your kubeconfig").nth(1).unwrap_or_default();
        let part = in_a_cluster.split("\n## ").next().unwrap_or_default();
        for lines in part.split("```sh\n").skip(2).filter_map(|block| block.split("```").next()) {
            self.type_in(lines).await;
        }
    }

    /// A shell ends with the first command that fails.
    async fn type_in(&self, lines: &str) {
        let kubectl = self.plane.kubectl();
        let programs = Path::new(kubectl.as_std().get_program()).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", lines]).env("PATH", path).env("KUBECONFIG", self.plane.kubeconfig());
        let output = shell.output().await.unwrap();
        assert!(output.status.success(), "{lines}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn run(&self, name: &str, arguments: &[&str]) -> Child {
        let mut command = Command::new(program(name));
        command
            .args(arguments)
            .env("KUBECONFIG", self.plane.kubeconfig())
            .env("TMPDIR", self.temporary.path());
        command.kill_on_drop(true).spawn().unwrap()
    }

    async fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.plane.kubectl().args(arguments).output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }
}
