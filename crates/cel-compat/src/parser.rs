//! From tokens to an expression, after the grammar of the CEL language definition.
//!
//! Nesting is bounded, so that neither this parser nor anything that walks its result can exhaust the stack. What
//! names mean, and which calls are macros, is the checker's business.

mod elements;
mod forms;
mod tokens;

use crate::value::Value;

use super::issue::{Issue, Issues};
use super::syntax::{Call, Expr, ExprKind, Select};
use super::token::{Lexeme, Token, tokens};

pub(crate) use self::forms::{Form, bound, form};
use self::tokens::{END, FIELD_NAME, INDEX, OPERAND};

/// Longest expression, in characters; cel-go's bound.
const LONGEST: usize = 100_000;
/// Most levels of one expression. A chain of `+`, `.` or `[]` has a level for each link and one more, and may have 250 links:
/// the `maxRecursionDepth` of cel-go, in 0.26, which the API server is built with, and in 0.30.
const DEEPEST: usize = 251;
/// Most brackets around one part; cel-go's bound is 249. Each costs this parser a dozen calls.
const MOST_BRACKETS: usize = 100;

/// Names that CEL keeps for later use; they may be fields, but not names of their own.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Parses one expression. Names of fields may stand in `` ` `` where `has_quoted_names`.
///
/// # Errors
/// The first syntax error, behind which the meaning of the rest is a guess; and the names and literals before it that
/// are not allowed.
pub(super) fn parse(source: &str, has_quoted_names: bool) -> Result<Expr, Issues> {
    let size = source.chars().count();
    if size > LONGEST {
        let limit = format!("size: {size}, limit {LONGEST}");
        let issue = Issue::unplaced(format!("expression code point size exceeds limit: {limit}"));
        return Err(Issues::new(source, vec![issue]));
    }
    let (lexemes, issues) = tokens(source);
    let mut parser = Parser { source, lexemes, next: 0, depth: 0, behind: &[END], has_quoted_names, issues };
    let parsed = parser.expression().and_then(|expr| parser.expect_end().map(|()| expr));
    match parsed {
        Ok(expr) if parser.issues.is_empty() => Ok(expr),
        Ok(_) => Err(Issues::new(source, parser.issues)),
        Err(issue) => {
            parser.issues.push(issue);
            Err(Issues::new(source, parser.issues))
        }
    }
}

struct Parser<'s> {
    source: &'s str,
    lexemes: Vec<Lexeme>,
    next: usize,
    depth: usize,
    /// The signs that may stand behind the expression that is parsed.
    behind: &'static [&'static str],
    has_quoted_names: bool,
    /// Errors that let the rest be parsed.
    issues: Vec<Issue>,
}

/// Binary operators of one precedence: the sign and CEL's name for it.
type Level = &'static [(&'static str, &'static str)];

const RELATIONS: Level = &[
    ("<", "_<_"),
    ("<=", "_<=_"),
    (">", "_>_"),
    (">=", "_>=_"),
    ("==", "_==_"),
    ("!=", "_!=_"),
    ("in", "@in"),
];
const SUMS: Level = &[("+", "_+_"), ("-", "_-_")];
const PRODUCTS: Level = &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")];

impl Parser<'_> {
    /// A part of the result, refused when it nests too deep.
    fn built(&mut self, at: usize, kind: ExprKind) -> Result<Expr, Issue> {
        let expr = Expr::new(at, kind);
        if expr.height() > DEEPEST { Err(too_deep()) } else { Ok(expr) }
    }

    fn call(&mut self, at: usize, function: &str, arguments: Vec<Expr>) -> Result<Expr, Issue> {
        let function = function.to_owned();
        self.called(at, Call { target: None, function, arguments })
    }

    /// A call; a macro of the wrong form is reported and stands for a literal, so that what follows can be parsed.
    fn called(&mut self, at: usize, call: Call) -> Result<Expr, Issue> {
        match forms::issue(&call) {
            None => self.built(at, ExprKind::Call(call)),
            Some(issue) => {
                let place = Expr::new(issue.at, ExprKind::Literal(Value::Null));
                self.issues.push(issue);
                Ok(place)
            }
        }
    }

    /// One pair of brackets deeper.
    fn descend(&mut self) -> Result<(), Issue> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MOST_BRACKETS { Err(too_deep()) } else { Ok(()) }
    }

    /// Parses a part behind which one of `signs` has to stand.
    fn before<T>(
        &mut self,
        signs: &'static [&'static str],
        part: impl Fn(&mut Self) -> Result<T, Issue>,
    ) -> Result<T, Issue> {
        let outside = std::mem::replace(&mut self.behind, signs);
        let parsed = part(self);
        self.behind = outside;
        parsed
    }

    /// Skips a name in `` ` ``, which the API server's version of cel-go refuses, at `at`, after it has parsed it.
    fn quoted_name(&mut self, at: usize) {
        if !self.has_quoted_names {
            self.issues.push(Issue::new(at, "unsupported syntax: '`'"));
        }
        self.bump();
    }

    fn expression(&mut self) -> Result<Expr, Issue> {
        let outside = self.depth;
        self.descend()?;
        let condition = self.logical("||", "_||_", |parser| parser.logical("&&", "_&&_", Self::relation))?;
        let at = self.at();
        let expr = if self.take("?") {
            let then = self.before(&[":"], |parser| {
                parser.logical("||", "_||_", |parser| parser.logical("&&", "_&&_", Self::relation))
            })?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            self.call(at, "_?_:_", vec![condition, then, otherwise])?
        } else {
            condition
        };
        self.depth = outside;
        Ok(expr)
    }

    /// A chain of `&&` or `||`, kept as one call so that a long chain does not nest.
    fn logical(
        &mut self,
        sign: &str,
        name: &str,
        operand: impl Fn(&mut Self) -> Result<Expr, Issue>,
    ) -> Result<Expr, Issue> {
        let first = operand(self)?;
        let at = self.at();
        if self.peek_sign() != Some(sign) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.take(sign) {
            operands.push(operand(self)?);
        }
        self.call(at, name, operands)
    }

    fn relation(&mut self) -> Result<Expr, Issue> {
        self.chain(RELATIONS, |parser| parser.chain(SUMS, |parser| parser.chain(PRODUCTS, Self::unary)))
    }

    fn chain(
        &mut self,
        level: Level,
        operand: impl Fn(&mut Self) -> Result<Expr, Issue>,
    ) -> Result<Expr, Issue> {
        let mut left = operand(self)?;
        while let Some(sign) = self.peek_sign() {
            let Some((_, name)) = level.iter().find(|(known, _)| *known == sign) else {
                break;
            };
            let at = self.at();
            self.bump();
            let right = operand(self)?;
            left = self.call(at, name, vec![left, right])?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Issue> {
        let at = self.at();
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            let (mut count, mut last) = (0_usize, at);
            while self.peek_sign() == Some(sign) {
                last = self.at();
                self.bump();
                count = count.saturating_add(1);
            }
            if count == 0 {
                continue;
            }
            self.at_operand_of(sign, last)?;
            if sign == "-"
                && count == 1
                && let Some(number) = self.negative(at)
            {
                return self.member(Expr::new(at, ExprKind::Literal(number)));
            }
            let operand = self.primary(OPERAND)?;
            let operand = self.member(operand)?;
            // An even number of signs cancels out, whatever the operand is: cel-go's reading.
            return if count % 2 == 1 { self.call(at, name, vec![operand]) } else { Ok(operand) };
        }
        let operand = self.primary(OPERAND)?;
        self.member(operand)
    }

    /// A number behind a minus sign that stands at `at`, negated.
    fn negative(&mut self, at: usize) -> Option<Value> {
        let number = match self.peek()? {
            Token::Literal(Value::Int(number)) => Value::Int(number.checked_neg()?),
            Token::Literal(Value::Float(number)) => Value::Float(-number),
            Token::SmallestInt => Value::Int(i64::MIN),
            Token::BadLiteral(message) if *message != "invalid uint literal" => {
                let issue = Issue::new(at, *message);
                self.issues.push(issue);
                Value::Null
            }
            _ => return None,
        };
        self.bump();
        Some(number)
    }

    /// Parses what follows an operand: selections, calls and indices.
    fn member(&mut self, mut operand: Expr) -> Result<Expr, Issue> {
        loop {
            let at = self.at();
            if self.take(".") {
                operand = self.selection(at, operand)?;
            } else if self.take("[") {
                let name = if self.take("?") { "_[?_]" } else { "_[_]" };
                self.at_operand(if name == "_[_]" { INDEX } else { OPERAND })?;
                let index = self.before(&["]"], Self::expression)?;
                self.expect("]")?;
                operand = self.call(at, name, vec![operand, index])?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn selection(&mut self, at: usize, operand: Expr) -> Result<Expr, Issue> {
        let optional = self.take("?");
        if optional {
            self.at_name(FIELD_NAME);
        }
        let field = match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.bump();
                let open = self.at();
                if !optional && self.take("(") {
                    let arguments = self.arguments()?;
                    let target = Some(Box::new(operand));
                    return self.called(open, Call { target, function: name, arguments });
                }
                name
            }
            Some(Token::QuotedName(name)) => {
                let name = name.clone();
                self.quoted_name(self.at());
                name
            }
            _ if optional => return Err(self.mismatched(FIELD_NAME)),
            _ => return Err(self.not_viable(at)),
        };
        self.built(at, ExprKind::Select(Box::new(Select { operand, field, optional })))
    }

    /// Nothing that begins at `from` goes on with the next token.
    pub(super) fn not_viable(&self, from: usize) -> Issue {
        let end = self.lexemes.get(self.next).map_or(self.source.len(), |lexeme| lexeme.end);
        let text = self.source.get(from..end).unwrap_or_default();
        // cel-go rewords these.
        if matches!(text, ".true" | ".false" | ".null") {
            return self.mismatched("IDENTIFIER");
        }
        Issue::new(self.at(), format!("Syntax error: no viable alternative at input '{text}'"))
    }

    fn primary(&mut self, wanted: &str) -> Result<Expr, Issue> {
        self.at_operand(wanted)?;
        let at = self.at();
        match self.bump() {
            Some(Token::Literal(value)) => Ok(Expr::new(at, ExprKind::Literal(value))),
            Some(Token::Name(name)) => self.named(at, at, name),
            Some(Token::SmallestInt) => Ok(self.bad_literal(at, "invalid int literal")),
            Some(Token::BadLiteral(message)) => Ok(self.bad_literal(at, message)),
            Some(Token::Sign("(")) => {
                let inner = self.before(&[")"], Self::expression)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Sign("[")) => {
                let elements = self.list()?;
                self.built(at, ExprKind::List(elements))
            }
            Some(Token::Sign("{")) => {
                let entries = self.map()?;
                self.built(at, ExprKind::Map(entries))
            }
            // A leading dot means the outermost name; there is no other. Issues show it.
            Some(Token::Sign(".")) => match self.peek() {
                Some(Token::Name(name)) => {
                    let (name, name_at) = (format!(".{name}"), self.at());
                    self.bump();
                    self.named(at, name_at, name)
                }
                _ => Err(self.not_viable(at)),
            },
            // Behind `!`, a number may have a sign of its own.
            Some(Token::Sign("-")) => match self.negative(at) {
                Some(number) => Ok(Expr::new(at, ExprKind::Literal(number))),
                None => Err(self.not_viable(at)),
            },
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// The token that was just read is not what is wanted.
    fn unexpected(&mut self, wanted: &str) -> Issue {
        self.next = self.next.saturating_sub(1);
        self.mismatched(wanted)
    }

    /// A literal without a value: what follows it can be parsed.
    fn bad_literal(&mut self, at: usize, message: &str) -> Expr {
        self.issues.push(Issue::new(at, message));
        Expr::new(at, ExprKind::Literal(Value::Null))
    }

    /// Parses what a name at `at` begins; it stands at `from` with the dot before it.
    fn named(&mut self, from: usize, at: usize, name: String) -> Result<Expr, Issue> {
        if self.is_message() {
            return self.message(name);
        }
        let plain = name.strip_prefix('.').unwrap_or(&name);
        if RESERVED.contains(&plain) {
            self.issues.push(Issue::new(from, format!("reserved identifier: {plain}")));
        }
        let open = self.at();
        if self.take("(") {
            let arguments = self.arguments()?;
            return self.call(open, &name, arguments);
        }
        Ok(Expr::new(at, ExprKind::Name(name)))
    }
}

/// A bound of this parser, which keeps its stack; cel-go has another one, so that it may accept what is refused here.
fn too_deep() -> Issue {
    Issue::of_limit("nested too deep: use variables for the parts")
}
