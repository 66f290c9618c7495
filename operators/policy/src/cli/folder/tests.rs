//! Reading a folder, and reading it again after it changed.

use std::fs;

use constraint_framework::driver::Budget;
use constraint_framework::review::EnforcementPoint;

use super::*;

const TEMPLATE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: named}
spec:
  crd: {spec: {names: {kind: Named}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package named
      violation[{"msg": msg}] { data.inventory.cluster["v1"].Namespace[name]; msg := name }
"#;
const CONSTRAINT: &str = "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Named, metadata: {name: c}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "constraint.yaml", CONSTRAINT);
    write(folder.path(), "template.yaml", TEMPLATE);
    write(folder.path(), "inventory/namespace.yaml", NAMESPACE);
    write(folder.path(), "review/namespace.yaml", NAMESPACE);
    folder
}

fn denial(reading: &Reading) -> String {
    let object = Document::from_value(&serde_json::json!({"apiVersion": "v1", "kind": "Pod"})).unwrap();
    let review = AdmissionTarget.object(object, None);
    reading.policies.review(&review, EnforcementPoint::WEBHOOK, &Budget::default()).denial()
}

#[test]
fn each_object_goes_where_it_belongs() {
    let folder = folder();
    let reading = PolicyFolder::new(folder.path()).read();
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!((reading.templates, reading.constraints, reading.reviews.len()), (1, 1, 1));
    assert_eq!(denial(&reading), "[c] shop");
}

#[test]
fn what_is_gone_is_taken_out() {
    let folder = folder();
    let mut policies = PolicyFolder::new(folder.path());
    policies.read();
    fs::remove_file(folder.path().join("inventory/namespace.yaml")).unwrap();
    assert_eq!(denial(&policies.read()), "");
    write(folder.path(), "inventory/namespace.yaml", NAMESPACE);
    fs::remove_file(folder.path().join("constraint.yaml")).unwrap();
    assert!(policies.read().policies.is_empty());
}

#[test]
fn what_broke_keeps_its_last_good_version_and_is_reported() {
    let folder = folder();
    let mut policies = PolicyFolder::new(folder.path());
    policies.read();
    for broken in ["a: [", &TEMPLATE.replace("msg := name", "msg := ")] {
        write(folder.path(), "template.yaml", broken);
        let reading = policies.read();
        assert_eq!(denial(&reading), "[c] shop");
        assert_eq!(reading.errors.len(), 1, "{:?}", reading.errors);
        assert!(reading.errors[0].contains("template.yaml"), "{:?}", reading.errors);
    }
}
