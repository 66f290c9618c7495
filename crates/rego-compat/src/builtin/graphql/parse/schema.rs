//! Schemas.

use super::super::ast::{
    ArgumentDefinition, Definition, DirectiveDefinition, EnumValue, FieldDefinition, OperationType, Remark,
    SchemaDefinition, SchemaDocument,
};
use super::super::token::Token;
use super::{Error, Parser};

/// A text before a definition, and the comment before the text.
type Description = (String, Remark);

const LOCATIONS: [&str; 19] = [
    "QUERY",
    "MUTATION",
    "SUBSCRIPTION",
    "FIELD",
    "FRAGMENT_DEFINITION",
    "FRAGMENT_SPREAD",
    "INLINE_FRAGMENT",
    "VARIABLE_DEFINITION",
    "SCHEMA",
    "SCALAR",
    "OBJECT",
    "FIELD_DEFINITION",
    "ARGUMENT_DEFINITION",
    "INTERFACE",
    "UNION",
    "ENUM",
    "ENUM_VALUE",
    "INPUT_OBJECT",
    "INPUT_FIELD_DEFINITION",
];

impl Parser<'_> {
    pub(super) fn schema_document(mut self) -> Result<SchemaDocument, Error> {
        let mut document = SchemaDocument::default();
        while self.peek().is_some() {
            let description = self.description();
            let Some(Token::Name(word)) = self.peek() else { return Err(Error::Invalid) };
            match word.clone().as_str() {
                "schema" => document.schema.push(self.schema_definition(description)?),
                "directive" => document.directives.push(self.directive_definition(description)?),
                "extend" => {
                    if !description.0.is_empty() {
                        return Err(Error::Invalid);
                    }
                    self.extension(&mut document)?;
                }
                _ => {
                    let after = self.comment.clone();
                    document.definitions.push(self.definition(description, after, false)?);
                }
            }
        }
        document.comment = self.comment;
        Ok(document)
    }

    fn description(&mut self) -> Description {
        if !matches!(self.peek(), Some(Token::Text(_) | Token::Block(_))) {
            return Description::default();
        }
        let comment = self.comment.clone();
        match self.next() {
            Some(Token::Text(text) | Token::Block(text)) => (text, comment),
            _ => Description::default(),
        }
    }

    /// Parses a description like [`Self::description`]; an empty string is none.
    fn inner_description(&mut self) -> Description {
        let description = self.description();
        if description.0.is_empty() { Description::default() } else { description }
    }

    fn schema_definition(&mut self, description: Description) -> Result<SchemaDefinition, Error> {
        let after = self.comment.clone();
        self.keyword("schema")?;
        let directives = self.directives(true)?;
        let (operations, end) = self.some(['{', '}'], Self::operation_type)?;
        let (description, before) = description;
        Ok(SchemaDefinition { description, directives, operations, before, after, end })
    }

    fn operation_type(&mut self) -> Result<OperationType, Error> {
        let comment = self.comment.clone();
        // Whatever says the word counts.
        let operation = match self.next() {
            Some(Token::Name(word) | Token::Text(word) | Token::Block(word)) => word,
            _ => return Err(Error::Invalid),
        };
        if !matches!(operation.as_str(), "query" | "mutation" | "subscription") {
            return Err(Error::Invalid);
        }
        self.expect(':')?;
        Ok(OperationType { operation, name: self.name()?, comment })
    }

    fn extension(&mut self, document: &mut SchemaDocument) -> Result<(), Error> {
        let after = self.comment.clone();
        self.keyword("extend")?;
        // A text that says the kind is refused behind its kind.
        if self.is_word("schema") {
            let definition = SchemaDefinition { after, ..self.schema_definition(Description::default())? };
            if definition.directives.is_empty() && definition.operations.is_empty() {
                return Err(Error::Invalid);
            }
            document.schema_extensions.push(definition);
            return Ok(());
        }
        let definition = self.definition(Description::default(), after, true)?;
        let says_nothing = definition.directives.is_empty()
            && definition.fields.is_empty()
            && definition.types.is_empty()
            && definition.values.is_empty()
            && definition.interfaces.is_empty();
        if says_nothing {
            return Err(Error::Invalid);
        }
        document.extensions.push(definition);
        Ok(())
    }

    fn definition(
        &mut self,
        description: Description,
        after: Remark,
        is_extension: bool,
    ) -> Result<Definition, Error> {
        let word = self.name()?;
        let kind = match word.as_str() {
            "scalar" => "SCALAR",
            "type" => "OBJECT",
            "interface" => "INTERFACE",
            "union" => "UNION",
            "enum" => "ENUM",
            "input" => "INPUT_OBJECT",
            _ => return Err(Error::Invalid),
        };
        let (description, before) = description;
        let mut definition =
            Definition { kind: kind.to_owned(), description, before, after, ..Definition::default() };
        definition.name = self.name()?;
        if kind == "OBJECT" || (kind == "INTERFACE" && !is_extension) {
            definition.interfaces = self.interfaces()?;
        }
        // What extends an input may use variables.
        definition.directives = self.directives(!(is_extension && kind == "INPUT_OBJECT"))?;
        match kind {
            "OBJECT" | "INTERFACE" => {
                (definition.fields, definition.end) =
                    self.some(['{', '}'], |parser| parser.field_definition(false))?;
            }
            "INPUT_OBJECT" => {
                (definition.fields, definition.end) =
                    self.some(['{', '}'], |parser| parser.field_definition(true))?;
            }
            "ENUM" => (definition.values, definition.end) = self.some(['{', '}'], Self::enum_value)?,
            "UNION" => definition.types = self.members()?,
            _ => {}
        }
        Ok(definition)
    }

    fn interfaces(&mut self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        if self.is_word("implements") {
            self.next();
            self.skip('&');
            names.push(self.name()?);
            while self.skip('&') {
                names.push(self.name()?);
            }
        }
        Ok(names)
    }

    fn members(&mut self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        if self.skip('=') {
            self.skip('|');
            names.push(self.name()?);
            while self.skip('|') {
                names.push(self.name()?);
            }
        }
        Ok(names)
    }

    fn field_definition(&mut self, is_input: bool) -> Result<FieldDefinition, Error> {
        let (description, before) = self.inner_description();
        let after = self.comment.clone();
        let name = self.name()?;
        let arguments = if is_input { Vec::new() } else { self.argument_definitions()? };
        self.expect(':')?;
        let kind = Some(Box::new(self.type_reference()?));
        let default = if is_input { self.default()? } else { None };
        let directives = self.directives(true)?;
        Ok(FieldDefinition { description, name, arguments, default, kind, directives, before, after })
    }

    fn argument_definitions(&mut self) -> Result<Vec<ArgumentDefinition>, Error> {
        let read = |parser: &mut Self| {
            let field = parser.field_definition(true)?;
            Ok(ArgumentDefinition {
                description: field.description,
                name: field.name,
                default: field.default,
                kind: field.kind,
                directives: field.directives,
                before: field.before,
                after: field.after,
            })
        };
        Ok(self.some(['(', ')'], read)?.0)
    }

    fn enum_value(&mut self) -> Result<EnumValue, Error> {
        let (description, before) = self.inner_description();
        let after = self.comment.clone();
        let name = self.name()?;
        Ok(EnumValue { description, name, directives: self.directives(true)?, before, after })
    }

    fn directive_definition(&mut self, description: Description) -> Result<DirectiveDefinition, Error> {
        let after = self.comment.clone();
        self.keyword("directive")?;
        self.expect('@')?;
        let name = self.name()?;
        let arguments = self.argument_definitions()?;
        let repeatable = self.is_name() && self.is_word("repeatable");
        if repeatable {
            self.next();
        }
        self.keyword("on")?;
        self.skip('|');
        let mut locations = vec![self.location()?];
        while self.skip('|') {
            locations.push(self.location()?);
        }
        let (description, before) = description;
        Ok(DirectiveDefinition { description, name, arguments, locations, repeatable, before, after })
    }

    fn location(&mut self) -> Result<String, Error> {
        let name = self.name()?;
        if LOCATIONS.contains(&name.as_str()) { Ok(name) } else { Err(Error::Invalid) }
    }
}
