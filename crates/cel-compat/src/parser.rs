//! From tokens to an expression, after the grammar of the CEL language definition.
//!
//! Nesting is bounded, so that neither this parser nor anything that walks its result can exhaust the stack. What
//! names mean, and which calls are macros, is the checker's business.

use std::iter::Peekable;
use std::vec::IntoIter;

use crate::value::Value;

use super::syntax::{Call, Expr, ExprKind, Mistake, Select};
use super::token::{Token, tokens};

/// Longest expression, in characters; cel-go's bound.
const LONGEST: usize = 100_000;
/// Most levels of one expression, links of chains included. cel-go allows 250 of its own, differently counted, steps.
const DEEPEST: usize = 200;
/// Most brackets around one part. Each costs this parser a dozen calls.
const MOST_BRACKETS: usize = 100;

/// Names that CEL keeps for later use; they may be fields, but not names of their own.
const RESERVED: [&str; 17] = [
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

/// Parses one expression.
///
/// # Errors
/// The first mistake: after it, what the rest was meant to be is a guess.
pub(super) fn parse(source: &str) -> Result<Expr, Mistake> {
    if source.chars().count() > LONGEST {
        return Err(Mistake::new(0, format!("longer than {LONGEST} characters")));
    }
    let mut parser = Parser { end: source.len(), tokens: tokens(source)?.into_iter().peekable(), depth: 0 };
    let expr = parser.expression()?;
    match parser.tokens.next() {
        None => Ok(expr),
        Some((at, token)) => Err(Mistake::new(at, format!("unexpected {}", describe(&token)))),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<(usize, Token)>>,
    end: usize,
    depth: usize,
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

impl Parser {
    fn at(&mut self) -> usize {
        self.tokens.peek().map_or(self.end, |(at, _)| *at)
    }

    fn peek_sign(&mut self) -> Option<&'static str> {
        match self.tokens.peek() {
            Some((_, Token::Sign(sign))) => Some(sign),
            _ => None,
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.peek_sign() == Some(sign);
        if found {
            self.tokens.next();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Mistake> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{sign}`")))
    }

    fn unexpected(&mut self, wanted: &str) -> Mistake {
        let at = self.at();
        let found = self.tokens.peek().map_or_else(|| "the end".to_owned(), |(_, token)| describe(token));
        Mistake::new(at, format!("expected {wanted}, found {found}"))
    }

    /// A part of the result, refused when it nests too deep.
    fn built(&mut self, at: usize, kind: ExprKind) -> Result<Expr, Mistake> {
        let expr = Expr::new(at, kind);
        if expr.height() > DEEPEST { Err(too_deep(at)) } else { Ok(expr) }
    }

    fn call(&mut self, at: usize, function: &str, arguments: Vec<Expr>) -> Result<Expr, Mistake> {
        let function = function.to_owned();
        self.built(at, ExprKind::Call(Call { target: None, function, arguments }))
    }

    /// One pair of brackets deeper.
    fn descend(&mut self) -> Result<(), Mistake> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MOST_BRACKETS { Err(too_deep(self.at())) } else { Ok(()) }
    }

    fn expression(&mut self) -> Result<Expr, Mistake> {
        let outside = self.depth;
        self.descend()?;
        let condition = self.logical("||", "_||_", |parser| parser.logical("&&", "_&&_", Self::relation))?;
        let at = self.at();
        let expr = if self.take("?") {
            let then = self.logical("||", "_||_", |parser| parser.logical("&&", "_&&_", Self::relation))?;
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
        operand: impl Fn(&mut Self) -> Result<Expr, Mistake>,
    ) -> Result<Expr, Mistake> {
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

    fn relation(&mut self) -> Result<Expr, Mistake> {
        self.chain(RELATIONS, |parser| parser.chain(SUMS, |parser| parser.chain(PRODUCTS, Self::unary)))
    }

    fn chain(
        &mut self,
        level: Level,
        operand: impl Fn(&mut Self) -> Result<Expr, Mistake>,
    ) -> Result<Expr, Mistake> {
        let mut left = operand(self)?;
        while let Some(sign) = self.peek_sign() {
            let Some((_, name)) = level.iter().find(|(known, _)| *known == sign) else {
                break;
            };
            let at = self.at();
            self.tokens.next();
            let right = operand(self)?;
            left = self.call(at, name, vec![left, right])?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Mistake> {
        let at = self.at();
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            let mut count = 0_usize;
            while self.take(sign) {
                count = count.saturating_add(1);
            }
            if count == 0 {
                continue;
            }
            let odd = count % 2 == 1;
            if sign == "-"
                && odd
                && let Some(number) = self.negative()
            {
                return self.member(Expr::new(at, ExprKind::Literal(number)));
            }
            let operand = self.primary()?;
            let operand = self.member(operand)?;
            // An even number of signs cancels out, whatever the operand is: cel-go's reading.
            return if odd { self.call(at, name, vec![operand]) } else { Ok(operand) };
        }
        let operand = self.primary()?;
        self.member(operand)
    }

    /// A number behind a minus sign, negated.
    fn negative(&mut self) -> Option<Value> {
        let number = match self.tokens.peek() {
            Some((_, Token::Literal(Value::Int(number)))) => Value::Int(number.checked_neg()?),
            Some((_, Token::Literal(Value::Float(number)))) => Value::Float(-number),
            Some((_, Token::SmallestInt)) => Value::Int(i64::MIN),
            _ => return None,
        };
        self.tokens.next();
        Some(number)
    }

    /// What follows an operand: selections, calls and indices.
    fn member(&mut self, mut operand: Expr) -> Result<Expr, Mistake> {
        loop {
            let at = self.at();
            if self.take(".") {
                operand = self.selection(at, operand)?;
            } else if self.take("[") {
                let name = if self.take("?") { "_[?_]" } else { "_[_]" };
                let index = self.expression()?;
                self.expect("]")?;
                operand = self.call(at, name, vec![operand, index])?;
            } else {
                return Ok(operand);
            }
        }
    }

    fn selection(&mut self, at: usize, operand: Expr) -> Result<Expr, Mistake> {
        let optional = self.take("?");
        let field = match self.tokens.next() {
            Some((_, Token::Name(name))) => {
                if !optional && self.take("(") {
                    let arguments = self.elements(")", |parser| parser.expression())?;
                    let target = Some(Box::new(operand));
                    let call = Call { target, function: name, arguments };
                    return self.built(at, ExprKind::Call(call));
                }
                name
            }
            Some((_, Token::QuotedName(name))) => name,
            Some((at, token)) => {
                let message = format!("expected a field name, found {}", describe(&token));
                return Err(Mistake::new(at, message));
            }
            None => return Err(Mistake::new(self.end, "expected a field name, found the end")),
        };
        self.built(at, ExprKind::Select(Box::new(Select { operand, field, optional })))
    }

    fn primary(&mut self) -> Result<Expr, Mistake> {
        let at = self.at();
        match self.tokens.next() {
            Some((_, Token::Literal(value))) => Ok(Expr::new(at, ExprKind::Literal(value))),
            Some((_, Token::Name(name))) => self.named(at, name),
            Some((_, Token::SmallestInt)) => Err(Mistake::new(at, "the number does not fit 64 bits")),
            Some((_, Token::Sign("("))) => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some((_, Token::Sign("["))) => {
                let elements = self.elements("]", Self::element)?;
                self.built(at, ExprKind::List(elements))
            }
            Some((_, Token::Sign("{"))) => {
                let entries = self.elements("}", Self::entry)?;
                self.built(at, ExprKind::Map(entries))
            }
            // A leading dot means the outermost name; there is no other.
            Some((_, Token::Sign("."))) => match self.tokens.next() {
                Some((_, Token::Name(name))) => self.named(at, name),
                _ => Err(Mistake::new(at, "expected a name behind the dot")),
            },
            Some((_, token)) => Err(Mistake::new(at, format!("unexpected {}", describe(&token)))),
            None => Err(Mistake::new(at, "unexpected end: the expression is not complete")),
        }
    }

    fn named(&mut self, at: usize, name: String) -> Result<Expr, Mistake> {
        if RESERVED.contains(&name.as_str()) {
            return Err(Mistake::new(at, format!("reserved identifier: {name}")));
        }
        if !self.take("(") {
            return Ok(Expr::new(at, ExprKind::Name(name)));
        }
        let arguments = self.elements(")", |parser| parser.expression())?;
        self.call(at, &name, arguments)
    }

    /// Elements between commas up to `close`; a comma may stand before `close`, but not alone.
    fn elements<T>(
        &mut self,
        close: &str,
        element: impl Fn(&mut Self) -> Result<T, Mistake>,
    ) -> Result<Vec<T>, Mistake> {
        let mut elements = Vec::new();
        // A list or map may hold a comma and nothing else.
        if close != ")" && self.take(",") {
            self.expect(close)?;
            return Ok(elements);
        }
        while !self.take(close) {
            elements.push(element(self)?);
            let comma = self.take(",");
            if !comma && self.peek_sign() != Some(close) {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
            if comma && close == ")" && self.peek_sign() == Some(close) {
                return Err(self.unexpected("an argument"));
            }
        }
        Ok(elements)
    }

    fn element(&mut self) -> Result<(bool, Expr), Mistake> {
        let optional = self.take("?");
        Ok((optional, self.expression()?))
    }

    fn entry(&mut self) -> Result<(bool, Expr, Expr), Mistake> {
        let optional = self.take("?");
        let key = self.expression()?;
        self.expect(":")?;
        Ok((optional, key, self.expression()?))
    }
}

fn too_deep(at: usize) -> Mistake {
    Mistake::new(at, "nested too deep: use variables for the parts")
}

fn describe(token: &Token) -> String {
    match token {
        Token::Name(name) | Token::QuotedName(name) => format!("`{name}`"),
        Token::Literal(_) | Token::SmallestInt => "a literal".to_owned(),
        Token::Sign(sign) => format!("`{sign}`"),
    }
}
