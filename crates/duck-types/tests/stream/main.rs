//! Streams of ducks and projected objects (K9).
#![allow(clippy::unwrap_used, missing_docs)]

use duck_types::{DuckStreamExt, DuckType, Projected, StreamError};
use futures::{StreamExt, executor::block_on, stream};
use kube::core::DynamicObject;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Deserialize, DuckType)]
#[duck(path = "/status/size")]
struct Size(u8);

fn object(index: usize, malformed: bool) -> DynamicObject {
    let size = if malformed { json!("large") } else { json!(index) };
    serde_json::from_value(json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": format!("thing-{index}"), "namespace": "ns", "managedFields": [{"manager": "m"}]},
        "spec": {"large": "x"}, "status": {"size": size},
    }))
    .unwrap()
}

proptest! {
    #[test]
    fn each_malformed_object_is_one_error_that_names_it(malformed in prop::collection::vec(any::<bool>(), 0..20)) {
        let objects: Vec<_> = malformed.iter().enumerate().map(|(index, bad)| Ok(object(index, *bad))).collect();
        let mut all = objects;
        all.push(Err("the stream itself"));
        let seen: Vec<_> = block_on(stream::iter(all).ducks::<Size>().collect());
        prop_assert_eq!(seen.len().checked_sub(1), Some(malformed.len()));
        for (index, (bad, seen)) in malformed.iter().zip(&seen).enumerate() {
            match seen {
                Ok(seen) => prop_assert!(!bad && usize::from(seen.view.0) == index),
                Err(StreamError::Malformed(error)) => {
                    let expected = format!("Thing ns/thing-{index}: Size does not have the expected shape at /status/size");
                    prop_assert!(*bad && error.to_string().starts_with(&expected), "{}", error);
                }
                Err(StreamError::Source(_)) => prop_assert!(false),
                Err(_) => prop_assert!(false, "unknown"),
            }
        }
        prop_assert!(matches!(seen.last(), Some(Err(StreamError::Source("the stream itself")))));
    }
}

#[test]
fn a_projected_object_keeps_metadata_and_duck_only() {
    let text = serde_json::to_string(&object(7, false)).unwrap();
    let projected: Projected<Size> = serde_json::from_str(&text).unwrap();
    assert_eq!(projected.view(), Ok(&Size(7)));
    let metadata = kube::Resource::meta(&projected);
    assert_eq!((metadata.name.as_deref(), &metadata.managed_fields), (Some("thing-7"), &None));
    assert_eq!(projected.types().unwrap().kind, "Thing");
    let malformed = Projected::<Size>::from(object(1, true));
    assert!(malformed.view().unwrap_err().to_string().contains("/status/size"));
}
