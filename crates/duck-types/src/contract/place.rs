//! The place of a comparison of a contract with a schema.

use crate::path::pointer;

/// The place of a comparison: in the object, with `*` for any element, and in the document of the schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) object: String,
    pub(crate) schema: String,
    /// Pointer from the field, for the keys of lists.
    pub(crate) field: String,
    /// The API server declares it, and the schema does not: its pointer in the schema is that of the object it is in.
    pub(crate) implicit: bool,
}

impl Place {
    pub(crate) fn member(&self, name: &str, keyword: &str) -> Self {
        let step = pointer([name]);
        let schema = match keyword {
            _ if self.implicit => self.schema.clone(),
            "properties" => format!("{}/properties{step}", self.schema),
            keyword => format!("{}/{keyword}", self.schema),
        };
        let (object, field) = (format!("{}{step}", self.object), format!("{}{step}", self.field));
        Self { object, schema, field, implicit: self.implicit }
    }

    /// A member that the schema does not declare: the pointer in the schema is that of the object.
    pub(crate) fn undeclared(&self, name: &str) -> Self {
        Self { schema: self.schema.clone(), ..self.member(name, "properties") }
    }

    pub(crate) fn element(&self) -> Self {
        Self {
            object: format!("{}/*", self.object),
            schema: if self.implicit { self.schema.clone() } else { format!("{}/items", self.schema) },
            field: format!("{}/*", self.field),
            implicit: self.implicit,
        }
    }
}
