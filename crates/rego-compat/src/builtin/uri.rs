//! `uri.parse` and `uri.is_valid`. Source: OPA `topdown/uri.go`; URLs are Go's ([`go_compat::url`]).

use go_compat::url::Url;
use go_compat::utf8;

use crate::value::{Object, Value};

use super::Outcome;
use super::operand;

/// Implements `uri.parse(text)`: those of the parts that are not empty.
pub(super) fn parse(args: &[&Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| Ok(parts(&Url::parse(text)?))).into()
}

/// Implements `uri.is_valid(text)`; an empty string is not, and nothing but a string is.
pub(super) fn is_valid(args: &[&Value]) -> Outcome {
    let valid = |text: &str| !text.is_empty() && Url::parse(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}

fn parts(url: &Url) -> Value {
    let (host, port) = url.hostname_and_port();
    let path = utf8::lossy(&url.path);
    let raw_path = url.raw_path.clone().filter(|raw| !raw.is_empty()).unwrap_or_else(|| path.clone());
    let raw_path = if path.is_empty() { String::new() } else { raw_path };
    let parts = [
        ("scheme", url.scheme.clone()),
        ("hostname", utf8::lossy(host)),
        ("port", utf8::lossy(port)),
        ("path", path),
        ("raw_path", raw_path),
        ("raw_query", url.raw_query.clone()),
        ("fragment", utf8::lossy(&url.fragment)),
    ];
    let filled = parts.into_iter().filter(|(_, text)| !text.is_empty());
    filled.map(|(name, text)| (Value::from(name), Value::from(text))).collect::<Object>().into_value()
}
