//! `webtroller policy` on a real cluster: the command lines of docs/cli.md, and what must not happen.

use std::path::Path;

use serde_json::Value;

use crate::cluster::{Cluster, workspace};
use crate::operator::webtroller;

const PAGE: &str = include_str!("../../../../docs/cli.md");
const TEMPLATE: &str = "library/general/replica-floor/template.yaml";

/// The lines about a cluster: those of the page's `bash` blocks.
fn lines() -> Vec<&'static str> {
    let blocks = PAGE.split("```bash\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    lines.filter(|line| line.starts_with("webtroller policy ")).collect()
}

#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Cluster {
    /// Runs `webtroller policy` in the root of the workspace.
    async fn policy(&self, line: &str) -> Ran {
        let mut command = webtroller();
        command.arg("policy").args(line.split_whitespace()).current_dir(workspace("."));
        let output = command.env("KUBECONFIG", self.plane.kubeconfig()).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// As [`Cluster::policy`], and it must succeed.
    async fn policies(&self, line: &str) -> String {
        let ran = self.policy(line).await;
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        ran.out
    }
}

/// The catalogue of the examples with another version of one policy, and another text in its template.
fn newer() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&workspace("examples/catalog"), folder.path());
    let template = folder.path().join(TEMPLATE);
    let text = std::fs::read_to_string(&template).unwrap();
    std::fs::write(&template, text.replace("'at least '", "'not less than '")).unwrap();
    let catalog = folder.path().join("catalog.yaml");
    let text = std::fs::read_to_string(&catalog).unwrap();
    let text =
        text.replace("- name: replicafloor\n  version: v1.0.0", "- name: replicafloor\n  version: v1.1.0");
    std::fs::write(&catalog, text).unwrap();
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (source, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(&source, &target).unwrap();
        }
    }
}

const FLOOR: [&str; 2] = ["replicafloor", "two-replicas"];

#[tokio::test]
async fn a_bundle_is_installed_upgraded_and_removed() {
    let cluster = Cluster::start().await;
    let ran = cluster.policy("list").await;
    assert_eq!((ran.code, ran.err.contains("install webtroller or Gatekeeper first")), (2, true), "{ran:?}");
    let ran = cluster.policy("install --catalog examples/catalog ownerlabel").await;
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");

    let operator = cluster.operator().await;
    assert_eq!(cluster.policies("list").await, "No policies installed.\n");
    let [install, list, upgrade, uninstall] = lines().try_into().unwrap();
    let of_page = |line: &'static str| line.strip_prefix("webtroller policy ").unwrap();
    let installed = cluster.policies(of_page(install)).await;
    assert!(installed.contains("✓ replicafloor (v1.0.0) installed\n"), "{installed}");
    assert!(installed.ends_with("\n✓ Installed 1 templates, 1 constraints\n"), "{installed}");
    assert_eq!(cluster.get(&FLOOR, "{.spec.enforcementAction}").await, "warn");
    assert_eq!(cluster.get(&FLOOR, "{.metadata.labels.gatekeeper\\.sh/bundle}").await, "shop-baseline");

    // A bundle is applied again, a template of the same version is not.
    let again = cluster.policies("install --catalog examples/catalog --bundle shop-baseline").await;
    assert!(again.contains("✓ Installed 0 templates, 1 constraints"), "{again}");
    assert_eq!(cluster.get(&FLOOR, "{.spec.enforcementAction}").await, "warn");
    let again = cluster.policies("install --catalog examples/catalog replicafloor").await;
    assert!(again.starts_with("- replicafloor (already installed at same version)\n"), "{again}");

    let listed: Value = serde_json::from_str(&cluster.policies("list -o json").await).unwrap();
    let only = &listed["policies"][0];
    assert_eq!(
        (&only["name"], &only["version"], &only["bundle"]),
        (&"replicafloor".into(), &"v1.0.0".into(), &"shop-baseline".into())
    );
    assert!(cluster.policies(of_page(list)).await.contains("replicafloor  v1.0.0   shop-baseline  20"));

    // What the user has set stays, and the new text is in force.
    assert_eq!(
        cluster.policies(of_page(upgrade)).await,
        "- replicafloor (already at the catalogue's version)\n"
    );
    let newer = newer();
    let all = format!("upgrade --catalog {} --all", newer.path().display());
    let dry = cluster.policies(&format!("{all} --dry-run")).await;
    assert_eq!(dry, "(dry-run) replicafloor v1.0.0 -> v1.1.0\n");
    assert_eq!(cluster.policies(&all).await, "✓ replicafloor upgraded (v1.0.0 → v1.1.0)\n");
    assert_eq!(cluster.get(&FLOOR, "{.spec.enforcementAction}").await, "warn");
    let template = ["constrainttemplate", "replicafloor"];
    let validation = "{.spec.targets[0].code[0].source.validations[0].messageExpression}";
    assert!(cluster.get(&template, validation).await.starts_with("'not less than '"));
    let unknown = cluster.policy("upgrade --catalog examples/catalog ownerlabel").await;
    assert_eq!((unknown.code, unknown.out.as_str()), (4, "- ownerlabel (not installed)\n"), "{unknown:?}");

    let dry = cluster.policies("uninstall replicafloor --dry-run").await;
    assert_eq!(dry, "(dry-run) replicafloor\n");
    assert_eq!(cluster.policies(of_page(uninstall)).await, "✓ replicafloor uninstalled\n");
    cluster
        .must(&["wait", "--for=delete", "crd/replicafloor.constraints.gatekeeper.sh", "--timeout=120s"])
        .await;
    assert_eq!(cluster.policies(of_page(uninstall)).await, "- replicafloor (not found)\n");
    operator.stop().await;
}

#[tokio::test]
async fn what_others_wrote_is_left_alone() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.apply_file(&workspace("examples/catalog/library/general/owner-label/template.yaml")).await;
    let version = async || cluster.get(&["constrainttemplate", "ownerlabel"], "{.metadata.generation}").await;
    let generation = version().await;

    let ran = cluster.policy("install --catalog examples/catalog ownerlabel replicafloor").await;
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("✗ ownerlabel - failed: ConstraintTemplate ownerlabel exists"), "{ran:?}");
    assert!(ran.err.contains("not tried: replicafloor"), "{ran:?}");
    let ran = cluster.policy("uninstall ownerlabel").await;
    assert_eq!((ran.code, ran.out.as_str()), (3, "✗ ownerlabel - not managed by gator\n"), "{ran:?}");
    assert_eq!(version().await, generation);
    let label = "{.metadata.labels.gatekeeper\\.sh/managed-by}";
    assert_eq!(cluster.get(&["constrainttemplate", "ownerlabel"], label).await, "");

    // A constraint of that name, of a template that is ours.
    cluster.policies("install --catalog examples/catalog replicafloor").await;
    cluster.enforced("constrainttemplate/replicafloor").await;
    let constraint = "examples/catalog/library/general/replica-floor/samples/shop-baseline/constraint.yaml";
    cluster.apply_file(&workspace(constraint)).await;
    let ran = cluster.policy("install --catalog examples/catalog --bundle shop-baseline").await;
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("ReplicaFloor two-replicas exists"), "{ran:?}");
    operator.stop().await;
}
