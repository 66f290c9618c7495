//! Properties of every declaration and every audit log.

#![allow(missing_docs, clippy::indexing_slicing, clippy::unwrap_used, reason = "a test says no by panicking")]

use std::collections::BTreeSet;

use controller_declaration::{Call, Declaration, DeclaredAccess, check, of_user};
use proptest::prelude::*;
use serde_json::{Value, json};

const VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
const GROUPS: [&str; 3] = ["", "apps", "example.com"];
const RESOURCES: [&str; 5] = ["machines", "machines/status", "pods", "pods/scale", "secrets"];

fn call() -> impl Strategy<Value = Call> {
    let pick = |all: &'static [&'static str]| proptest::sample::select(all);
    (pick(&GROUPS), pick(&RESOURCES), pick(&VERBS))
        .prop_map(|(group, resource, verb)| Call::new(group, resource, verb))
}

fn calls() -> impl Strategy<Value = BTreeSet<Call>> {
    proptest::collection::btree_set(call(), 0..12)
}

fn declaration(calls: &BTreeSet<Call>) -> Declaration {
    let access = |call: &Call| {
        let verb = [call.verb.as_str()];
        let access = match call.resource.split_once('/') {
            Some((resource, subresource)) => {
                DeclaredAccess::to(&call.group, resource).verbs_on(subresource, verb)
            }
            None => DeclaredAccess::to(&call.group, &call.resource).verbs(verb),
        };
        // Any split between the two roles.
        if call.resource.len().is_multiple_of(2) { access.everywhere() } else { access }
    };
    calls.iter().map(access).fold(Declaration::new("c", "A controller."), Declaration::access)
}

/// As the API server logs it: the core group and an absent subresource are left out.
fn event(call: &Call, code: u16) -> Value {
    let (resource, subresource) = call.resource.split_once('/').unwrap_or((&call.resource, ""));
    let mut at = json!({"resource": resource});
    for (key, value) in [("apiGroup", call.group.as_str()), ("subresource", subresource)] {
        if !value.is_empty() {
            at[key] = value.into();
        }
    }
    json!({"verb": call.verb, "objectRef": at, "responseStatus": {"code": code}, "user": {"username": "c"}})
}

proptest! {
    #[test]
    fn what_is_listed_is_the_difference_of_the_two_sets(declared in calls(), made in calls(), code in 200_u16..600) {
        let code = if code == 201 { 200 } else { code };
        let log: Vec<_> = made.iter().map(|call| event(call, code)).collect();
        let report = check(&declaration(&declared), &log);
        prop_assert_eq!(&report.undeclared, &made.difference(&declared).cloned().collect());
        prop_assert_eq!(&report.unexercised, &declared.difference(&made).cloned().collect());
        prop_assert_eq!(report.is_empty(), declared == made);
        prop_assert_eq!(report.to_string().is_empty(), declared == made);
        prop_assert_eq!(report.into_result().is_ok(), declared == made);
    }

    #[test]
    fn the_roles_grant_what_is_declared_and_nothing_else(declared in calls()) {
        let declaration = declaration(&declared);
        let mut rules = declaration.role("shop").rules.unwrap();
        rules.extend(declaration.cluster_role().and_then(|role| role.rules).unwrap_or_default());
        let mut granted = BTreeSet::new();
        for rule in rules {
            for group in rule.api_groups.unwrap() {
                for resource in rule.resources.clone().unwrap() {
                    granted.extend(rule.verbs.iter().map(|verb| Call::new(&group, &resource, verb)));
                }
            }
        }
        prop_assert_eq!(granted, declared);
    }

    #[test]
    fn only_the_events_of_the_user_count(mine in calls(), others in calls()) {
        let mut log: Vec<_> = mine.iter().map(|call| event(call, 200)).collect();
        log.extend(others.iter().map(|call| {
            let mut event = event(call, 200);
            event["impersonatedUser"] = json!({"username": "other"});
            event
        }));
        let report = check(&declaration(&mine), of_user(&log, "c"));
        prop_assert!(report.is_empty(), "{}", report);
    }
}

#[test]
fn an_apply_that_creates_uses_create_too() {
    let created = event(&Call::new("", "machines", "patch"), 201);
    let patches = Declaration::new("c", "").access(DeclaredAccess::to("", "machines").verbs(["patch"]));
    let report = check(&patches, [&created]);
    assert_eq!(report.to_string(), "not declared: create machines");
    let creates = patches.access(DeclaredAccess::to("", "machines").creates());
    assert!(check(&creates, [&created]).is_empty());
}

#[test]
fn discovery_is_everyones_and_other_paths_are_not() {
    let path = |path: &str| json!({"verb": "get", "requestURI": path});
    let nothing = Declaration::new("c", "");
    let report = check(&nothing, &[path("/apis"), path("/api/v1?timeout=1s"), path("/version")]);
    assert!(report.is_empty(), "{report}");
    assert_eq!(check(&nothing, [&path("/metrics")]).to_string(), "not declared: get /metrics");
}

#[test]
fn a_call_that_the_authorizer_refused_is_forbidden_and_one_that_admission_refused_is_not() {
    let mut refused = event(&Call::new("", "pods", "create"), 403);
    let declaration = Declaration::new("c", "").access(DeclaredAccess::to("", "pods").creates());
    refused["annotations"] = json!({"authorization.k8s.io/decision": "allow"});
    assert!(check(&declaration, [&refused]).is_empty());
    refused["annotations"] = json!({"authorization.k8s.io/decision": "forbid"});
    assert_eq!(check(&declaration, [&refused]).to_string(), "forbidden: create pods");
}

#[test]
fn fields_are_judged_when_the_log_has_bodies() {
    let machines = DeclaredAccess::to("example.com", "machines")
        .writes(["/status/ready", "/spec"])
        .adds_finalizer("x/a");
    let declaration = Declaration::new("c", "").access(machines);
    let (patch, status) =
        (Call::new("example.com", "machines", "patch"), Call::new("example.com", "machines/status", "patch"));
    let mut log = [event(&patch, 200), event(&status, 200)];
    let unjudged = check(&declaration, &log);
    assert!(unjudged.is_empty() && unjudged.bodies == 0, "{unjudged}");

    log[0]["requestObject"] = json!({"metadata": {"name": "a", "finalizers": ["x/b"]}, "spec": {"cores": 4}});
    log[1]["requestObject"] = json!({"status": {"ready": true, "phase": "x"}});
    let report = check(&declaration, &log);
    assert_eq!(
        report.to_string(),
        "written and not declared: /metadata/finalizers/x~1b of machines.example.com\n\
         written and not declared: /status/phase of machines.example.com\n\
         declared and never written: /metadata/finalizers/x~1a of machines.example.com"
    );
    assert_eq!(report.bodies, 2);
}
