//! Time of a view and memory of projected objects, beside those of `DynamicObject`. Prints both ratios.
//!
//! `DUCK_OBJECTS` is the number of objects in memory, 2,000 by default: a `DynamicObject` needs some 80 kB.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::arithmetic_side_effects, missing_docs)]

use std::alloc::System;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cap::Cap;
use duck_types::{Duck, Projected, ready::Conditions};
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::DynamicObject;
use serde_json::{Value, json};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// A Deployment as the API server returns it, managed fields included.
fn deployment(index: usize, environment: usize) -> Value {
    let variables: Vec<Value> = (0..environment)
        .map(|at| json!({"name": format!("VARIABLE_{at}"), "value": "x".repeat(40)}))
        .collect();
    let owned: Value = (0..12).map(|at| (format!("f:field{at}"), json!({"f:inner": {}, ".": {}}))).collect();
    let container = json!({
        "name": "main", "image": "registry.example.com/team/app:1.2.3", "env": variables,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    });
    let condition = |name: &str| {
        json!({
            "type": name, "status": "True", "reason": "MinimumReplicasAvailable", "message": "enough replicas",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
        })
    };
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": format!("app-{index}"), "namespace": "team", "uid": format!("0000-{index}"), "resourceVersion": "12345",
            "labels": {"app": "app", "team": "team", "version": "1"},
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "managedFields": [
                {"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": owned}},
                {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:status": owned}},
            ],
        },
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "app"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"metadata": {"labels": {"app": "app"}}, "spec": {"containers": [container], "restartPolicy": "Always"}},
        },
        "status": {"replicas": 3, "observedGeneration": 1, "conditions": [condition("Available"), condition("Progressing")]},
    })
}

/// The shortest of many runs: what the machine does besides only adds.
fn shortest<I, R>(runs: usize, input: impl Fn() -> I, work: impl Fn(I) -> R) -> Duration {
    let run = |_| {
        let input = input();
        let begun = Instant::now();
        let result = work(input);
        let time = begun.elapsed();
        black_box(result);
        time
    };
    (0..runs).map(run).min().unwrap()
}

/// One test, because the heap is counted for the whole process.
#[test]
fn figures() {
    time_of_a_view_and_of_parsing_the_object();
    projected_objects_need_a_seventh_of_the_memory();
}

fn time_of_a_view_and_of_parsing_the_object() {
    let value = deployment(0, 2750);
    let bytes = serde_json::to_vec(&value).unwrap().len();
    assert!((200_000..230_000).contains(&bytes), "{bytes} bytes");
    let object: DynamicObject = serde_json::from_value(value).unwrap();
    let duck = Duck::<Conditions>::from(object.clone());
    let parse = shortest(50, || object.clone(), |object| object.try_parse::<Deployment>().unwrap());
    let view = shortest(500, || (), |()| duck.view().unwrap());
    let ratio = parse.as_secs_f64() / view.as_secs_f64();
    println!("{bytes} bytes: try_parse {parse:?}, view {view:?}: 1/{ratio:.0}");
    assert!(ratio >= 20.0, "1/{ratio:.0}");
}

fn heap_of<T>(count: usize, make: impl Fn(usize) -> T) -> usize {
    let mut objects = Vec::with_capacity(count);
    let before = HEAP.allocated();
    objects.extend((0..count).map(make));
    let used = HEAP.allocated() - before + count * size_of::<T>();
    drop(black_box(objects));
    used
}

fn projected_objects_need_a_seventh_of_the_memory() {
    let count = std::env::var("DUCK_OBJECTS").map_or(2_000, |text| text.parse().unwrap());
    let parse = |index| serde_json::to_string(&deployment(index, 8)).unwrap();
    let projected =
        heap_of(count, |index| serde_json::from_str::<Projected<Conditions>>(&parse(index)).unwrap());
    let dynamic = heap_of(count, |index| serde_json::from_str::<DynamicObject>(&parse(index)).unwrap());
    let percent = 100.0 * projected as f64 / dynamic as f64;
    println!(
        "{count} objects: DynamicObject {:.1} MB, Projected {:.1} MB: {percent:.1} %",
        dynamic as f64 / 1e6,
        projected as f64 / 1e6
    );
    assert!(percent <= 15.0, "{percent:.1} %");
}
