//! Queries: the literals of a body without braces, under the keywords that the query's imports bring.

use crate::ast::{Body, Tree};
use crate::diagnostic::{DiagnosticCode, Diagnostics, Source};
use crate::restrictions::Bounds;
use crate::token::Kind;

use super::{Parsed, Parser, RegoVersion, SyntaxError, parse_with};

/// Reads a query. Its package and imports are those of `header`, the text of a module without rules.
pub(crate) fn parse_query(
    source: &Source,
    header: &Source,
    version: RegoVersion,
    bounds: Bounds,
) -> Result<(Tree, Body), Diagnostics> {
    let mut keywords = None;
    let tree = parse_with(header, version, bounds, |parser| {
        let tree = parser.module()?;
        keywords = Some(parser.keywords);
        Ok(tree)
    })?;
    let body = parse_with(source, version, bounds, |parser| {
        parser.keywords = keywords.unwrap_or(parser.keywords);
        parser.strict = tree.strict;
        parser.query()
    })?;
    Ok((tree, body))
}

impl Parser<'_> {
    fn query(&mut self) -> Parsed<Body> {
        if self.kind() == Kind::End {
            let message = "empty query cannot be compiled".to_owned();
            return Err(SyntaxError { at: self.pos(), code: DiagnosticCode::Compile, message, help: "" });
        }
        let mut body = Body::new();
        while body.is_empty() || self.kind() != Kind::End {
            self.depth = 0;
            let separated = body.is_empty() || self.take(Kind::Semicolon) || self.token().newline;
            if !separated {
                return self.unexpected("expected \\n or ;");
            }
            body.push(self.literal()?);
        }
        Ok(body)
    }
}
