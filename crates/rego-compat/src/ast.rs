//! The syntax tree of a module, as its author wrote it.
//!
//! Infix operators are calls under OPA's builtin names, `p[x] {…} {…}` is one rule per body, and wildcards are
//! variables with a number. Nothing is resolved: that is the work of `crate::desugar`.

use std::sync::Arc;

use crate::value::Value;

use crate::diagnostic::Pos;

/// An identifier. Cheap to clone, shared by everything made from a module.
pub(crate) type Name = Arc<str>;

/// A module: `package`, imports and rules.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) package: Vec<Name>,
    pub(crate) package_at: Pos,
    pub(crate) imports: Vec<Import>,
    pub(crate) rules: Vec<Rule>,
    /// Written under Rego v1 rules: `version: v1`, or `import rego.v1`.
    pub(crate) strict: bool,
}

/// `import path as alias`.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub(crate) path: Vec<Name>,
    pub(crate) alias: Option<Name>,
    pub(crate) at: Pos,
}

impl Import {
    /// Returns the name the import introduces into its module.
    pub(crate) fn name(&self) -> Option<&Name> {
        self.alias.as_ref().or_else(|| self.path.last())
    }

    /// Returns true if the import stands for a document (`data…`, `input…`) rather than for the language.
    pub(crate) fn is_document(&self) -> bool {
        self.path.first().is_some_and(|root| matches!(&**root, "data" | "input"))
    }
}

/// One rule with one body and its `else` branches.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) default: bool,
    pub(crate) head: Head,
    pub(crate) body: Body,
    pub(crate) otherwise: Vec<Else>,
    pub(crate) at: Pos,
    /// The presence of `if`, `contains` and a braced body; Rego v1 asks for them.
    pub(crate) written: Written,
}

/// Keywords and punctuation of a rule that mean something to Rego v1's checks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) contains: bool,
    pub(crate) conditional: bool,
    pub(crate) body: bool,
}

/// The part of a rule before the body.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Name of the rule, then the rest of its reference.
    pub(crate) path: Vec<Term>,
    /// Arguments; `None` for anything that is not a function.
    pub(crate) args: Option<Vec<Term>>,
    pub(crate) value: HeadValue,
    /// True if the value stands behind `:=`, and not behind `=`.
    pub(crate) assigned: bool,
    pub(crate) at: Pos,
}

/// The value that a rule produces.
#[derive(Clone, Debug)]
pub(crate) enum HeadValue {
    /// Nothing written: `true`.
    True,
    /// `= term` or `:= term`.
    Single(Term),
    /// `contains term`, or `p[term]` in Rego v0.
    Element(Term),
}

impl Head {
    /// Returns the first component of the rule's reference.
    pub(crate) fn name(&self) -> Option<&Name> {
        match self.path.first() {
            Some(Term { node: Node::Var(name), .. }) => Some(name),
            _ => None,
        }
    }
}

/// `else = value { body }`.
#[derive(Clone, Debug)]
pub(crate) struct Else {
    pub(crate) value: Option<Term>,
    /// The same as in [`Head`].
    pub(crate) assigned: bool,
    /// The number of its first wildcard: the arguments of its rule that are wildcards are others here.
    pub(crate) wildcards: u32,
    pub(crate) body: Body,
    pub(crate) at: Pos,
    pub(crate) written: Written,
}

/// Literals that all have to hold.
pub(crate) type Body = Vec<Literal>;

/// One statement of a body.
#[derive(Clone, Debug)]
pub(crate) struct Literal {
    pub(crate) negated: bool,
    pub(crate) kind: LiteralKind,
    pub(crate) with: Vec<With>,
    pub(crate) at: Pos,
}

/// `left = right` or `left := right`.
pub(crate) struct Equation<'t> {
    pub(crate) left: &'t Term,
    pub(crate) right: &'t Term,
    pub(crate) assigned: bool,
    /// The function it is written as a call of.
    pub(crate) function: Option<&'static str>,
}

impl Literal {
    /// Returns the sides of an equation. OPA's parser makes the calls `eq(left, right)` and `assign(left, right)` of its signs, so
    /// they are the same to its compiler when an author writes them.
    /// Source: OPA `ast/policy.go`, `Expr.IsEquality` and `Expr.IsAssignment`.
    pub(crate) fn equation(&self) -> Option<Equation<'_>> {
        match &self.kind {
            LiteralKind::Unify(left, right) => {
                Some(Equation { left, right, assigned: false, function: None })
            }
            LiteralKind::Assign(left, right) => {
                Some(Equation { left, right, assigned: true, function: None })
            }
            LiteralKind::Term(Term { node: Node::Call(call), .. }) => {
                let ([name], [left, right]) = (call.operator.as_slice(), call.args.as_slice()) else {
                    return None;
                };
                let function = ["eq", "assign"].into_iter().find(|function| **function == **name)?;
                Some(Equation { left, right, assigned: function == "assign", function: Some(function) })
            }
            _ => None,
        }
    }
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub(crate) enum LiteralKind {
    /// Any term, calls and infix operators included.
    Term(Term),
    /// `left = right`.
    Unify(Term, Term),
    /// `left := right`.
    Assign(Term, Term),
    /// `some x, y`.
    Some(Vec<(Name, Pos)>),
    /// `some value in domain`, `some key, value in domain`.
    SomeIn { key: Option<Term>, value: Term, domain: Term },
    /// `every key, value in domain { body }`.
    Every(Box<Every>),
    /// `not { body }` and, under `future.keywords.not`, `not literal`.
    Not { body: Body, explicit: bool },
    /// `a and b and c` under `future.keywords.and`: two or more operands. As pairs of pairs, a chain of 10,000 operands would
    /// be a tree of that depth, see [`Chain`].
    And(Vec<Operand>),
    /// `a or b or c` under `future.keywords.or`: two or more operands.
    Or(Vec<Operand>),
}

/// `every key, value in domain { body }`.
#[derive(Clone, Debug)]
pub(crate) struct Every {
    pub(crate) key: Option<Term>,
    pub(crate) value: Term,
    pub(crate) domain: Term,
    pub(crate) body: Body,
}

/// One operand of `and` / `or`; `explicit` when it was written in braces.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) body: Body,
    pub(crate) explicit: bool,
}

/// `with target as value`.
#[derive(Clone, Debug)]
pub(crate) struct With {
    pub(crate) target: Term,
    pub(crate) value: Term,
}

/// A term and where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) node: Node,
    pub(crate) at: Pos,
}

/// The kinds of terms.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// `null`, a boolean, a number or a string.
    Scalar(Value),
    Var(Name),
    /// A head with at least one component behind it, or a bare `data` / `input`.
    Ref(Vec<Term>),
    Call(Box<Call>),
    Chain(Box<Chain>),
    Array(Vec<Term>),
    Object(Vec<(Term, Term)>),
    Set(Vec<Term>),
    Comprehension(Box<Comprehension>),
    /// `$"text {expression}"`.
    Template(Vec<TemplatePart>),
}

/// `operator(args)`; the operator is a dotted name.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) operator: Vec<Name>,
    pub(crate) args: Vec<Term>,
}

impl Call {
    /// Returns the operator as it is written.
    pub(crate) fn name(&self) -> String {
        self.operator.join(".")
    }
}

/// Two or more left-associative operators of one level. `1 + 2 - 3` is `minus(plus(1, 2), 3)`: `first` is 1, the links
/// are `plus 2` and `minus 3`. As nested calls, a chain of 10,000 operators would be a tree of that depth, and what
/// recurses into it (the passes of the compiler, the drop) would run out of stack.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) first: Term,
    pub(crate) links: Vec<Link>,
}

/// An operator and its right operand; the left operand is all of the chain in front of it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) operator: Vec<Name>,
    pub(crate) right: Term,
    /// From the start of the chain to the end of `right`.
    pub(crate) at: Pos,
}

/// `[head | body]`, `{head | body}`, `{key: value | body}`.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) kind: ComprehensionKind,
    pub(crate) body: Body,
}

/// The collection that a comprehension makes.
#[derive(Clone, Debug)]
pub(crate) enum ComprehensionKind {
    Array(Term),
    Set(Term),
    Object(Term, Term),
}

/// A piece of a template string.
#[derive(Clone, Debug)]
pub(crate) enum TemplatePart {
    Text(Value),
    Expression(Literal),
}

impl Term {
    /// Returns a term under operators, innermost first.
    pub(crate) fn chain(first: Self, mut links: Vec<Link>) -> Self {
        if links.len() > 1 {
            let at = links.last().map_or(first.at, |link| link.at);
            return Self::new(Node::Chain(Box::new(Chain { first, links })), at);
        }
        match links.pop() {
            Some(Link { operator, right, at }) => {
                Self::new(Node::Call(Box::new(Call { operator, args: vec![first, right] })), at)
            }
            None => first,
        }
    }

    /// Returns the call that the term is: of a chain, the last operator over all that is in front of it.
    pub(crate) fn into_call(self) -> Option<Call> {
        match self.node {
            Node::Call(call) => Some(*call),
            Node::Chain(chain) => {
                let Chain { first, mut links } = *chain;
                let Link { operator, right, .. } = links.pop()?;
                Some(Call { operator, args: vec![Self::chain(first, links), right] })
            }
            _ => None,
        }
    }

    pub(crate) const fn new(node: Node, at: Pos) -> Self {
        Self { node, at }
    }

    /// Returns true if it was written `_`.
    pub(crate) fn is_wildcard(&self) -> bool {
        matches!(&self.node, Node::Var(name) if name.starts_with('$'))
    }

    /// Returns a string constant's text.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.node {
            Node::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Names the kind of the term in a message.
    pub(crate) const fn describe(&self) -> &'static str {
        match &self.node {
            Node::Scalar(Value::Null) => "null",
            Node::Scalar(Value::Bool(_)) => "boolean",
            Node::Scalar(Value::Number(_)) => "number",
            Node::Scalar(_) => "string",
            Node::Var(_) => "var",
            Node::Ref(_) => "ref",
            Node::Call(_) | Node::Chain(_) => "call",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
            Node::Set(_) => "set",
            Node::Comprehension(comprehension) => match comprehension.kind {
                ComprehensionKind::Array(_) => "arraycomprehension",
                ComprehensionKind::Set(_) => "setcomprehension",
                ComprehensionKind::Object(..) => "objectcomprehension",
            },
            Node::Template(_) => "template string",
        }
    }
}
