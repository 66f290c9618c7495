//! The grammar, by example, and its bounds.

use super::*;
use crate::ast::{ComprehensionKind, HeadValue, LiteralKind, Node, Rule, Term};

fn tree(text: &str, version: RegoVersion) -> Result<Tree, Diagnostics> {
    parse(&Source::new("t.rego", text), version, Bounds::default())
}

fn rules(text: &str) -> Vec<Rule> {
    tree(&format!("package t\n{text}"), RegoVersion::V0).unwrap().rules
}

/// The only literal of the only rule, printed as calls.
fn literal(text: &str) -> String {
    let rules = rules(&format!("p {{ {text} }}"));
    match &rules[0].body[0].kind {
        LiteralKind::Term(term) => print(term),
        LiteralKind::Unify(left, right) => format!("{} = {}", print(left), print(right)),
        LiteralKind::Assign(left, right) => format!("{} := {}", print(left), print(right)),
        other => format!("{other:?}"),
    }
}

fn print(term: &Term) -> String {
    let list = |terms: &[Term]| terms.iter().map(print).collect::<Vec<_>>().join(" ");
    match &term.node {
        Node::Scalar(value) => value.to_string(),
        Node::Var(name) => name.to_string(),
        Node::Ref(terms) => format!("<{}>", list(terms)),
        Node::Call(call) => format!("({} {})", call.name(), list(&call.args)),
        Node::Chain(chain) => chain.links.iter().fold(print(&chain.first), |left, link| {
            format!("({} {left} {})", link.operator.join("."), print(&link.right))
        }),
        Node::Array(terms) => format!("[{}]", list(terms)),
        Node::Set(terms) => format!("#{{{}}}", list(terms)),
        Node::Object(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("{}:{}", print(k), print(v))).collect();
            format!("{{{}}}", pairs.join(" "))
        }
        Node::Comprehension(c) => match &c.kind {
            ComprehensionKind::Array(head) => format!("[{}|{}]", print(head), c.body.len()),
            ComprehensionKind::Set(head) => format!("{{{}|{}}}", print(head), c.body.len()),
            ComprehensionKind::Object(k, v) => {
                format!("{{{}:{}|{}}}", print(k), print(v), c.body.len())
            }
        },
        Node::Template(parts) => format!("${}", parts.len()),
    }
}

#[test]
fn operators_bind_as_in_opa() {
    assert_eq!(literal("1 + 2 * 3 == 7"), "(equal (plus 1 (mul 2 3)) 7)");
    assert_eq!(literal("a - b - c"), "(minus (minus a b) c)");
    assert_eq!(literal("a | b & c"), "(or a (and b c))");
    assert_eq!(literal("(a | b) & c"), "(and (or a b) c)");
    assert_eq!(literal("x := -y.z"), "x := (minus 0 <y \"z\">)");
    assert_eq!(literal("x = -1.5"), "x = -1.5");
}

#[test]
fn references_end_at_white_space() {
    assert_eq!(literal("a.b[c].d"), "<a \"b\" c \"d\">");
    assert_eq!(literal("a.f(x)[0]"), "<(a.f x) 0>");
    let two = rules("p { x := input.a\n(x) == 1 }");
    assert_eq!(two[0].body.len(), 2, "a parenthesis on the next line is not a call");
    assert!(tree("package t\np { f (x) }", RegoVersion::V0).is_err());
    assert_eq!(rules("f (x) = y { y = x }")[0].head.args.as_ref().map(Vec::len), Some(1));
}

#[test]
fn collections_and_comprehensions_are_told_apart() {
    assert_eq!(literal("x = [a | a]"), "x = [a|1]");
    assert_eq!(literal("x = {a | b}"), "x = {a|1}");
    assert_eq!(literal("x = {a: b | c; d}"), "x = {a:b|2}");
    assert_eq!(literal("x = {a | b, c}"), "x = #{(or a b) c}");
    assert_eq!(literal("x = {1, 2,}"), "x = #{1 2}");
    assert_eq!(literal("x = {}"), "x = {}");
    assert_eq!(literal("x = set()"), "x = #{}");
    assert_eq!(literal("x = {a + 1: b}"), "x = {(plus a 1):b}");
}

#[test]
fn bodies_may_be_chained_and_followed_by_else() {
    let chained = rules("v[x] { x = 1 } { x = 2 }");
    assert_eq!(chained.len(), 2);
    assert!(chained.iter().all(|rule| matches!(rule.head.value, HeadValue::Element(_))));
    let otherwise = rules("p = 1 { false } else = 2 { false } else = 3");
    assert_eq!(otherwise[0].otherwise.len(), 2);
    assert!(tree("package t\np { false } else = 1 { true } { true }", RegoVersion::V0).is_err());
}

#[test]
fn future_keywords_exist_once_imported() {
    assert!(tree("package t\np { some x in [1]; x }", RegoVersion::V0).is_err());
    assert!(tree("package t\nimport future.keywords.in\np { some x in [1]; x }", RegoVersion::V0).is_ok());
    assert!(
        tree("package t\nimport future.keywords\np contains x if { some x in [1] }", RegoVersion::V0).is_ok()
    );
    assert!(tree("package t\np contains x if { some k, x in {\"a\": 1} }", RegoVersion::V1).is_ok());
    assert_eq!(literal("in == 1"), "(equal in 1)");
}

#[test]
fn wildcards_are_variables_of_their_own() {
    assert_eq!(literal("x[_] = y[_]"), "<x $0> = <y $1>");
}

#[test]
fn template_strings_hold_expressions() {
    assert_eq!(literal(r#"x = $"a {b} c {d.e}""#), "x = $4");
    assert_eq!(literal("x = $`raw`"), "x = $1");
}

#[test]
fn depth_is_bounded_for_brackets_but_not_for_chains() {
    for text in ["[".repeat(1 << 16), "(".repeat(1 << 16), "1 + (".repeat(1 << 12), "{\"a\":".repeat(1 << 12)]
    {
        let diagnostics = tree(&format!("package t\np {{ x := {text} }}"), RegoVersion::V0).unwrap_err();
        assert_eq!(diagnostics.iter().next().unwrap().code, DiagnosticCode::Bound, "{diagnostics}");
    }
    let nested = format!("package t\np {{ x := {}1{} }}", "[".repeat(20), "]".repeat(20));
    assert!(tree(&nested, RegoVersion::V0).is_ok());
    let chain = format!("package t\np {{ x := {}1 }}", "1 + ".repeat(3_000));
    assert!(tree(&chain, RegoVersion::V0).is_ok());
}

#[test]
fn ambiguous_text_costs_linear_time() {
    let text = format!("package t\np {{ x := {}a{} }}", "[a | ".repeat(30), ", 1]".repeat(30));
    let diagnostics = tree(&text, RegoVersion::V0);
    assert!(diagnostics.is_err() || diagnostics.is_ok(), "returns instead of running for 2^30 steps");
}

#[test]
fn errors_say_where_and_what() {
    let message = |text: &str| tree(text, RegoVersion::V0).unwrap_err().to_string();
    assert_eq!(message(""), "t.rego:1:1: rego_parse_error: empty module");
    assert_eq!(message("p = 1"), "t.rego:1:1: rego_parse_error: package expected");
    assert!(message("package t\np { x = }").starts_with("t.rego:2:9: rego_parse_error: unexpected `}`"));
    assert!(message("package t\np { }").contains("found empty body"));
    assert!(message("package t\np { x y }").contains("expected \\n or ; or }"));
    assert!(message("package t\nimport foo").contains("unexpected import path"));
    assert!(message("package t\np { x = 01 }").contains("leading zero"));
}

#[test]
fn heads_that_opa_refuses_are_refused() {
    let message = |module: &str, version| {
        let diagnostics = tree(module, version).unwrap_err();
        diagnostics.iter().next().unwrap().message.clone()
    };
    let (many, open) = (
        "else keyword cannot be used on multi-value rules",
        "else keyword cannot be used on rules with variables in head",
    );
    for (head, expected) in [("q[input.k]", many), ("q.a[f(1)]", many), ("q[r]", open), ("q.a[[r]]", open)] {
        let module = format!("package t\n{head} := 1 if {{ false }} else := 2");
        assert_eq!(message(&module, RegoVersion::V1), expected, "{head}");
    }
    for (head, expected) in [("q.a", many), ("q[1]", many), ("q[r]", open)] {
        let module = format!("package t\n{head} = 1 {{ false }} else = 2 {{ true }}");
        assert_eq!(message(&module, RegoVersion::V0), expected, "{head}");
    }
    assert!(tree("package t\nq.a.b = 1 { false } else = 2 { true }", RegoVersion::V0).is_ok());
    assert!(tree("package t\nf.g(x) = 1 { false } else = 2 { true }", RegoVersion::V0).is_ok());
    assert!(tree("package t\nq[1] := 1 if { false } else := 2", RegoVersion::V1).is_ok());
    for head in ["f(x)[\"a\"] = 1 { true }", "f(x).a = 1 { true }", "f(x)[y] { y = 1 }"] {
        assert!(
            message(&format!("package t\n{head}"), RegoVersion::V0).starts_with("invalid rule head"),
            "{head}"
        );
    }
    for path in ["package t.p[x]", "package t\nimport data.a[x]"] {
        assert_eq!(message(path, RegoVersion::V1), "unexpected var token: expecting string", "{path}");
    }
}
