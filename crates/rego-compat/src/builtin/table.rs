//! OPA's builtin functions, from its published capabilities (v1.22): name, arguments, result and code, sorted by name.

#[cfg(feature = "graphql")]
use super::graphql;
#[cfg(feature = "json-schema")]
use super::json_schema;
use super::spec::*;
#[cfg(feature = "templates")]
use super::template;
use super::{
    Answer, Builtin, Code, Outcome, aggregates, arithmetic, array, bits, casts, cidr, comparison, encoding,
    glob, graph, json, numbers, object, price, regex, rego, runtime, semver, sets, strings, time, types,
    units, uri, uuid, yaml,
};
#[cfg(feature = "crypto")]
use super::{crypto, providers, tokens};
use crate::meter::{Meter, Now};
use crate::value::Value;

/// Returns the row of a function whose equal arguments give equal results.
const fn call(name: &'static str, args: &'static [Spec], result: Spec, code: Code) -> Builtin {
    Builtin { name, args, result, removed: false, pure: true, code }
}

/// Returns the row of a function that Rego v1 does not have any more.
const fn removed(name: &'static str, args: &'static [Spec], result: Spec, code: Code) -> Builtin {
    Builtin { name, args, result, removed: true, pure: true, code }
}

/// Returns the row of a function whose results may differ for equal arguments: an evaluation calls it once for each.
const fn impure(name: &'static str, args: &'static [Spec], result: Spec, code: Code) -> Builtin {
    Builtin { name, args, result, removed: false, pure: false, code }
}

/// Returns the code of a function that pays for reading all of its arguments once.
const fn plain(run: fn(&[&Value]) -> Outcome) -> Code {
    Code::Priced(run, price::arguments)
}

/// Returns the code of a function that pays for reading all of its arguments once, and asks for the time.
const fn timed(run: fn(&[&Value], Now) -> Outcome) -> Code {
    Code::Timed(run, price::arguments)
}

/// Returns the code of a function that may take longer than reading its arguments, and pays for its worst case.
const fn priced(run: fn(&[&Value]) -> Outcome, price: price::Price) -> Code {
    Code::Priced(run, price)
}

/// Returns the code of a function that pays while it runs.
const fn metered(run: fn(&[&Value], &Meter) -> Answer) -> Code {
    Code::Metered(run)
}

/// The code of a family that a feature of the crate brings.
macro_rules! in_feature {
    ($feature:literal, $code:expr) => {{
        #[cfg(feature = $feature)]
        {
            $code
        }
        #[cfg(not(feature = $feature))]
        {
            Code::Absent($feature)
        }
    }};
}

/// Every builtin, sorted by name.
pub(super) static TABLE: [Builtin; 203] = [
    call("abs", &[NUM], NUM, metered(arithmetic::absolute)),
    removed("all", &[SEQUENCE], BOOL, plain(aggregates::all)),
    call("and", &[SET, SET], SET, metered(sets::and)),
    removed("any", &[SEQUENCE], BOOL, plain(aggregates::any)),
    call("array.concat", &[LIST, LIST], LIST, plain(array::concat)),
    call("array.flatten", &[LIST], LIST, plain(array::flatten)),
    call("array.reverse", &[LIST], LIST, plain(array::reverse)),
    call("array.slice", &[LIST, NUM, NUM], LIST, plain(array::slice)),
    call("base64.decode", &[STR], STR, plain(encoding::base64_decode)),
    call("base64.encode", &[STR], STR, plain(encoding::base64_encode)),
    call("base64.is_valid", &[STR], BOOL, plain(encoding::base64_is_valid)),
    call("base64url.decode", &[STR], STR, plain(encoding::base64url_decode)),
    call("base64url.encode", &[STR], STR, plain(encoding::base64url_encode)),
    call("base64url.encode_no_pad", &[STR], STR, plain(encoding::base64url_encode_no_pad)),
    call("bits.and", &[NUM, NUM], NUM, metered(bits::and)),
    call("bits.lsh", &[NUM, NUM], NUM, metered(bits::shift_left)),
    call("bits.negate", &[NUM], NUM, metered(bits::negate)),
    call("bits.or", &[NUM, NUM], NUM, metered(bits::or)),
    call("bits.rsh", &[NUM, NUM], NUM, metered(bits::shift_right)),
    call("bits.xor", &[NUM, NUM], NUM, metered(bits::xor)),
    removed("cast_array", &[ANY], LIST, plain(casts::array)),
    removed("cast_boolean", &[ANY], BOOL, plain(casts::boolean)),
    removed("cast_null", &[ANY], NULL, plain(casts::null)),
    removed("cast_object", &[ANY], OBJ, plain(casts::object)),
    removed("cast_set", &[ANY], SET, plain(casts::set)),
    removed("cast_string", &[ANY], STR, plain(casts::string)),
    call("ceil", &[NUM], NUM, metered(arithmetic::ceil)),
    call("concat", &[STR, STRINGS], STR, metered(strings::concat)),
    call("contains", &[STR, STR], BOOL, metered(strings::contains)),
    call("count", &[Spec::Or(&[STR, LIST, OBJ, SET])], NUM, metered(aggregates::count)),
    call("crypto.hmac.equal", &[STR, STR], BOOL, in_feature!("crypto", plain(crypto::hmac_equal))),
    call("crypto.hmac.md5", &[STR, STR], STR, in_feature!("crypto", plain(crypto::hmac_md5))),
    call("crypto.hmac.sha1", &[STR, STR], STR, in_feature!("crypto", plain(crypto::hmac_sha1))),
    call("crypto.hmac.sha256", &[STR, STR], STR, in_feature!("crypto", plain(crypto::hmac_sha256))),
    call("crypto.hmac.sha512", &[STR, STR], STR, in_feature!("crypto", plain(crypto::hmac_sha512))),
    call("crypto.md5", &[STR], STR, in_feature!("crypto", plain(crypto::md5))),
    call(
        "crypto.parse_private_keys",
        &[STR],
        RECORDS,
        in_feature!("crypto", priced(crypto::x509::parse_private_keys, crypto::price::keys)),
    ),
    call("crypto.sha1", &[STR], STR, in_feature!("crypto", plain(crypto::sha1))),
    call("crypto.sha256", &[STR], STR, in_feature!("crypto", plain(crypto::sha256))),
    impure(
        "crypto.x509.parse_and_verify_certificates",
        &[STR],
        Spec::Tuple(&[BOOL, RECORDS]),
        in_feature!("crypto", Code::Timed(crypto::x509::parse_and_verify, crypto::price::chain)),
    ),
    impure(
        "crypto.x509.parse_and_verify_certificates_with_options",
        &[STR, RECORD],
        Spec::Tuple(&[BOOL, RECORDS]),
        in_feature!("crypto", Code::Timed(crypto::x509::parse_and_verify_with_options, crypto::price::chain)),
    ),
    call(
        "crypto.x509.parse_certificate_request",
        &[STR],
        RECORD,
        in_feature!("crypto", priced(crypto::x509::parse_certificate_request, crypto::price::certificates)),
    ),
    call(
        "crypto.x509.parse_certificates",
        &[STR],
        RECORDS,
        in_feature!("crypto", priced(crypto::x509::parse_certificates, crypto::price::certificates)),
    ),
    call(
        "crypto.x509.parse_keypair",
        &[STR, STR],
        RECORD,
        in_feature!("crypto", priced(crypto::x509::parse_keypair, crypto::price::certificates)),
    ),
    call(
        "crypto.x509.parse_rsa_private_key",
        &[STR],
        RECORD,
        in_feature!("crypto", priced(crypto::x509::parse_rsa_private_key, crypto::price::keys)),
    ),
    call("div", &[NUM, NUM], NUM, metered(arithmetic::over)),
    call("endswith", &[STR, STR], BOOL, metered(strings::ends_with)),
    call("eq", &[ANY, ANY], BOOL, metered(comparison::equal)),
    call("equal", &[ANY, ANY], BOOL, metered(comparison::equal)),
    call("floor", &[NUM], NUM, metered(arithmetic::floor)),
    call("format_int", &[NUM, NUM], STR, plain(strings::format::format_int)),
    call("glob.match", &[STR, Spec::Or(&[NULL, STRS]), STR], BOOL, metered(glob::matches)),
    call("glob.quote_meta", &[STR], STR, plain(strings::search::glob_quote_meta)),
    call("graph.reachable", &[GRAPH, SEQUENCE], SET, metered(graph::reachable)),
    call("graph.reachable_paths", &[GRAPH, SEQUENCE], Spec::Set(&LIST), metered(graph::reachable_paths)),
    call(
        "graphql.is_valid",
        &[STR_OR_OBJ, STR_OR_OBJ],
        BOOL,
        in_feature!("graphql", metered(graphql::is_valid)),
    ),
    call(
        "graphql.parse",
        &[STR_OR_OBJ, STR_OR_OBJ],
        Spec::Tuple(&[OBJ, OBJ]),
        in_feature!("graphql", metered(graphql::parse)),
    ),
    call(
        "graphql.parse_and_verify",
        &[STR_OR_OBJ, STR_OR_OBJ],
        Spec::Tuple(&[BOOL, OBJ, OBJ]),
        in_feature!("graphql", metered(graphql::parse_and_verify)),
    ),
    call("graphql.parse_query", &[STR], OBJ, in_feature!("graphql", metered(graphql::parse_query))),
    call("graphql.parse_schema", &[STR], OBJ, in_feature!("graphql", metered(graphql::parse_schema))),
    call(
        "graphql.schema_is_valid",
        &[STR_OR_OBJ],
        BOOL,
        in_feature!("graphql", metered(graphql::schema_is_valid)),
    ),
    call("gt", &[ANY, ANY], BOOL, metered(comparison::greater)),
    call("gte", &[ANY, ANY], BOOL, metered(comparison::greater_or_equal)),
    call("hex.decode", &[STR], STR, plain(encoding::hex_decode)),
    call("hex.encode", &[STR], STR, plain(encoding::hex_encode)),
    impure("http.send", &[RECORD], OBJ, Code::Refused),
    call("indexof", &[STR, STR], NUM, priced(strings::search::indexof, price::search)),
    call("indexof_n", &[STR, STR], Spec::Array(&NUM), priced(strings::search::indexof_n, price::search)),
    call("internal.member_2", &[ANY, ANY], BOOL, metered(aggregates::member)),
    call("internal.member_3", &[ANY, ANY, ANY], BOOL, metered(aggregates::member_at)),
    call("internal.template_string", &[LIST], STR, metered(strings::format::template_string)),
    call("intersection", &[SETS], SET, plain(sets::intersection)),
    call(
        "io.jwt.decode",
        &[STR],
        Spec::Tuple(&[OBJ, OBJ, STR]),
        in_feature!("crypto", plain(tokens::decode)),
    ),
    impure(
        "io.jwt.decode_verify",
        &[STR, RECORD],
        Spec::Tuple(&[BOOL, OBJ, OBJ]),
        in_feature!("crypto", timed(tokens::decode_verify)),
    ),
    impure(
        "io.jwt.encode_sign",
        &[RECORD, RECORD, RECORD],
        STR,
        in_feature!("crypto", plain(tokens::encode_sign)),
    ),
    impure(
        "io.jwt.encode_sign_raw",
        &[STR, STR, STR],
        STR,
        in_feature!("crypto", plain(tokens::encode_sign_raw)),
    ),
    call("io.jwt.verify_eddsa", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_eddsa))),
    call("io.jwt.verify_es256", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_es256))),
    call("io.jwt.verify_es384", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_es384))),
    call("io.jwt.verify_es512", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_es512))),
    call("io.jwt.verify_hs256", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_hs256))),
    call("io.jwt.verify_hs384", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_hs384))),
    call("io.jwt.verify_hs512", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_hs512))),
    call("io.jwt.verify_ps256", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_ps256))),
    call("io.jwt.verify_ps384", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_ps384))),
    call("io.jwt.verify_ps512", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_ps512))),
    call("io.jwt.verify_rs256", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_rs256))),
    call("io.jwt.verify_rs384", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_rs384))),
    call("io.jwt.verify_rs512", &[STR, STR], BOOL, in_feature!("crypto", plain(tokens::verify_rs512))),
    call("is_array", &[ANY], BOOL, metered(types::is_array)),
    call("is_boolean", &[ANY], BOOL, metered(types::is_boolean)),
    call("is_null", &[ANY], BOOL, metered(types::is_null)),
    call("is_number", &[ANY], BOOL, metered(types::is_number)),
    call("is_object", &[ANY], BOOL, metered(types::is_object)),
    call("is_set", &[ANY], BOOL, metered(types::is_set)),
    call("is_string", &[ANY], BOOL, metered(types::is_string)),
    call("json.filter", &[OBJ, PATHS], OBJ, plain(json::path::filter)),
    call("json.is_valid", &[STR], BOOL, plain(json::json_is_valid)),
    call("json.marshal", &[ANY], STR, plain(json::json_marshal)),
    call("json.marshal_with_options", &[ANY, MARSHAL_OPTIONS], STR, plain(json::json_marshal_with_options)),
    impure(
        "json.match_schema",
        &[STR_OR_OBJ, STR_OR_OBJ],
        Spec::Tuple(&[BOOL, Spec::Array(&OBJ)]),
        in_feature!("json-schema", metered(json_schema::match_schema)),
    ),
    call("json.patch", &[ANY, Spec::Array(&PATCH)], ANY, priced(json::patch::patch, price::patch)),
    call("json.remove", &[OBJ, PATHS], OBJ, plain(json::path::remove)),
    call("json.unmarshal", &[STR], ANY, priced(json::json_unmarshal, price::document)),
    impure(
        "json.verify_schema",
        &[STR_OR_OBJ],
        Spec::Tuple(&[BOOL, Spec::Or(&[NULL, STR])]),
        in_feature!("json-schema", metered(json_schema::verify_schema)),
    ),
    call("lower", &[STR], STR, plain(strings::search::lower)),
    call("lt", &[ANY, ANY], BOOL, metered(comparison::less)),
    call("lte", &[ANY, ANY], BOOL, metered(comparison::less_or_equal)),
    call("max", &[SEQUENCE], ANY, priced(aggregates::max, price::sort)),
    call("min", &[SEQUENCE], ANY, priced(aggregates::min, price::sort)),
    call("minus", &[NUM_OR_SET, NUM_OR_SET], NUM_OR_SET, metered(arithmetic::minus)),
    call("mul", &[NUM, NUM], NUM, metered(arithmetic::times)),
    call("neq", &[ANY, ANY], BOOL, metered(comparison::unequal)),
    call("net.cidr_contains", &[STR, STR], BOOL, plain(cidr::contains)),
    call(
        "net.cidr_contains_matches",
        &[CIDRS, CIDRS],
        Spec::Set(&Spec::Tuple(&[ANY, ANY])),
        priced(cidr::contains_matches, price::cidr_pairs),
    ),
    call("net.cidr_expand", &[STR], Spec::Set(&STR), metered(cidr::expand::expand)),
    call("net.cidr_intersects", &[STR, STR], BOOL, plain(cidr::intersects)),
    call("net.cidr_is_valid", &[STR], BOOL, plain(cidr::is_valid)),
    call("net.cidr_merge", &[STRINGS], Spec::Set(&STR), plain(cidr::merge)),
    removed("net.cidr_overlap", &[STR, STR], BOOL, plain(cidr::contains)),
    impure("net.lookup_ip_addr", &[STR], Spec::Set(&STR), Code::Refused),
    call("numbers.range", &[NUM, NUM], Spec::Array(&NUM), metered(numbers::range)),
    call("numbers.range_step", &[NUM, NUM, NUM], Spec::Array(&NUM), metered(numbers::range)),
    call("object.filter", &[OBJ, COLLECTION], OBJ, plain(object::filter)),
    call("object.get", &[OBJ, ANY, ANY], ANY, metered(object::get)),
    call("object.keys", &[OBJ], SET, plain(object::keys)),
    call("object.remove", &[OBJ, COLLECTION], OBJ, plain(object::remove)),
    call("object.subset", &[COLLECTION, COLLECTION], BOOL, priced(object::subset::subset, price::subset)),
    call("object.union", &[OBJ, OBJ], OBJ, plain(object::union)),
    call("object.union_n", &[Spec::Array(&OBJ)], OBJ, priced(object::union_n, price::union_n)),
    impure("opa.runtime", &[], RECORD, metered(runtime::opa_runtime)),
    call("or", &[SET, SET], SET, metered(sets::or)),
    call("plus", &[NUM, NUM], NUM, metered(arithmetic::plus)),
    call("print", &[], BOOL, metered(runtime::print)),
    call("product", &[NUMBERS], NUM, metered(aggregates::product)),
    call(
        "providers.aws.sign_req",
        &[RECORD, RECORD, NUM],
        OBJ,
        in_feature!("crypto", plain(providers::sign_request)),
    ),
    impure("rand.intn", &[STR, NUM], NUM, plain(numbers::intn)),
    removed("re_match", &[STR, STR], BOOL, metered(regex::matches)),
    call("regex.find_all_string_submatch_n", &[STR, STR, NUM], Spec::Array(&STRS), metered(regex::groups_n)),
    call("regex.find_n", &[STR, STR, NUM], STRS, metered(regex::find_n)),
    call("regex.globs_match", &[STR, STR], BOOL, metered(regex::globs::globs_match)),
    call("regex.is_valid", &[STR], BOOL, plain(regex::is_valid)),
    call("regex.match", &[STR, STR], BOOL, metered(regex::matches)),
    call("regex.replace", &[STR, STR, STR], STR, metered(regex::replace)),
    call("regex.split", &[STR, STR], STRS, metered(regex::split)),
    call("regex.template_match", &[STR, STR, STR, STR], BOOL, plain(regex::template::template_match)),
    call("rego.metadata.chain", &[], LIST, Code::Planned),
    call("rego.metadata.rule", &[], ANY, Code::Planned),
    call("rego.parse_module", &[STR, STR], RECORD, metered(rego::parse)),
    call("rem", &[NUM, NUM], NUM, metered(arithmetic::remainder)),
    call("replace", &[STR, STR, STR], STR, metered(strings::replace::replace)),
    call("round", &[NUM], NUM, metered(arithmetic::round)),
    call("semver.compare", &[STR, STR], NUM, plain(semver::compare)),
    call("semver.is_valid", &[ANY], BOOL, plain(semver::is_valid)),
    removed("set_diff", &[SET, SET], SET, plain(sets::set_diff)),
    call("sort", &[SEQUENCE], LIST, priced(aggregates::sort, price::sort)),
    call("split", &[STR, STR], STRS, metered(strings::split)),
    call("sprintf", &[STR, LIST], STR, metered(strings::format::sprintf)),
    call("startswith", &[STR, STR], BOOL, metered(strings::starts_with)),
    call(
        "strings.any_prefix_match",
        &[STRING_OR_STRINGS, STRING_OR_STRINGS],
        BOOL,
        priced(strings::search::any_prefix_match, price::string_pairs),
    ),
    call(
        "strings.any_suffix_match",
        &[STRING_OR_STRINGS, STRING_OR_STRINGS],
        BOOL,
        priced(strings::search::any_suffix_match, price::string_pairs),
    ),
    call("strings.count", &[STR, STR], NUM, priced(strings::search::count, price::search)),
    call("strings.render_template", &[STR, RECORD], STR, in_feature!("templates", metered(template::render))),
    call("strings.replace_n", &[Spec::Object(&STR, &STR), STR], STR, metered(strings::replace::replace_n)),
    call("strings.reverse", &[STR], STR, plain(strings::search::reverse)),
    call("strings.split_n", &[STR, STR, NUM], STRS, plain(strings::search::split_n)),
    call("substring", &[STR, NUM, NUM], STR, plain(strings::search::substring)),
    call("sum", &[NUMBERS], NUM, metered(aggregates::sum)),
    call("time.add_date", &[NUM, NUM, NUM, NUM], NUM, plain(time::add_date)),
    call("time.clock", &[TIMESTAMP], Spec::Tuple(&[NUM, NUM, NUM]), plain(time::clock)),
    call("time.date", &[TIMESTAMP], Spec::Tuple(&[NUM, NUM, NUM]), plain(time::date)),
    call(
        "time.diff",
        &[TIMESTAMP, TIMESTAMP],
        Spec::Tuple(&[NUM, NUM, NUM, NUM, NUM, NUM]),
        plain(time::diff),
    ),
    call(
        "time.format",
        &[Spec::Or(&[NUM, Spec::Tuple(&[NUM, STR]), Spec::Tuple(&[NUM, STR, STR])])],
        STR,
        plain(time::format),
    ),
    impure("time.now_ns", &[], NUM, timed(time::now_ns)),
    call("time.parse_duration_ns", &[STR], NUM, plain(time::parse_duration_ns)),
    call("time.parse_ns", &[STR, STR], NUM, plain(time::parse_ns)),
    call("time.parse_rfc3339_ns", &[STR], NUM, plain(time::parse_rfc3339_ns)),
    call("time.weekday", &[TIMESTAMP], STR, plain(time::weekday)),
    call("to_number", &[Spec::Or(&[NULL, BOOL, NUM, STR])], NUM, plain(casts::to_number)),
    call("trace", &[STR], BOOL, metered(runtime::trace)),
    call("trim", &[STR, STR], STR, metered(strings::trim)),
    call("trim_left", &[STR, STR], STR, metered(strings::trim_left)),
    call("trim_prefix", &[STR, STR], STR, metered(strings::trim_prefix)),
    call("trim_right", &[STR, STR], STR, metered(strings::trim_right)),
    call("trim_space", &[STR], STR, plain(strings::search::trim_space)),
    call("trim_suffix", &[STR, STR], STR, metered(strings::trim_suffix)),
    call("type_name", &[ANY], STR, metered(types::type_name)),
    call("union", &[SETS], SET, metered(sets::union)),
    call("units.parse", &[STR], NUM, plain(units::parse)),
    call("units.parse_bytes", &[STR], NUM, plain(units::parse_bytes)),
    call("upper", &[STR], STR, plain(strings::search::upper)),
    call("uri.is_valid", &[STR], BOOL, plain(uri::is_valid)),
    call("uri.parse", &[STR], Spec::Object(&STR, &STR), plain(uri::parse)),
    call("urlquery.decode", &[STR], STR, plain(encoding::urlquery_decode)),
    call(
        "urlquery.decode_object",
        &[STR],
        Spec::Object(&STR, &STRS),
        plain(encoding::urlquery_decode_object),
    ),
    call("urlquery.encode", &[STR], STR, plain(encoding::urlquery_encode)),
    call(
        "urlquery.encode_object",
        &[Spec::Object(&STR, &STRING_OR_STRINGS)],
        STR,
        plain(encoding::urlquery_encode_object),
    ),
    call("uuid.parse", &[STR], RECORD, plain(uuid::parse)),
    impure("uuid.rfc4122", &[STR], STR, plain(uuid::rfc4122)),
    call("walk", &[ANY], Spec::Tuple(&[LIST, ANY]), Code::Planned),
    call("yaml.is_valid", &[STR], BOOL, priced(yaml::is_valid, price::document)),
    call("yaml.marshal", &[ANY], STR, priced(yaml::marshal, price::marshalled)),
    call("yaml.unmarshal", &[STR], ANY, priced(yaml::unmarshal, price::document)),
];
