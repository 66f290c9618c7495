//! Templates in CEL find what Gatekeeper finds, in the same words: every name in every kind of review, messages,
//! conditions, and what cannot be evaluated.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::collections::BTreeMap;

use conformance::Judge;
use constraint_framework::api::Constraint;
use constraint_framework::driver::Budget;
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Review};
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value as Json, json};

/// Texts that an expression may show; each becomes the message of a violation.
const SHOWN: &[&str] = &[
    "string(object == null)",
    "string(oldObject == null)",
    "string(namespaceObject == null)",
    "string(variables.params == null)",
    "string(variables.anyObject == null)",
    "string(variables.anyObject.metadata.name)",
    "string(object.metadata.name)",
    "string(oldObject.metadata.name)",
    "request.operation",
    "string(request.dryRun)",
    "string(has(request.dryRun))",
    "string(has(request.name)) + string(has(request.namespace))",
    "request.name + '/' + request.namespace",
    "string(has(request.subResource)) + string(has(request.requestSubResource))",
    "request.kind.group + '/' + request.kind.version + '/' + request.kind.kind",
    "request.requestKind.group + '/' + request.requestKind.version + '/' + request.requestKind.kind",
    "request.resource.group + '/' + request.resource.version + '/' + request.resource.resource",
    "string(has(request.requestResource)) + string(has(request.requestKind))",
    "string(has(request.userInfo)) + string(has(request.userInfo.username)) + string(has(request.userInfo.uid))",
    "string(has(request.userInfo.groups)) + string(has(request.userInfo.extra))",
    "request.userInfo.username + ' ' + request.userInfo.groups.join('+')",
    "request.userInfo.extra['scope'].join('+')",
    "string(has(request.options)) + string(request.options == null)",
    "string(has(namespaceObject.metadata))",
    "namespaceObject.metadata.name + ' ' + namespaceObject.metadata.labels['team']",
    "string(has(namespaceObject.metadata.annotations)) + string(has(namespaceObject.metadata.generateName))",
    "string(has(namespaceObject.spec)) + string(has(namespaceObject.status)) + string(has(namespaceObject.status.phase))",
    "string(has(namespaceObject.metadata.creationTimestamp))",
    "string(variables.params.most)",
    "'%s %s'.format([type(object.spec.replicas), object.spec.replicas])",
    "'%s'.format([type(object.spec.half)])",
    "'%s'.format([object.spec])",
    "'two\\nlines'",
    "''",
    "'  spaces around  '",
    "lists.range(6000).map(i, 'x').join('')",
    "lists.range(5120).map(i, 'x').join('')",
    // What does not compile, or is no string by type, is passed over.
    "object.metadata.name",
    "1",
    "'a' +",
    "nope + 'a'",
    "params.most",
    "variables.none",
    " ",
];

fn sources() -> Vec<Json> {
    let shown = |text: &&str| json!({"validations": [{"expression": "1 == 2 ", "messageExpression": text}]});
    let stated = |text: &&str| json!({"validations": [{"expression": "false", "message": " stated ", "messageExpression": text}]});
    let violated = json!([{"expression": "false", "message": "violated"}]);
    let condition = |expressions: &[&str], policy: &str| {
        let named = |(number, expression): (usize, &&str)| json!({"name": format!("c{number}"), "expression": expression});
        let conditions: Vec<_> = expressions.iter().enumerate().map(named).collect();
        json!({"failurePolicy": policy, "matchCondition": conditions, "validations": violated})
    };
    let validation = |expression: &str, policy: &str| {
        let variables = json!([
            {"name": "broken", "expression": "object.spec.nope"},
            {"name": "relies", "expression": "variables.broken + 1"},
            {"name": "team", "expression": "namespaceObject.metadata.labels['team']"},
        ]);
        json!({
            "failurePolicy": policy, "variables": variables,
            "validations": [
                {"expression": expression, "message": "said"},
                {"expression": expression, "messageExpression": "string(variables.team)"},
                {"expression": "object != null"},
            ],
        })
    };
    let mut sources: Vec<_> = SHOWN.iter().map(shown).chain(SHOWN.iter().skip(30).map(stated)).collect();
    for policy in ["Fail", "Ignore"] {
        for conditions in [
            &["true"][..],
            &["false"],
            &["object.metadata.name == 'web'"],
            &["object.spec.nope == 1"],
            &["object.spec.nope == 1", "object.spec.none == 1"],
            &["object.spec.nope == 1", "false"],
            &["has(namespaceObject.metadata)"],
            &["namespaceObject == null"],
            &["variables.params == null"],
            &["request.operation == 'CREATE'"],
        ] {
            sources.push(condition(conditions, policy));
        }
        for expression in [
            "namespaceObject == null",
            "namespaceObject.metadata.labels['team'] == 'b'",
            "variables.team == 'b'",
            "variables.broken == 1",
            "variables.relies == 1",
            "variables.broken == 1 || true",
            "object.spec.replicas > 'a'",
            "object.spec.list.all(x, x > 1)",
            "object.spec.list[7] == 1",
            "int(object.metadata.name) == 1",
            "1 / (object.spec.replicas - object.spec.replicas) == 1",
        ] {
            sources.push(validation(expression, policy));
        }
    }
    sources
}

fn template(number: usize, source: &Json) -> Json {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"most": {"type": "integer"}}}});
    let code = json!([{"engine": "K8sNativeValidation", "source": source}]);
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": format!("k{number}")},
        "spec": {
            "crd": {"spec": {"names": {"kind": format!("K{number}")}, "validation": schema}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": code}],
        },
    })
}

/// One constraint with parameters, one without.
fn constraints(number: usize) -> [Json; 2] {
    let constraint = |name: &str, spec: Json| {
        json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": format!("K{number}"),
            "metadata": {"name": name}, "spec": spec,
        })
    };
    [constraint("some", json!({"parameters": {"most": 2}})), constraint("none", json!({}))]
}

fn object(name: &str) -> Json {
    let metadata = json!({"name": name, "namespace": "shop"});
    let spec = json!({"replicas": 3, "half": 0.5, "list": [1, 2, "x"]});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
}

fn namespace() -> Json {
    json!({
        "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        "metadata": {"name": "shop", "labels": {"team": "a"}, "creationTimestamp": "2024-01-02T03:04:05Z"},
    })
}

fn request(operation: &str, more: Json) -> Json {
    let mut request = json!({
        "uid": "u", "operation": operation, "name": "web", "namespace": "shop", "dryRun": false,
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "userInfo": {"username": "ann", "groups": ["g", "h"], "extra": {"scope": ["s"]}},
        "object": object("web"), "oldObject": null, "options": null,
    });
    for (field, value) in more.as_object().unwrap() {
        request[field] = value.clone();
    }
    request
}

/// Question to the judge, without operation and key.
fn reviews() -> Vec<Json> {
    let of_namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let kind = json!({"group": "", "version": "v1", "kind": "Namespace"});
    vec![
        json!({"request": request("CREATE", json!({})), "namespace": namespace()}),
        json!({"request": request("CREATE", json!({"dryRun": true, "userInfo": {}, "name": ""}))}),
        json!({"request": request("UPDATE", json!({"oldObject": object("old"), "options": {"kind": "UpdateOptions"}})), "namespace": namespace()}),
        json!({"request": request("DELETE", json!({"object": null, "oldObject": object("old")})), "namespace": namespace()}),
        json!({"request": request("CONNECT", json!({"subResource": "exec", "requestSubResource": "exec"})), "namespace": namespace()}),
        json!({"request": request("CREATE", json!({"object": of_namespace, "kind": kind, "namespace": ""}))}),
        json!({"object": object("web"), "namespace": namespace()}),
        json!({"object": object("web")}),
        json!({"object": of_namespace}),
    ]
}

fn ours(question: &Json) -> Review {
    let mut review = match question.get("request") {
        Some(request) => AdmissionTarget.request(&request.to_string()).unwrap(),
        None => AdmissionTarget.object(Document::from_value(&question["object"]).unwrap(), None),
    };
    review.namespace_object = question.get("namespace").map(|found| Document::from_value(found).unwrap());
    review
}

/// Messages by kind and name of the constraint.
type Found = BTreeMap<(String, String), Vec<String>>;

fn found(entries: impl Iterator<Item = (String, String, String)>) -> Found {
    let mut found = Found::new();
    for (kind, name, message) in entries {
        found.entry((kind, name)).or_default().push(message);
    }
    found.values_mut().for_each(|messages| messages.sort());
    found
}

fn ask_ours(policies: &PolicySet, question: &Json) -> Found {
    let verdict = policies.review(&ours(question), EnforcementPoint::WEBHOOK, &Budget::default());
    let entry = |violation: &constraint_framework::review::Violation| {
        let constraint = violation.constraint.clone();
        (constraint.kind, constraint.name, said(&violation.message, violation.details.as_ref()))
    };
    found(verdict.violations().iter().map(entry))
}

fn ask_theirs(judge: &mut Judge, question: &Json) -> Found {
    let mut question = question.clone();
    question["op"] = json!("review");
    question["key"] = json!("a");
    let answer = judge.ask(&question).expect("an answer");
    let results = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |result: &Json, field: &str| result[field].as_str().unwrap().to_owned();
    let message = |result: &Json| said(&text(result, "msg"), result.get("details"));
    found(results.iter().map(|result| (text(result, "kind"), text(result, "name"), message(result))))
}

/// A message with its details, which policies in CEL do not have.
fn said(message: &str, details: Option<&Json>) -> String {
    details.map_or_else(|| message.to_owned(), |details| format!("{message} {details}"))
}

#[test]
fn templates_in_cel_find_what_gatekeeper_finds() {
    let sources = sources();
    let templates: Vec<_> =
        sources.iter().enumerate().map(|(number, source)| template(number, source)).collect();
    let constraints: Vec<_> = (0..sources.len()).flat_map(constraints).collect();
    let mut judge = Judge::gatekeeper().expect("a judge");
    let client =
        json!({"op": "client", "key": "a", "cel": true, "templates": templates, "constraints": constraints});
    assert_eq!(judge.ask(&client).expect("an answer")["refused"], json!({}));
    let mut builder = PolicySetBuilder::new(Compiler::default());
    for (template, source) in templates.iter().zip(&sources) {
        builder.put_template(template).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
    for constraint in &constraints {
        builder.put_constraint(Constraint::from_value(constraint).unwrap()).unwrap();
    }
    let policies = builder.build();
    let mut differ = Vec::new();
    for (position, question) in reviews().iter().enumerate() {
        let (theirs, ours) = (ask_theirs(&mut judge, question), ask_ours(&policies, question));
        for (number, source) in sources.iter().enumerate() {
            for name in ["some", "none"] {
                let key = (format!("K{number}"), name.to_owned());
                if theirs.get(&key) != ours.get(&key) {
                    let shown = |found: &Found| {
                        format!("{:?}", found.get(&key)).chars().take(300).collect::<String>()
                    };
                    differ.push(format!(
                        "review {position} {name}: {source}\n    theirs: {}\n    ours:   {}",
                        shown(&theirs),
                        shown(&ours)
                    ));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}
