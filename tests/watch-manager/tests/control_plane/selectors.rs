//! Field selectors on a real API server: it grants access by them, and knows the defaults of absent fields.

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;

use super::*;

/// A user may list and watch the named objects of a resource: in a namespace, or in the cluster.
async fn allow_names(
    admin: &Client,
    user: &str,
    namespace: Option<&str>,
    (group, resource, name): (&str, &str, &str),
) {
    let prefix = if namespace.is_some() { "" } else { "Cluster" };
    let role = json!({"kind": format!("{prefix}Role"), "metadata": {"name": user},
        "rules": [{"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": ["list", "watch"]}]});
    let binding = json!({"kind": format!("{prefix}RoleBinding"), "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": format!("{prefix}Role"), "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    for mut object in [role, binding] {
        let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", object["kind"].as_str().unwrap());
        let resource = ApiResource::from_gvk(&gvk);
        object["apiVersion"] = json!(gvk.api_version());
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(admin.clone(), namespace, &resource),
            None => Api::all_with(admin.clone(), &resource),
        };
        apply(&api, object).await;
    }
}

#[tokio::test]
async fn a_role_with_resource_names_suffices_for_one_object_whatever_others_ask_for() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let (home, user) = ("watch-manager-names", "by-name");
    apply::<Namespace>(&Api::all(admin.clone()), namespace(home)).await;
    allow_names(&admin, user, Some(home), ("", "configmaps", "settings")).await;
    let maps: Api<ConfigMap> = Api::namespaced(admin.clone(), home);
    let settings = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"key": value}});
    apply(&maps, settings("old")).await;

    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let (manager, _driver) = manage(plane.client_as(user, &[]).unwrap(), Config::default());
    let mut one = manager.registrar("one").unwrap();
    let interest = Interest::new(kind.clone()).namespaces([home]);
    one.add(interest.clone().fields("metadata.name=settings")).ready_within(PATIENCE).await.unwrap();
    assert_eq!(next_object(&mut one).await, "apply settings");
    let mut two = manager.registrar("two").unwrap();
    let _ = two.add(interest);
    status(&mut two, GvkStatus::is_stuck).await;
    apply(&maps, settings("new")).await;
    assert_eq!(next_object(&mut one).await, "apply settings");
    assert!(one.status(&kind).unwrap().is_ready() && two.status(&kind).unwrap().is_stuck());
}

/// The manager's own watch of definitions is refused, and takes nothing from the user's watch of one.
#[tokio::test]
async fn a_right_to_one_definition_suffices_while_another_kind_is_not_served() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let gadgets = Gadgets::new(admin.clone(), "one-definition.example.com");
    let (user, name) = ("one-definition", "gadgets.one-definition.example.com");
    allow_names(&admin, user, None, ("apiextensions.k8s.io", "customresourcedefinitions", name)).await;
    gadgets.define("gadgets").await;

    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let (manager, _driver) = manage(plane.client_as(user, &[]).unwrap(), Config::default());
    let (mut one, mut other) = (manager.registrar("one").unwrap(), manager.registrar("other").unwrap());
    let handle = one.add(Interest::new(kind.clone()).fields(format!("metadata.name={name}")));
    handle.ready_within(PATIENCE).await.unwrap();
    // What is deleted before it was read is not mentioned.
    assert_eq!(next_object(&mut one).await, format!("apply {name}"));
    let _ = other.add(GroupVersionKind::gvk("not-served.example.com", "v1", "Gizmo"));
    let all = other.add(kind.clone());
    status(&mut other, GvkStatus::is_stuck).await;
    gadgets.undefine("gadgets").await;
    while next_object(&mut one).await != format!("delete {name}") {}
    assert!(handle.status().unwrap().is_ready() && all.status().unwrap().is_stuck());
}

#[tokio::test]
async fn an_absent_field_has_the_servers_default_alone_and_beside_others() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let nodes: Api<Node> = Api::all(admin.clone());
    let node = |unschedulable: Option<bool>| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "default-fields", "labels": {"default-fields": "yes"}},
            "spec": {"unschedulable": unschedulable}})
    };
    apply(&nodes, node(None)).await;
    let kind = GroupVersionKind::gvk("", "v1", "Node");
    let (manager, _driver) = manage(admin, Config::default());
    let interest = || Interest::new(kind.clone()).labels(Expression::Exists("default-fields".to_owned()));
    let mut one = manager.registrar("one").unwrap();
    let handle = one.add(interest().fields("spec.unschedulable=false"));
    assert_eq!(next_object(&mut one).await, "apply default-fields", "alone");
    let (two, mut three) = (manager.registrar("two").unwrap(), manager.registrar("three").unwrap());
    two.add(interest()).ready_within(PATIENCE).await.unwrap();
    let _ = three.add(interest().fields("spec.unschedulable=false"));
    assert_eq!(next_object(&mut three).await, "apply default-fields", "beside others");

    apply(&nodes, node(Some(true))).await;
    while next_object(&mut one).await != "delete default-fields" {}
    apply(&nodes, node(None)).await;
    assert_eq!(next_object(&mut one).await, "apply default-fields");
    assert!(handle.store().get(None, "default-fields").is_some());
}
