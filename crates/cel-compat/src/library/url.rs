//! URLs as Go's `net/url` reads those of requests ([`go_compat::url`]): nothing is normalised, and a path that begins with
//! `/` is enough.

use std::collections::BTreeMap;

use go_compat::GoError;
use go_compat::url::Url;
use go_compat::utf8;

use crate::value::Value;
use crate::value::{Declared, Key};

use super::super::error::EvalError;
use super::super::meter::Meter;
use super::Native;

#[derive(Clone, Debug)]
struct Parsed(Url);

impl Declared for Parsed {
    const NAME: &'static str = "kubernetes.URL";
}

impl PartialEq for Parsed {
    /// Kubernetes compares the strings that Go makes of them.
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Parsed {}

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("url", |meter, arguments| read(meter, arguments)?.map(|url| Value::opaque(Parsed(url)))),
    ("isURL", |meter, arguments| read(meter, arguments).map(|read| Value::Bool(read.is_ok()))),
    ("getScheme", |_, arguments| this(arguments).map(|url| Value::string(url.scheme.as_str()))),
    ("getHost", |_, arguments| this(arguments).map(|url| bytes(&url.host))),
    ("getHostname", |_, arguments| this(arguments).map(|url| bytes(url.hostname_and_port().0))),
    ("getPort", |_, arguments| this(arguments).map(|url| bytes(url.hostname_and_port().1))),
    ("getEscapedPath", |meter, arguments| {
        let url = this(arguments)?;
        meter.bytes(url.path.len().saturating_mul(3))?;
        Ok(Value::string(url.escaped_path()))
    }),
    ("getQuery", |meter, arguments| {
        let url = this(arguments)?;
        meter.bytes(url.raw_query.len().saturating_mul(2))?;
        Ok(query(url))
    }),
];

fn this(arguments: &[Value]) -> Result<&Url, EvalError> {
    match arguments {
        [Value::Opaque(opaque)] => {
            opaque.downcast_ref().map(|Parsed(url)| url).ok_or_else(EvalError::no_overload)
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn bytes(bytes: &[u8]) -> Value {
    Value::string(utf8::lossy(bytes))
}

type Read = Result<Url, EvalError>;

fn read(meter: &Meter, arguments: &[Value]) -> Result<Read, EvalError> {
    let [Value::String(raw)] = arguments else {
        return Err(EvalError::no_overload());
    };
    meter.bytes(raw.len())?;
    let refused =
        |reason| EvalError::Failed(format!("URL parse error during conversion from string: {reason}"));
    Ok(parse(raw).map_err(refused))
}

/// Reads a URL twice, as Kubernetes does: as that of a request, which says whether it is one, and then with its
/// fragment, which a request does not have.
fn parse(raw: &str) -> Result<Url, GoError> {
    Url::parse_request_uri(raw)?;
    Url::parse(raw)
}

/// The values of each name in a query.
fn query(url: &Url) -> Value {
    let mut values: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (name, value) in url.query() {
        values.entry(name).or_default().push(Value::string(value));
    }
    let entries = values.into_iter().map(|(name, values)| (Key::String(name.into()), Value::list(values)));
    Value::Map(entries.collect())
}
