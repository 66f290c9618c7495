//! Package, imports, and the sequence of rules.

use crate::ast::{Import, Name, Node, Term, Tree};
use crate::diagnostic::{DiagnosticCode, Pos};
use crate::token::Kind;

use super::{Parsed, Parser, SyntaxError};

impl Parser<'_> {
    pub(super) fn module(&mut self) -> Parsed<Tree> {
        if self.kind() == Kind::End {
            return self.error("empty module");
        }
        let package_at = self.pos();
        if !self.take_keyword("package") {
            return self.error("package expected");
        }
        let package = self.path()?;
        let mut tree =
            Tree { package, package_at, imports: Vec::new(), rules: Vec::new(), strict: self.strict };
        while self.kind() != Kind::End {
            self.depth = 0;
            if self.is_statement("package") {
                return self.error("unexpected package");
            } else if self.is_statement("import") {
                let import = self.import()?;
                tree.imports.push(import);
            } else {
                self.rules(&mut tree.rules)?;
            }
        }
        tree.strict = self.strict;
        Ok(tree)
    }

    /// Returns true if a keyword starts a statement, and not a reference such as `import.x`.
    fn is_statement(&self, word: &str) -> bool {
        self.is_keyword(word)
            && (self.ahead(1).spaced || !matches!(self.ahead(1).kind, Kind::Dot | Kind::LBrack))
    }

    /// Parses a reference of names and string constants.
    fn path(&mut self) -> Parsed<Vec<Name>> {
        if self.kind() != Kind::Ident {
            return self.unexpected("expected path");
        }
        let head = Term::new(Node::Var(self.word().into()), self.pos());
        self.bump();
        let term = self.reference(head)?;
        let components = match term.node {
            Node::Var(name) => return Ok(vec![name]),
            Node::Ref(components) => components,
            _ => return self.error("expected path"),
        };
        components.iter().enumerate().map(|(position, term)| path_component(position, term)).collect()
    }

    fn import(&mut self) -> Parsed<Import> {
        self.bump();
        let at = self.pos();
        let path = self.path()?;
        let alias = if self.take_keyword("as") { Some(self.alias()?) } else { None };
        let import = Import { path, alias, at };
        match import.path.first().map(|root| &**root) {
            Some("data" | "input") => self.check_document_import(&import)?,
            Some("future") => self.future(&import)?,
            Some("rego") => self.rego(&import)?,
            other => {
                return self.error_at(
                    at,
                    format!(
                        "unexpected import path, must begin with one of: {{data, future, input, rego}}, got: {}",
                        other.unwrap_or("")
                    ),
                );
            }
        }
        Ok(import)
    }

    fn alias(&mut self) -> Parsed<Name> {
        if !self.is_name() {
            return self.unexpected("expected var");
        }
        if matches!(self.word(), "data" | "input") {
            return self.error("unexpected import alias, must not be a reserved name");
        }
        let name = self.word().into();
        self.bump();
        Ok(name)
    }

    fn error_at<T>(&self, at: Pos, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError { at, code: DiagnosticCode::Parse, message: message.into(), help: "" })
    }

    fn check_document_import(&self, import: &Import) -> Parsed<()> {
        let ends_in_keyword = import.path.last().is_some_and(|last| self.keywords.reserves(last));
        if import.alias.is_none() && ends_in_keyword {
            return self.error_at(import.at, "unexpected import path, must not end with a keyword");
        }
        Ok(())
    }

    /// Applies `import future.keywords` and `import future.keywords.<keyword>`.
    fn future(&mut self, import: &Import) -> Parsed<()> {
        if import.path.get(1).map(|word| &**word) != Some("keywords") {
            return self.error_at(import.at, "invalid import, must be `future.keywords`");
        }
        if import.alias.is_some() {
            return self.error_at(import.at, "`future` imports cannot be aliased");
        }
        let Some(word) = import.path.get(2) else {
            self.keywords.add_v1();
            for word in ["and", "or", "not"] {
                self.add_keyword(word);
            }
            return Ok(());
        };
        if self.add_keyword(word) {
            return Ok(());
        }
        self.error_at(import.at, "unexpected keyword, must be one of [and contains every if in not or]")
    }

    fn add_keyword(&mut self, word: &str) -> bool {
        match word {
            "in" => self.keywords.r#in = true,
            // `every` brings `in` along: it cannot be written without.
            "every" => (self.keywords.every, self.keywords.r#in) = (true, true),
            "if" => self.keywords.r#if = true,
            "contains" => self.keywords.contains = true,
            "and" => self.keywords.and = true,
            "or" => self.keywords.or = true,
            "not" => self.keywords.not_bodies = true,
            _ => return false,
        }
        true
    }

    /// Applies `import rego.v1`: the rest of the module is Rego v1. `rego.v2` adds the keywords v1 has to import.
    fn rego(&mut self, import: &Import) -> Parsed<()> {
        let version = import.path.get(1).map(|word| &**word).filter(|_| import.path.len() == 2);
        if !matches!(version, Some("v1" | "v2")) {
            let path = import.path.join(".");
            return self.error_at(
                import.at,
                format!("invalid import `{path}`, must be one of: `rego.v1`, `rego.v2`"),
            );
        }
        if import.alias.is_some() {
            return self.error_at(import.at, "`rego` imports cannot be aliased");
        }
        self.keywords.add_v1();
        self.strict = true;
        if version == Some("v2") {
            for word in ["and", "or", "not"] {
                self.add_keyword(word);
            }
        }
        Ok(())
    }
}

/// Returns a component of the path of a package or an import: a name at its beginning, a string everywhere else.
fn path_component(position: usize, term: &Term) -> Parsed<Name> {
    match (&term.node, term.as_str()) {
        (Node::Var(name), _) if position == 0 => Ok(name.clone()),
        (_, Some(text)) => Ok(text.into()),
        _ => Err(SyntaxError {
            at: term.at,
            code: DiagnosticCode::Parse,
            message: format!("unexpected {} token: expecting string", term.describe()),
            help: "",
        }),
    }
}
