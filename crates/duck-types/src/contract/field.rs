//! The fields of a contract: where they are, which way they go, and the shape of their values.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::DuckPath;

/// The JSON type of a field, as OpenAPI names it, for contracts that say nothing about the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// OpenAPI's `object`, which maps are as well.
    Object,
    /// OpenAPI's `array`.
    Array,
    /// OpenAPI's `string`.
    String,
    /// OpenAPI's `integer`.
    Integer,
    /// OpenAPI's `number`, which includes integers.
    Number,
    /// OpenAPI's `boolean`.
    Boolean,
    /// An integer or a string: `x-kubernetes-int-or-string`.
    IntOrString,
}

/// The shape of a value: a JSON schema, in the dialect of schemars (2020-12) or of OpenAPI 3.0.
///
/// One that is read from a document is checked for keywords and types that do not exist; they would state nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct FieldShape(Value);

impl TryFrom<Value> for FieldShape {
    type Error = String;

    fn try_from(schema: Value) -> Result<Self, String> {
        super::yaml::check(&schema)?;
        Ok(Self(schema))
    }
}

impl FieldShape {
    /// Creates a shape from a JSON schema, which is not checked.
    #[must_use]
    pub fn from_schema(schema: Value) -> Self {
        Self(schema)
    }

    /// Returns the shape of the values that `T` can read: its schema for deserialisation.
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn read_by<T: schemars::JsonSchema>() -> Self {
        Self::generate::<T>(schemars::generate::SchemaSettings::draft2020_12().for_deserialize())
    }

    /// Returns the shape of the values that `T` writes: its schema for serialisation.
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn written_by<T: schemars::JsonSchema>() -> Self {
        Self::generate::<T>(schemars::generate::SchemaSettings::draft2020_12().for_serialize())
    }

    #[cfg(feature = "schemars")]
    fn generate<T: schemars::JsonSchema>(settings: schemars::generate::SchemaSettings) -> Self {
        Self(settings.into_generator().into_root_schema_for::<T>().to_value())
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.0
    }
}

impl From<FieldType> for FieldShape {
    fn from(found: FieldType) -> Self {
        Self(match found {
            FieldType::Object => json!({"type": "object"}),
            FieldType::Array => json!({"type": "array"}),
            FieldType::String => json!({"type": "string"}),
            FieldType::Integer => json!({"type": "integer"}),
            FieldType::Number => json!({"type": "number"}),
            FieldType::Boolean => json!({"type": "boolean"}),
            FieldType::IntOrString => json!({"x-kubernetes-int-or-string": true}),
        })
    }
}

impl fmt::Display for FieldShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One field of a contract. A field that is both read and written has two shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldSpec {
    pub(crate) path: DuckPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<FieldShape>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) write: Option<FieldShape>,
    /// A field that is only read and may be missing from the schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) optional: bool,
    /// The lists at and below the field whose elements have keys: pointer from the field, names of the keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) list_maps: Vec<ListKeys>,
}

/// A list with keys, as [`crate::ListMap`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListKeys {
    pub(crate) path: String,
    pub(crate) keys: Vec<String>,
}

impl FieldSpec {
    /// Creates a field whose values of this shape the contract reads at `path`.
    #[must_use]
    pub fn read(path: DuckPath, shape: impl Into<FieldShape>) -> Self {
        let read = Some(shape.into());
        Self { path, read, write: None, optional: false, list_maps: Vec::new() }
    }

    /// Creates a field at `path` to which the contract writes values of this shape.
    #[must_use]
    pub fn write(path: DuckPath, shape: impl Into<FieldShape>) -> Self {
        let write = Some(shape.into());
        Self { path, read: None, write, optional: false, list_maps: Vec::new() }
    }

    /// Returns the field of the duck `T`, which has one path, as the contract reads it.
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn read_as<T: crate::DuckType + schemars::JsonSchema>() -> Vec<Self> {
        Self::of::<T>(Self::read, &FieldShape::read_by::<T>())
    }

    /// Returns the field of the duck `T`, which has one path, as the contract writes it.
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn written_as<T: crate::DuckType + schemars::JsonSchema>() -> Vec<Self> {
        Self::of::<T>(Self::write, &FieldShape::written_by::<T>())
    }

    #[cfg(feature = "schemars")]
    fn of<T: crate::DuckType>(new: impl Fn(DuckPath, FieldShape) -> Self, shape: &FieldShape) -> Vec<Self> {
        let lists = T::LIST_MAPS.iter().map(|list| ListKeys {
            path: list.path.to_owned(),
            keys: list.keys.iter().map(|key| (*key).to_owned()).collect(),
        });
        let lists: Vec<ListKeys> = lists.collect();
        let below = |list: &ListKeys, path: &DuckPath| match T::PLACE {
            crate::Place::At(_) => Some(list.clone()),
            crate::Place::Across(_) => {
                let below = list.path.strip_prefix(&path.to_string())?;
                Some(ListKeys { path: below.to_owned(), keys: list.keys.clone() })
            }
        };
        let field = |path: &DuckPath| {
            let schema = match T::PLACE {
                crate::Place::At(_) => shape.clone(),
                crate::Place::Across(_) => FieldShape(super::schema::at_path(shape.schema(), path)),
            };
            let mut field = new(path.clone(), schema);
            field.list_maps = lists.iter().filter_map(|list| below(list, path)).collect();
            field
        };
        T::PLACE.paths().iter().map(field).collect()
    }

    /// Sets the shape of values that are read, beside those that are written.
    #[must_use]
    pub fn and_read(mut self, shape: impl Into<FieldShape>) -> Self {
        self.read = Some(shape.into());
        self
    }

    /// Sets the shape of values that are written, beside those that are read.
    #[must_use]
    pub fn and_write(mut self, shape: impl Into<FieldShape>) -> Self {
        self.write = Some(shape.into());
        self
    }

    /// Accepts schemas that do not declare the field, as long as nothing writes it.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Requires that the list at `path` below the field (empty for the field itself) is a map by these keys.
    #[must_use]
    pub fn list_map<'a>(mut self, path: &str, keys: impl IntoIterator<Item = &'a str>) -> Self {
        let keys = keys.into_iter().map(str::to_owned).collect();
        self.list_maps.push(ListKeys { path: path.to_owned(), keys });
        self
    }

    /// Returns the place of the field.
    #[must_use]
    pub fn path(&self) -> &DuckPath {
        &self.path
    }
}
