//! The parts of an object's metadata that identify it: all of them, or what can be read of an object that is otherwise of
//! no use.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ObjectKey;
use super::json::{Fields, string};

/// Strings that do not lie in the text as they are.
pub(super) struct Escaped {
    pub(super) uid: Box<str>,
    pub(super) resource_version: Box<str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Identity<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) resource_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) generation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) deletion_timestamp: Option<&'a RawValue>,
}

/// The facts known of an object that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Remains {
    /// `None` if the object is not named.
    pub(crate) key: Option<ObjectKey>,
    pub(crate) uid: Option<Box<str>>,
}

// === impl Remains ===

impl Remains {
    pub(crate) fn of(raw: &RawValue) -> Self {
        let metadata = fields(raw).and_then(|fields| fields.last("metadata"));
        let Some(metadata) = metadata.and_then(fields) else { return Self::default() };
        let text = |name| metadata.last(name).and_then(string).filter(|text| !text.is_empty());
        let namespace = match metadata.last("namespace") {
            Some(raw) if raw.get() != "null" => string(raw),
            _ => Some(Cow::Borrowed("")),
        };
        let key =
            text("name").zip(namespace).map(|(name, namespace)| ObjectKey::new(Some(&namespace), &name));
        Self { key, uid: text("uid").map(Into::into) }
    }
}

fn fields(raw: &RawValue) -> Option<Fields<'_>> {
    Fields::parse(raw.get()).ok()
}

// === impl Identity ===

impl Identity<'_> {
    /// The strings that are not borrowed from the text.
    pub(super) fn escaped(&self) -> Option<Box<Escaped>> {
        let is_owned = |text: &Cow<'_, str>| matches!(text, Cow::Owned(text) if !text.is_empty());
        (is_owned(&self.uid) || is_owned(&self.resource_version)).then(|| {
            let (uid, resource_version) = (&*self.uid, &*self.resource_version);
            Box::new(Escaped { uid: uid.into(), resource_version: resource_version.into() })
        })
    }
}
