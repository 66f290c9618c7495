//! Tests of the decisions of templates in CEL, and of the errors found when one is ingested.

use serde_json::json;

use crate::driver::{Budget, Case, CelDriver, CompiledPolicy, Driver, EvalError};
use crate::inventory::Inventory;
use crate::review::{Document, Json, Review};
use crate::target::AdmissionTarget;

fn errors(source: serde_json::Value) -> Vec<String> {
    let errors = CelDriver.compile(&source).map(|_| ()).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

fn judge(source: serde_json::Value, review: &Review, budget: &Budget) -> Result<Vec<String>, EvalError> {
    let program = CelDriver.compile(&source).unwrap();
    let parameters = Json::from_value(&json!({"most": 2})).unwrap();
    let case = Case { review, parameters: &parameters, inventory: &Inventory::default() };
    Ok(program.evaluate(&case, budget)?.into_iter().map(|violation| violation.message).collect())
}

fn messages(source: serde_json::Value, review: &Review) -> Vec<String> {
    judge(source, review, &Budget::default()).unwrap()
}

fn deployment(replicas: i64) -> serde_json::Value {
    let metadata = json!({"name": "web", "namespace": "shop"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas}})
}

fn found(replicas: i64) -> Review {
    AdmissionTarget.object(Document::from_value(&deployment(replicas)).unwrap(), None)
}

fn requested(operation: &str) -> Review {
    let (new, old) = (deployment(3), deployment(1));
    let mut request = json!({"operation": operation, "object": new, "oldObject": old, "namespace": "shop"});
    if operation == "DELETE" {
        request["object"] = json!(null);
    }
    let review = AdmissionTarget.request(&request.to_string()).unwrap();
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}});
    review.into_builder().namespace_object(Document::from_value(&namespace).unwrap()).build()
}

#[test]
fn every_name_has_its_value() {
    let source = json!({
        "variables": [{"name": "replicas", "expression": "variables.anyObject.spec.replicas"}],
        "validations": [
            {"expression": "false", "messageExpression": "'object ' + string(object == null ? 0 : object.spec.replicas)"},
            {"expression": "false", "messageExpression": "'old ' + string(oldObject.spec.replicas)"},
            {"expression": "false", "messageExpression": "'any ' + string(variables.replicas)"},
            {"expression": "false", "messageExpression": "'request ' + request.operation + ' ' + request.namespace"},
            {"expression": "false", "messageExpression": "'most ' + string(variables.params.most)"},
            {"expression": "namespaceObject.metadata.labels['a'] != 'b'", "message": "namespace b"},
            {"expression": "false", "messageExpression": "'namespace ' + namespaceObject.metadata.name"},
        ],
    });
    assert_eq!(
        messages(source.clone(), &requested("UPDATE")),
        ["object 3", "old 1", "any 3", "request UPDATE shop", "most 2", "namespace b", "namespace shop"]
    );
    assert_eq!(
        messages(source, &requested("DELETE")),
        ["object 0", "old 1", "any 1", "request DELETE shop", "most 2", "namespace b", "namespace shop"]
    );
}

#[test]
fn a_message_is_computed_or_stated_or_the_expression() {
    let validation = |computed: &str, stated: &str| json!({"validations": [{"expression": "object.spec.replicas <= 2 ", "message": stated, "messageExpression": computed}]});
    for (computed, stated, expected) in [
        ("'too many: ' + string(object.spec.replicas)", "many", "too many: 3"),
        ("'a\\nb'", "many ", "many"),
        ("' '", "many", "many"),
        ("object.spec.nope", "many", "many"),
        ("string(object.spec.nope)", "", "failed expression: object.spec.replicas <= 2"),
    ] {
        assert_eq!(messages(validation(computed, stated), &found(3)), [expected]);
    }
    assert!(messages(validation("", ""), &found(2)).is_empty());
}

#[test]
fn a_message_that_does_not_compile_is_passed_over() {
    let source = |computed: &str| {
        json!({
            "variables": [{"name": "replicas", "expression": "object.spec.replicas"}],
            "validations": [
                {"expression": "variables.replicas <= 2", "message": "many", "messageExpression": computed},
                {"expression": "false", "messageExpression": "string(variables.replicas)"},
            ],
        })
    };
    for (computed, warned) in [
        ("object.metadata.name", "must evaluate to string but got dyn"),
        ("1", "must evaluate to string but got int"),
        ("'a' +", "Syntax error: mismatched input '<EOF>'"),
        ("nope + 'a'", "undeclared reference to 'nope' (in container '')"),
        ("params.a", "undeclared reference to 'params' (in container '')"),
    ] {
        let program = CelDriver.compile(&source(computed)).unwrap();
        let [warning] = program.warnings() else { panic!("{computed}: {:?}", program.warnings()) };
        assert!(warning.location.starts_with("source/validations/0/messageExpression"), "{warning}");
        assert!(warning.message.starts_with(warned), "{warning}");
        assert_eq!(messages(source(computed), &found(3)), ["many", "3"], "{computed}");
    }
    assert!(CelDriver.compile(&source("'a'")).unwrap().warnings().is_empty());
}

#[test]
fn match_conditions_are_read_under_both_spellings() {
    for spelling in ["matchCondition", "matchConditions"] {
        let source = |expression: &str| {
            json!({
                spelling: [{"name": "some", "expression": expression}],
                "validations": [{"expression": "false", "message": "no"}],
            })
        };
        assert_eq!(messages(source("object.spec.replicas > 2"), &found(3)), ["no"]);
        assert!(messages(source("object.spec.replicas > 2"), &found(2)).is_empty());
        let failed = ["expression 'object.spec.nope == 1' resulted in error: no such key: nope"];
        assert_eq!(messages(source("object.spec.nope == 1"), &found(2)), failed);
    }
}

#[test]
fn an_error_is_a_violation_unless_it_is_ignored() {
    let source = |policy: &str| {
        json!({
            "failurePolicy": policy, "generateVAP": true,
            "variables": [{"name": "broken", "expression": "object.spec.nope"}],
            "validations": [
                {"expression": "variables.broken == 1", "reason": "Invalid"},
                {"expression": "object.spec.replicas == 1", "message": "one"},
            ],
        })
    };
    let broken = "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to \
                  evaluate: no such key: nope";
    assert_eq!(messages(source("Fail"), &found(3)), [broken, "one"]);
    assert_eq!(messages(source("Ignore"), &found(3)), ["one"]);
}

#[test]
fn an_internal_error_is_no_answer_whatever_the_failure_policy() {
    for policy in ["Fail", "Ignore"] {
        let source = json!({"failurePolicy": policy, "validations": [{"expression": "ghost || true"}]});
        let environment = super::environment().with("ghost", cel_compat::Type::Dyn);
        let program = super::compile(&source, environment, super::Messages::MayFail).unwrap();
        let (review, parameters) = (found(1), Json::from_value(&json!({})).unwrap());
        let case = Case { review: &review, parameters: &parameters, inventory: &Inventory::default() };
        let outcome = CompiledPolicy::evaluate(&program, &case, &Budget::default());
        assert!(
            matches!(outcome, Err(EvalError::Cel(cel_compat::EvalError::Internal(_)))),
            "{policy}: {outcome:?}"
        );
    }
}

#[test]
fn an_exhausted_budget_is_an_error_of_its_own() {
    let expression = "lists.range(100000).all(x, lists.range(100000).all(y, true))";
    let source = |policy: &str| json!({"failurePolicy": policy, "validations": [{"expression": expression}]});
    let small = Budget::default().with_instructions(10_000);
    let outcome = judge(source("Fail"), &found(1), &small);
    assert!(matches!(outcome, Err(EvalError::Cel(cel_compat::EvalError::Budget(_)))), "{outcome:?}");
    assert!(judge(source("Ignore"), &found(1), &small).unwrap().is_empty());
}

#[test]
fn all_mistakes_are_found_at_once_with_their_places() {
    let source = json!({
        "variables": [
            {"name": "params", "expression": "1"},
            {"name": "gatekeeper_internal_x", "expression": "1"},
            {"name": "a b", "expression": " "},
        ],
        "matchConditions": [{"name": "gatekeeper_internal_y", "expression": "true"}],
        "validations": [],
    });
    let places: Vec<_> =
        errors(source).iter().map(|error| error.split(": ").next().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        places,
        [
            "source/validations",
            "source/variables/0/name",
            "source/variables/1/name",
            "source/variables/2/name",
            "source/variables/2/expression",
            "source/matchConditions/0/name",
        ]
    );
    let source = json!({
        "variables": [{"name": "bad", "expression": "object.("}, {"name": "late", "expression": "variables.bad"}],
        "validations": [
            {"expression": "objekt.a\n  && variables.none == authorizer"},
            {"expression": "object.spec.replicas"},
            {"expression": "object.name.matches('(')"},
            {"expression": "params.a == nope(1)"},
        ],
    });
    assert_eq!(
        errors(source),
        [
            "source/variables/0/expression:1:8: Syntax error: no viable alternative at input '.('",
            "source/validations/0/expression:1:1: undeclared reference to 'objekt' (in container '')",
            "source/validations/0/expression:2:15: undefined field 'none': no variable of that name is declared above",
            "source/validations/0/expression:2:24: undeclared reference to 'authorizer' (in container ''): a policy has no authorizer \
             here: it is judged by audits and files too",
            "source/validations/1/expression: must evaluate to bool but got dyn",
            "source/validations/2/expression:1:21: invalid matches argument",
            "source/validations/3/expression:1:1: undeclared reference to 'params' (in container ''): use variables.params, which is \
             the constraint's spec.parameters",
            "source/validations/3/expression:1:17: undeclared reference to 'nope' (in container '')",
        ]
    );
}

#[test]
fn unknown_fields_and_policies_are_refused() {
    let misspelt = errors(json!({"validations": [{"expresion": "true"}]}));
    assert!(misspelt[0].contains("unknown field `expresion`"), "{misspelt:?}");
    let policy = errors(json!({"failurePolicy": "ignore", "validations": [{"expression": "true"}]}));
    assert!(policy[0].starts_with("source/failurePolicy: "), "{policy:?}");
}
