//! AdmissionRequests around generated objects, for each operation.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

use super::object;

/// A request as an API server sends it, or nearly so: once in a while an object that belongs is missing.
pub fn request(random: &mut Random) -> Json {
    let operation = random.pick(&["CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE", "CONNECT"]);
    let first = object(random);
    let second = if random.once_in(2) { relabelled(&first, random) } else { object(random) };
    let odd = random.once_in(15);
    let (new, old) = match operation {
        "UPDATE" if odd => (Json::Null, second),
        "UPDATE" => (first, second),
        "DELETE" if odd => (Json::Null, Json::Null),
        "DELETE" if random.once_in(8) => (second, first),
        "DELETE" => (Json::Null, first),
        "CONNECT" => (options(), Json::Null),
        _ if odd => (Json::Null, Json::Null),
        _ => (first, Json::Null),
    };
    attributes(operation, new, old, random)
}

/// The same object with other labels.
fn relabelled(first: &Json, random: &mut Random) -> Json {
    let mut second = first.clone();
    if let Some(metadata) = second.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.remove("labels");
        if random.once_in(2) {
            metadata.insert("labels".to_owned(), json!({"app": "db", "tier": "web"}));
        }
    }
    second
}

/// Returns what a CONNECT carries instead of an object.
fn options() -> Json {
    json!({"apiVersion": "v1", "kind": "PodExecOptions", "stdin": true, "command": ["sh"]})
}

fn attributes(operation: &str, new: Json, old: Json, random: &mut Random) -> Json {
    let shown = if new.is_null() { &old } else { &new };
    let text = |pointer: &str| shown.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
    let version = text("/apiVersion");
    let (group, version) = version.rsplit_once('/').unwrap_or(("", &version));
    let kind = json!({"group": group, "version": version, "kind": text("/kind")});
    let resource =
        json!({"group": group, "version": version, "resource": text("/kind").to_lowercase() + "s"});
    let mut request = Map::from_iter([
        ("uid".to_owned(), json!("0b1f-3")),
        ("kind".to_owned(), kind.clone()),
        ("resource".to_owned(), resource.clone()),
        ("name".to_owned(), json!(text("/metadata/name"))),
        ("namespace".to_owned(), json!(text("/metadata/namespace"))),
        ("operation".to_owned(), json!(operation)),
        ("userInfo".to_owned(), user(random)),
        ("object".to_owned(), new),
        ("oldObject".to_owned(), old),
        ("dryRun".to_owned(), json!(random.once_in(4))),
        ("options".to_owned(), json!({"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"})),
    ]);
    if random.once_in(3) {
        request.insert("requestKind".to_owned(), kind);
        request.insert("requestResource".to_owned(), resource);
        request.insert("subResource".to_owned(), json!(random.pick(&["", "status", "exec"])));
    }
    // A client may leave out what is empty.
    if random.once_in(6) {
        request.retain(|_, value| !value.is_null() && value != &json!("") && value != &json!(false));
    }
    request.into()
}

fn user(random: &mut Random) -> Json {
    match random.below(3) {
        0 => json!({}),
        1 => json!({"username": "ann"}),
        _ => json!({"username": "bob", "uid": "7", "groups": ["dev", "ops"], "extra": {"scopes": ["a"]}}),
    }
}
