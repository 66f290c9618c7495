//! The keywords under which objects and arrays have schemas for their parts.

use std::rc::Rc;

use crate::error::EvalError;
use crate::value::{Object, Value};
use eval_budget::Limit;
use go_compat::regexp;

use super::super::Error;
use super::super::node::{Additional, Dependency, Draft, Items, Node};
use super::{Compiler, Keywords, SCHEMA, invalid_type, is_schema, must_be_of_type};

impl Compiler<'_> {
    pub(super) fn children(&mut self, keywords: Keywords<'_>, node: &mut Node) -> Result<(), Error> {
        match keywords.get("properties") {
            None => {}
            Some(Value::Object(properties)) => {
                for (name, schema) in properties.iter() {
                    let id = self.schema(schema, keywords.draft)?;
                    node.object.properties.push((name_of(name), id));
                }
            }
            Some(_) => return Err(must_be_of_type("Properties", "object")),
        }
        node.object.additional = self.additional(keywords, "additionalProperties")?;
        self.patterns(keywords, node)?;
        if let Some(names) = keywords.get("propertyNames").filter(|_| keywords.draft >= Draft::Six) {
            if !is_schema(names) {
                return Err(invalid_type(SCHEMA, "patternProperties"));
            }
            node.object.names = Some(self.schema(names, keywords.draft)?);
        }
        match keywords.get("dependencies") {
            None => {}
            Some(Value::Object(pairs)) => self.dependencies(pairs, keywords.draft, node)?,
            Some(_) => return Err(must_be_of_type("dependencies", "object")),
        }
        node.array.items = self.items(keywords)?;
        node.array.additional = self.additional(keywords, "additionalItems")?;
        Ok(())
    }

    fn additional(&mut self, keywords: Keywords<'_>, key: &str) -> Result<Option<Additional>, Error> {
        Ok(Some(match keywords.get(key) {
            None => return Ok(None),
            Some(Value::Bool(true)) => Additional::Allowed,
            Some(Value::Bool(false)) => Additional::Refused,
            Some(schema @ Value::Object(_)) => Additional::Schema(self.schema(schema, keywords.draft)?),
            Some(_) => return Err(invalid_type("boolean/Valid Schema", key)),
        }))
    }

    fn patterns(&mut self, keywords: Keywords<'_>, node: &mut Node) -> Result<(), Error> {
        let patterns = match keywords.get("patternProperties") {
            None => return Ok(()),
            Some(Value::Object(patterns)) => patterns,
            Some(_) => return Err(invalid_type(SCHEMA, "patternProperties")),
        };
        for (pattern, schema) in patterns.iter() {
            let pattern = name_of(pattern);
            let compiled = match regexp::compile(&pattern) {
                Ok(pattern) => pattern,
                Err(regexp::Error::Syntax(_)) => {
                    return Err(Error::Schema(format!("Invalid regex pattern '{pattern}'")));
                }
                Err(_) => return Err(Error::Limit(EvalError::Budget(Limit::Memory))),
            };
            node.object.patterns.push((compiled, self.schema(schema, keywords.draft)?));
        }
        Ok(())
    }

    fn dependencies(&mut self, pairs: &Object, draft: Draft, node: &mut Node) -> Result<(), Error> {
        let wrong = || must_be_of_type("Dependency", "Schema Or Array Of Strings");
        for (name, dependency) in pairs.iter() {
            let dependency = match dependency {
                Value::Array(keys) => {
                    let key = |key: &Value| match key {
                        Value::String(key) => Ok(Rc::from(&**key)),
                        _ => Err(wrong()),
                    };
                    Dependency::Keys(keys.iter().map(key).collect::<Result<_, Error>>()?)
                }
                schema if is_schema(schema) => Dependency::Schema(self.schema(schema, draft)?),
                _ => return Err(wrong()),
            };
            node.object.dependencies.push((name_of(name), dependency));
        }
        Ok(())
    }

    fn items(&mut self, keywords: Keywords<'_>) -> Result<Items, Error> {
        let wrong = || invalid_type("Valid Schema/Array Of Schemas", "items");
        match keywords.get("items") {
            None => Ok(Items::Any),
            Some(Value::Array(schemas)) => {
                let mut items = Vec::new();
                for schema in schemas.iter() {
                    if !is_schema(schema) {
                        return Err(wrong());
                    }
                    items.push(self.schema(schema, keywords.draft)?);
                }
                Ok(Items::Tuple(items))
            }
            Some(schema) if is_schema(schema) => Ok(Items::Each(self.schema(schema, keywords.draft)?)),
            Some(_) => Err(wrong()),
        }
    }
}

fn name_of(key: &Value) -> Rc<str> {
    match key {
        Value::String(text) => Rc::from(&**text),
        _ => Rc::from(""),
    }
}
