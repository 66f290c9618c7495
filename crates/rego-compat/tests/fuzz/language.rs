//! Calls of builtin functions that read a language of their own, with texts of it that are damaged in places: random
//! terms hardly ever come past the first character of a certificate or of a GraphQL schema.

use crate::generate::{Random, damaged};

const QUERY: &str = "query Q($a: [Int!] = [1], $b: In) @skip(if: false) { e(id: $a, by: {n: \"x\"}) { ...F ... on E { id } } }\nfragment F on E { id other: next { id } }";
const SCHEMA: &str = "interface N { id: ID! }\ntype E implements N { id: ID! next: E es(first: Int = 1): [E!]! }\ninput In { n: String = \"x\" }\nunion U = E\nenum C { A B }\ndirective @d(a: C = A) repeatable on FIELD\nextend type E { u: U }\ntype Query { e(id: [Int!], by: In): E }\nschema { query: Query }";
const TEMPLATE: &str = "{{define \"t\"}}<{{.}}>{{end}}{{range $i, $e := .a}}{{if and $e (gt $i 0)}}{{printf \"%5.2v\" $e | html}}{{else}}{{template \"t\" $e}}{{break}}{{end}}{{end}}{{with .b}}{{index . 0}}{{slice \"abc\" 1 2}}{{- len . -}}{{end}}";
const DOCUMENT_SCHEMA: &str = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"type": ["object", "null"], "properties": {"n": {"$ref": "#/definitions/n"}}, "patternProperties": {"^a+$": {"minimum": 1, "multipleOf": 0.1}}, "additionalProperties": false}}, "allOf": [{"$ref": "#/definitions/n"}], "if": {"required": ["n"]}, "then": {"maxProperties": 2}, "else": {"not": {"enum": [{}, 1]}}, "items": [{"format": "date-time"}], "contains": {"const": 1}, "dependencies": {"a": ["b"]}}"##;
const YAML: &str = "a: &x [1, 0x1f, 1e3, .inf, ~, yes, 2001-12-14]\nb: {c: *x, <<: {d: !!str 1}}\n? [k]\n: |-\n  text\n  more\ne: !!binary aGk=\n---\n'f': \"\\u00e9\"\n";
const CERTIFICATE: &str = include_str!("x509/leaf.pem");
const KEY: &str = include_str!("x509/leaf-key.pem");
const MODULE: &str = "# METADATA\n# title: t\npackage a.b\nimport rego.v1\nimport data.x as y\ndefault p := 1\np := {x: [y | some y in input.z]} if { every k, v in {1} { not k == v }; input.a with input as {} } else := 2\nf(x) contains 1 if x\n";
const TOKEN: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJhIiwiZXhwIjoxfQ.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

/// A function, and for each argument the texts it may be made of.
const CALLS: [(&str, &[&[&str]]); 26] = [
    ("graphql.is_valid", &[&[QUERY], &[SCHEMA]]),
    ("graphql.parse", &[&[QUERY], &[SCHEMA]]),
    ("graphql.parse_and_verify", &[&[QUERY], &[SCHEMA]]),
    ("graphql.parse_query", &[&[QUERY]]),
    ("graphql.parse_schema", &[&[SCHEMA]]),
    ("graphql.schema_is_valid", &[&[SCHEMA]]),
    ("strings.render_template", &[&[TEMPLATE]]),
    ("json.match_schema", &[&[DOCUMENT_SCHEMA, YAML], &[DOCUMENT_SCHEMA]]),
    ("json.verify_schema", &[&[DOCUMENT_SCHEMA]]),
    ("json.unmarshal", &[&[DOCUMENT_SCHEMA]]),
    ("yaml.unmarshal", &[&[YAML, DOCUMENT_SCHEMA]]),
    ("yaml.is_valid", &[&[YAML]]),
    ("crypto.x509.parse_certificates", &[&[CERTIFICATE]]),
    ("crypto.x509.parse_and_verify_certificates", &[&[CERTIFICATE]]),
    ("crypto.x509.parse_certificate_request", &[&[CERTIFICATE, KEY]]),
    ("crypto.x509.parse_keypair", &[&[CERTIFICATE], &[KEY]]),
    ("crypto.x509.parse_rsa_private_key", &[&[KEY]]),
    ("crypto.parse_private_keys", &[&[KEY]]),
    ("io.jwt.decode", &[&[TOKEN]]),
    ("io.jwt.verify_es512", &[&[TOKEN], &[CERTIFICATE]]),
    ("rego.parse_module", &[&["a.rego"], &[MODULE]]),
    ("uri.parse", &[&["https://u:p@[::1%25a]:80/a%20b;c?d=e&f#g"]]),
    (
        "time.parse_ns",
        &[&["Mon, 02 Jan 2006 15:04:05.000 MST -0700"], &["Tue, 29 Feb 2000 23:59:59.123 CET +0100"]],
    ),
    ("regex.globs_match", &[&["[a-c]+.\\\\.x*", "a.b"], &["a+[^b-z].*"]]),
    ("glob.match", &[&["{a,[!b-d]*,?.**}.x", "{,a}"], &["."], &["abc.x.y"]]),
    (
        "regex.find_all_string_submatch_n",
        &[&["(?i)(a|b{1,3}?)+(?P<n>\\\\pL)[[:alpha:]]$"], &["abba"], &["1"]],
    ),
];

/// The name of a function and its arguments, as Rego writes them.
pub fn call(random: &mut Random) -> (&'static str, Vec<String>) {
    let (name, arguments) = *random.pick(&CALLS);
    let arguments = arguments.iter().map(|texts| {
        let text = *random.pick(texts);
        let text = if random.chance(70) { damaged(random, text) } else { text.to_owned() };
        serde_json::to_string(&text).unwrap()
    });
    (name, arguments.collect())
}
