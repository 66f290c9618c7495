//! Policies, bindings and parameters in files.

use constraint_framework::review::Action;
use serde_json::json;

use crate::cli::assemble::{Assembly, assemble};
use crate::cli::judge::{JudgeOptions, Unplaced, judge};
use crate::cli::load::load_reader;
use crate::cli::progress::Progress;

const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: rules.example.com/v1, kind: Limit}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  variables: [{name: replicas, expression: object.spec.replicas}]
  validations:
  - {expression: variables.replicas <= params.max, messageExpression: "'at most ' + string(params.max)"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: replicas, validationActions: [Deny, Audit], paramRef: {name: few, parameterNotFoundAction: Deny}}
"#;
const LIMIT: &str = "---\n{apiVersion: rules.example.com/v1, kind: Limit, metadata: {name: few}, max: 3}\n";
const OBJECTS: &str = "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop, labels: {team: one}}, spec: {replicas: 5}}\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: b}, spec: {replicas: 5}}\n";

fn assembled(text: &str) -> Result<Assembly, String> {
    let manifests = load_reader(std::path::Path::new("x"), &mut text.as_bytes()).unwrap();
    assemble(&manifests, constraint_framework::policyset::Compiler::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Object and message of each violation.
fn found(text: &str) -> Vec<(String, String)> {
    let assembly = assembled(text).unwrap();
    let options = JudgeOptions { unplaced: Unplaced::Nowhere, in_turn: true, times: None };
    let violations = judge(&assembly, options, &Progress::new(1, "objects"));
    violations
        .iter()
        .map(|violation| (violation.subject.object.name().to_owned(), violation.message.to_string()))
        .collect()
}

#[test]
fn an_object_is_judged_by_the_policies_bound_to_its_kind() {
    let expected = [("a".to_owned(), "at most 3".to_owned())];
    assert_eq!(found(&format!("{POLICY}{LIMIT}{OBJECTS}")), expected);
    assert_eq!(found(&format!("{POLICY}{LIMIT}{}", OBJECTS.replace("replicas: 5", "replicas: 3"))), []);
}

#[test]
fn a_rule_for_one_scope_leaves_out_the_other_where_the_scope_is_known() {
    let policy = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*'], scope: SCOPE}]}, validations: [{expression: 'false'}]}}\n---\n{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}\n---\n";
    let objects = "{apiVersion: v1, kind: Namespace, metadata: {name: namespace}}\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: role}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: pod}}\n---\n{apiVersion: x.example.com/v1, kind: Wide, metadata: {name: wide}}\n---\n{apiVersion: x.example.com/v1, kind: Unknown, metadata: {name: unknown}}\n---\n{apiVersion: x.example.com/v1, kind: Unknown, metadata: {name: placed, namespace: a}}\n---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: crd}, spec: {group: x.example.com, scope: Cluster, names: {kind: Wide, plural: wides}}}\n";
    let names = |scope: &str| {
        let found = found(&format!("{}{objects}", policy.replace("SCOPE", scope)));
        let mut names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    };
    assert_eq!(names("Cluster"), ["crd", "namespace", "role", "unknown", "wide"]);
    assert_eq!(names("Namespaced"), ["placed", "pod", "unknown"]);
    assert_eq!(names("'*'").len(), 7);
    // What may be of the other scope is not left out.
    let excluding = policy.replace("scope: SCOPE}]", "}], excludeResourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*'], scope: Cluster}]");
    let found = found(&format!("{excluding}{objects}"));
    assert_eq!(found.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["pod", "unknown", "placed"]);
}

#[test]
fn a_binding_of_a_policy_that_is_not_there_is_refused() {
    for kind in ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"] {
        let binding = format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}Binding, metadata: {{name: b}}, spec: {{policyName: p, validationActions: [Deny]}}}}"
        );
        let binding =
            if kind.starts_with('M') { binding.replace(", validationActions: [Deny]", "") } else { binding };
        let error = assembled(&binding).unwrap_err();
        assert_eq!(error, format!("x:1: /spec/policyName: there is no {kind} \"p\" among the inputs"));
    }
}

#[test]
fn missing_parameters_deny_or_pass_as_the_binding_says() {
    let text = format!("{POLICY}{OBJECTS}");
    assert!(found(&text)[0].1.contains("no params found"));
    assert_eq!(found(&text.replace("parameterNotFoundAction: Deny", "parameterNotFoundAction: Allow")), []);
}

/// A reference without a namespace is one into the namespace of the request.
#[test]
fn parameters_are_those_of_the_objects_namespace() {
    let limit = |namespace: &str, max: u32| {
        format!(
            "---\n{{apiVersion: rules.example.com/v1, kind: Limit, metadata: {{name: few, namespace: {namespace}}}, max: {max}}}\n"
        )
    };
    let both = format!("{POLICY}{}{}{OBJECTS}", limit("shop", 9), limit("other", 1));
    assert_eq!(found(&both), []);
    let other = format!("{POLICY}{}{OBJECTS}", limit("other", 1));
    assert!(found(&other)[0].1.contains("no params found"));
    let named = other.replace("paramRef: {name", "paramRef: {namespace: other, name");
    assert_eq!(found(&named), [("a".to_owned(), "at most 1".to_owned())]);
    let unplaced = other.replace("namespace: shop, ", "");
    assert!(found(&unplaced)[0].1.contains("cannot use namespaced paramRef"));
    let ignoring = other.replace("  paramKind:", "  failurePolicy: Ignore\n  paramKind:");
    assert_eq!(found(&ignoring), []);
}

#[test]
fn selectors_of_policy_and_binding_narrow_it() {
    let text = format!("{POLICY}{LIMIT}{OBJECTS}");
    for (selector, count) in [("{team: one}", 1), ("{team: two}", 0)] {
        let block =
            format!("matchResources: {{objectSelector: {{matchLabels: {selector}}}}}, policyName: replicas");
        assert_eq!(found(&text.replace("policyName: replicas", &block)).len(), count, "{selector}");
    }
}

/// Both actions take place, and a user notices the warning.
#[test]
fn a_binding_that_warns_and_audits_warns() {
    for actions in ["[Warn, Audit]", "[Audit, Warn]", "[Warn]"] {
        let text = [&POLICY.replace("[Deny, Audit]", actions), LIMIT, OBJECTS].concat();
        let assembly = assembled(&text).unwrap();
        let options = JudgeOptions { unplaced: Unplaced::Nowhere, in_turn: true, times: None };
        let violations = judge(&assembly, options, &Progress::new(1, "objects"));
        let found = violations.iter().map(|violation| violation.overridden).collect::<Vec<_>>();
        assert_eq!(found, [Some(Action::Warn)], "{actions}");
    }
}

#[test]
fn what_keeps_a_policy_from_judging_is_named() {
    let unbound = POLICY.split("---").next().unwrap();
    let assembly = assembled(unbound).unwrap();
    assert!(assembly.warnings[0].diagnostic.message.contains("binds this policy"));
    for (from, to, expected) in [
        ("params.max, ", "parms.max, ", "/spec/validations/0/expression:1:"),
        ("policyName: replicas", "policyName: other", "there is no ValidatingAdmissionPolicy \"other\""),
        ("[Deny, Audit]", "[Refuse]", "must hold Deny, Warn or Audit"),
        ("[Deny, Audit]", "[Deny, Warn]", "not both Deny and Warn"),
        (
            "name: replicas, expression",
            "name: n, expression",
            "/spec/variables/0/name: must be a string, not false: put it in quotes",
        ),
        (
            "CREATE, UPDATE",
            "CRATE",
            "/operations: must hold CREATE, UPDATE, DELETE, CONNECT, *, not \"CRATE\"",
        ),
        (
            "resourceRules",
            "resourceRule",
            "/spec/matchConstraints/resourceRules: must hold at least one rule",
        ),
        ("resourceRules", "resourceRule", "/spec/matchConstraints/resourceRule: unknown field"),
        (
            "k8s.io/v1\nkind: ValidatingAdmissionPolicy\n",
            "k8s.io/v9\nkind: ValidatingAdmissionPolicy\n",
            "v9 is not a version",
        ),
        ("name: few, param", "param", "must have a name or a selector, and not both"),
        (
            "string(params.max)",
            "string(parms.max)",
            "/spec/validations/0/messageExpression:1:21: undeclared reference to 'parms'",
        ),
        (
            "paramKind: {apiVersion: rules.example.com/v1, kind: Limit}\n  ",
            "",
            "/spec/validations/0/expression:1:23: undeclared reference to 'params' (in container ''): the policy has no paramKind",
        ),
        (
            "object.spec.replicas}",
            "object.spec.`replicas`}",
            "/spec/variables/0/expression:1:13: unsupported syntax: '`'",
        ),
        (
            "  validations:",
            "  auditAnnotations: [{key: k, valueExpression: 'objekt.kind'}]\n  validations:",
            "/spec/auditAnnotations/0/valueExpression:1:1: undeclared reference to 'objekt'",
        ),
    ] {
        let error = assembled(&POLICY.replace(from, to)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn output_names_the_binding_and_its_action() {
    let assembly = assembled(&format!("{POLICY}{LIMIT}")).unwrap();
    let (id, loaded) = assembly.constraints.iter().next().unwrap();
    assert_eq!(id.to_string(), "ValidatingAdmissionPolicy/everywhere");
    assert_eq!(loaded.manifest["spec"]["enforcementAction"], json!("deny"));
}

const MUTATING: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: m}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  reinvocationPolicy: Never
  variables: [{name: few, expression: object.spec.replicas < 2}]
  matchConditions: [{name: c, expression: has(object.spec)}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{spec: Object.spec{replicas: variables.few ? 2 : 3, paused: false}}"}
  - patchType: JSONPatch
    jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'x'}]"}
"#;

#[test]
fn mutating_policies_are_checked_and_said_to_have_no_effect() {
    let assembly = assembled(&format!("{MUTATING}{OBJECTS}")).unwrap();
    let said: Vec<_> = assembly.warnings.iter().map(|warning| warning.diagnostic.to_string()).collect();
    assert_eq!(
        said,
        ["x:2: this MutatingAdmissionPolicy has no effect: they are checked here, and not applied"]
    );
    for (from, to, expected) in [
        (
            "reinvocationPolicy: Never",
            "failurePolicy: Fail",
            "/spec/reinvocationPolicy: must be Never or IfNeeded, not \"\"",
        ),
        (
            "patchType: JSONPatch",
            "patchType: Merge",
            "/spec/mutations/1/patchType: must be ApplyConfiguration or JSONPatch",
        ),
        (
            "patchType: JSONPatch",
            "patchType: ApplyConfiguration",
            "/spec/mutations/1/jsonPatch: must not be set",
        ),
        (
            "variables.few ?",
            "variables.fw ?",
            "/spec/mutations/0/applyConfiguration/expression:1:45: undefined field 'fw'",
        ),
        ("op: 'add'", "op: 'add' +", "/spec/mutations/1/jsonPatch/expression:1:23: "),
        (
            "JSONPatch{op",
            "Patch{op",
            "/spec/mutations/1/jsonPatch/expression:1:7: undeclared reference to 'Patch'",
        ),
        (
            "{op: 'add', ",
            "{operation: 'add', ",
            "/spec/mutations/1/jsonPatch/expression:1:21: undefined field 'operation'",
        ),
        (
            "has(object.spec)",
            "'Object{} == null'",
            "/spec/matchConditions/0/expression:1:7: undeclared reference to 'Object'",
        ),
        (
            "variables.few ?",
            "params.few ?",
            "expression:1:36: undeclared reference to 'params' (in container ''): the policy has no paramKind",
        ),
        ("has(object.spec)", "objekt.spec", "/spec/matchConditions/0/expression"),
        ("matchConstraints:", "other:", "/spec/matchConstraints: is missing"),
        ("reinvocationPolicy: Never", "other: 1", "/spec/other: unknown field: known are failurePolicy, "),
    ] {
        let refused = assembled(&MUTATING.replace(from, to)).unwrap_err();
        assert!(refused.contains(expected) && refused.starts_with("x:2: "), "{to}: {refused}");
    }
}

#[test]
fn what_the_api_server_would_not_store_is_refused() {
    let condition = |name: &str, expression: &str| {
        format!("  matchConditions: [{{name: {name}, expression: '{expression}'}}]\n  validations:")
    };
    let many = (0..65).map(|number| format!("{{name: c{number}, expression: 'true'}}")).collect::<Vec<_>>();
    for (from, to, expected) in [
        ("  validations:", condition("c", "variables.replicas > 1"), "/spec/matchConditions/0/expression:1:10: undefined field 'replicas'"),
        (
            "  validations:",
            format!("  matchConditions: [{}]\n  validations:", many.join(", ")),
            "/spec/matchConditions: must have at most 64 items, not 65",
        ),
        (
            "messageExpression: \"'at most ' + string(params.max)\"",
            "reason: Unauthorized".to_owned(),
            "/spec/validations/0/reason: must be Forbidden or Invalid or RequestEntityTooLarge, not \"Unauthorized\"",
        ),
        (
            "messageExpression: \"'at most ' + string(params.max)\"",
            "message: \"a\\nb\"".to_owned(),
            "/spec/validations/0/message: must not contain line breaks",
        ),
        (
            "messageExpression: \"'at most ' + string(params.max)\"",
            "message: ' '".to_owned(),
            "/spec/validations/0/message: must not be blank",
        ),
        (
            "  validations:",
            "  auditAnnotations: [{key: k, valueExpression: \"'a'\"}, {key: k, valueExpression: \"'b'\"}]\n  validations:"
                .to_owned(),
            "/spec/auditAnnotations/1/key: \"k\" is there twice",
        ),
    ] {
        let refused = assembled(&format!("{}{LIMIT}", POLICY.replace(from, &to))).unwrap_err();
        assert!(refused.contains(expected), "{to}: {refused}");
    }
}

#[test]
fn audit_annotations_are_checked_as_far_as_files_can_say() {
    let variable = "{name: replicas, expression: object.spec.replicas}";
    let annotated = |name: &str, expression: &str| {
        let further = format!("{variable}, {{name: {name}, expression: '1'}}");
        let annotation = format!(
            "  auditAnnotations: [{{key: k, valueExpression: {}}}]\n  validations:",
            json!(expression)
        );
        let policy = POLICY.replace(variable, &further).replace("  validations:", &annotation);
        assembled(&format!("{policy}{LIMIT}"))
    };
    assert!(annotated("expression_0", "string(variables.expression_0)").is_ok());
    assert!(annotated("a", "'a' + authorizer.requestResource.check('get').reason()").is_ok());
    let refused = annotated("a", "string(variables.b)").unwrap_err();
    assert!(
        refused.contains("/spec/auditAnnotations/0/valueExpression:1:17: undefined field 'b'"),
        "{refused}"
    );
}

#[test]
fn the_name_params_may_be_bound_by_a_macro() {
    let policy = POLICY
        .replace("paramKind: {apiVersion: rules.example.com/v1, kind: Limit}\n  ", "")
        .replace("paramRef: {name: few, parameterNotFoundAction: Deny}", "")
        .replace(
            "variables.replicas <= params.max",
            r"'[1].all(params, params > 0) && r''\'' + '' params '' != '''''",
        )
        .replace("string(params.max)", "'3'");
    assert_eq!(found(&format!("{policy}{OBJECTS}")), []);
}

/// Texts, comments and names of macros hold no types, no brackets and no `params`.
#[test]
fn expressions_are_read_by_the_grammar() {
    for expression in [
        r"Object{metadata: Object.metadata{annotations: {'a': r'\'}}}",
        "Object{metadata: Object . metadata{labels: {'a': 'b'}}}",
        ".Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
        "Object{metadata // of the object\n: Object.metadata{labels: {'a': '}'}}}",
        "Object{?spec: has(object.spec) ? optional.of(Object.spec{}) : optional.none()}",
    ] {
        let written = "Object{spec: Object.spec{replicas: variables.few ? 2 : 3, paused: false}}";
        let policy = MUTATING.replace(&format!("\"{written}\""), &json!(expression).to_string());
        assert!(policy != MUTATING && assembled(&format!("{policy}{OBJECTS}")).is_ok(), "{expression}");
    }
    let patch = MUTATING.replace("jsonpatch.escapeKey('a/b')", "jsonpatch . escapeKey('a/b')");
    assert!(patch != MUTATING && assembled(&format!("{patch}{OBJECTS}")).is_ok());
    let number = MUTATING.replace("jsonpatch.escapeKey('a/b')", "jsonpatch.escapeKey(1)");
    assert!(assembled(&number).unwrap_err().contains("no matching overload"));
}
