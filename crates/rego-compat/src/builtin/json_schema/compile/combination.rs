//! The keywords that list values, and those that combine schemas.

use std::collections::HashSet;

use crate::value::Value;

use super::super::node::{Draft, Node, NodeId};
use super::super::{Error, canonical};
use super::{Compiler, Keywords, is_schema, must_be};

impl Compiler<'_> {
    pub(super) fn combinations(&mut self, keywords: Keywords<'_>, node: &mut Node) -> Result<(), Error> {
        let draft = keywords.draft;
        if let Some(contains) = keywords.get("contains").filter(|_| draft >= Draft::Six) {
            node.array.contains = Some(self.schema(contains, draft)?);
        }
        if let Some(constant) = keywords.get("const").filter(|_| draft >= Draft::Six) {
            node.constant = Some(self.canonical(constant)?);
        }
        node.choices = self.choices(keywords)?;
        for (key, schemas) in
            [("oneOf", &mut node.one_of), ("anyOf", &mut node.any_of), ("allOf", &mut node.all_of)]
        {
            *schemas = self.all(keywords.list(key)?.unwrap_or(&[]), draft)?;
        }
        node.not = self.single(keywords, "not")?;
        if draft >= Draft::Seven {
            node.condition = self.single(keywords, "if")?;
            node.consequence = self.single(keywords, "then")?;
            node.alternative = self.single(keywords, "else")?;
        }
        Ok(())
    }

    fn canonical(&self, value: &Value) -> Result<String, Error> {
        let text = canonical::text(value)?;
        self.meter.charge(text.len())?;
        Ok(text)
    }

    fn choices(&self, keywords: Keywords<'_>) -> Result<Option<Vec<String>>, Error> {
        let Some(values) = keywords.list("enum")? else { return Ok(None) };
        let mut seen = HashSet::new();
        let mut choices = Vec::with_capacity(values.len());
        for value in values {
            let text = self.canonical(value)?;
            if !seen.insert(text.clone()) {
                return Err(Error::Schema("enum items must be unique".to_owned()));
            }
            choices.push(text);
        }
        Ok(Some(choices))
    }

    fn single(&mut self, keywords: Keywords<'_>, key: &str) -> Result<Option<NodeId>, Error> {
        match keywords.get(key) {
            None => Ok(None),
            Some(schema) if is_schema(schema) => Ok(Some(self.schema(schema, keywords.draft)?)),
            Some(_) => Err(must_be("an", key, "object")),
        }
    }
}
