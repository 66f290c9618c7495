//! A family of functions that is left out of a build is refused where it is called, with the feature that brings it.
#![allow(clippy::unwrap_used, reason = "a test says no by panicking")]

use rego_compat::{Module, RegoVersion, Restrictions, builtin_functions, compile};

const FAMILIES: [(&str, bool, &str); 6] = [
    ("crypto", cfg!(feature = "crypto"), "crypto.sha256(\"a\")"),
    ("crypto", cfg!(feature = "crypto"), "io.jwt.decode(\"a\")"),
    ("crypto", cfg!(feature = "crypto"), "providers.aws.sign_req({}, {}, 1)"),
    ("graphql", cfg!(feature = "graphql"), "graphql.parse_query(\"{a}\")"),
    ("json-schema", cfg!(feature = "json-schema"), "json.verify_schema({})"),
    ("templates", cfg!(feature = "templates"), "strings.render_template(\"{{.a}}\", {\"a\": 1})"),
];

fn refusal(body: &str) -> Option<String> {
    let module = Module::parse("t.rego", &format!("package t\np := {body}"), RegoVersion::V1).unwrap();
    compile(&[module], "data.t.p", &Restrictions::default()).err().map(|diagnostics| diagnostics.to_string())
}

#[test]
fn a_function_of_a_family_that_is_left_out_is_refused_by_name() {
    for (feature, present, call) in FAMILIES {
        match refusal(call) {
            None => assert!(present, "{call} compiles without {feature}"),
            Some(refused) => {
                assert!(!present, "{call}: {refused}");
                let name = call.split('(').next().unwrap_or_default();
                let wanted = format!("built-in function {name} is not in this build");
                assert!(refused.contains(&wanted) && refused.contains(&format!("`{feature}`")), "{refused}");
            }
        }
    }
}

#[test]
fn it_does_not_stand_in_for_another_function_either() {
    let refused = refusal("true if lower(\"a\") == \"x\" with lower as crypto.md5");
    assert_eq!(refused.is_none(), cfg!(feature = "crypto"), "{refused:?}");
}

#[test]
fn the_list_of_functions_is_that_of_the_build() {
    for (feature, present, call) in FAMILIES {
        let name = call.split('(').next().unwrap_or_default();
        assert_eq!(builtin_functions().any(|function| function.name == name), present, "{feature}");
    }
}

#[test]
fn functions_outside_the_families_are_always_there() {
    for call in
        ["sprintf(\"%v\", [1])", "uuid.rfc4122(\"a\")", "rand.intn(\"a\", 3)", "base64url.decode(\"\")"]
    {
        assert_eq!(refusal(call), None, "{call}");
    }
}
