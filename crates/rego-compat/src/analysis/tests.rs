//! Accesses, joins and paths of small policies.

use super::*;
use crate::{Module, RegoVersion, Restrictions, compile};

fn analysis(body: &str) -> Analysis {
    let module = Module::parse("t.rego", &format!("package t\n{body}"), RegoVersion::V0).unwrap();
    compile(&[module], "data.t.violation", &Restrictions::default()).unwrap().analysis().clone()
}

/// A path in one line: `*` for any key, `<…>` for keys from the input.
fn path(segments: &[Segment]) -> String {
    let parts = segments.iter().map(|segment| match segment {
        Segment::Key(name) => name.clone(),
        Segment::Any => "*".to_owned(),
        Segment::Input(inner) => format!("<{}>", path(inner)),
    });
    parts.collect::<Vec<_>>().join(".")
}

fn term(term: &JoinTerm) -> String {
    let path = path(&term.path);
    term.function.as_ref().map_or_else(|| path.clone(), |name| format!("{name}({path})"))
}

fn accesses(body: &str) -> Vec<String> {
    let found = analysis(body);
    let lines = found.accesses().iter().map(|access| {
        let joins = access.joins.iter().map(|join| format!(" {}={}", term(&join.data), term(&join.input)));
        format!("{}:{}", path(&access.path), joins.collect::<String>())
    });
    lines.collect()
}

#[test]
fn an_equation_between_data_and_input_is_a_join() {
    let ingress = r#"
        violation[{"msg": "taken"}] {
            host := input.review.object.spec.rules[_].host
            other := data.inventory.namespace[_][version]["Ingress"][name]
            re_match("^networking", version)
            other.spec.rules[_].host == host
            not identical(other, input.review)
        }
        identical(obj, review) { obj.metadata.name == review.object.metadata.name }"#;
    assert_eq!(
        accesses(ingress),
        ["inventory.namespace.*.*.Ingress.*: spec.rules.*.host=review.object.spec.rules.*.host"]
    );
}

#[test]
fn an_equation_between_functions_of_data_and_input_is_a_join() {
    let flat = "flat(o) = t { t := plain(o.spec) }\nplain(s) = concat(\",\", sort(s))\n";
    let selector = r#"violation[name] { mine := flat(input.object); other := data.services[name]; not other.x; theirs := flat(other); mine == theirs }"#;
    assert_eq!(accesses(&format!("{flat}{selector}")), ["services.*: data.t.flat()=data.t.flat(object)"]);
    let known = "violation[x] { x := data.services[_]; flat(x.a[_]) == input.b }";
    assert_eq!(accesses(&format!("{flat}{known}")), ["services.*: data.t.flat(a.*)=b"]);
}

#[test]
fn a_function_that_depends_on_more_than_its_argument_is_in_no_join() {
    let body = "violation[x] { x := data.services[_]; f(x) == input.b }\n";
    for function in [
        "f(o) = [o, input.c]",
        "f(o) = [o, data.c]",
        "f(o) = [o, time.now_ns()]",
        "f(o) = [o, g(o)]\ng(o) = input.c[o]",
        "f(o) = [o, g(o)]\ng(o) = [o, h(o)]\nh(o) = input.c[o]",
        "f(o) = [o, r]\nr = input.c",
    ] {
        let found = accesses(&format!("{body}{function}"));
        assert!(found.contains(&"services.*:".to_owned()), "{function}: {found:?}");
    }
    let below = "violation[x] { x := data.services[_]; y := f(x); y.z == input.b }\nf(o) = o";
    assert_eq!(accesses(below), ["services.*:"]);
    let negated = "violation[x] { x := data.services[_]; not f(x) == input.b }\nf(o) = o";
    assert_eq!(accesses(negated), ["services.*:"]);
}

#[test]
fn keys_from_the_input_narrow_an_access() {
    let body = r#"violation[x] { ns := input.ns; x := data.inventory.namespace[ns]["v1"].Service[_].spec.a; x == input.b }"#;
    assert_eq!(accesses(body), ["inventory.namespace.<ns>.v1.Service.*.spec.a: =b"]);
}

#[test]
fn an_equation_elsewhere_is_no_join() {
    assert_eq!(accesses("violation[x] { x := data.a[_]; not x.b == input.c }"), ["a.*:"]);
    assert_eq!(accesses("violation[x] { x := data.a[_]; [1 | x.b == input.c] }"), ["a.*:"]);
    assert_eq!(accesses("violation[x] { x := data.a[_]; x.b == input.c with input.d as 1 }"), ["a.*:"]);
    assert_eq!(accesses("violation[x] { x := count([y | y := data.a[_]; y.b == input.c]) }"), ["a.*: b=c"]);
}

#[test]
fn what_a_nested_body_learns_of_a_variable_stays_there() {
    let body =
        r#"violation[x] { n := concat("", ["a"]); c := [1 | n == input.n]; count(c) == 0; x := data.a[n] }"#;
    assert_eq!(accesses(body), ["a.*:"]);
}

#[test]
fn no_join_survives_a_replaced_input() {
    let body =
        "violation[x] { x := found with input.c as 1 }\nfound = x { x := data.a[input.k]; x.b == input.c }";
    assert_eq!(accesses(body), ["a.*:"]);
    let kept = "violation[x] { x := found with data.z as 1 }\nfound = x { x := data.a[_]; x.b == input.c }";
    assert_eq!(accesses(kept), ["a.*: b=c"]);
}

#[test]
fn paths_are_named_up_to_the_first_unknown_key() {
    let found =
        analysis("violation[x] { x := data.inventory.cluster[_].y; input.a.b; input.a.c[_]; input.a }");
    assert_eq!(found.data_paths(), [["inventory", "cluster"]]);
    assert_eq!(found.input_paths(), [["a"]]);
    assert!(analysis("violation[x] { x := 1 }").data_paths().is_empty());
}

#[test]
fn only_rules_the_query_needs_are_looked_at() {
    let found = analysis(
        "violation[x] { x := helper }\nhelper = 1 { input.a }\nother { data.secrets; time.now_ns() }",
    );
    assert!(found.data_paths().is_empty());
    assert!(found.is_deterministic());
    assert!(!analysis("violation[x] { x := helper }\nhelper = x { x := time.now_ns() }").is_deterministic());
}

#[test]
fn a_stand_in_for_a_function_may_answer_differently_each_time() {
    let body = |stand_in: &str| {
        format!("violation[x] {{ x := q with upper as {stand_in} }}\nq = upper(\"a\") {{ true }}")
    };
    assert!(analysis(&body("lower")).is_deterministic());
    assert!(!analysis(&body("uuid.rfc4122")).is_deterministic());
}

#[test]
fn no_join_goes_through_a_function_where_a_function_or_a_rule_is_replaced() {
    let body = "found = x { x := data.a[_]; f(x.b) == f(input.c) }\nf(o) = lower(o)\ng(o) = \"same\"\n";
    let plain = format!("{body}violation[x] {{ x := found }}");
    assert_eq!(accesses(&plain), ["a.*: data.t.f(b)=data.t.f(c)"]);
    for target in ["f", "data.t.f", "lower"] {
        let replaced = format!("{body}violation[x] {{ x := found with {target} as g }}");
        assert_eq!(accesses(&replaced), ["a.*:"], "{target}");
    }
    let rule = "found = x { x := data.a[_]; f(x.b) == f(input.c) }\nf(o) = o { not loose }\nf(_) = 1 { loose }\nloose = false\n";
    for (target, expected) in
        [("loose", "a.*:"), ("data.t.loose", "a.*:"), ("data.z", "a.*: data.t.f(b)=data.t.f(c)")]
    {
        let replaced = format!("{rule}violation[x] {{ x := found with {target} as true }}");
        assert_eq!(accesses(&replaced), [expected], "{target}");
    }
    let values = "violation[x] { x := found with lower as upper }\nfound = x { x := data.a[_]; x.b == input.c; lower(\"A\") }";
    assert_eq!(accesses(values), ["a.*: b=c"]);
}

#[test]
fn a_rule_that_does_not_exist_reads_everything() {
    let book = Rulebook::default();
    let mut scan = scan::Scan::new(&book);
    scan.group(7, &[]);
    let analysis = scan.into_analysis(false);
    assert_eq!((analysis.data_paths(), analysis.input_paths()), (&[Vec::new()][..], &[Vec::new()][..]));
    assert_eq!(analysis.accesses(), [DataAccess { path: Vec::new(), joins: Vec::new() }]);
    assert!(!analysis.is_deterministic());
}
