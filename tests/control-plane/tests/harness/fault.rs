//! Components that stop, crash and freeze.

use std::pin::pin;
use std::time::Duration;

use control_plane::{Component, ControlPlane, Error, Options};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

async fn create_config_map(client: Client, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    Api::default_namespaced(client).create(&PostParams::default(), &map).await.unwrap();
}

async fn exists(client: Client, name: &str) -> bool {
    Api::<ConfigMap>::default_namespaced(client).get_opt(name).await.unwrap().is_some()
}

#[tokio::test]
async fn a_restarted_server_keeps_its_address_and_its_objects() {
    let mut plane = ControlPlane::start().await.unwrap();
    let client = plane.client().unwrap();
    create_config_map(client.clone(), "kept").await;

    plane.stop(Component::ApiServer).await.unwrap();
    assert!(plane.process_id(Component::ApiServer).is_none());
    assert!(client.apiserver_version().await.is_err(), "nobody listens");
    plane.restart(Component::ApiServer).await.unwrap();
    assert!(exists(client.clone(), "kept").await);

    plane.kill(Component::Etcd);
    plane.restart(Component::Etcd).await.unwrap();
    plane.ready(Component::ApiServer).await.unwrap();
    assert!(exists(client, "kept").await, "written without fsync, and the machine did not lose power");
}

#[tokio::test]
async fn a_paused_server_answers_after_it_is_resumed() {
    let mut plane = ControlPlane::start().await.unwrap();
    let client = plane.client().unwrap();
    plane.pause(Component::ApiServer).unwrap();
    let mut request = pin!(client.apiserver_version());
    // Cannot fail by slowness: a frozen process answers at no time.
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut request).await.is_err());
    plane.resume(Component::ApiServer).unwrap();
    request.await.unwrap();
}

#[tokio::test]
async fn a_paused_component_can_be_restarted_and_a_stopped_one_not_resumed() {
    let mut plane = ControlPlane::start().await.unwrap();
    plane.pause(Component::ControllerManager).unwrap();
    plane.restart(Component::ControllerManager).await.unwrap();
    plane.namespace("served").await.expect("service accounts are made again");

    plane.stop(Component::ControllerManager).await.unwrap();
    let error = plane.resume(Component::ControllerManager).unwrap_err();
    assert!(matches!(error, Error::NotRunning { component: Component::ControllerManager }), "{error}");
}

#[tokio::test]
async fn two_run_side_by_side() {
    let (one, other) = tokio::try_join!(ControlPlane::start(), ControlPlane::start()).unwrap();
    create_config_map(one.client().unwrap(), "here").await;
    assert!(exists(one.client().unwrap(), "here").await);
    assert!(!exists(other.client().unwrap(), "here").await);
}

#[tokio::test]
async fn a_component_that_ends_by_itself_shows_its_log() {
    let error = Options::default().api_server_flag("--no-such-flag").start().await.unwrap_err();
    assert!(matches!(error, Error::Exited { component: Component::ApiServer, .. }), "{error}");
    assert!(error.to_string().contains("unknown flag: --no-such-flag"), "{error}");
}
