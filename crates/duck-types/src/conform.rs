//! Conformance of a Rust type to a duck, for the unit tests of those who write the type.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::DuckError;
use crate::patch::changes;
use crate::projection::{get, project, set};
use crate::{DuckType, Place};

/// Sends a duck through the type `C` of a whole object, and returns the pointers of what `C` lost or changed.
///
/// `sample` should have all of its fields filled in. `object` is the least that `C` can be read from; the duck is put
/// into it.
///
/// ```
/// use duck_types::ready::{PodSpecable, Scale};
/// use duck_types::verify_type;
/// use k8s_openapi::api::apps::v1::Deployment;
///
/// let bare = serde_json::json!({"metadata": {}, "spec": {"selector": {}, "template": {}}});
/// assert_eq!(verify_type::<Deployment, PodSpecable>(&PodSpecable::default(), &bare)?, [""; 0]);
///
/// let mut scale = Scale::default();
/// scale.status.selector = Some("app=x".to_owned());
/// assert_eq!(verify_type::<Deployment, Scale>(&scale, &bare)?, ["/status/selector"]); // only a Scale has it
/// # Ok::<(), duck_types::DuckError>(())
/// ```
///
/// # Errors
///
/// [`DuckError::Unwritable`] if the sample has no JSON form, or `C` cannot be read from the object that carries it.
pub fn verify_type<C: Serialize + DeserializeOwned, D: DuckType + Serialize>(
    sample: &D,
    object: &Value,
) -> Result<Vec<String>, DuckError> {
    let unwritable =
        |error: serde_json::Error| DuckError::Unwritable { duck: D::NAME, message: error.to_string() };
    let duck = serde_json::to_value(sample).map_err(unwritable)?;
    let mut whole = object.clone();
    match D::PLACE {
        Place::At(path) => set(&mut whole, &path, duck),
        Place::Across(paths) => {
            for path in paths {
                if let Some(value) = get(&duck, path) {
                    set(&mut whole, path, value.clone());
                }
            }
        }
    }
    let concrete: C = serde_json::from_value(whole.clone()).map_err(unwritable)?;
    let back = serde_json::to_value(&concrete).map_err(unwritable)?;
    let paths = D::PLACE;
    let (sent, found) = (project(D::NAME, paths.paths(), &whole)?, project(D::NAME, paths.paths(), &back)?);
    let lost = changes(&sent, &found).into_iter().filter(|change| {
        // What the type adds is its own; an empty value may be left out.
        let sent = change.read.as_ref();
        sent.is_some_and(|value| !value.is_null() && *value != json!({}) && *value != json!([]))
    });
    Ok(lost.map(|change| change.pointer).collect())
}
