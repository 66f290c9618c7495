//! Tokens of Rego and where they stand. The lexer makes them, the parser reads them.

/// The kinds of tokens. Keywords are identifiers: which of them are reserved depends on version and imports,
/// so the parser decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident,
    Number,
    /// Double-quoted string with JSON escapes; the span includes the quotes.
    String,
    /// Back-quoted string; the span includes the quotes.
    RawString,
    /// `$"…{` or `}…{`: text of a template string that continues with an expression.
    TemplatePart,
    /// `$"…"` or `}…"`: last text of a template string.
    TemplateEnd,
    LParen,
    RParen,
    LBrack,
    RBrack,
    LBrace,
    RBrace,
    Comma,
    Dot,
    Colon,
    Semicolon,
    Assign,
    Unify,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    And,
    Or,
    End,
}

impl Kind {
    /// Returns true if the token joins two terms, as `+` and `==` do.
    pub(crate) const fn is_infix(self) -> bool {
        use Kind::{
            And, Equal, Greater, GreaterEqual, Less, LessEqual, Minus, NotEqual, Or, Percent, Plus, Slash,
            Star,
        };
        matches!(
            self,
            Equal
                | NotEqual
                | Less
                | Greater
                | LessEqual
                | GreaterEqual
                | Or
                | And
                | Plus
                | Minus
                | Star
                | Slash
                | Percent
        )
    }

    /// Returns the text of the token in a message.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Ident => "name",
            Self::Number => "number",
            Self::String | Self::RawString => "string",
            Self::TemplatePart | Self::TemplateEnd => "template string",
            Self::LParen => "(",
            Self::RParen => ")",
            Self::LBrack => "[",
            Self::RBrack => "]",
            Self::LBrace => "{",
            Self::RBrace => "}",
            Self::Comma => ",",
            Self::Dot => ".",
            Self::Colon => ":",
            Self::Semicolon => ";",
            Self::Assign => ":=",
            Self::Unify => "=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Star => "*",
            Self::Slash => "/",
            Self::Percent => "%",
            Self::And => "&",
            Self::Or => "|",
            Self::End => "end of file",
        }
    }
}

/// A token: its kind, its bytes in the source, and the white space in front of it, which Rego's grammar reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// White space or a comment stands in front.
    pub(crate) spaced: bool,
    /// A line break stands in front.
    pub(crate) newline: bool,
}
