//! The builtin functions that own their arguments, as functions over values.
//!
//! One file per family of OPA's reference (`topdown/*.go`); the functions that policies call most, and those that count
//! what they cost, are in `crate::native`, and no name is in both. Nothing here knows about modules, rules or budgets.

use crate::value::Value;

mod aggregates;
mod cast;
mod collection;
mod digest;
mod document;
mod encoding;
mod expression;
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
pub(crate) enum Outcome {
    /// The call has this value.
    Value(Value),
    /// The call is undefined, and OPA would not report an error even in strict mode.
    Undefined,
    /// OPA reports this error in strict mode, and takes the call as undefined otherwise. The text is OPA's,
    /// without its location and code.
    Error(#[allow(dead_code, reason = "the words show in a debugger only: there is no strict mode")] String),
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

/// A builtin function: called with as many arguments as it has, none of which is [`Value::Undefined`].
pub(crate) type Builtin = fn(&[Value]) -> Outcome;

/// Every builtin of this module, ordered by name, each name once.
pub(crate) fn registry() -> &'static [(&'static str, Builtin)] {
    REGISTRY
}

#[rustfmt::skip]
const REGISTRY: &[(&str, Builtin)] = &[
    ("all", aggregates::all),
    ("any", aggregates::any),
    ("array.concat", collection::concat),
    ("array.flatten", collection::flatten),
    ("array.reverse", collection::reverse),
    ("array.slice", collection::slice),
    ("base64.decode", encoding::base64_decode),
    ("base64.encode", encoding::base64_encode),
    ("base64.is_valid", encoding::base64_is_valid),
    ("base64url.decode", encoding::base64url_decode),
    ("base64url.encode", encoding::base64url_encode),
    ("base64url.encode_no_pad", encoding::base64url_encode_no_pad),
    ("cast_array", cast::array),
    ("cast_boolean", cast::boolean),
    ("cast_null", cast::null),
    ("cast_object", cast::object),
    ("cast_set", cast::set),
    ("cast_string", cast::string),
    ("crypto.hmac.equal", digest::hmac_equal),
    ("crypto.hmac.md5", digest::hmac_md5),
    ("crypto.hmac.sha1", digest::hmac_sha1),
    ("crypto.hmac.sha256", digest::hmac_sha256),
    ("crypto.hmac.sha512", digest::hmac_sha512),
    ("crypto.md5", digest::md5),
    ("crypto.parse_private_keys", x509::parse_private_keys),
    ("crypto.sha1", digest::sha1),
    ("crypto.sha256", digest::sha256),
    ("crypto.x509.parse_and_verify_certificates", x509::parse_and_verify),
    ("crypto.x509.parse_and_verify_certificates_with_options", x509::parse_and_verify_with_options),
    ("crypto.x509.parse_certificate_request", x509::parse_certificate_request),
    ("crypto.x509.parse_certificates", x509::parse_certificates),
    ("crypto.x509.parse_keypair", x509::parse_keypair),
    ("crypto.x509.parse_rsa_private_key", x509::parse_rsa_private_key),
    ("format_int", number::format_int),
    ("glob.quote_meta", text::glob_quote_meta),
    ("hex.decode", encoding::hex_decode),
    ("hex.encode", encoding::hex_encode),
    ("indexof", text::indexof),
    ("indexof_n", text::indexof_n),
    ("intersection", collection::intersection),
    ("io.jwt.decode", token::decode),
    ("io.jwt.decode_verify", token::decode_verify),
    ("io.jwt.encode_sign", token::encode_sign),
    ("io.jwt.encode_sign_raw", token::encode_sign_raw),
    ("io.jwt.verify_eddsa", token::verify_eddsa),
    ("io.jwt.verify_es256", token::verify_es256),
    ("io.jwt.verify_es384", token::verify_es384),
    ("io.jwt.verify_es512", token::verify_es512),
    ("io.jwt.verify_hs256", token::verify_hs256),
    ("io.jwt.verify_hs384", token::verify_hs384),
    ("io.jwt.verify_hs512", token::verify_hs512),
    ("io.jwt.verify_ps256", token::verify_ps256),
    ("io.jwt.verify_ps384", token::verify_ps384),
    ("io.jwt.verify_ps512", token::verify_ps512),
    ("io.jwt.verify_rs256", token::verify_rs256),
    ("io.jwt.verify_rs384", token::verify_rs384),
    ("io.jwt.verify_rs512", token::verify_rs512),
    ("json.filter", path::filter),
    ("json.is_valid", document::json_is_valid),
    ("json.marshal", document::json_marshal),
    ("json.marshal_with_options", document::json_marshal_with_options),
    ("json.patch", patch::patch),
    ("json.remove", path::remove),
    ("json.unmarshal", document::json_unmarshal),
    ("lower", text::lower),
    ("max", order::max),
    ("min", order::min),
    ("net.cidr_contains", network::contains),
    ("net.cidr_contains_matches", network::contains_matches),
    ("net.cidr_intersects", network::intersects),
    ("net.cidr_is_valid", network::is_valid),
    ("net.cidr_merge", network::merge),
    ("net.cidr_overlap", network::contains),
    ("object.filter", object::filter),
    ("object.keys", object::keys),
    ("object.remove", object::remove),
    ("object.subset", subset::subset),
    ("object.union", object::union),
    ("object.union_n", object::union_n),
    ("providers.aws.sign_req", provider::sign_request),
    ("rand.intn", identifier::intn),
    ("regex.is_valid", expression::is_valid),
    ("regex.template_match", expression::template_match),
    ("semver.compare", version::compare),
    ("semver.is_valid", version::is_valid),
    ("set_diff", collection::set_diff),
    ("sort", order::sort),
    ("strings.any_prefix_match", text::any_prefix_match),
    ("strings.any_suffix_match", text::any_suffix_match),
    ("strings.count", text::count),
    ("strings.reverse", text::reverse),
    ("strings.split_n", text::split_n),
    ("substring", text::substring),
    ("time.add_date", time::add_date),
    ("time.clock", time::clock),
    ("time.date", time::date),
    ("time.diff", time::diff),
    ("time.format", time::format),
    ("time.now_ns", time::now_ns),
    ("time.parse_duration_ns", time::parse_duration_ns),
    ("time.parse_ns", time::parse_ns),
    ("time.parse_rfc3339_ns", time::parse_rfc3339_ns),
    ("time.weekday", time::weekday),
    ("to_number", number::to_number),
    ("trim_space", text::trim_space),
    ("units.parse", unit::parse),
    ("units.parse_bytes", unit::parse_bytes),
    ("upper", text::upper),
    ("uri.is_valid", uri::is_valid),
    ("uri.parse", uri::parse),
    ("urlquery.decode", encoding::urlquery_decode),
    ("urlquery.decode_object", encoding::urlquery_decode_object),
    ("urlquery.encode", encoding::urlquery_encode),
    ("urlquery.encode_object", encoding::urlquery_encode_object),
    ("uuid.parse", identifier::parse),
    ("uuid.rfc4122", identifier::rfc4122),
    ("yaml.is_valid", yaml::is_valid),
    ("yaml.marshal", yaml::marshal),
    ("yaml.unmarshal", yaml::unmarshal),
];

#[cfg(test)]
mod tests {
    use super::registry;

    #[test]
    fn names_are_ordered_and_unique() {
        assert!(registry().windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
