//! From Rego v0 to the same policy in Rego v1, as an edit of its text: comments and layout stay.
//!
//! ```text
//! violation[{"msg": msg}] { re_match("^a", input.x); msg := "a" }
//! violation contains {"msg": msg} if { regex.match("^a", input.x); msg := "a" }
//! ```
//!
//! Four things change: `if` in front of bodies, `contains` for `p[x]`, the two functions that only got another name, and
//! `any([…])`. Whatever else Rego v1 refuses (`any` of a variable, `all`, a variable called `if`) is for the author: the edited text is parsed and
//! checked as Rego v1, and its tree compared with that of the original, before it is handed out. Source of the rules: OPA's
//! `v1/format` with `--v0-v1`.

use crate::ast::{Else, HeadValue, Rule, Written};
use crate::builtin::find;
use crate::diagnostic::{DiagnosticCode, Diagnostics, Pos, Source};
use crate::lexer::lex;
use crate::module::Module;
use crate::parser::RegoVersion;
use crate::restrictions::Restrictions;
use crate::token::{Kind, Token};

/// Functions of Rego v0 that have another name in v1, and nothing else.
const RENAMED: [(&str, &str); 2] = [("re_match", "regex.match"), ("net.cidr_overlap", "net.cidr_contains")];

impl Module {
    /// Returns the text of the module rewritten to Rego v1; a module in Rego v1 is returned as it is.
    ///
    /// ```
    /// use rego_compat::{Module, RegoVersion};
    ///
    /// let module = Module::parse("t.rego", "package t\np[x] { x := input.a[_] } # each", RegoVersion::V0)?;
    /// assert_eq!(module.to_v1()?, "package t\np contains x if { x := input.a[_] } # each");
    /// # Ok::<(), rego_compat::Diagnostics>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors that the module has under Rego v1 and that no rewrite with certainly the same meaning fixes. Places are
    /// those of the original where they are known, otherwise those of the rewritten text.
    pub fn to_v1(&self) -> Result<String, Diagnostics> {
        if self.tree.strict {
            return Ok(self.source().to_owned());
        }
        let edited = self.with_keywords()?;
        let parsed = Self::parse(self.name(), &edited, RegoVersion::V1)?;
        if shape(&self.tree.rules) != shape(&parsed.tree.rules) {
            return Err(self.refused(Pos(0, 0), "has no rewrite in Rego v1 that is certain to mean the same"));
        }
        let text = self.renamed(edited)?;
        Self::parse(self.name(), &text, RegoVersion::V1)?.check(&Restrictions::default())?;
        Ok(text)
    }

    fn refused(&self, at: Pos, message: &str) -> Diagnostics {
        Diagnostics::new(vec![self.source.diagnostic(
            at,
            DiagnosticCode::Refused,
            message.to_owned(),
            "rewrite it by hand",
        )])
    }

    fn with_keywords(&self) -> Result<String, Diagnostics> {
        // It was lexed before, when it was parsed.
        let tokens = lex(self.source()).unwrap_or_default();
        let mut edits = Edits { text: self.source(), tokens: &tokens, list: Vec::new() };
        for rule in self.tree.rules.iter().filter(|rule| !rule.default) {
            let refused = || self.refused(rule.at, "this rule has a form that is not rewritten");
            edits.rule(rule).ok_or_else(refused)?;
        }
        Ok(edits.apply())
    }

    /// Gives calls of functions that Rego v1 does not have their new name.
    fn renamed(&self, text: String) -> Result<String, Diagnostics> {
        let tokens = lex(&text).unwrap_or_default();
        let mut edits = Edits { text: &text, tokens: &tokens, list: Vec::new() };
        let mut diagnostics = Vec::new();
        for (at, name) in edits.calls() {
            let head = name.split('.').next().unwrap_or_default();
            if self.rule_names().any(|rule| rule == head) || !find(&name).is_some_and(|found| found.removed) {
                continue;
            }
            match RENAMED.iter().find(|(old, _)| *old == name) {
                Some((_, new)) => edits.list.push((at.0, at.1, (*new).to_owned())),
                None if name == "any" && edits.any_of_array(at).is_some() => {}
                None => {
                    let message = format!("the function {name} is not part of Rego v1");
                    let source = Source::new(self.name(), &text);
                    diagnostics.push(source.diagnostic(
                        at,
                        DiagnosticCode::Refused,
                        message,
                        "rewrite it by hand",
                    ));
                }
            }
        }
        if diagnostics.is_empty() { Ok(edits.apply()) } else { Err(Diagnostics::new(diagnostics)) }
    }
}

/// Changes to a text, each in place of some bytes of it.
struct Edits<'a> {
    text: &'a str,
    tokens: &'a [Token],
    list: Vec<(u32, u32, String)>,
}

impl<'a> Edits<'a> {
    fn rule(&mut self, rule: &Rule) -> Option<()> {
        let (start, end) = (rule.head.at.0, rule.head.at.1);
        if self.token_at(rule.at.0)?.kind == Kind::LBrace && rule.at.0 > end {
            // `p { a } { b }` are two rules of one head.
            let mut head = Edits { text: self.text, tokens: self.tokens, list: Vec::new() };
            head.head(rule)?;
            let text = format!("\n{} if ", head.between(start, end)?);
            self.list.push((rule.at.0, rule.at.0, text));
            return Some(());
        }
        self.head(rule)?;
        self.conditional(rule.written, end)?;
        rule.otherwise.iter().try_for_each(|branch: &Else| self.conditional(branch.written, branch.at.1))
    }

    /// Rewrites `p[x]` and `p.x` to `p contains x`.
    fn head(&mut self, rule: &Rule) -> Option<()> {
        if rule.written.contains || !matches!(rule.head.value, HeadValue::Element(_)) {
            return Some(());
        }
        let (start, end) = (rule.head.at.0, rule.head.at.1);
        let within = |token: &&Token| token.kind != Kind::End && token.start >= start && token.end <= end;
        let tokens: Vec<&Token> = self.tokens.iter().filter(within).collect();
        match tokens.as_slice() {
            [name, open, .., close] if (open.kind, close.kind) == (Kind::LBrack, Kind::RBrack) => {
                self.list.push((name.end, open.end, " contains ".to_owned()));
                self.list.push((close.start, close.end, String::new()));
            }
            [name, dot, word] if (dot.kind, word.kind) == (Kind::Dot, Kind::Ident) => {
                let text = format!(" contains \"{}\"", self.slice(word.start, word.end)?);
                self.list.push((name.end, word.end, text));
            }
            _ => return None,
        }
        Some(())
    }

    /// Puts `if` in front of a body that begins behind `end`.
    fn conditional(&mut self, written: Written, end: u32) -> Option<()> {
        if !written.body || written.conditional {
            return Some(());
        }
        let brace = self.tokens.iter().find(|token| token.start >= end)?;
        if brace.kind != Kind::LBrace {
            return None;
        }
        let word = if brace.spaced { "if " } else { " if " };
        self.list.push((brace.start, brace.start, word.to_owned()));
        Some(())
    }

    /// Rewrites the statement `any([…])` to `true in […]`. In an expression, and of what may not be an array, it would mean
    /// something else.
    fn any_of_array(&mut self, at: Pos) -> Option<()> {
        let name = self.tokens.iter().position(|token| token.start == at.0)?;
        let before = self.tokens.get(name.checked_sub(1)?)?;
        let word = self.slice(before.start, before.end)?;
        let continues = |kind: Kind| {
            kind.is_infix() || matches!(kind, Kind::Assign | Kind::Unify | Kind::Comma | Kind::Colon)
        };
        let is_open = matches!(before.kind, Kind::LParen | Kind::LBrack);
        let begins = self.tokens.get(name)?.newline && !continues(before.kind) && !is_open
            || matches!(before.kind, Kind::LBrace | Kind::Semicolon)
            || ["not", "if"].contains(&word);
        let open = name.checked_add(1)?;
        let close = self.closes(open)?;
        let part = |position: usize| self.tokens.get(position).copied();
        let (first, last, after) =
            (part(open.checked_add(1)?)?, part(close.checked_sub(1)?)?, part(close.checked_add(1)?)?);
        let ends = after.newline && !continues(after.kind)
            || matches!(after.kind, Kind::RBrace | Kind::Semicolon | Kind::End);
        let is_array =
            first.kind == Kind::LBrack && self.closes(open.checked_add(1)?)? == close.checked_sub(1)?;
        if !(begins && ends && is_array) {
            return None;
        }
        self.list.push((at.0, first.start, "true in ".to_owned()));
        self.list.push((last.end, part(close)?.end, String::new()));
        Some(())
    }

    /// Returns the position of the token that closes the bracket at a position.
    fn closes(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let size = self.tokens.iter().skip(open).position(|token| {
            match token.kind {
                Kind::LParen | Kind::LBrack | Kind::LBrace => depth = depth.saturating_add(1),
                Kind::RParen | Kind::RBrack | Kind::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        open.checked_add(size)
    }

    /// Returns the names in front of `(`, with their places: `net.cidr_overlap` of `net.cidr_overlap(a, b)`.
    fn calls(&self) -> Vec<(Pos, String)> {
        let mut calls = Vec::new();
        let mut start: Option<usize> = None;
        for (position, token) in self.tokens.iter().enumerate() {
            match (token.kind, start) {
                (Kind::Ident, None) => start = Some(position),
                (Kind::Ident | Kind::Dot, Some(_)) if !token.spaced => {}
                (Kind::LParen, Some(first)) => {
                    let begin = self.tokens.get(first).map_or(0, |token| token.start);
                    let text = self.slice(begin, token.start).unwrap_or_default().trim_end();
                    let end = begin.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX));
                    calls.push((Pos(begin, end), text.to_owned()));
                    start = None;
                }
                (kind, _) => start = (kind == Kind::Ident).then_some(position),
            }
        }
        calls
    }

    fn token_at(&self, start: u32) -> Option<&'a Token> {
        self.tokens.iter().find(|token| token.start >= start)
    }

    fn slice(&self, start: u32, end: u32) -> Option<&'a str> {
        self.text.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Returns a part of the text with the edits in it.
    fn between(mut self, start: u32, end: u32) -> Option<String> {
        self.list.sort();
        let mut text = String::new();
        let mut at = start;
        for (from, to, new) in &self.list {
            text.push_str(self.slice(at, *from)?);
            text.push_str(new);
            at = *to;
        }
        text.push_str(self.slice(at, end)?);
        Some(text)
    }

    fn apply(self) -> String {
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.between(0, end).unwrap_or_default()
    }
}

/// Returns the text of rules, without their places and without how their keywords were written.
fn shape(rules: &[Rule]) -> String {
    let mut rules = rules.to_vec();
    for rule in &mut rules {
        rule.written = Written::default();
        rule.otherwise.iter_mut().for_each(|branch| branch.written = Written::default());
    }
    let written = format!("{rules:?}");
    // Of a text that holds `Pos(` itself, a part is left out on both sides; the edits do not touch texts.
    let mut parts = written.split("Pos(");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(rules: &str) -> Result<String, Diagnostics> {
        let module = Module::parse("t", &format!("package t\n{rules}"), RegoVersion::V0).unwrap();
        module.to_v1().map(|text| text.strip_prefix("package t\n").unwrap().to_owned())
    }

    #[test]
    fn bodies_get_if_and_elements_contains() {
        for (old, new) in [
            ("p { input.a }", "p if { input.a }"),
            ("p{ input.a }", "p if { input.a }"),
            ("p[x] { x := 1 } # p[x] { y }", "p contains x if { x := 1 } # p[x] { y }"),
            ("p [ {\"a\": [x]} ]\n{ x := 1 }", "p contains  {\"a\": [x]} \nif { x := 1 }"),
            ("p[\"a\"]", "p contains \"a\""),
            ("p.a { input.b }", "p contains \"a\" if { input.b }"),
            ("p[k] = v { v := input[k] }", "p[k] = v if { v := input[k] }"),
            ("p = {x | x := input.a[_]} { input.b }", "p = {x | x := input.a[_]} if { input.b }"),
            (
                "f(x) = y { y := x } else = 2 { x } else = 3",
                "f(x) = y if { y := x } else = 2 if { x } else = 3",
            ),
            ("f(_) { input.a } { input.b }", "f(_) if { input.a } \nf(_) if { input.b }"),
            ("p[x] { x := 1 } { x := 2 }", "p contains x if { x := 1 } \np contains x if { x := 2 }"),
            (
                "default p = false\np { re_match(\"a\", input.x) }",
                "default p = false\np if { regex.match(\"a\", input.x) }",
            ),
            (
                "p { not any([x | x := re_match(\"a\", input.b[_])]) }",
                "p if { not true in [x | x := regex.match(\"a\", input.b[_])] }",
            ),
            ("p { some x, y; input[x] == y }", "p if { some x, y; input[x] == y }"),
            ("p { net.cidr_overlap(\"a\", input.x) }", "p if { net.cidr_contains(\"a\", input.x) }"),
            (
                "import future.keywords.if\np if { input.a }\nq { input.b }",
                "import future.keywords.if\np if { input.a }\nq if { input.b }",
            ),
        ] {
            assert_eq!(rewritten(old).as_deref(), Ok(new), "{old}");
            let again = Module::parse("t", &format!("package t\n{new}"), RegoVersion::V1).unwrap();
            assert_eq!(again.to_v1().unwrap(), format!("package t\n{new}"));
        }
    }

    #[test]
    fn what_has_no_certain_rewrite_is_named() {
        for rules in [
            "p { any(input.a) }",
            "p { x := any([input.a]) }",
            "p { x :=\n any([input.a])\n x }",
            "p { any([input.a])\n == input.b }",
            "p { any([1] | [2]) }",
            "p { all([input.a]) }",
            "p { if := 1; if == input.a }",
            "contains(a) { a == 1 }",
            "p { input := 1; input == 1 }",
            "import data.a\nimport data.b.a\np { a }",
            "p { cast_set(input.x) }",
        ] {
            let refused = rewritten(rules);
            assert!(refused.is_err(), "{rules}: {refused:?}");
        }
    }

    #[test]
    fn a_rule_of_its_own_is_no_function_that_was_renamed() {
        let text = "re_match(a, b) { a == b }\np { re_match(1, input.x); data.x.re_match(1) }";
        let new = "re_match(a, b) if { a == b }\np if { re_match(1, input.x); data.x.re_match(1) }";
        assert_eq!(rewritten(text).as_deref(), Ok(new));
    }
}
