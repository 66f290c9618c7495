//! The builtin functions that own their arguments, as functions over values.
//!
//! One file per family of OPA's reference (`topdown/*.go`); the functions that policies call most, and those that count
//! what they cost, are in `crate::builtin`, and no name is in both. Nothing here knows about modules, rules or budgets.

use crate::value::Value;

use super::{
    aggregates, casts, cidr, crypto, encoding, json, object, operand, providers, regex, semver, sets,
    strings, time, tokens, units, uri, uuid, yaml,
};

/// A value as Go's `encoding/json` writes it, compact: what `json.marshal` gives, and what OPA prints. Sets are arrays
/// in OPA's order, keys that are no strings are their JSON, and what HTML gives a meaning is escaped.
#[must_use]
pub fn to_json(value: &Value) -> String {
    json::marshalled(value).unwrap_or_else(|_| value.to_json_str())
}

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

pub(crate) fn outcome(result: Result<Value, operand::Fault>) -> Outcome {
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
    ("array.concat", sets::concat),
    ("array.flatten", sets::flatten),
    ("array.reverse", sets::reverse),
    ("array.slice", sets::slice),
    ("base64.decode", encoding::base64_decode),
    ("base64.encode", encoding::base64_encode),
    ("base64.is_valid", encoding::base64_is_valid),
    ("base64url.decode", encoding::base64url_decode),
    ("base64url.encode", encoding::base64url_encode),
    ("base64url.encode_no_pad", encoding::base64url_encode_no_pad),
    ("cast_array", casts::array),
    ("cast_boolean", casts::boolean),
    ("cast_null", casts::null),
    ("cast_object", casts::object),
    ("cast_set", casts::set),
    ("cast_string", casts::string),
    ("crypto.hmac.equal", crypto::hmac_equal),
    ("crypto.hmac.md5", crypto::hmac_md5),
    ("crypto.hmac.sha1", crypto::hmac_sha1),
    ("crypto.hmac.sha256", crypto::hmac_sha256),
    ("crypto.hmac.sha512", crypto::hmac_sha512),
    ("crypto.md5", crypto::md5),
    ("crypto.parse_private_keys", crypto::x509::parse_private_keys),
    ("crypto.sha1", crypto::sha1),
    ("crypto.sha256", crypto::sha256),
    ("crypto.x509.parse_and_verify_certificates", crypto::x509::parse_and_verify),
    ("crypto.x509.parse_and_verify_certificates_with_options", crypto::x509::parse_and_verify_with_options),
    ("crypto.x509.parse_certificate_request", crypto::x509::parse_certificate_request),
    ("crypto.x509.parse_certificates", crypto::x509::parse_certificates),
    ("crypto.x509.parse_keypair", crypto::x509::parse_keypair),
    ("crypto.x509.parse_rsa_private_key", crypto::x509::parse_rsa_private_key),
    ("format_int", casts::number::format_int),
    ("glob.quote_meta", strings::search::glob_quote_meta),
    ("hex.decode", encoding::hex_decode),
    ("hex.encode", encoding::hex_encode),
    ("indexof", strings::search::indexof),
    ("indexof_n", strings::search::indexof_n),
    ("intersection", sets::intersection),
    ("io.jwt.decode", tokens::decode),
    ("io.jwt.decode_verify", tokens::decode_verify),
    ("io.jwt.encode_sign", tokens::encode_sign),
    ("io.jwt.encode_sign_raw", tokens::encode_sign_raw),
    ("io.jwt.verify_eddsa", tokens::verify_eddsa),
    ("io.jwt.verify_es256", tokens::verify_es256),
    ("io.jwt.verify_es384", tokens::verify_es384),
    ("io.jwt.verify_es512", tokens::verify_es512),
    ("io.jwt.verify_hs256", tokens::verify_hs256),
    ("io.jwt.verify_hs384", tokens::verify_hs384),
    ("io.jwt.verify_hs512", tokens::verify_hs512),
    ("io.jwt.verify_ps256", tokens::verify_ps256),
    ("io.jwt.verify_ps384", tokens::verify_ps384),
    ("io.jwt.verify_ps512", tokens::verify_ps512),
    ("io.jwt.verify_rs256", tokens::verify_rs256),
    ("io.jwt.verify_rs384", tokens::verify_rs384),
    ("io.jwt.verify_rs512", tokens::verify_rs512),
    ("json.filter", json::path::filter),
    ("json.is_valid", json::json_is_valid),
    ("json.marshal", json::json_marshal),
    ("json.marshal_with_options", json::json_marshal_with_options),
    ("json.patch", json::patch::patch),
    ("json.remove", json::path::remove),
    ("json.unmarshal", json::json_unmarshal),
    ("lower", strings::search::lower),
    ("max", aggregates::order::max),
    ("min", aggregates::order::min),
    ("net.cidr_contains", cidr::contains),
    ("net.cidr_contains_matches", cidr::contains_matches),
    ("net.cidr_intersects", cidr::intersects),
    ("net.cidr_is_valid", cidr::is_valid),
    ("net.cidr_merge", cidr::merge),
    ("net.cidr_overlap", cidr::contains),
    ("object.filter", object::filter),
    ("object.keys", object::keys),
    ("object.remove", object::remove),
    ("object.subset", object::subset::subset),
    ("object.union", object::union),
    ("object.union_n", object::union_n),
    ("providers.aws.sign_req", providers::sign_request),
    ("rand.intn", uuid::intn),
    ("regex.is_valid", regex::template::is_valid),
    ("regex.template_match", regex::template::template_match),
    ("semver.compare", semver::compare),
    ("semver.is_valid", semver::is_valid),
    ("set_diff", sets::set_diff),
    ("sort", aggregates::order::sort),
    ("strings.any_prefix_match", strings::search::any_prefix_match),
    ("strings.any_suffix_match", strings::search::any_suffix_match),
    ("strings.count", strings::search::count),
    ("strings.reverse", strings::search::reverse),
    ("strings.split_n", strings::search::split_n),
    ("substring", strings::search::substring),
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
    ("to_number", casts::number::to_number),
    ("trim_space", strings::search::trim_space),
    ("units.parse", units::parse),
    ("units.parse_bytes", units::parse_bytes),
    ("upper", strings::search::upper),
    ("uri.is_valid", uri::is_valid),
    ("uri.parse", uri::parse),
    ("urlquery.decode", encoding::urlquery_decode),
    ("urlquery.decode_object", encoding::urlquery_decode_object),
    ("urlquery.encode", encoding::urlquery_encode),
    ("urlquery.encode_object", encoding::urlquery_encode_object),
    ("uuid.parse", uuid::parse),
    ("uuid.rfc4122", uuid::rfc4122),
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
