//! Tests of the answers to templates; random ones are compared with OPA in the conformance tests.

use eval_budget::{Budget, Limit};

use super::*;

fn rendered(template: &str, data: &str) -> Answer {
    let args = [template.into(), Value::from_json_str(data).unwrap()];
    let args: Vec<&Value> = args.iter().collect();
    render(&args, &Meter::new(&Budget::default().with_instructions(1_000_000)))
}

#[track_caller]
fn renders(template: &str, data: &str, wanted: &str) {
    assert_eq!(rendered(template, data), answer(wanted), "{template}");
}

#[test]
fn actions_are_replaced() {
    renders("{{.a}}-{{ .b.c }}", r#"{"a": "x", "b": {"c": 1.50}}"#, "x-1.50");
    renders("a {{- /* c */ -}} b {{- \"x\" -}} c", "{}", "abxc");
    renders("{{.a.b}}", r#"{}"#, "<undefined>");
    renders("{{.}}", r#"{"a": [1, null, {"b": true}]}"#, "map[a:[1 <nil> map[b:true]]]");
}

#[test]
fn branches_and_loops_are_taken() {
    renders("{{range $i, $x := .a}}{{if $i}},{{end}}{{$x}}{{else}}none{{end}}", r#"{"a": [1, 2]}"#, "1,2");
    renders("{{range .a}}x{{else}}none{{end}}", r#"{"a": []}"#, "none");
    renders("{{range 3}}{{if eq . 1}}{{continue}}{{end}}{{.}}{{end}}", "{}", "02");
    renders("{{with .a}}{{.}}{{else with .b}}{{.}}{{end}}", r#"{"b": "y"}"#, "y");
    renders(
        "{{define \"t\"}}<{{.}}>{{end}}{{template \"t\" .a}}{{block \"b\" .a}}{{.}}{{end}}",
        r#"{"a": 1}"#,
        "<1>1",
    );
    renders("{{$x := 1}}{{if true}}{{$x = 2}}{{$y := 3}}{{end}}{{$x}}", "{}", "2");
}

#[test]
fn functions_are_called() {
    renders("{{printf \"%05.1f|%v|%q\" 3.14 .a .b}}", r#"{"a": [1], "b": 2}"#, "003.1|[1]|\"2\"");
    renders("{{.a | len | printf \"%d\"}}", r#"{"a": "é"}"#, "2");
    renders("{{and 1 0 .x}}{{or 0 \"\" 2}}{{not 1}}", "{}", "02false");
    renders("{{index .a 1 \"b\"}}{{slice .s 1 2}}", r#"{"a": [0, {"b": 3}], "s": "xyz"}"#, "3y");
    renders("{{html \"<a>\"}}{{js \"'\"}}{{urlquery \"a b\"}}", "{}", "&lt;a&gt;\\'a+b");
    renders("{{print 1 2 \"a\" .x}}{{println 1}}", "{}", "1 2a<nil>1\n");
}

#[test]
fn errors_are_undefined() {
    for template in [
        "{{",
        "{{end}}",
        "{{if}}{{end}}",
        "{{.a.b}}",
        "{{foo}}",
        "{{eq .n 1}}",
        "{{$x}}",
        "{{template \"x\"}}",
        "{{break}}",
        "{{nil}}",
        "{{.s.x}}",
        "{{printf 1}}",
        "{{1 | 2}}",
        "{{index .s 9}}",
        "{{call .s}}",
        "{{\"a}}",
        "{{99999999999999999999}}",
        "{{range .s}}{{end}}",
        "{{define \"a\"}}x{{end}}{{define \"a\"}}y{{end}}",
    ] {
        assert_eq!(rendered(template, r#"{"a": null, "n": 1, "s": "t"}"#), Ok(None), "{template}");
    }
}

#[test]
fn what_never_ends_is_stopped() {
    let stopped = |template: &str| matches!(rendered(template, "{}"), Err(EvalError::Budget(_)));
    assert!(stopped("{{range 1000000000}}{{end}}"));
    assert_eq!(
        rendered("{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}", "{}"),
        Err(EvalError::Budget(Limit::Depth))
    );
    assert!(stopped(&("{{$x := \"aaaaaaaaaaaaaaaa\"}}".to_owned() + &"{{$x = print $x $x}}".repeat(60))));
    let deep = format!("{{{{{}1{}}}}}", "(".repeat(200_000), ")".repeat(200_000));
    assert!(stopped(&deep));
}
