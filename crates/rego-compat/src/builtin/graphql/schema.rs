//! Schemas made ready to be asked, and refused where they contradict themselves (`gqlparser/validator/schema.go`).

mod definition;
mod directive;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::meter::Meter;

use super::ast::{
    ArgumentDefinition, Definition, DirectiveDefinition, FieldDefinition, SchemaDocument, Type,
};
use super::{Error, parse};

/// The definitions that every schema has: scalars, directives, and the types of its own description.
const PRELUDE: &str = include_str!("schema/prelude.graphql");

/// A sound schema.
pub(super) struct Schema {
    types: BTreeMap<String, Definition>,
    directives: BTreeMap<String, DirectiveDefinition>,
    /// The types that may stand for another, by name.
    possible: HashMap<String, Vec<String>>,
    /// The types that operations begin with.
    roots: HashMap<String, String>,
    /// `__typename`, which every type has.
    typename: FieldDefinition,
}

fn named(name: &str, required: bool) -> Option<Box<Type>> {
    Some(Box::new(Type { name: name.to_owned(), element: None, required }))
}

impl Schema {
    pub(super) fn of(document: SchemaDocument, meter: &Meter) -> Result<Self, Error> {
        let prelude = parse::schema(PRELUDE, meter)?;
        let typename = FieldDefinition {
            name: "__typename".to_owned(),
            kind: named("String", false),
            ..FieldDefinition::default()
        };
        let mut schema = Self {
            types: BTreeMap::new(),
            directives: BTreeMap::new(),
            possible: HashMap::new(),
            roots: HashMap::new(),
            typename,
        };
        for definition in prelude.definitions {
            schema.types.insert(definition.name.clone(), Definition { built_in: true, ..definition });
        }
        for definition in document.definitions.iter().cloned() {
            if schema.types.insert(definition.name.clone(), definition).is_some() {
                return Err(Error::Invalid);
            }
        }
        schema.extend(&document)?;
        schema.relate();
        for directive in prelude.directives.into_iter().chain(document.directives.iter().cloned()) {
            schema.declare(directive)?;
        }
        schema.enter(&document, meter)?;
        schema.check(meter)?;
        schema.infer(&document);
        Ok(schema)
    }

    fn extend(&mut self, document: &SchemaDocument) -> Result<(), Error> {
        for extension in document.extensions.iter().cloned() {
            let name = extension.name.clone();
            let base = self.types.entry(name.clone()).or_insert_with(|| Definition {
                kind: extension.kind.clone(),
                name,
                ..Definition::default()
            });
            if base.kind != extension.kind {
                return Err(Error::Invalid);
            }
            base.directives.extend(extension.directives);
            base.interfaces.extend(extension.interfaces);
            base.fields.extend(extension.fields);
            base.types.extend(extension.types);
            base.values.extend(extension.values);
        }
        Ok(())
    }

    /// Notes which types may stand for which.
    fn relate(&mut self) {
        for (name, definition) in &self.types {
            let mut note = |whole: &str, part: &str| {
                self.possible.entry(whole.to_owned()).or_default().push(part.to_owned());
            };
            match definition.kind.as_str() {
                "UNION" => definition.types.iter().for_each(|member| note(name, member)),
                "OBJECT" | "INPUT_OBJECT" => {
                    definition.interfaces.iter().for_each(|interface| note(interface, name));
                    note(name, name);
                }
                "INTERFACE" => definition.interfaces.iter().for_each(|interface| note(interface, name)),
                _ => {}
            }
        }
    }

    /// Directives of the prelude may be defined again, and the last definition counts.
    fn declare(&mut self, directive: DirectiveDefinition) -> Result<(), Error> {
        const AGAIN: [&str; 6] = ["include", "skip", "deprecated", "specifiedBy", "defer", "oneOf"];
        let name = directive.name.clone();
        if self.directives.insert(name.clone(), directive).is_some() && !AGAIN.contains(&name.as_str()) {
            return Err(Error::Invalid);
        }
        Ok(())
    }

    /// Reads the root types of operations that the schema names.
    fn enter(&mut self, document: &SchemaDocument, meter: &Meter) -> Result<(), Error> {
        if document.schema.len() > 1 {
            return Err(Error::Invalid);
        }
        for definition in document.schema.iter().chain(&document.schema_extensions) {
            for entry in &definition.operations {
                if !self.types.contains_key(&entry.name) {
                    return Err(Error::Invalid);
                }
                self.roots.insert(entry.operation.clone(), entry.name.clone());
            }
            self.check_directives(&definition.directives, "SCHEMA", None, true, meter)?;
        }
        Ok(())
    }

    /// Sets the root types of a schema that names none: `Query`, `Mutation` and `Subscription`.
    fn infer(&mut self, document: &SchemaDocument) {
        if document.schema.is_empty() {
            for (operation, name) in
                [("query", "Query"), ("mutation", "Mutation"), ("subscription", "Subscription")]
            {
                if !self.roots.contains_key(operation) && self.types.contains_key(name) {
                    self.roots.insert(operation.to_owned(), name.to_owned());
                }
            }
        }
        let Some(query) = self.roots.get("query").and_then(|name| self.types.get_mut(name)) else { return };
        let argument = ArgumentDefinition {
            name: "name".to_owned(),
            kind: named("String", true),
            ..ArgumentDefinition::default()
        };
        query.fields.extend([
            FieldDefinition {
                name: "__schema".to_owned(),
                kind: named("__Schema", true),
                ..FieldDefinition::default()
            },
            FieldDefinition {
                name: "__type".to_owned(),
                kind: named("__Type", false),
                arguments: vec![argument],
                ..FieldDefinition::default()
            },
        ]);
    }

    pub(super) fn definition(&self, name: &str) -> Option<&Definition> {
        self.types.get(name)
    }

    /// Returns the definition of what a type is made of.
    pub(super) fn definition_of(&self, kind: Option<&Type>) -> Option<&Definition> {
        self.types.get(kind?.inner())
    }

    pub(super) fn directive(&self, name: &str) -> Option<&DirectiveDefinition> {
        self.directives.get(name)
    }

    pub(super) fn possible_types(&self, name: &str) -> &[String] {
        self.possible.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn root(&self, operation: &str) -> Option<&Definition> {
        self.roots.get(operation).and_then(|name| self.types.get(name))
    }

    /// Returns a field that a query may ask of a type.
    pub(super) fn field<'a>(
        &'a self,
        parent: Option<&'a Definition>,
        name: &str,
    ) -> Option<&'a FieldDefinition> {
        if name == "__typename" { Some(&self.typename) } else { parent?.field(name) }
    }

    fn check(&self, meter: &Meter) -> Result<(), Error> {
        for definition in self.types.values() {
            self.check_definition(definition, meter)?;
        }
        let mut visited = HashSet::new();
        for definition in self.types.values().filter(|definition| definition.kind == "INPUT_OBJECT") {
            self.check_circle(definition, &mut visited, &mut HashSet::new(), meter)?;
        }
        for directive in self.directives.values() {
            name_is_free(&directive.name)?;
            self.check_arguments(&directive.arguments, Some(&directive.name), meter)?;
        }
        Ok(())
    }
}

/// Names that begin with two underscores are the prelude's.
fn name_is_free(name: &str) -> Result<(), Error> {
    if name.starts_with("__") { Err(Error::Invalid) } else { Ok(()) }
}
