//! `providers.aws.sign_req`: a request with a signature of version 4. Source: OPA `topdown/providers.go` and
//! `internal/providers/aws`. Nothing is sent.

use std::collections::BTreeMap;

use go_compat::time::Time;
use go_compat::url::Url;
use go_compat::utf8;
use hmac::Hmac;
use sha2::{Digest, Sha256};

use crate::value::{Object, Value};

use super::Outcome;
use super::crypto::{authenticate, hexadecimal};
use super::json::marshalled;
use super::operand::{self, CallError};

/// The fields that a request to `http.send` may have.
#[rustfmt::skip]
const FIELDS: [&str; 28] = [
    "method", "url", "body", "enable_redirect", "force_json_decode", "force_yaml_decode", "headers", "raw_body",
    "tls_use_system_certs", "tls_ca_cert", "tls_ca_cert_file", "tls_ca_cert_env_variable", "tls_client_cert",
    "tls_client_cert_file", "tls_client_cert_env_variable", "tls_client_key", "tls_client_key_file",
    "tls_client_key_env_variable", "tls_insecure_skip_verify", "tls_server_name", "timeout", "cache", "force_cache",
    "force_cache_duration_seconds", "raise_error", "caching_mode", "max_retry_attempts", "cache_ignored_headers",
];

/// Headers that proxies change.
const UNSIGNED: [&str; 3] = ["authorization", "user-agent", "x-amzn-trace-id"];

/// Implements `providers.aws.sign_req(request, configuration, ns)`.
pub(super) fn sign_request(args: &[&Value]) -> Outcome {
    signed(args).into()
}

/// The account that signs, and the service it signs for.
struct Account<'a> {
    service: &'a str,
    access_key: &'a str,
    secret_key: &'a str,
    region: &'a str,
    session_token: &'a str,
    signs_body: bool,
}

fn field<'v>(object: &'v Object, name: &str) -> Option<&'v Value> {
    object.get(&Value::from(name))
}

fn required<'v>(object: &'v Object, name: &str) -> Result<&'v str, CallError> {
    let value = field(object, name).ok_or(CallError::Failed)?;
    value.as_string().map(|text| &**text).map_err(|_| CallError::Failed)
}

/// Returns a text, or an empty one in place of anything else.
fn text_or_empty(value: &Value) -> String {
    value.as_string().map(|text| text.to_string()).unwrap_or_default()
}

impl<'a> Account<'a> {
    fn of(object: &'a Object) -> Result<Self, CallError> {
        let signs_body = match field(object, "disable_payload_signing") {
            None => true,
            Some(Value::Bool(disabled)) => !disabled,
            Some(_) => {
                return Err(CallError::Failed);
            }
        };
        let token = field(object, "aws_session_token").and_then(|token| token.as_string().ok());
        Ok(Self {
            service: required(object, "aws_service")?,
            access_key: required(object, "aws_access_key")?,
            secret_key: required(object, "aws_secret_access_key")?,
            region: required(object, "aws_region")?,
            session_token: token.map_or("", |token| token),
            signs_body,
        })
    }

    fn scope(&self, day: &str) -> String {
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }

    /// Returns the key of a day, a region and a service.
    fn key(&self, day: &str) -> Option<Vec<u8>> {
        let start = format!("AWS4{}", self.secret_key).into_bytes();
        [day, self.region, self.service, "aws4_request"].iter().try_fold(start, |key, part| code(part, &key))
    }
}

fn code(message: &str, key: &[u8]) -> Option<Vec<u8>> {
    authenticate::<Hmac<Sha256>>(message.as_bytes(), key)
}

fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn signed(args: &[&Value]) -> Result<Value, CallError> {
    let (request, configuration) = (operand::object(args, 0)?, operand::object(args, 1)?);
    let account = Account::of(configuration)?;
    let seconds = operand::integer(args, 2)?.div_euclid(1_000_000_000);
    let allowed = |key: &Value| key.as_string().is_ok_and(|key| FIELDS.contains(&&**key));
    if !request.keys().all(allowed) {
        return Err(CallError::Failed);
    }
    let (url, method) = (Url::parse(required(request, "url")?)?, required(request, "method")?);
    let headers: BTreeMap<String, String> = match field(request, "headers") {
        None => BTreeMap::new(),
        Some(Value::Object(pairs)) => {
            pairs.iter().map(|(name, value)| (text_or_empty(name), text_or_empty(value))).collect()
        }
        Some(_) => return Err(CallError::Failed),
    };
    let body = match (field(request, "raw_body"), field(request, "body")) {
        (Some(raw), _) => text_or_empty(raw),
        (None, Some(body)) => marshalled(body)?,
        (None, None) => String::new(),
    };
    let content = if account.signs_body { hash(body.as_bytes()) } else { "UNSIGNED-PAYLOAD".to_owned() };
    let time = Time { seconds, nanos: 0, offset: 0 };
    let stamp = Stamp { day: time.format("20060102", "UTC"), moment: time.format("20060102T150405Z", "UTC") };
    let own = own_headers(&account, &url, &stamp, &content);
    let authorization = authorization(&account, &url, method, &headers, &own, &stamp, &content)?;
    let all = headers.into_iter().chain([("Authorization".to_owned(), authorization)]).chain(own);
    let all = all.map(|(name, value)| (Value::from(name), Value::from(value))).collect::<Object>();
    let mut out = request.clone();
    out.insert(Value::from("headers"), all.into_value());
    Ok(out.into_value())
}

/// The time of signing.
struct Stamp {
    day: String,
    moment: String,
}

fn own_headers(account: &Account<'_>, url: &Url, stamp: &Stamp, content: &str) -> BTreeMap<String, String> {
    let mut own = BTreeMap::from([
        ("host".to_owned(), utf8::lossy(&url.host)),
        ("x-amz-date".to_owned(), stamp.moment.clone()),
    ]);
    if matches!(account.service, "s3" | "glacier") {
        own.insert("x-amz-content-sha256".to_owned(), content.to_owned());
    }
    if !account.session_token.is_empty() {
        own.insert("x-amz-security-token".to_owned(), account.session_token.to_owned());
    }
    own
}

/// Returns the header that the receiver checks.
fn authorization(
    account: &Account<'_>,
    url: &Url,
    method: &str,
    headers: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
    stamp: &Stamp,
    content: &str,
) -> Result<String, CallError> {
    let mut all = own.clone();
    let given = headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
    all.extend(given.filter(|(name, _)| !UNSIGNED.contains(&name.as_str())));
    let names = all.keys().cloned().collect::<Vec<_>>().join(";");
    let lines: String = all.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical =
        format!("{method}\n{}\n{}\n{lines}\n{names}\n{content}", url.escaped_path(), url.raw_query);
    let scope = account.scope(&stamp.day);
    let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", stamp.moment, hash(canonical.as_bytes()));
    let signature = account.key(&stamp.day).and_then(|key| code(&text, &key)).ok_or(CallError::Failed)?;
    Ok(format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={}",
        account.access_key,
        hexadecimal(&signature)
    ))
}
