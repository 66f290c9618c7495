//! Expansions and refusals. That a bad path does not compile is tested in `duck-types`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn refusal(attribute: &str) -> String {
    let input = syn::parse_str(&format!("{attribute} struct Thing {{}}")).unwrap();
    expand(&input).unwrap_err().to_string()
}

#[test]
fn refusals_name_the_reason() {
    let nowhere = "a duck needs a place: #[duck(path = \"/status/address\")], or paths(…) for several";
    for (attribute, expected) in [
        ("", nowhere),
        ("#[duck(name = \"x\")]", nowhere),
        ("#[duck(path = \"/a\", paths(\"/b\"))]", "the place is given twice: use either path or paths, once"),
        ("#[duck(path = \"/a\", colour = \"b\")]", "expected path, paths, name, list_map or crate"),
        ("#[duck(paths())]", "expected at least one string"),
        (
            "#[duck(paths(\"/spec/a\", \"/spec/a\"))]",
            "\"/spec/a\" lies in \"/spec/a\": name each sub-tree once",
        ),
        (
            "#[duck(paths(\"/spec/a/b\", \"/spec/a\"))]",
            "\"/spec/a/b\" lies in \"/spec/a\": name each sub-tree once",
        ),
        (
            "#[duck(path = \"/a\", list_map(\"\"))]",
            "expected the pointer of the list and its keys: list_map(\"\", \"type\")",
        ),
        (
            "#[duck(path = \"/a\", list_map(\"b\", \"c\"))]",
            "a pointer starts with a slash, or is empty for the duck itself",
        ),
    ] {
        assert_eq!(refusal(attribute), expected, "{attribute}");
    }
}

#[test]
fn siblings_do_not_overlap() {
    let input = syn::parse_str("#[duck(paths(\"/spec/a\", \"/spec/ab\"))] struct Thing {}").unwrap();
    assert!(expand(&input).is_ok());
}

#[test]
fn generics_and_another_name_of_the_crate_are_kept() {
    let text =
        "#[duck(path = \"/spec\", name = \"Other\", crate = \"my::ducks\")] struct Thing<T: Clone>(T);";
    let expanded = expand(&syn::parse_str(text).unwrap()).unwrap().to_string();
    assert!(expanded.contains("impl < T : Clone > my :: ducks :: DuckType for Thing < T >"), "{expanded}");
    assert!(expanded.contains("\"Other\""), "{expanded}");
}
