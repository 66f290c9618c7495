//! Templates in CEL: every name in every kind of review, messages, conditions, and what cannot be evaluated. Nothing here
//! knows what the answers should be.

#![allow(clippy::indexing_slicing, reason = "fields of values that are made here")]

use serde_json::{Value as Json, json};

use crate::admission::Policies;

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
    // Expressions that do not compile, or whose type is not a string, are skipped.
    "object.metadata.name",
    "1",
    "'a' +",
    "nope + 'a'",
    "params.most",
    "variables.none",
    " ",
];

/// Match conditions of a template.
const CONDITIONS: [&[&str]; 10] = [
    &["true"],
    &["false"],
    &["object.metadata.name == 'web'"],
    &["object.spec.nope == 1"],
    &["object.spec.nope == 1", "object.spec.none == 1"],
    &["object.spec.nope == 1", "false"],
    &["has(namespaceObject.metadata)"],
    &["namespaceObject == null"],
    &["variables.params == null"],
    &["request.operation == 'CREATE'"],
];

/// Validations of a template with variables.
const EXPRESSIONS: [&str; 11] = [
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
];

/// Each source of a template.
#[must_use]
pub fn sources() -> Vec<Json> {
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
        for conditions in CONDITIONS {
            sources.push(condition(conditions, policy));
        }
        for expression in EXPRESSIONS {
            sources.push(validation(expression, policy));
        }
    }
    sources
}

/// A template of each of these sources, with the kind `K` and its position; constraints `some` and `none` of each.
#[must_use]
pub fn policies(sources: &[Json]) -> Policies {
    let templates = sources.iter().enumerate().map(|(number, source)| template(number, source)).collect();
    let constraints = (0..sources.len()).flat_map(constraints).collect();
    Policies { templates, constraints, inventory: Vec::new() }
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
    for (field, value) in more.as_object().into_iter().flatten() {
        request[field] = value.clone();
    }
    request
}

/// Questions about reviews, as [`asked`](crate::admission::asked) takes them.
#[must_use]
pub fn reviews() -> Vec<Json> {
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
