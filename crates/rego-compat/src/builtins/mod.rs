//! The builtin functions that regorus lacks, or answers differently from OPA, as pure functions over values.
//!
//! One file per family of OPA's reference (`topdown/*.go`). The program (`program`) asks [`registry`] which
//! functions to put in front of the engine's own; a name that is not in the registry is answered by regorus.
//! Nothing here knows about modules, rules or budgets, and nothing here performs input or output.

use crate::value::Value;

mod aggregates;
mod cast;
mod collection;
mod digest;
mod document;
mod encoding;
pub(crate) mod expression;
pub(crate) mod format;
mod identifier;
mod network;
mod number;
mod object;
mod operand;
mod order;
mod patch;
mod path;
mod provider;
mod subset;
pub(crate) mod text;
mod time;
mod token;
mod unit;
mod uri;
mod version;
mod x509;
pub(crate) mod yaml;

/// A value as Go's `encoding/json` writes it, compact: what `json.marshal` gives, and what OPA prints. Sets are arrays
/// in OPA's order, keys that are no strings are their JSON, and what HTML gives a meaning is escaped.
#[must_use]
pub fn to_json(value: &Value) -> String {
    document::marshalled(value).unwrap_or_else(|_| value.to_json_str())
}

pub(crate) use document::{name_of, quote};
pub(crate) use network::addresses;

/// What a builtin answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The call has this value.
    Value(Value),
    /// The call is undefined, and OPA would not report an error even in strict mode.
    Undefined,
    /// OPA reports this error in strict mode, and takes the call as undefined otherwise. The text is OPA's,
    /// without its location and code.
    Error(String),
    /// OPA has a value that is larger than any evaluation here may hold: the evaluation ends with that limit.
    Excess,
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Result<Value, operand::Fault>> for Outcome {
    fn from(result: Result<Value, operand::Fault>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(fault) if fault == operand::EXCESS => Self::Excess,
            Err(fault) => Self::Error(fault),
        }
    }
}

fn outcome(result: Result<Value, operand::Fault>) -> Outcome {
    result.into()
}

/// One builtin function.
///
/// `run` is called with exactly `arity` arguments, none of which is [`Value::Undefined`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Builtin {
    /// The full name, for example `net.cidr_merge`.
    pub name: &'static str,
    /// The number of arguments, the optional output variable not counted.
    pub arity: u8,
    /// False where two calls with equal arguments may differ (time, random numbers).
    pub deterministic: bool,
    /// True where Rego v1 removed the function, so that only a v0 module may call it.
    pub v0_only: bool,
    /// The function itself.
    pub run: fn(&[Value]) -> Outcome,
}

impl Builtin {
    /// A deterministic function that both language versions have.
    const fn new(name: &'static str, arity: u8, run: fn(&[Value]) -> Outcome) -> Self {
        Self { name, arity, deterministic: true, v0_only: false, run }
    }

    /// A function that looks at the clock or throws dice.
    const fn clock(name: &'static str, arity: u8, run: fn(&[Value]) -> Outcome) -> Self {
        Self { name, arity, deterministic: false, v0_only: false, run }
    }

    /// A deterministic function that Rego v1 removed.
    const fn v0(name: &'static str, arity: u8, run: fn(&[Value]) -> Outcome) -> Self {
        Self { name, arity, deterministic: true, v0_only: true, run }
    }
}

/// Every builtin of this crate, ordered by name, each name once.
///
/// A name that the engine has too is here because the engine's answer differs from OPA's.
pub fn registry() -> &'static [Builtin] {
    REGISTRY
}

#[rustfmt::skip]
const REGISTRY: &[Builtin] = &[
    Builtin::v0("all", 1, aggregates::all),
    Builtin::v0("any", 1, aggregates::any),
    Builtin::new("array.concat", 2, collection::concat),
    Builtin::new("array.flatten", 1, collection::flatten),
    Builtin::new("array.reverse", 1, collection::reverse),
    Builtin::new("array.slice", 3, collection::slice),
    Builtin::new("base64.decode", 1, encoding::base64_decode),
    Builtin::new("base64.is_valid", 1, encoding::base64_is_valid),
    Builtin::new("base64url.decode", 1, encoding::base64url_decode),
    Builtin::v0("cast_array", 1, cast::array),
    Builtin::v0("cast_boolean", 1, cast::boolean),
    Builtin::v0("cast_null", 1, cast::null),
    Builtin::v0("cast_object", 1, cast::object),
    Builtin::v0("cast_set", 1, cast::set),
    Builtin::v0("cast_string", 1, cast::string),
    Builtin::new("crypto.hmac.equal", 2, digest::hmac_equal),
    Builtin::new("crypto.hmac.md5", 2, digest::hmac_md5),
    Builtin::new("crypto.hmac.sha1", 2, digest::hmac_sha1),
    Builtin::new("crypto.hmac.sha256", 2, digest::hmac_sha256),
    Builtin::new("crypto.hmac.sha512", 2, digest::hmac_sha512),
    Builtin::new("crypto.md5", 1, digest::md5),
    Builtin::new("crypto.parse_private_keys", 1, x509::parse_private_keys),
    Builtin::new("crypto.sha1", 1, digest::sha1),
    Builtin::new("crypto.sha256", 1, digest::sha256),
    Builtin::clock("crypto.x509.parse_and_verify_certificates", 1, x509::parse_and_verify),
    Builtin::clock("crypto.x509.parse_and_verify_certificates_with_options", 2, x509::parse_and_verify_with_options),
    Builtin::new("crypto.x509.parse_certificate_request", 1, x509::parse_certificate_request),
    Builtin::new("crypto.x509.parse_certificates", 1, x509::parse_certificates),
    Builtin::new("crypto.x509.parse_keypair", 2, x509::parse_keypair),
    Builtin::new("crypto.x509.parse_rsa_private_key", 1, x509::parse_rsa_private_key),
    Builtin::new("format_int", 2, number::format_int),
    Builtin::new("glob.quote_meta", 1, text::glob_quote_meta),
    Builtin::new("indexof", 2, text::indexof),
    Builtin::new("indexof_n", 2, text::indexof_n),
    Builtin::new("intersection", 1, collection::intersection),
    Builtin::new("io.jwt.decode", 1, token::decode),
    Builtin::clock("io.jwt.decode_verify", 2, token::decode_verify),
    Builtin::clock("io.jwt.encode_sign", 3, token::encode_sign),
    Builtin::clock("io.jwt.encode_sign_raw", 3, token::encode_sign_raw),
    Builtin::new("io.jwt.verify_eddsa", 2, token::verify_eddsa),
    Builtin::new("io.jwt.verify_es256", 2, token::verify_es256),
    Builtin::new("io.jwt.verify_es384", 2, token::verify_es384),
    Builtin::new("io.jwt.verify_es512", 2, token::verify_es512),
    Builtin::new("io.jwt.verify_hs256", 2, token::verify_hs256),
    Builtin::new("io.jwt.verify_hs384", 2, token::verify_hs384),
    Builtin::new("io.jwt.verify_hs512", 2, token::verify_hs512),
    Builtin::new("io.jwt.verify_ps256", 2, token::verify_ps256),
    Builtin::new("io.jwt.verify_ps384", 2, token::verify_ps384),
    Builtin::new("io.jwt.verify_ps512", 2, token::verify_ps512),
    Builtin::new("io.jwt.verify_rs256", 2, token::verify_rs256),
    Builtin::new("io.jwt.verify_rs384", 2, token::verify_rs384),
    Builtin::new("io.jwt.verify_rs512", 2, token::verify_rs512),
    Builtin::new("json.filter", 2, path::filter),
    Builtin::new("json.is_valid", 1, document::json_is_valid),
    Builtin::new("json.marshal", 1, document::json_marshal),
    Builtin::new("json.marshal_with_options", 2, document::json_marshal_with_options),
    Builtin::new("json.patch", 2, patch::patch),
    Builtin::new("json.remove", 2, path::remove),
    Builtin::new("json.unmarshal", 1, document::json_unmarshal),
    Builtin::new("lower", 1, text::lower),
    Builtin::new("max", 1, order::max),
    Builtin::new("min", 1, order::min),
    Builtin::new("net.cidr_contains", 2, network::contains),
    Builtin::new("net.cidr_contains_matches", 2, network::contains_matches),
    Builtin::new("net.cidr_expand", 1, network::expand),
    Builtin::new("net.cidr_intersects", 2, network::intersects),
    Builtin::new("net.cidr_is_valid", 1, network::is_valid),
    Builtin::new("net.cidr_merge", 1, network::merge),
    Builtin::v0("net.cidr_overlap", 2, network::contains),
    Builtin::new("object.filter", 2, object::filter),
    Builtin::new("object.keys", 1, object::keys),
    Builtin::new("object.remove", 2, object::remove),
    Builtin::new("object.subset", 2, subset::subset),
    Builtin::new("object.union", 2, object::union),
    Builtin::new("object.union_n", 1, object::union_n),
    Builtin::new("providers.aws.sign_req", 3, provider::sign_request),
    Builtin::v0("re_match", 2, expression::matches),
    Builtin::new("regex.find_all_string_submatch_n", 3, expression::find_all_string_submatch_n),
    Builtin::new("regex.find_n", 3, expression::find_n),
    Builtin::new("regex.is_valid", 1, expression::is_valid),
    Builtin::new("regex.match", 2, expression::matches),
    Builtin::new("regex.replace", 3, expression::replace),
    Builtin::new("regex.split", 2, expression::split),
    Builtin::new("regex.template_match", 4, expression::template_match),
    Builtin::new("semver.compare", 2, version::compare),
    Builtin::new("semver.is_valid", 1, version::is_valid),
    Builtin::v0("set_diff", 2, collection::set_diff),
    Builtin::new("sort", 1, order::sort),
    Builtin::new("sprintf", 2, format::sprintf),
    Builtin::new("strings.count", 2, text::count),
    Builtin::new("strings.replace_n", 2, text::replace_n),
    Builtin::new("strings.split_n", 3, text::split_n),
    Builtin::new("substring", 3, text::substring),
    Builtin::new("time.add_date", 4, time::add_date),
    Builtin::new("time.clock", 1, time::clock),
    Builtin::new("time.date", 1, time::date),
    Builtin::new("time.diff", 2, time::diff),
    Builtin::new("time.format", 1, time::format),
    Builtin::new("time.parse_duration_ns", 1, time::parse_duration_ns),
    Builtin::new("time.parse_ns", 2, time::parse_ns),
    Builtin::new("time.parse_rfc3339_ns", 1, time::parse_rfc3339_ns),
    Builtin::new("time.weekday", 1, time::weekday),
    Builtin::new("to_number", 1, number::to_number),
    Builtin::new("union", 1, collection::union),
    Builtin::new("units.parse", 1, unit::parse),
    Builtin::new("units.parse_bytes", 1, unit::parse_bytes),
    Builtin::new("upper", 1, text::upper),
    Builtin::new("uri.is_valid", 1, uri::is_valid),
    Builtin::new("uri.parse", 1, uri::parse),
    Builtin::new("urlquery.decode", 1, encoding::urlquery_decode),
    Builtin::new("urlquery.decode_object", 1, encoding::urlquery_decode_object),
    Builtin::new("urlquery.encode", 1, encoding::urlquery_encode),
    Builtin::new("urlquery.encode_object", 1, encoding::urlquery_encode_object),
    Builtin::new("uuid.parse", 1, identifier::parse),
    Builtin::new("yaml.is_valid", 1, yaml::is_valid),
    Builtin::new("yaml.marshal", 1, yaml::marshal),
    Builtin::new("yaml.unmarshal", 1, yaml::unmarshal),
];

#[cfg(test)]
mod tests {
    use super::registry;

    #[test]
    fn names_are_ordered_and_unique() {
        assert!(registry().windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
