//! An object of which only the metadata and the duck are kept, for stores with many objects.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, DynamicResourceScope, Resource, TypeMeta};
use serde::{Deserialize, Deserializer};

use crate::{Duck, DuckError, DuckType};

/// Metadata and duck of an object whose other fields were dropped when it was read, the managed fields too.
///
/// It goes wherever `kube` takes a resource with `DynamicType = ApiResource`, such as a `reflector`. There is no way
/// to write it: get a [`Duck`] for that. A malformed duck is kept as its error, so it neither ends a watch nor hides
/// other objects.
///
/// ```
/// use duck_types::{DuckType, Projected};
///
/// #[derive(serde::Deserialize, DuckType)]
/// #[duck(path = "/status/url")]
/// struct Url(String);
///
/// let text = r#"{"metadata": {"name": "a"}, "spec": {"large": []}, "status": {"url": "u"}}"#;
/// let object: Projected<Url> = serde_json::from_str(text)?;
/// assert_eq!(object.view().map(|url| url.0.as_str()), Ok("u"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Projected<T> {
    types: Option<TypeMeta>,
    metadata: Box<ObjectMeta>,
    duck: Result<T, Box<DuckError>>,
}

impl<T> Projected<T> {
    /// Returns the duck.
    ///
    /// # Errors
    ///
    /// As [`Duck::view`].
    pub fn view(&self) -> Result<&T, &DuckError> {
        self.duck.as_ref().map_err(|error| &**error)
    }

    /// Returns `apiVersion` and `kind`, which items of lists of built-in kinds do not have.
    pub fn types(&self) -> Option<&TypeMeta> {
        self.types.as_ref()
    }
}

impl<T: DuckType> From<DynamicObject> for Projected<T> {
    fn from(object: DynamicObject) -> Self {
        let object = Duck::<T>::from(object);
        let duck = object.view().map_err(Box::new);
        let mut object = object.into_object();
        object.metadata.managed_fields = None;
        Self { types: object.types, metadata: Box::new(object.metadata), duck }
    }
}

impl<'de, T: DuckType> Deserialize<'de> for Projected<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DynamicObject::deserialize(deserializer).map(Self::from)
    }
}

impl<T> Resource for Projected<T> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(dt: &ApiResource) -> Cow<'_, str> {
        DynamicObject::kind(dt)
    }
    fn group(dt: &ApiResource) -> Cow<'_, str> {
        DynamicObject::group(dt)
    }
    fn version(dt: &ApiResource) -> Cow<'_, str> {
        DynamicObject::version(dt)
    }
    fn plural(dt: &ApiResource) -> Cow<'_, str> {
        DynamicObject::plural(dt)
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
