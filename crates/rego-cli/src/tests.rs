//! The commands as people and pipelines use them.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: RegoArgs,
}

#[test]
fn a_flag_that_cannot_be_obeyed_is_refused() {
    for line in [["eval", "1", "--partial"], ["test", ".", "--bench"], ["check", ".", "--strict"]] {
        let words = std::iter::once("rego").chain(line);
        let args = Line::try_parse_from(words).unwrap().args;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = rego(&args, &mut std::io::empty(), &mut out, &mut err);
        let err = String::from_utf8(err).unwrap();
        assert!(code > 0 && out.is_empty() && err.contains("is not supported"), "{line:?}: {code} {err}");
    }
}

#[test]
fn ci_systems_get_junit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a_test.rego");
    std::fs::write(&file, "package a\n\ntest_yes if true\n\ntest_no if false\n\ntodo_test_later if true\n")
        .unwrap();
    let words = ["rego", "test", file.to_str().unwrap(), "--format", "junit"];
    let args = Line::try_parse_from(words).unwrap().args;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(rego(&args, &mut std::io::empty(), &mut out, &mut err), 2);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("tests=\"3\" skipped=\"1\" failures=\"1\" errors=\"0\""), "{text}");
    assert!(text.contains("<testcase name=\"test_yes\" classname=\"data.a\""), "{text}");
    assert!(text.contains("a_test.rego:5: the test does not hold"), "{text}");
}

#[test]
fn tests_are_selected_by_a_regex_of_go() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a_test.rego");
    std::fs::write(&file, "package a[\"\u{e9}\"]\n\ntest_yes if true\n\ntest_no if false\n").unwrap();
    let run = |pattern: &str| {
        let words = ["rego", "test", "-v", file.to_str().unwrap(), "--run", pattern];
        let args = Line::try_parse_from(words).unwrap().args;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = rego(&args, &mut std::io::empty(), &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let (code, out, _) = run(r"\Q.test_yes\E$");
    assert!(code == 0 && out.contains("test_yes") && !out.contains("test_no"), "{code} {out}");
    // `\w` is ASCII in Go.
    let (code, out, _) = run(r#"\["\w+"\]"#);
    assert!(code == 0 && !out.contains("test_"), "{code} {out}");
    let (code, _, err) = run("a(?=b)");
    assert_eq!((code, &*err), (1, "error parsing regexp: invalid or unsupported Perl syntax: `(?=`\n"));
}

#[test]
fn numbers_of_yaml_are_printed_as_go_prints_them() {
    let read = |text: &str| source::first_document(text).unwrap();
    assert_eq!(read("[1e3, 1e20, 1e21, 1e-7]"), "[1000,100000000000000000000,1e+21,1e-7]");
}

#[test]
fn files_are_ignored_by_patterns_of_go() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a*.rego"), "no module").unwrap();
    let check = |pattern: &str| {
        let words = ["rego", "check", folder.path().to_str().unwrap(), "--ignore", pattern];
        let args = Line::try_parse_from(words).unwrap().args;
        rego(&args, &mut std::io::empty(), &mut Vec::new(), &mut Vec::new())
    };
    for pattern in [r"a\*.rego", "a?.rego", "[a-b]*", "[^b]*.rego", "*o"] {
        assert_eq!(check(pattern), 0, "{pattern}");
    }
    // A malformed pattern matches nothing and is not reported: the file is read.
    for pattern in [r"a\?.rego", "b*", "[", r"a*.rego\", "[]a]*", "[!b]*"] {
        assert_eq!(check(pattern), 1, "{pattern}");
    }
}
