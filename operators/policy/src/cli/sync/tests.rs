//! Tests of what is required, synced and supported, and of the report where they differ.

use super::*;

const TEMPLATE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: unique
  annotations:
    metadata.gatekeeper.sh/requires-sync-data: |
      "[[{"groups": ["extensions", "networking.k8s.io"], "versions": ["v1", "v1beta1"], "kinds": ["Ingress"]}],
        [{"groups": [""], "versions": ["v1"], "kinds": ["Namespace"]}]]"
"#;
const SYNCSET: &str = "
apiVersion: syncset.gatekeeper.sh/v1alpha1
kind: SyncSet
metadata: {name: s}
spec: {gvks: [{group: networking.k8s.io, version: v1, kind: Ingress}]}
";
const CONFIG: &str = "
apiVersion: config.gatekeeper.sh/v1alpha1
kind: Config
metadata: {name: config}
spec: {sync: {syncOnly: [{version: v1, kind: Namespace}]}}
";
const KINDS: &str = "
apiVersion: gvkmanifest.gatekeeper.sh/v1alpha1
kind: GVKManifest
metadata: {name: kinds}
spec: {groups: {'': {v1: [Namespace]}, networking.k8s.io: {v1: [Ingress]}}}
";

fn run(documents: &[&str], omit: bool) -> (u8, String) {
    let input = documents.join("---");
    let args =
        SyncTestArgs { paths: Vec::new(), sources: SourceArgs::default(), force_omit_gvk_manifest: omit };
    let args = SyncArgs { command: SyncCommand::Test(args) };
    let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = sync(&args, standard, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap())
}

#[test]
fn one_kind_of_each_requirement_is_enough() {
    let met = (0, "the requirements of 1 template are met\n".to_owned());
    assert_eq!(run(&[TEMPLATE, SYNCSET, CONFIG, KINDS], false), met);
    assert_eq!(run(&[TEMPLATE, SYNCSET, CONFIG], true), met);
    let nothing = "there is no template among the inputs: nothing was checked\n";
    assert_eq!(run(&[SYNCSET, CONFIG], true), (0, nothing.to_owned()));
}

#[test]
fn what_is_not_synced_is_named() {
    let (code, err) = run(&[TEMPLATE, SYNCSET], true);
    assert_eq!(
        (code, err.as_str()),
        (
            1,
            "webtroller sync test: <stdin>:2: unique requires /v1:Namespace, which is in no SyncSet and not in the Config\n"
        )
    );
}

#[test]
fn what_the_cluster_does_not_have_is_named() {
    let kinds = KINDS.replace("networking.k8s.io: {v1: [Ingress]}", "apps: {v1: [Deployment]}");
    let (code, err) = run(&[TEMPLATE, SYNCSET, CONFIG, &kinds], false);
    assert!(
        code == 1 && err.contains("networking.k8s.io/v1:Ingress") && err.contains("not in the GVKManifest"),
        "{err}"
    );
    let (code, err) = run(&[TEMPLATE, SYNCSET, CONFIG], false);
    assert!(code == 1 && err.contains("no GVK manifest found"), "{err}");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let broken = TEMPLATE.replace("\"groups\"", "\"group\"");
    let (code, err) = run(&[&broken, SYNCSET, CONFIG, CONFIG], true);
    assert!(code == 1 && err.contains("unknown field `group`") && err.contains("one Config only"), "{err}");
}
