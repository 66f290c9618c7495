//! Objects and writers that do not do what most do.

use super::*;

/// A kind without a status subresource: its status is written with the rest of the object.
async fn puddle() -> (kube::Client, ApiResource, String) {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let group = "puddles.test.webtroller.dev";
    let name = format!("ponds.{group}");
    let mut crd = crd();
    crd["metadata"] = json!({"name": name});
    crd["spec"]["group"] = json!(group);
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("subresources");
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(crd)).await.unwrap();
    timeout(LONG, await_condition(crds, &name, is_crd_established())).await.unwrap().unwrap();
    let namespace = plane.namespace("puddle").await.unwrap();
    (client, ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", "Pond")), namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_without_a_subresource_is_written_with_the_object() {
    let (client, resource, namespace) = puddle().await;
    let sizes: Api<Duck<Sizes>> = Api::namespaced_with(client, &namespace, &resource);
    let apply = Write::Apply { resource: &resource, manager: "sizer" };
    for (size, write) in (2..).zip([apply, JSON, MERGE, LEAVES]) {
        let name = format!("puddle-{size}");
        let object = DynamicObject::new(&name, &resource).data(json!({"spec": {"other": 1}}));
        let object = sizes.create(&PostParams::default(), &object.into()).await.unwrap();
        let both = |sizes: &mut Sizes| (sizes.spec.size, sizes.status.size) = (Some(size), Some(size + 10));
        let stored = object.apply_or_default(&sizes, write, both).await.unwrap();
        assert_eq!(stored.object().data["spec"], json!({"size": size, "other": 1}), "{write:?}");
        assert_eq!(stored.object().data["status"], json!({"size": size + 10}), "{write:?}");
        let only = |sizes: &mut Sizes| sizes.status.size = None;
        let stored = stored.apply(&sizes, write, only).await.unwrap();
        assert_eq!(stored.view().unwrap().status.size, None, "{write:?}");
        assert_eq!(stored.view().unwrap().spec.size, Some(size), "{write:?}");
        sizes.delete(&name, &DeleteParams::default()).await.unwrap();
        let error = stored.apply(&sizes, write, both).await.unwrap_err();
        assert!(matches!(error, ApplyError::Stale(StaleError::Deleted)), "{write:?}: {error:?}");
    }
}

/// The apply of the object carries the status as well, which a kind with a status subresource must ignore there.
#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_in_the_status_leaves_the_object_written() {
    let (client, namespace) = pond("partial", json!({})).await;
    let (sizes, resource) = (api::<Sizes>(&client, &namespace), resource());
    merge_status(&client, &namespace, json!({"size": 1})).await;
    let write = Write::Apply { resource: &resource, manager: "sizer" };
    let both = |sizes: &mut Sizes| (sizes.spec.size, sizes.status.size) = (Some(2), Some(2));
    let error = sizes.get("pond").await.unwrap().apply(&sizes, write, both).await.unwrap_err();
    let ApplyError::Partial { written: duck_types::Endpoint::Object, source } = &error else {
        panic!("{error:?}")
    };
    let ApplyError::Conflict(conflicts) = &**source else { panic!("{error:?}") };
    assert_eq!(conflicts[0].field, ".status.size");
    let stored = sizes.get("pond").await.unwrap().view().unwrap();
    assert_eq!((stored.spec.size, stored.status.size), (Some(2), Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_client_removed_is_not_dropped_by_the_server() {
    let (client, namespace) = pond("removed", json!({"delivery": {"speed": 1, "mode": "air"}})).await;
    let ponds = api::<Delivery>(&client, &namespace);
    let old = ponds.get("pond").await.unwrap();
    let other = Patch::Merge(json!({"spec": {"delivery": {"mode": null}}}));
    ponds.patch("pond", &PatchParams::default(), &other).await.unwrap();
    let faster = |delivery: &mut Delivery| drop(delivery.0.insert("speed".into(), json!(2)));
    let stored = old.apply(&ponds, LEAVES, faster).await.unwrap();
    assert_eq!(stored.object().data["spec"]["delivery"], json!({"speed": 2}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_apply_leaves_out_is_not_dropped_by_the_server() {
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
    #[duck(path = "/spec/delivery")]
    struct Speed {
        speed: i32,
    }

    let (client, namespace) = pond("left-out", json!({})).await;
    let (ponds, resource) = (api::<Delivery>(&client, &namespace), resource());
    let write = Write::Apply { resource: &resource, manager: "m" };
    let both = |delivery: &mut Delivery| delivery.0 = fields(json!({"speed": 1, "mode": "air"}));
    ponds.get("pond").await.unwrap().apply_or_default(&ponds, write, both).await.unwrap();
    // The next release of this manager does not know the mode any more.
    let speeds = api::<Speed>(&client, &namespace);
    let stored =
        speeds.get("pond").await.unwrap().apply(&speeds, write, |speed| speed.speed = 2).await.unwrap();
    assert_eq!(stored.object().data["spec"]["delivery"], json!({"speed": 2}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_edit_is_not_called_stale_because_of_another_write() {
    let (client, namespace) = pond("invalid", json!({"size": 1})).await;
    let entries = api::<Entries>(&client, &namespace);
    let entry = |state: &str| Entry { name: "twice".into(), state: state.into() };
    let old = entries.get("pond").await.unwrap();
    let other = Patch::Merge(json!({"spec": {"size": 2}}));
    entries.patch("pond", &PatchParams::default(), &other).await.unwrap();
    let twice = |entries: &mut Entries| entries.0 = vec![entry("a"), entry("b")];
    let error = old.apply_or_default(&entries, LEAVES, twice).await.unwrap_err();
    let ApplyError::Api(kube::Error::Api(status)) = &error else { panic!("{error:?}") };
    assert!(status.message.contains("Duplicate value"), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_keys_and_numbers_are_written_as_they_are() {
    let odd = json!({
        "": 1, "/": "~", "~1": {"~0/": [1]}, "-": -1, "0": 0, "*": true, "metadata": {"uid": "x"}, "\u{0}": "\u{0}",
        "most": i64::MAX, "least": i64::MIN, "beyond": 9_223_372_036_854_776_000_u64,
        "precise": 9_007_199_254_740_993_i64, "small": 5e-324, "large": 1e300, "third": 0.1, "é": "\u{10FFFF}",
    });
    let (client, namespace) = pond("odd", json!({"delivery": {}})).await;
    let ponds = api::<Delivery>(&client, &namespace);
    for write in [JSON, MERGE, LEAVES] {
        let object = ponds.get("pond").await.unwrap();
        let stored = object.apply(&ponds, write, |delivery| delivery.0 = fields(odd.clone())).await.unwrap();
        assert_eq!(stored.object().data["spec"]["delivery"], odd, "{write:?}");
        let write = if matches!(write, Write::Json { .. }) { JSON } else { write };
        let stored = stored.apply(&ponds, write, |delivery| delivery.0.clear()).await.unwrap();
        assert_eq!(stored.object().data["spec"]["delivery"], json!({}), "{write:?}");
    }
    let whole = |delivery: &mut Delivery| {
        delivery.0 = fields(odd.clone());
        delivery.0.retain(|_, value| !value.is_f64());
    };
    let stored = ponds.get("pond").await.unwrap().apply(&ponds, LEAVES, whole).await.unwrap();
    let stored = stored.apply(&ponds, LEAVES, |delivery| delivery.0.clear()).await.unwrap();
    assert_eq!(stored.object().data["spec"]["delivery"], json!({}), "each old value was tested");
}

#[tokio::test(flavor = "multi_thread")]
async fn ducks_of_the_metadata_are_written_by_every_kind_of_patch() {
    use duck_types::ready::{Finalizers, Owner, Owners};
    use k8s_openapi::api::core::v1::Namespace;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
    #[serde(transparent)]
    #[duck(path = "/metadata/labels/example.com~1team")]
    struct Team(Option<String>);

    let (client, namespace) = pond("metadata", json!({})).await;
    let resource = resource();
    let apply = Write::Apply { resource: &resource, manager: "m" };
    let (teams, owners) = (api::<Team>(&client, &namespace), api::<Owners>(&client, &namespace));
    let finalizers = api::<Finalizers>(&client, &namespace);
    // An owner that exists: the garbage collector deletes what only absent ones own.
    let exists = Api::<Namespace>::all(client.clone()).get(&namespace).await.unwrap();
    for write in [JSON, MERGE, LEAVES, apply] {
        let team = teams.get("pond").await.unwrap();
        let team = team.apply_or_default(&teams, write, |team| team.0 = Some("a".into())).await.unwrap();
        assert_eq!(team.object().metadata.labels.as_ref().unwrap()["example.com/team"], "a");
        let team = team.apply(&teams, write, |team| team.0 = None).await.unwrap();
        assert!(team.view().unwrap_err().is_missing(), "{write:?}");

        let owner = Owner {
            api_version: "v1".into(),
            kind: "Namespace".into(),
            name: namespace.clone(),
            uid: exists.metadata.uid.clone().unwrap(),
            ..Owner::default()
        };
        let owned = owners.get("pond").await.unwrap();
        let owned = owned.apply_or_default(&owners, write, |owners| owners.set(owner)).await.unwrap();
        assert_eq!(owned.view().unwrap().0[0].name, namespace);
        owned.apply(&owners, write, |owners| owners.0.clear()).await.unwrap();

        let kept = finalizers.get("pond").await.unwrap();
        let kept =
            kept.apply_or_default(&finalizers, write, |list| list.add("example.com/keep")).await.unwrap();
        kept.apply(&finalizers, write, |list| list.remove("example.com/keep")).await.unwrap();
    }
}

/// RFC 7386 keeps the nulls in lists. The API server keeps those that are elements only, so no merge patch has another.
#[tokio::test(flavor = "multi_thread")]
async fn a_merge_patch_loses_the_nulls_of_objects_in_lists() {
    let (client, namespace) = pond("merged", json!({"delivery": {}})).await;
    let list = json!([null, {"a": null, "b": [null, {"c": null}]}]);
    let patch = Patch::Merge(json!({"spec": {"delivery": {"list": list}}}));
    let stored = plain(&client, &namespace).patch("pond", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(stored.data["spec"]["delivery"]["list"], json!([null, {"b": [null, {}]}]));

    let ponds = api::<Delivery>(&client, &namespace);
    let set = |delivery: &mut Delivery| drop(delivery.0.insert("list".into(), list.clone()));
    let error = ponds.get("pond").await.unwrap().apply(&ponds, MERGE, set).await.unwrap_err();
    assert!(matches!(error, ApplyError::Duck(duck_types::DuckError::Unwritable { .. })), "{error:?}");
    let stored = ponds.get("pond").await.unwrap().apply(&ponds, JSON, set).await.unwrap();
    assert_eq!(stored.object().data["spec"]["delivery"]["list"], list);
}

/// More changes than a JSON patch may have operations, in more than a megabyte.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_changed_by_every_kind_of_patch() {
    let (client, namespace) = pond("long", json!({"delivery": {}})).await;
    let ponds = api::<Delivery>(&client, &namespace);
    for (letter, write) in ["a", "b", "c", "d"].into_iter().zip([JSON, JSON, LEAVES, MERGE]) {
        let long: Vec<String> = (0..6_000).map(|index| format!("{index}{}", letter.repeat(160))).collect();
        let set = |delivery: &mut Delivery| drop(delivery.0.insert("list".into(), json!(long)));
        let stored = ponds.get("pond").await.unwrap().apply(&ponds, write, set).await.unwrap();
        assert_eq!(stored.object().data["spec"]["delivery"]["list"], json!(long), "{write:?}");
    }
}

/// A kind whose schema has what schemas seldom have.
async fn oddity() -> (kube::Client, Value, ApiResource, String) {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let group = "oddities.test.webtroller.dev";
    let name = format!("ponds.{group}");
    let text = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let mut needy = object(json!({"a": text, "b": text}));
    needy["required"] = json!(["b"]);
    let mut cared_for = needy.clone();
    cared_for["properties"]["b"]["default"] = json!("x");
    let mut embedded = object(json!({"spec": object(json!({"a": text}))}));
    embedded["x-kubernetes-embedded-resource"] = json!(true);
    let mut open = object(json!({"a": text}));
    open["properties"]["deep"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let spec = object(json!({
        "either": {"x-kubernetes-int-or-string": true},
        "fives": {"type": "integer", "multipleOf": 5},
        "maybe": {"type": "string", "nullable": true},
        "never": text,
        "needy": needy, "caredFor": cared_for, "embedded": embedded, "open": open,
        "choice": {"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]},
        "short": {"type": "string", "maxLength": 3}, "few": {"type": "array", "maxItems": 1, "items": text},
        "texts": {"type": "object", "additionalProperties": text},
        "structs": {"type": "object", "additionalProperties": object(json!({"a": text}))},
        "level": {"type": "string", "enum": ["low", "high"]},
        "byte": {"type": "integer", "format": "uint8"}, "address": {"type": "string", "format": "ip"},
        "narrow": {"type": "integer", "format": "int32", "maximum": 5_000_000_000_i64},
        "day": {"type": "string", "format": "date"},
    }));
    let mut crd = crd();
    crd["metadata"] = json!({"name": name});
    crd["spec"]["group"] = json!(group);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = object(json!({"spec": spec}));
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(crd.clone())).await.unwrap();
    timeout(LONG, await_condition(crds, &name, is_crd_established())).await.unwrap().unwrap();
    let namespace = plane.namespace("oddity").await.unwrap();
    (client, crd, ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", "Pond")), namespace)
}

/// A contract that is satisfied is kept by the API server for a value of its shape, and one that is violated is not.
#[tokio::test(flavor = "multi_thread")]
async fn the_check_says_of_odd_schemas_what_the_server_does() {
    use duck_types::contract::{ContractVerdict, FieldShape};

    let (client, crd, resource, namespace) = oddity().await;
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &resource);
    let text = || json!({"type": "string"});
    let one = |name: &str, shape: Value| json!({"type": "object", "properties": {name: shape}});
    for (index, (path, shape, value, verdict)) in [
        ("/spec/either", json!({"x-kubernetes-int-or-string": true}), json!("25%"), "satisfied"),
        ("/spec/either", json!({"type": "integer"}), json!(7), "satisfied"),
        ("/spec/either", json!({"type": "number"}), json!(0.5), "violated"),
        ("/spec/fives", json!({"type": "integer"}), json!(7), "unverified"),
        ("/spec/fives", json!({"type": "integer", "multipleOf": 5}), json!(10), "satisfied"),
        ("/spec/needy/a", text(), json!("x"), "unverified"),
        ("/spec/caredFor/a", text(), json!("x"), "satisfied"),
        ("/spec/embedded/other", text(), json!("x"), "violated"),
        ("/spec/embedded", one("spec", one("a", text())), json!({"spec": {"a": "x"}}), "violated"),
        ("/spec/open/deep/any", text(), json!("x"), "unverified"),
        ("/spec/open/other", text(), json!("x"), "violated"),
        ("/spec/choice", text(), json!("c"), "unverified"),
        ("/spec/short", text(), json!("long enough"), "violated"),
        ("/spec/short", json!({"type": "string", "maxLength": 2}), json!("ab"), "satisfied"),
        ("/spec/few", json!({"type": "array", "items": text()}), json!(["a", "b"]), "violated"),
        ("/spec/texts/x", text(), json!("x"), "satisfied"),
        ("/spec/texts/x", json!({"type": "integer"}), json!(1), "violated"),
        ("/spec/structs/x/a", text(), json!("x"), "satisfied"),
        ("/spec/structs/x/b", text(), json!("x"), "violated"),
        (
            "/spec/structs",
            json!({"type": "object", "additionalProperties": one("b", text())}),
            json!({"k": {"b": "x"}}),
            "violated",
        ),
        ("/spec/level", text(), json!("middle"), "violated"),
        ("/spec/level", json!({"type": "string", "enum": ["low"]}), json!("low"), "satisfied"),
        ("/spec/byte", json!({"type": "integer"}), json!(300), "satisfied"),
        ("/spec/address", text(), json!("nowhere"), "satisfied"),
        (
            "/spec/narrow",
            json!({"type": "integer", "maximum": 5_000_000_000_i64}),
            json!(3_000_000_000_i64),
            "violated",
        ),
        ("/spec/day", json!({"type": "string", "enum": ["x"]}), json!("x"), "unverified"),
        ("/metadata/annotations/x", text(), json!("x"), "satisfied"),
        ("/metadata/annotations/x", json!({"type": "boolean"}), json!(true), "violated"),
        (
            "/metadata/finalizers",
            json!({"type": "array", "items": {"type": "integer"}}),
            json!([1]),
            "violated",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let field = FieldSpec::write(path.parse().unwrap(), FieldShape::from_schema(shape));
        let report = check_crd(&crd, "v1", &[field]);
        let found = match report.verdict() {
            ContractVerdict::Satisfied => "satisfied",
            ContractVerdict::Violations(_) => "violated",
            ContractVerdict::Unverified(_) => "unverified",
        };
        assert_eq!(found, verdict, "{path}: {report:?}");
        let mut whole = json!({"apiVersion": resource.api_version, "kind": "Pond", "metadata": {"name": format!("odd-{index}")}});
        let mut at = &mut whole;
        for segment in path.split('/').skip(1) {
            at = &mut at[segment];
        }
        *at = value.clone();
        let whole: Value = whole;
        let patch = Patch::Apply(&whole);
        let stored = api.patch(&format!("odd-{index}"), &PatchParams::apply("test"), &patch).await;
        let stored = stored.map(|stored| serde_json::to_value(stored).unwrap());
        let kept = stored.as_ref().is_ok_and(|stored| stored.pointer(path) == Some(&value));
        assert!(
            verdict == "unverified" || kept == (verdict == "satisfied"),
            "{path}: {verdict}, and {stored:?}"
        );
    }
}
