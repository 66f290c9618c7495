//! The syntax trees of queries and schemas.

use crate::value::Value;

use super::record::{Part, field, object, record};

record! {
    /// A line behind a `#`.
    Comment { text: String = "Value" }
}

record! {
    /// Lines right before something.
    Comments { list: Vec<Comment> = "List" }
}

/// The comment that belongs to something.
pub(super) type Remark = Option<Box<Comments>>;

record! {
    QueryDocument { operations: Vec<Operation> = "Operations", fragments: Vec<Fragment> = "Fragments" }
}

record! {
    Operation {
        kind: String = "Operation",
        name: String = "Name",
        variables: Vec<Variable> = "VariableDefinitions",
        directives: Vec<Directive> = "Directives",
        selections: Selections = "SelectionSet",
        comment: Remark = "Comment",
    }
}

record! {
    Variable {
        name: String = "Variable",
        kind: Option<Box<Type>> = "Type",
        default: Option<Box<Literal>> = "DefaultValue",
        directives: Vec<Directive> = "Directives",
        comment: Remark = "Comment",
    } also "Used" = Value::Bool(false)
}

record! {
    Fragment {
        name: String = "Name",
        variables: Vec<Variable> = "VariableDefinition",
        condition: String = "TypeCondition",
        directives: Vec<Directive> = "Directives",
        selections: Selections = "SelectionSet",
        comment: Remark = "Comment",
    }
}

record! {
    Field {
        alias: String = "Alias",
        name: String = "Name",
        arguments: Vec<Argument> = "Arguments",
        directives: Vec<Directive> = "Directives",
        selections: Selections = "SelectionSet",
        comment: Remark = "Comment",
    }
}

record! {
    Spread {
        name: String = "Name",
        directives: Vec<Directive> = "Directives",
        comment: Remark = "Comment",
    }
}

record! {
    Inline {
        condition: String = "TypeCondition",
        directives: Vec<Directive> = "Directives",
        selections: Selections = "SelectionSet",
        comment: Remark = "Comment",
    }
}

/// One of what is between braces.
#[derive(Clone, Debug)]
pub(super) enum Selection {
    Field(Field),
    Spread(Spread),
    Inline(Inline),
}

/// The selections between braces.
#[derive(Clone, Debug, Default)]
pub(super) struct Selections(pub(super) Vec<Selection>);

impl Part for Selections {
    fn write(&self) -> Value {
        let written = self.0.iter().map(|selection| match selection {
            Selection::Field(field) => field.write(),
            Selection::Spread(spread) => spread.write(),
            Selection::Inline(inline) => inline.write(),
        });
        written.collect::<crate::value::Array>().into_value()
    }

    /// Reads a node from a value as the library does: it takes every field that it can read, and leaves out empty ones.
    fn read(value: &Value) -> Option<Self> {
        let read = |item: &Value| {
            let field = Field::read(item).map(|field| Selection::Field(Field { comment: None, ..field }));
            field
                .or_else(|| Spread::read(item).map(Selection::Spread))
                .or_else(|| Inline::read(item).map(Selection::Inline))
        };
        Some(Self(value.as_array().ok()?.iter().filter_map(read).collect()))
    }
}

record! {
    Argument { name: String = "Name", value: Option<Box<Literal>> = "Value", comment: Remark = "Comment" }
}

record! {
    Directive { name: String = "Name", arguments: Vec<Argument> = "Arguments" }
    also "Location" = Value::from("")
}

/// The library's numbers of kinds of values.
pub(super) mod kind {
    pub(in super::super) const VARIABLE: i64 = 0;
    pub(in super::super) const INT: i64 = 1;
    pub(in super::super) const FLOAT: i64 = 2;
    pub(in super::super) const STRING: i64 = 3;
    pub(in super::super) const BLOCK: i64 = 4;
    pub(in super::super) const BOOLEAN: i64 = 5;
    pub(in super::super) const NULL: i64 = 6;
    pub(in super::super) const ENUM: i64 = 7;
    pub(in super::super) const LIST: i64 = 8;
    pub(in super::super) const OBJECT: i64 = 9;
}

record! {
    /// A value as it is written.
    Literal {
        raw: String = "Raw",
        children: Vec<Child> = "Children",
        kind: i64 = "Kind",
        comment: Remark = "Comment",
    } also "ExpectedTypeHasDefault" = Value::Bool(false)
}

record! {
    Child { name: String = "Name", value: Option<Box<Literal>> = "Value", comment: Remark = "Comment" }
}

record! {
    Type { name: String = "NamedType", element: Option<Box<Type>> = "Elem", required: bool = "NonNull" }
}

impl Type {
    /// Returns the name within all lists.
    pub(super) fn inner(&self) -> &str {
        let mut kind = self;
        while let Some(element) = kind.element.as_deref().filter(|_| kind.name.is_empty()) {
            kind = element;
        }
        &kind.name
    }

    /// Returns true if a variable of this type may stand where another is expected.
    pub(super) fn fits(&self, other: &Self, other_required: bool) -> bool {
        if self.name != other.name {
            return false;
        }
        let elements_fit = match (&self.element, &other.element) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine.fits(theirs, theirs.required),
        };
        elements_fit && (!other_required || self.required)
    }
}

record! {
    SchemaDocument {
        schema: Vec<SchemaDefinition> = "Schema",
        schema_extensions: Vec<SchemaDefinition> = "SchemaExtension",
        directives: Vec<DirectiveDefinition> = "Directives",
        definitions: Vec<Definition> = "Definitions",
        extensions: Vec<Definition> = "Extensions",
        comment: Remark = "Comment",
    }
}

record! {
    SchemaDefinition {
        description: String = "Description",
        directives: Vec<Directive> = "Directives",
        operations: Vec<OperationType> = "OperationTypes",
        before: Remark = "BeforeDescriptionComment",
        after: Remark = "AfterDescriptionComment",
        end: Remark = "EndOfDefinitionComment",
    }
}

record! {
    OperationType { operation: String = "Operation", name: String = "Type", comment: Remark = "Comment" }
}

record! {
    Definition {
        kind: String = "Kind",
        description: String = "Description",
        name: String = "Name",
        directives: Vec<Directive> = "Directives",
        interfaces: Vec<String> = "Interfaces",
        fields: Vec<FieldDefinition> = "Fields",
        types: Vec<String> = "Types",
        values: Vec<EnumValue> = "EnumValues",
        built_in: bool = "BuiltIn",
        before: Remark = "BeforeDescriptionComment",
        after: Remark = "AfterDescriptionComment",
        end: Remark = "EndOfDefinitionComment",
    }
}

impl Definition {
    pub(super) fn is_leaf(&self) -> bool {
        matches!(self.kind.as_str(), "ENUM" | "SCALAR")
    }

    pub(super) fn is_composite(&self) -> bool {
        matches!(self.kind.as_str(), "OBJECT" | "INTERFACE" | "UNION")
    }

    pub(super) fn is_input(&self) -> bool {
        matches!(self.kind.as_str(), "SCALAR" | "ENUM" | "INPUT_OBJECT")
    }

    pub(super) fn field(&self, name: &str) -> Option<&FieldDefinition> {
        self.fields.iter().find(|field| field.name == name)
    }
}

record! {
    FieldDefinition {
        description: String = "Description",
        name: String = "Name",
        arguments: Vec<ArgumentDefinition> = "Arguments",
        default: Option<Box<Literal>> = "DefaultValue",
        kind: Option<Box<Type>> = "Type",
        directives: Vec<Directive> = "Directives",
        before: Remark = "BeforeDescriptionComment",
        after: Remark = "AfterDescriptionComment",
    }
}

record! {
    ArgumentDefinition {
        description: String = "Description",
        name: String = "Name",
        default: Option<Box<Literal>> = "DefaultValue",
        kind: Option<Box<Type>> = "Type",
        directives: Vec<Directive> = "Directives",
        before: Remark = "BeforeDescriptionComment",
        after: Remark = "AfterDescriptionComment",
    }
}

record! {
    EnumValue {
        description: String = "Description",
        name: String = "Name",
        directives: Vec<Directive> = "Directives",
        before: Remark = "BeforeDescriptionComment",
        after: Remark = "AfterDescriptionComment",
    }
}

record! {
    DirectiveDefinition {
        description: String = "Description",
        name: String = "Name",
        arguments: Vec<ArgumentDefinition> = "Arguments",
        locations: Vec<String> = "Locations",
        repeatable: bool = "IsRepeatable",
        before: Remark = "BeforeDescriptionComment",
        after: Remark = "AfterDescriptionComment",
    }
}
