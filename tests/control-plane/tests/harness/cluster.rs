//! Tests of what may be relied on in a control plane without faults.

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use kube::{Api, Resource, ResourceExt};

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

async fn create<K>(api: &Api<K>, object: &K) -> K
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    api.create(&PostParams::default(), object).await.unwrap()
}

#[tokio::test]
async fn the_server_is_the_pinned_release() {
    let plane = ControlPlane::shared().await.unwrap();
    let version = plane.client().unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, ControlPlane::pinned_version());
    assert_eq!(version.minor, "36");
}

#[tokio::test]
async fn kubectl_is_the_pinned_release_and_reaches_the_server() {
    let plane = ControlPlane::shared().await.unwrap();
    let output = plane.kubectl().args(["version", "--output=json"]).output().await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for side in ["clientVersion", "serverVersion"] {
        assert_eq!(answer[side]["gitVersion"], ControlPlane::pinned_version(), "{side}");
    }
}

#[tokio::test]
async fn rbac_denies_an_impersonated_nobody() {
    let plane = ControlPlane::shared().await.unwrap();
    let nobody = plane.client_as("nobody", &[]).unwrap();
    let error = Api::<Namespace>::all(nobody).list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!(status.code, 403);
    assert!(
        status.message.contains(r#"User "nobody" cannot list resource "namespaces""#),
        "{}",
        status.message
    );
}

#[tokio::test]
async fn groups_are_impersonated_too() {
    let plane = ControlPlane::shared().await.unwrap();
    let master = plane.client_as("somebody", &["system:masters"]).unwrap();
    Api::<Namespace>::all(master).list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_deleted_namespace_goes_with_what_is_in_it() {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let name = plane.namespace("deleted").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(client.clone(), &name);
    let map = create(&maps, &config_map("inside")).await;
    let namespaces = Api::<Namespace>::all(client);
    let uid = namespaces.get(&name).await.unwrap().uid().unwrap();
    namespaces.delete(&name, &DeleteParams::default()).await.unwrap();
    await_condition(maps, "inside", is_deleted(&map.uid().unwrap())).await.unwrap();
    await_condition(namespaces, &name, is_deleted(&uid)).await.unwrap();
}

#[tokio::test]
async fn a_dependent_is_collected_with_its_owner() {
    let plane = ControlPlane::shared().await.unwrap();
    let name = plane.namespace("collected").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(plane.client().unwrap(), &name);
    let owner = create(&maps, &config_map("owner")).await;
    let mut dependent = config_map("dependent");
    dependent.metadata.owner_references = Some(vec![owner.owner_ref(&()).unwrap()]);
    let dependent = create(&maps, &dependent).await;
    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    await_condition(maps, "dependent", is_deleted(&dependent.uid().unwrap())).await.unwrap();
}

#[tokio::test]
async fn a_pod_is_admitted_with_its_service_account_and_stays_pending() {
    let plane = ControlPlane::shared().await.unwrap();
    let name = plane.namespace("pods").await.unwrap();
    let pod: Pod = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "lone"},
        "spec": {"containers": [{"name": "main", "image": "example.com/image"}]},
    }))
    .unwrap();
    let pod = create(&Api::namespaced(plane.client().unwrap(), &name), &pod).await;
    assert_eq!(pod.spec.unwrap().service_account_name.as_deref(), Some("default"));
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Pending"));
}

#[tokio::test]
async fn an_answered_request_is_in_the_audit_log() {
    let plane = ControlPlane::shared().await.unwrap();
    let name = plane.namespace("audited").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(plane.client_as("witness", &["system:masters"]).unwrap(), &name);
    create(&maps, &config_map("seen")).await;
    let log = plane.audit_log().unwrap();
    let events: Vec<_> =
        log.iter().filter(|event| event["objectRef"]["namespace"] == name.as_str()).collect();
    let by_witness: Vec<_> =
        events.iter().filter(|event| event["impersonatedUser"]["username"] == "witness").collect();
    assert_eq!(by_witness.len(), 1, "{events:#?}");
    assert_eq!(by_witness[0]["verb"], "create");
    assert_eq!(by_witness[0]["responseStatus"]["code"], 201);

    let was_created = |log: &[serde_json::Value]| {
        let created =
            |event: &serde_json::Value| event["verb"] == "create" && event["objectRef"]["name"] == "later";
        log.iter().any(created)
    };
    let later = config_map("later");
    let (logged, _) = tokio::join!(plane.audit_log_until(was_created), create(&maps, &later));
    assert!(was_created(&logged.unwrap()));
}
