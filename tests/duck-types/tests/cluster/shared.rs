//! Shared stores and discovery in a cluster.

use duck_types::contract::ContractSpec;
use duck_types::{CancellationToken, DuckStores, StoreError};
use kube::core::GroupVersionKind;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_callers_share_one_store_and_see_changes() {
    let (client, namespace) = pond("stores", json!({"delivery": {"speed": 1}})).await;
    let (stores, driver) = DuckStores::<Delivery>::new(client.clone());
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let resource = resource();
    let (one, other) = futures::join!(stores.get(&resource), stores.get(&resource));
    let (one, other) = (one.unwrap(), other.unwrap());
    let find = |store: &kube::runtime::reflector::Store<duck_types::Projected<Delivery>>| {
        store.find(|object| kube::Resource::meta(object).namespace.as_ref() == Some(&namespace)).unwrap()
    };
    assert!(std::sync::Arc::ptr_eq(&find(&one), &find(&other)), "the same object in memory");
    assert_eq!(find(&one).view().unwrap().0, fields(json!({"speed": 1})));
    shutdown.cancel();
    driver.await.unwrap();
    assert!(matches!(stores.get(&resource).await, Err(StoreError::ShutDown)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_does_not_exist_fails_early_and_is_tried_again() {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let (stores, driver) = DuckStores::<Delivery>::new(client.clone());
    let driver = tokio::spawn(driver.run(CancellationToken::new()));
    let late = ApiResource::from_gvk(&GroupVersionKind::gvk("late.test.webtroller.dev", "v1", "Pond"));
    assert!(matches!(stores.get(&late).await, Err(StoreError::List { plural, .. }) if plural == "ponds"));
    let mut crd = crd();
    crd["metadata"] = json!({"name": "ponds.late.test.webtroller.dev"});
    crd["spec"]["group"] = json!("late.test.webtroller.dev");
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    let established = await_condition(crds, "ponds.late.test.webtroller.dev", is_crd_established());
    timeout(LONG, established).await.unwrap().unwrap();
    assert!(stores.get(&late).await.unwrap().state().is_empty(), "the failure was not kept");
    drop(stores);
    driver.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_are_found_by_the_label_of_their_definition() {
    let (client, _) = pond("providers", json!({})).await;
    let contract = ContractSpec::new("pond", "ducks.test.webtroller.dev").version("v1", []).version("v2", []);
    let found = contract.providers(&client).await.unwrap();
    let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].resource, found[0].contract_version.as_str()), (&resource(), "v1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_of_a_provider_reach_its_consumer() {
    use duck_types::rbac::{Access, aggregated_cluster_role, provider_role};
    use k8s_openapi::api::rbac::v1::ClusterRole;

    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let roles: Api<ClusterRole> = Api::all(client);
    let label = [("ducks.test.webtroller.dev/probe", "true")];
    let access = Access::to_write(&Probe::PLACE);
    let provider = access.into_iter().fold(provider_role("pond-probe", label), |role, access| {
        role.allow("ducks.test.webtroller.dev", "ponds", access)
    });
    for role in [aggregated_cluster_role("probe-consumer", label), provider.build()] {
        let name = role["metadata"]["name"].as_str().unwrap().to_owned();
        roles.patch(&name, &PatchParams::apply("test"), &Patch::Apply(role)).await.unwrap();
    }
    let granted = |role: Option<&ClusterRole>| {
        let rules = role.and_then(|role| role.rules.as_ref());
        rules
            .is_some_and(|rules| rules.iter().any(|rule| rule.resources == Some(vec!["ponds/status".into()])))
    };
    timeout(LONG, await_condition(roles, "probe-consumer", granted)).await.unwrap().unwrap();
}
