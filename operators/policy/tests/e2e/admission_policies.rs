//! ValidatingAdmissionPolicies in files, held against the API server: what it refuses to store, and what it denies.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use control_plane::ControlPlane;
use go_compat::sigs_yaml;
use hyper::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::operator::{PATIENCE, webtroller};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refusals}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    matchPolicy: Equivalent
    objectSelector: {matchLabels: {case: none}}
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps], scope: '*'}]
  matchConditions: [{name: c, expression: 'true'}]
  variables: [{name: v, expression: '1'}]
  validations: [{expression: variables.v == 1, message: m, reason: Invalid}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refusals}
spec:
  policyName: refusals
  validationActions: [Deny]
  paramRef: {name: p, namespace: default, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}}
"#;

/// A change of the manifests, and whether it is a mistake is the API server's to say.
const CHANGES: [(&str, &str); 37] = [
    ("spec:", "spec:"),
    ("failurePolicy: Fail", "failurePolicy: fail"),
    ("failurePolicy: Fail", "failurPolicy: Fail"),
    ("matchConstraints:", "matchConstraint:"),
    ("resourceRules:", "resourceRule:"),
    ("matchPolicy: Equivalent", "matchPolicy: equivalent"),
    ("objectSelector: {matchLabels", "objectSelector: {matchLabel"),
    ("[CREATE, UPDATE]", "[CRATE]"),
    ("[CREATE, UPDATE]", "[]"),
    ("[CREATE, UPDATE]", "['*', CREATE]"),
    ("apiGroups: ['']", "apiGroups: []"),
    ("apiGroups: ['']", "apiGroup: ['']"),
    ("apiVersions: [v1]", "apiVersions: []"),
    ("resources: [configmaps]", "resources: []"),
    ("scope: '*'", "scope: cluster"),
    ("matchConditions: [{name: c,", "matchConditions: [{"),
    ("variables: [{name: v,", "variables: [{nam: v,"),
    ("validations: [{expression", "validations: [{expresion"),
    ("validations: [", "auditAnnotations: ["),
    ("reason: Invalid", "reason: Wrong"),
    ("variables.v == 1", "variables.w == 1"),
    ("variables.v == 1", "variables.v"),
    ("variables.v == 1", "params == null"),
    ("  paramKind: {apiVersion: v1, kind: ConfigMap}\n", ""),
    (
        "  paramKind: {apiVersion: v1, kind: ConfigMap}",
        "  auditAnnotations: [{key: k, valueExpression: 'string(params.data.max)'}]",
    ),
    ("paramKind: {apiVersion: v1, ", "paramKind: {"),
    ("kind: ConfigMap", "kind: ''"),
    ("policyName: refusals", "policyNam: refusals"),
    ("policyName: refusals", "policyName: ''"),
    ("validationActions: [Deny]", "validationActions: []"),
    ("validationActions: [Deny]", "validationActions: [Deny, Warn]"),
    ("validationActions: [Deny]", "validationActions: [Warn, Warn]"),
    ("validationActions: [Deny]", "validationActions: [deny]"),
    ("paramRef: {name: p, ", "paramRef: {"),
    ("paramRef: {name: p, ", "paramRef: {name: p, selector: {}, "),
    (", parameterNotFoundAction: Deny", ""),
    ("operator: Exists", "operater: Exists"),
];

/// Runs `webtroller test` on manifests: exit code, standard output and standard error.
async fn tested(manifests: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file: &Path = &folder.path().join("a.yaml");
    std::fs::write(file, manifests).unwrap();
    let output = webtroller().args(["test", "-o", "json", "-q"]).arg(file).output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn documents(text: &str) -> Vec<Value> {
    sigs_yaml::documents(text).unwrap().into_iter().map(|document| document.value).collect()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The collection that an object is created in.
fn collection(object: &Value) -> String {
    let namespace = text(object, "/metadata/namespace");
    match text(object, "/kind") {
        "ValidatingAdmissionPolicy" => format!("{GROUP}/validatingadmissionpolicies"),
        "ValidatingAdmissionPolicyBinding" => format!("{GROUP}/validatingadmissionpolicybindings"),
        "ClusterRole" => "/apis/rbac.authorization.k8s.io/v1/clusterroles".to_owned(),
        "ConfigMap" => format!("/api/v1/namespaces/{namespace}/configmaps"),
        "Namespace" => "/api/v1/namespaces".to_owned(),
        kind => panic!("{kind}"),
    }
}

/// Creates an object, and returns what the API server has against it.
async fn create(client: &Client, object: &Value, query: &str) -> Result<(), String> {
    let uri = format!("{}?fieldValidation=Strict{query}", collection(object));
    let request = Request::post(uri).header("Content-Type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

const DRY_RUN: &str = "&dryRun=All";

#[tokio::test]
async fn policies_and_bindings_are_refused_as_the_api_server_refuses_them() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    for (from, to) in CHANGES {
        let manifests = POLICY.replacen(from, to, 1);
        assert!(from == to || manifests != POLICY, "{from}");
        let mut refusals = Vec::new();
        for object in documents(&manifests) {
            refusals.extend(create(&client, &object, DRY_RUN).await.err());
        }
        let (code, out, said) = tested(&manifests).await;
        assert_eq!(code == Some(1), !refusals.is_empty(), "{to}: {refusals:?}; {out}{said}");
    }
}

/// Policies with their bindings, each about the objects with its label `case`, in namespaces that `A` and `B` stand for.
const CASES: [(&str, &str, &str); 18] = [
    // Parameters of the object's own namespace, and of a named one.
    (
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {name: limits, parameterNotFoundAction: Deny}",
        LIMIT,
    ),
    (
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {name: limits, namespace: B, parameterNotFoundAction: Deny}",
        LIMIT,
    ),
    (
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {selector: {matchLabels: {limit: 'yes'}}, namespace: A, parameterNotFoundAction: Deny}",
        LIMIT,
    ),
    // None there.
    (
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {name: none, parameterNotFoundAction: Deny}",
        LIMIT,
    ),
    (
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {name: none, parameterNotFoundAction: Allow}",
        LIMIT,
    ),
    (
        "failurePolicy: Ignore, paramKind: {apiVersion: v1, kind: ConfigMap}",
        "paramRef: {name: none, parameterNotFoundAction: Deny}",
        LIMIT,
    ),
    (
        "paramKind: {apiVersion: v1, kind: ConfigMap}",
        "validationActions: [Warn], paramRef: {name: none, parameterNotFoundAction: Deny}",
        LIMIT,
    ),
    // A binding without a reference, and a reference that its policy has no kind for.
    ("paramKind: {apiVersion: v1, kind: ConfigMap}", "", "params == null"),
    ("failurePolicy: Fail", "paramRef: {name: none, parameterNotFoundAction: Deny}", "object.data.n != '5'"),
    // Errors.
    ("failurePolicy: Fail", "", "object.data.none == 'a'"),
    ("failurePolicy: Ignore", "", "object.data.none == 'a'"),
    ("failurePolicy: Fail", "validationActions: [Warn]", "object.data.none == 'a'"),
    // Conditions.
    ("matchConditions: [{name: c, expression: object.metadata.name != 'ten'}]", "", "false"),
    ("matchConditions: [{name: c, expression: object.data.none == 'a'}]", "", "false"),
    ("failurePolicy: Ignore, matchConditions: [{name: c, expression: object.data.none == 'a'}]", "", "false"),
    // Selection by the binding.
    ("failurePolicy: Fail", "matchResources: {namespaceSelector: {matchLabels: {place: A}}}", "false"),
    (
        "failurePolicy: Fail",
        "matchResources: {resourceRules: [{apiGroups: [''], apiVersions: ['*'], operations: ['*'], resources: ['*'], resourceNames: [five]}]}",
        "false",
    ),
    (
        "failurePolicy: Fail",
        "matchResources: {excludeResourceRules: [{apiGroups: ['*'], apiVersions: [v1], operations: [CREATE], resources: ['*/*'], resourceNames: [five]}]}",
        "false",
    ),
];
const LIMIT: &str = "int(object.data.n) <= int(params.data.max)";
/// It denies an object of this name: so a test sees that a policy is in force.
const SENTINEL: &str = "object.metadata.name != 'sentinel'";

fn cases(names: &[String; 2]) -> Vec<Value> {
    let (mut policies, mut bindings) = (String::new(), String::new());
    for (number, (policy, binding, expression)) in CASES.iter().enumerate() {
        policies.push_str(&format!(
            "---\n{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {{name: case-{number}}}, \
             spec: {{{policy}, matchConstraints: {{objectSelector: {{matchLabels: {{case: \"{number}\"}}}}, resourceRules: \
             [{{apiGroups: ['', rbac.authorization.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [configmaps, clusterroles]}}]}}, \
             validations: [{{expression: \"{SENTINEL}\"}}, {{expression: \"{expression}\"}}]}}}}\n"
        ));
        let action = if binding.contains("validationActions") { "" } else { "validationActions: [Deny], " };
        bindings.push_str(&format!(
            "---\n{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: case-{number}}}, \
             spec: {{policyName: case-{number}, {action}{binding}}}}}\n"
        ));
    }
    let [a, b] = names;
    let named = |text: String| {
        text.replace("namespace: A", &format!("namespace: {a}"))
            .replace("namespace: B", &format!("namespace: {b}"))
    };
    let params = named(
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: A, labels: {limit: 'yes'}}, data: {max: '7'}}\n\
         ---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: A, labels: {limit: 'yes'}}, data: {max: '4'}}\n\
         ---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: B}, data: {max: '12'}}\n"
            .to_owned(),
    );
    let policies = [policies, bindings].map(named).concat().replace("place: A", &format!("place: {a}"));
    documents(&format!("{params}{policies}"))
}

/// The objects of a case, by name and namespace: two numbers in two namespaces, and one outside all.
fn objects(case: usize, names: &[String; 2]) -> Vec<Value> {
    let labels = json!({"case": case.to_string()});
    let map = |name: &str, number: &str, namespace: &String| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": number},
               "metadata": {"name": name, "namespace": namespace, "labels": labels}})
    };
    let maps = names.iter().flat_map(|namespace| [map("five", "5", namespace), map("ten", "10", namespace)]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                      "metadata": {"name": format!("five-{}", names[0]), "labels": labels}});
    maps.chain([role]).collect()
}

fn key(object: &Value) -> String {
    let at = |field: &str| text(object, &format!("/metadata/{field}")).to_owned();
    format!("case {} {} {}/{}", at("labels/case"), text(object, "/kind"), at("namespace"), at("name"))
}

/// Returns what the API server denies, with its messages.
async fn denied_by_server(client: &Client, names: &[String; 2]) -> BTreeMap<String, String> {
    let mut denied = BTreeMap::new();
    for case in 0..CASES.len() {
        for object in objects(case, names) {
            if let Err(message) = create(client, &object, DRY_RUN).await {
                denied.insert(key(&object), message);
            }
        }
    }
    denied
}

/// Waits until the policies are in force: those of all cases are stored, in their order, before the sentinel of the last one.
async fn in_force(client: &Client, names: &[String; 2]) {
    // The first case has parameters, and this one looks at the labels of namespaces.
    let selecting = CASES.iter().position(|(_, binding, _)| binding.contains("namespaceSelector")).unwrap();
    for case in [CASES.len() - 1, 0, selecting] {
        let mut sentinel = objects(case, names).remove(0);
        sentinel["metadata"]["name"] = json!("sentinel");
        let denied = async {
            let mut ticks = interval(Duration::from_millis(200));
            while create(client, &sentinel, DRY_RUN).await.is_ok() {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, denied).await.expect("the policies are in force");
    }
}

#[tokio::test]
async fn objects_are_denied_as_the_api_server_denies_them() {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let names = [plane.namespace("params-a").await.unwrap(), plane.namespace("params-b").await.unwrap()];
    let manifests = cases(&names);
    for object in &manifests {
        let stored = create(&client, object, "").await;
        assert_eq!(stored, Ok(()), "{object}");
    }
    for namespace in &names {
        let labels = json!({"metadata": {"labels": {"place": namespace}}}).to_string();
        let patched =
            plane.kubectl().args(["patch", "namespace", namespace, "-p", &labels]).output().await.unwrap();
        assert!(patched.status.success());
    }
    in_force(&client, &names).await;
    let wanted = denied_by_server(&client, &names).await;

    let namespaces = names.iter().map(|name| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"place": name}}})
    });
    let judged = (0..CASES.len()).flat_map(|case| objects(case, &names));
    let items: Vec<_> = manifests.iter().cloned().chain(namespaces).chain(judged).collect();
    let (_, out, said) =
        tested(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).await;
    let list: Vec<Value> = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {said}"));
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in list.iter().filter(|entry| entry["enforcementAction"] == "deny") {
        found.entry(key(&entry["violatingObject"])).or_default().push(text(entry, "/msg").to_owned());
    }
    let keys = |name: &String| name.clone();
    assert_eq!(
        found.keys().map(keys).collect::<Vec<_>>(),
        wanted.keys().map(keys).collect::<Vec<_>>(),
        "the API server: {wanted:#?}, webtroller: {found:#?}"
    );
    for (object, message) in &wanted {
        let is_among = found[object].iter().any(|ours| message.contains(ours));
        assert!(is_among, "{object}: the API server says {message}, webtroller {:?}", found[object]);
    }
    assert!(wanted.len() > 20, "{wanted:#?}");
}
