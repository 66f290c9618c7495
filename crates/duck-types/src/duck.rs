//! An object of a kind known only at run time, seen through a duck.
//!
//! Reading is lazy so that one malformed object neither ends a watch nor hides its neighbours in a list.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, DynamicResourceScope};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diff::{DuckDiff, Identity};
use crate::error::DuckError;
use crate::view::root;
use crate::{DuckType, edit, view, view_ref};

/// A [`DynamicObject`] that is expected to carry the duck `T`.
///
/// It goes wherever `kube` takes a resource with `DynamicType = ApiResource`. Deserialising it never looks
/// at the sub-tree of `T`.
pub struct Duck<T> {
    object: DynamicObject,
    duck: PhantomData<fn() -> T>,
}

impl<T: DuckType> Duck<T> {
    /// Returns the duck as it is in the object.
    ///
    /// # Errors
    ///
    /// As [`crate::view`].
    pub fn view(&self) -> Result<T, DuckError> {
        view(&*root::<T>(&self.object)?)
    }

    /// Returns the part of the duck that `V` names, borrowed from the object.
    ///
    /// # Errors
    ///
    /// As [`crate::view_ref`], and [`DuckError::NotBorrowed`] for a duck of the metadata, which kube has converted.
    pub fn view_ref<'a, V: Deserialize<'a>>(&'a self) -> Result<V, DuckError> {
        match root::<T>(&self.object)? {
            Cow::Borrowed(data) => view_ref::<T, V>(data),
            Cow::Owned(_) => Err(DuckError::NotBorrowed { duck: T::NAME }),
        }
    }

    /// Changes a copy of the duck and returns the difference; the object itself stays as it is.
    ///
    /// `PartialEq` decides if anything changed. The JSON form of the type is what can be written: a value that
    /// it does not carry, such as a field with `#[serde(skip)]`, is not. A duck that serialises to null is removed.
    ///
    /// # Errors
    ///
    /// As [`crate::view`], and [`DuckError::Unwritable`] for a duck whose JSON form does not read back as the
    /// edited duck, alone or in this object.
    pub fn edit(&self, change: impl FnOnce(&mut T)) -> Result<DuckDiff, DuckError>
    where
        T: Serialize + PartialEq,
    {
        let root = root::<T>(&self.object)?;
        let original: T = view(&root)?;
        let mut edited: T = view(&root)?;
        change(&mut edited);
        edit::diff(Identity::of(&self.object), &root, Some(&original), &edited)
    }

    /// Changes the duck like [`Duck::edit`], and starts from the default where it is absent or null.
    ///
    /// # Errors
    ///
    /// [`DuckError::Mismatch`] and [`DuckError::Unwritable`].
    pub fn edit_or_default(&self, change: impl FnOnce(&mut T)) -> Result<DuckDiff, DuckError>
    where
        T: Serialize + PartialEq + Default,
    {
        match self.view() {
            Err(error) if error.is_missing() => {
                let mut duck = T::default();
                change(&mut duck);
                edit::diff(Identity::of(&self.object), &*root::<T>(&self.object)?, None, &duck)
            }
            _ => self.edit(change),
        }
    }
}

impl<T> Duck<T> {
    /// Returns the whole object.
    pub fn object(&self) -> &DynamicObject {
        &self.object
    }

    /// Returns the whole object, without a copy.
    pub fn into_object(self) -> DynamicObject {
        self.object
    }
}

impl<T> From<DynamicObject> for Duck<T> {
    fn from(object: DynamicObject) -> Self {
        Self { object, duck: PhantomData }
    }
}

// The usual derives would demand the same of `T`, of which no value is held.

impl<T> Clone for Duck<T> {
    fn clone(&self) -> Self {
        Self::from(self.object.clone())
    }
}

impl<T> fmt::Debug for Duck<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Duck").field(&self.object).finish()
    }
}

impl<T> PartialEq for Duck<T> {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl<T> Serialize for Duck<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Duck<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DynamicObject::deserialize(deserializer).map(Self::from)
    }
}

impl<T> kube::Resource for Duck<T> {
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
        self.object.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.object.meta_mut()
    }
}
