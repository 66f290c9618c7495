//! One level of a JSON object as text: what is read of an object without parsing the rest of it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The keys and values of a JSON object, in their order, and each as often as it is there.
pub(super) struct Entries<K, V>(pub(super) Vec<(K, V)>);

/// Keys and values as their text.
pub(super) type Fields<'a> = Entries<&'a RawValue, &'a RawValue>;

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value of `name`. JSON readers take the last of several, and so does this one.
    pub(super) fn last(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| is_key(key, name)).map(|(_, value)| *value)
    }

    /// The entries whose values are strings.
    pub(super) fn strings(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        self.0.into_iter().filter_map(|(key, value)| Some((string(key)?, string(value)?)))
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Entries<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<K, V>(PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<K, V> {
            type Value = Entries<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                // Most objects have fewer fields or labels.
                let mut entries = Vec::with_capacity(8);
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

/// Returns true if the JSON text of a key means `name`. A key may be written with escapes.
pub(super) fn is_key(key: &RawValue, name: &str) -> bool {
    string(key).is_some_and(|key| key == name)
}

/// The string that a JSON text stands for, borrowed unless it has escapes.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    if text.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    text.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}

/// Appends an object without the fields that `skip` accepts. `write` appends the value of each other field.
pub(super) fn write_object(
    text: &mut String,
    fields: &Fields<'_>,
    skip: impl Fn(&RawValue) -> bool,
    mut write: impl FnMut(&mut String, &RawValue, &RawValue) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    text.push('{');
    let mut first = true;
    for (key, value) in fields.0.iter().filter(|(key, _)| !skip(key)) {
        if !std::mem::take(&mut first) {
            text.push(',');
        }
        text.push_str(key.get());
        text.push(':');
        write(text, key, value)?;
    }
    text.push('}');
    Ok(())
}
