//! Rules: heads, bodies, chained bodies and `else`.

use crate::ast::{Else, Head, HeadValue, Literal, Node, Rule, Term, Written};
use crate::diagnostic::Pos;
use crate::token::Kind;

use super::{Parsed, Parser};

impl Parser<'_> {
    /// Parses one rule statement; a chained body makes another rule under the same head.
    pub(super) fn rules(&mut self, rules: &mut Vec<Rule>) -> Parsed<()> {
        let at = self.pos();
        if self.is_default() {
            self.bump();
            let rule = self.default_rule(at)?;
            rules.push(rule);
            return Ok(());
        }
        if !self.is_reference_head() {
            return self.unexpected("expected rule");
        }
        let begin = self.at;
        let (mut head, contains) = self.head()?;
        let head_size = self.at.saturating_sub(begin);
        let at = self.since(at);
        // `if.x := 1` on the next line is a rule of its own.
        let conditional = !self.reference_follows() && self.take_keyword("if");
        let written = Written { contains, conditional, body: false };
        classify(&mut head, written);
        let mut rule = Rule { default: false, head, body: Vec::new(), otherwise: Vec::new(), at, written };
        if conditional {
            self.conditional_body(&mut rule)?;
        } else if self.kind() == Kind::LBrace {
            self.braced_body(&mut rule)?;
        } else {
            self.bodiless(&rule)?;
            if let (HeadValue::True, Some(name)) = (&rule.head.value, rule.head.path.first()) {
                rule.at = name.at;
            }
            rules.push(rule);
            return Ok(());
        }
        self.otherwise(&mut rule)?;
        self.chained(rule, head_size, rules)
    }

    fn is_default(&self) -> bool {
        self.is_keyword("default")
            && (self.ahead(1).spaced || !matches!(self.ahead(1).kind, Kind::Dot | Kind::LBrack))
    }

    fn conditional_body(&mut self, rule: &mut Rule) -> Parsed<()> {
        if self.kind() != Kind::LBrace {
            rule.body = vec![self.literal()?];
            return Ok(());
        }
        // `if {` opens a body, or an object or comprehension that is the only literal.
        let start = self.mark();
        if let Ok(literal) = self.literal()
            && !is_set(&literal.kind)
        {
            rule.body = vec![literal];
            return Ok(());
        }
        self.go_back(start);
        self.braced_body(rule)
    }

    fn braced_body(&mut self, rule: &mut Rule) -> Parsed<()> {
        self.bump();
        rule.body = self.body(Kind::RBrace)?;
        rule.written.body = true;
        Ok(())
    }

    /// Checks a rule without body, whose head must have a value or a key.
    fn bodiless(&self, rule: &Rule) -> Parsed<()> {
        let says_nothing = matches!(rule.head.value, HeadValue::True);
        if says_nothing && rule.head.args.is_none() && rule.head.path.len() == 1 {
            return self.error("var cannot be used for rule name");
        }
        Ok(())
    }

    fn chained(&mut self, rule: Rule, head_size: usize, rules: &mut Vec<Rule>) -> Parsed<()> {
        if self.kind() != Kind::LBrace {
            rules.push(rule);
            return Ok(());
        }
        let has_else = !rule.otherwise.is_empty();
        let template = Rule { head: rule.head.clone(), body: Vec::new(), otherwise: Vec::new(), ..rule };
        rules.push(rule);
        while self.kind() == Kind::LBrace {
            if has_else {
                return self.error("expected else keyword");
            }
            self.copies(head_size)?;
            let mut next = template.clone();
            next.at = self.pos();
            self.braced_body(&mut next)?;
            self.fresh_wildcards(&mut next.head);
            next.at = self.since(next.at);
            rules.push(next);
        }
        Ok(())
    }

    fn fresh_wildcards(&mut self, head: &mut Head) {
        for arg in head.args.iter_mut().flatten().filter(|arg| arg.is_wildcard()) {
            arg.node = self.wildcard();
        }
    }

    fn default_rule(&mut self, at: Pos) -> Parsed<Rule> {
        if !self.is_reference_head() {
            return self.unexpected("expected rule name");
        }
        let (mut head, contains) = self.head()?;
        let written = Written { contains, conditional: false, body: false };
        classify(&mut head, written);
        if matches!(head.value, HeadValue::True) && (head.args.is_some() || head.path.len() != 2) {
            let holds = Node::Scalar(true.into());
            head.value = HeadValue::Single(Term::new(holds, head.at));
        }
        if !matches!(head.value, HeadValue::Single(_)) {
            return self.error("illegal default rule (must have a value)");
        }
        Ok(Rule { default: true, head, body: Vec::new(), otherwise: Vec::new(), at, written })
    }

    /// Parses the head as written, and whether `contains` was.
    fn head(&mut self) -> Parsed<(Head, bool)> {
        let at = self.pos();
        let name = Term::new(self.variable(), at);
        self.bump();
        let (path, args) = self.head_reference(name)?;
        let mut head = Head { path, args, value: HeadValue::True, assigned: false, at };
        if self.is_keyword("contains") {
            if head.args.is_some() {
                return self.error("the contains keyword can only be used with multi-value rule definitions");
            }
            self.bump();
            head.value = HeadValue::Element(self.expression()?);
            head.at = self.since(at);
            return Ok((head, true));
        }
        if matches!(self.kind(), Kind::Unify | Kind::Assign) {
            head.assigned = self.kind() == Kind::Assign;
            self.bump();
            head.value = HeadValue::Single(self.expression()?);
        }
        head.at = self.since(at);
        Ok((head, false))
    }

    /// Parses the reference of a head; unlike elsewhere, white space may stand between its name and its brackets.
    fn head_reference(&mut self, name: Term) -> Parsed<(Vec<Term>, Option<Vec<Term>>)> {
        let at = name.at;
        let term = if matches!(self.kind(), Kind::LParen | Kind::LBrack | Kind::Dot) {
            self.reference_from(name, true)?
        } else {
            name
        };
        match term.node {
            Node::Ref(path) if matches!(path.first(), Some(Term { node: Node::Var(_), .. })) => {
                Ok((path, None))
            }
            Node::Ref(_) => self.error("invalid rule head: nothing can follow the arguments of a function"),
            Node::Call(call) => {
                let mut names = call.operator.into_iter();
                let mut path: Vec<Term> =
                    names.next().map(|name| Term::new(Node::Var(name), at)).into_iter().collect();
                path.extend(names.map(|name| Term::new(Node::Scalar(name.as_ref().into()), term.at)));
                // `f() = 1` is a rule like any other: nothing distinguishes its calls.
                Ok((path, Some(call.args).filter(|args| !args.is_empty())))
            }
            Node::Var(_) => Ok((vec![term], None)),
            _ => self.error("expected rule head name"),
        }
    }

    fn otherwise(&mut self, rule: &mut Rule) -> Parsed<()> {
        let wildcards = rule.head.args.iter().flatten().filter(|arg| arg.is_wildcard()).count();
        let wildcards = u32::try_from(wildcards).unwrap_or(u32::MAX);
        while self.is_keyword("else") && !self.reference_follows() {
            if has_key(&rule.head, |key| !is_ground(key)) {
                return self.error("else keyword cannot be used on rules with variables in head");
            }
            // In v0 `p.a = 1` is an object of many, in v1 a rule of its own.
            let is_entry = rule.head.path.len() == 2 && !self.strict;
            let is_computed = |key: &Term| matches!(key.node, Node::Ref(_) | Node::Call(_) | Node::Chain(_));
            if matches!(rule.head.value, HeadValue::Element(_))
                || has_key(&rule.head, |key| is_entry || is_computed(key))
            {
                return self.error("else keyword cannot be used on multi-value rules");
            }
            let branch = self.else_branch(&rule.head, wildcards)?;
            let ended = branch.body.is_empty();
            rule.otherwise.push(branch);
            if ended {
                break;
            }
        }
        Ok(())
    }

    fn else_branch(&mut self, head: &Head, wildcards: u32) -> Parsed<Else> {
        let at = self.pos();
        self.bump();
        let mut branch = Else {
            value: None,
            assigned: head.assigned,
            wildcards: self.wildcards,
            body: Vec::new(),
            at,
            written: Written::default(),
        };
        self.wildcards = self.wildcards.saturating_add(wildcards);
        if matches!(self.kind(), Kind::Assign | Kind::Unify) {
            branch.assigned = self.kind() == Kind::Assign;
            self.bump();
            branch.value = Some(self.expression()?);
        } else if self.kind() != Kind::LBrace && !self.is_keyword("if") {
            return self.unexpected("expected else value term or rule body");
        }
        branch.at = self.since(at);
        branch.written.conditional = self.take_keyword("if");
        if self.kind() == Kind::LBrace {
            self.bump();
            branch.body = self.body(Kind::RBrace)?;
            branch.written.body = true;
        } else if branch.written.conditional {
            // OPA has the whole of `else if x` for the place of `x`.
            let literal = self.literal()?;
            branch.body = vec![Literal { at: self.since(at), ..literal }];
        }
        Ok(branch)
    }
}

const fn is_set(kind: &crate::ast::LiteralKind) -> bool {
    matches!(kind, crate::ast::LiteralKind::Term(Term { node: Node::Set(_), .. }))
}

/// Returns true if the reference of a rule's head has such a key. Functions have names only.
fn has_key(head: &Head, is_such: impl Fn(&Term) -> bool) -> bool {
    head.args.is_none() && head.path.iter().skip(1).any(is_such)
}

/// Returns true if a term has no variable. Source: OPA `ast/term.go`, `IsGround`.
fn is_ground(term: &Term) -> bool {
    match &term.node {
        Node::Scalar(_) => true,
        Node::Var(_) | Node::Comprehension(_) | Node::Template(_) => false,
        Node::Ref(path) => path.iter().skip(1).all(is_ground),
        Node::Call(call) => call.args.iter().all(is_ground),
        Node::Chain(chain) => {
            is_ground(&chain.first) && chain.links.iter().all(|link| is_ground(&link.right))
        }
        Node::Array(items) | Node::Set(items) => items.iter().all(is_ground),
        Node::Object(entries) => entries.iter().all(|(key, value)| is_ground(key) && is_ground(value)),
    }
}

/// Classifies a head: `p[x]` without value, `if` or `contains` is an element of a set; everything else keeps its reference.
fn classify(head: &mut Head, written: Written) {
    let names_element = head.args.is_none()
        && head.path.len() == 2
        && !written.conditional
        && !written.contains
        && matches!(head.value, HeadValue::True);
    if names_element && let Some(element) = head.path.pop() {
        head.value = HeadValue::Element(element);
    }
}
