//! Tokens to a syntax tree: the grammar of Rego v0 and v1 as OPA's parser reads it.
//!
//! A recursive descent with bounded depth and a bounded number of steps, so its cost is linear in the size of the
//! text. One file per family: `module`, `query`, `rule`, `literal`, `logic`, `operator`, `term`, `collection`, `text`.

mod collection;
mod literal;
mod logic;
mod module;
mod operator;
mod query;
mod rule;
mod scalar;
mod term;
#[cfg(test)]
mod tests;

use crate::ast::Tree;
use crate::diagnostic::{DiagnosticCode, Diagnostics, Pos, Source};
use crate::lexer::lex;
use crate::restrictions::Bounds;
use crate::token::{Kind, Token};

pub(crate) use query::parse_query;

/// The version of the language that a module is written in. `import rego.v1` makes a v0 module a v1 module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegoVersion {
    /// Before OPA 1.0: `if` and `contains` optional, `re_match`, `any`, `all` … exist. What Gatekeeper templates are
    /// written in unless they say otherwise.
    #[default]
    V0,
    /// OPA 1.0 and later.
    V1,
}

/// Reads a module; reports the first syntax error, as everything behind it would be a guess.
pub(crate) fn parse(source: &Source, version: RegoVersion, bounds: Bounds) -> Result<Tree, Diagnostics> {
    parse_with(source, version, bounds, |parser| parser.module())
}

/// Reads a text by one rule of the grammar.
fn parse_with<T>(
    source: &Source,
    version: RegoVersion,
    bounds: Bounds,
    read: impl FnOnce(&mut Parser<'_>) -> Parsed<T>,
) -> Result<T, Diagnostics> {
    let report = |at, code, message: String, help: &str| {
        Diagnostics::new(vec![source.diagnostic(at, code, message, help)])
    };
    check_size(source, bounds).map_err(|(at, message)| {
        report(at, DiagnosticCode::Bound, message, "split the module, or ask the host for a larger bound")
    })?;
    let tokens =
        lex(&source.text).map_err(|e| report(e.at, DiagnosticCode::Parse, e.message.to_owned(), ""))?;
    let mut parser = Parser::new(&source.text, &tokens, version, bounds);
    read(&mut parser).map_err(|e| report(e.at, e.code, e.message, e.help))
}

fn check_size(source: &Source, bounds: Bounds) -> Result<(), (Pos, String)> {
    if source.text.len() > bounds.size {
        return Err((
            Pos(0, 0),
            format!("module has {} bytes, the bound is {}", source.text.len(), bounds.size),
        ));
    }
    let mut start = 0usize;
    for line in source.text.split_inclusive('\n') {
        if line.len() > bounds.columns && line.chars().count() > bounds.columns {
            let start = u32::try_from(start).unwrap_or(u32::MAX);
            let at = Pos(start, start);
            return Err((at, format!("line is longer than {} characters", bounds.columns)));
        }
        start = start.saturating_add(line.len());
    }
    Ok(())
}

/// A syntax error on its way up.
#[derive(Debug)]
struct SyntaxError {
    at: Pos,
    code: DiagnosticCode,
    message: String,
    help: &'static str,
}

type Parsed<T> = Result<T, SyntaxError>;

/// Keywords that exist only under a version or an import.
#[derive(Clone, Copy, Debug, Default)]
struct Keywords {
    r#in: bool,
    every: bool,
    r#if: bool,
    contains: bool,
    and: bool,
    or: bool,
    /// `not { … }` bodies (`future.keywords.not`).
    not_bodies: bool,
}

impl Keywords {
    const V1: Self = Self {
        r#in: true,
        every: true,
        r#if: true,
        contains: true,
        and: false,
        or: false,
        not_bodies: false,
    };

    const fn add_v1(&mut self) {
        self.r#in = true;
        self.every = true;
        self.r#if = true;
        self.contains = true;
    }

    /// Returns true if the word is a keyword now.
    fn reserves(self, word: &str) -> bool {
        match word {
            "as" | "default" | "else" | "false" | "import" | "package" | "not" | "null" | "some" | "true"
            | "with" => true,
            "in" => self.r#in,
            "every" => self.every,
            "if" => self.r#if,
            "contains" => self.contains,
            "and" => self.and,
            "or" => self.or,
            _ => false,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    keywords: Keywords,
    strict: bool,
    depth: u32,
    nesting: u32,
    longest_path: usize,
    /// Steps left before the text counts as built to exhaust the parser; only backtracking can use them up.
    steps: usize,
    wildcards: u32,
}

/// A place to read again from, should what is tried first not be what is written.
#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    depth: u32,
    wildcards: u32,
}

const END: Token = Token { kind: Kind::End, start: u32::MAX, end: u32::MAX, spaced: false, newline: false };

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: &'a [Token], version: RegoVersion, bounds: Bounds) -> Self {
        let strict = version == RegoVersion::V1;
        Self {
            text,
            tokens,
            at: 0,
            keywords: if strict { Keywords::V1 } else { Keywords::default() },
            strict,
            depth: 0,
            nesting: bounds.nesting,
            longest_path: bounds.path,
            steps: tokens.len().saturating_mul(16).saturating_add(1 << 12),
            wildcards: 0,
        }
    }

    fn token(&self) -> Token {
        self.tokens.get(self.at).copied().unwrap_or(END)
    }

    fn ahead(&self, by: usize) -> Token {
        self.tokens.get(self.at.saturating_add(by)).copied().unwrap_or(END)
    }

    /// Returns true if the next token continues the current one as a reference: `not.x` and `every[0]` are references.
    fn reference_follows(&self) -> bool {
        !self.ahead(1).spaced && matches!(self.ahead(1).kind, Kind::Dot | Kind::LBrack)
    }

    fn kind(&self) -> Kind {
        self.token().kind
    }

    /// Returns where the current token is.
    fn pos(&self) -> Pos {
        let within = |offset| u32::try_from(self.text.len()).unwrap_or(u32::MAX).min(offset);
        Pos(within(self.token().start), within(self.token().end))
    }

    /// Returns the place from the start of a position to the end of the last token read.
    fn since(&self, at: Pos) -> Pos {
        let last = self.at.checked_sub(1).and_then(|last| self.tokens.get(last));
        Pos(at.0, last.map_or(at.1, |token| token.end.max(at.0)))
    }

    fn text_of(&self, token: Token) -> &'a str {
        let (start, end) = (usize::try_from(token.start), usize::try_from(token.end));
        match (start, end) {
            (Ok(start), Ok(end)) => self.text.get(start..end).unwrap_or(""),
            _ => "",
        }
    }

    fn word(&self) -> &'a str {
        self.text_of(self.token())
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// Returns true if the current token is this keyword, and the keyword exists now.
    fn is_keyword(&self, word: &str) -> bool {
        self.kind() == Kind::Ident && self.word() == word && self.keywords.reserves(word)
    }

    const fn mark(&self) -> Mark {
        Mark { at: self.at, depth: self.depth, wildcards: self.wildcards }
    }

    const fn go_back(&mut self, mark: Mark) {
        (self.at, self.depth, self.wildcards) = (mark.at, mark.depth, mark.wildcards);
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn take_keyword(&mut self, word: &str) -> bool {
        let found = self.is_keyword(word);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: Kind) -> Parsed<()> {
        if self.take(kind) { Ok(()) } else { self.unexpected(&format!("expected `{}`", kind.text())) }
    }

    /// Returns true if the current token is a name that is not reserved.
    fn is_name(&self) -> bool {
        self.kind() == Kind::Ident && !self.keywords.reserves(self.word())
    }

    /// Returns true like [`Self::is_name`]; a keyword that starts a reference (`default.x`, `in["a"]`) counts as a name.
    fn is_reference_head(&self) -> bool {
        self.kind() == Kind::Ident
            && (self.is_name()
                || (!self.ahead(1).spaced && matches!(self.ahead(1).kind, Kind::Dot | Kind::LBrack)))
    }

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError { at: self.pos(), code: DiagnosticCode::Parse, message: message.into(), help: "" })
    }

    fn unexpected<T>(&self, note: &str) -> Parsed<T> {
        let token = self.token();
        let found = match token.kind {
            Kind::Ident if self.keywords.reserves(self.word()) => {
                format!("{} keyword", self.word())
            }
            Kind::Ident => format!("name `{}`", self.word()),
            Kind::End => "end of file".to_owned(),
            kind => format!("`{}`", kind.text()),
        };
        self.error(format!("unexpected {found}: {note}"))
    }

    /// Runs a rule of the grammar one level deeper; refuses text nested beyond the bound.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.enter()?;
        let result = parse(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Counts the work of copying what was read from that many tokens.
    fn copies(&mut self, tokens: usize) -> Parsed<()> {
        self.steps = self.steps.saturating_sub(tokens.saturating_mul(4));
        self.check_bounds()
    }

    fn enter(&mut self) -> Parsed<()> {
        self.depth = self.depth.saturating_add(1);
        self.steps = self.steps.saturating_sub(1);
        self.check_bounds()
    }

    fn check_bounds(&self) -> Parsed<()> {
        if self.depth <= self.nesting && self.steps > 0 {
            return Ok(());
        }
        let message = if self.steps == 0 {
            "text is too ambiguous to read in bounded time".to_owned()
        } else {
            format!("nested more than {} levels deep", self.nesting)
        };
        Err(SyntaxError {
            at: self.pos(),
            code: DiagnosticCode::Bound,
            message,
            help: "name the inner parts in rules or variables of their own",
        })
    }
}
