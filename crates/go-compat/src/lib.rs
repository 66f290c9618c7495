//! Exact equivalents of what Go's standard library, libyaml and three small libraries of Kubernetes do.
//!
//! Rego, CEL and Kubernetes' own validation are written in Go, and what Go does shows in their results: which patterns
//! compile, how a number is printed, which string is a URL.
//!
//! ```
//! assert_eq!(go_compat::strconv::quote("a\u{200b}\n"), r#""a\u200b\n""#);
//! assert_eq!(go_compat::duration::parse("1h30m"), Some(5_400_000_000_000));
//! ```
//!
//! | module | Go's package | feature |
//! |---|---|---|
//! | [`strconv`] | `strconv`: quoting and unquoting, printing and parsing of numbers | |
//! | `fmt` | `fmt`: `Sprintf` with every verb | `fmt` |
//! | `regexp` | `regexp`, `regexp/syntax` | `regexp` |
//! | [`time`] | `time`: layouts, the calendar; zones behind `zones` | |
//! | [`duration`] | `time.Duration` | |
//! | [`filepath`] | `path/filepath`: patterns of file names, on Unix | |
//! | [`net`], [`netip`] | `net.IPNet`, and `k8s.io/utils/net`: addresses as before Go 1.17; `net/netip` prefixes | |
//! | [`url`] | `net/url` | |
//! | [`mail`] | `net/mail` addresses | |
//! | [`json`] | `encoding/json`: its decoder, strings in quotes, indentation; `marshal` behind the feature of that name | |
//! | [`utf8`] | strings made of bytes | |
//! | `base64` | `encoding/base64` | `base64` |
//! | `yaml` | `go.yaml.in/yaml` v2 and v3: composing, the meaning of plain words | `yaml` |
//! | `strfmt` | `k8s.io/kube-openapi/pkg/validation/strfmt`: named formats of strings | `strfmt` |
//! | `sigs_yaml` | `sigs.k8s.io/yaml`: manifests as JSON | `sigs-yaml` |
//!
//! The conformance tests of this workspace ask Go itself for every module. Not here: objects of Kubernetes, policy
//! languages, and functions of Go that none of those use.

#[cfg(feature = "base64")]
pub mod base64;
pub mod duration;
mod error;
pub mod filepath;
#[cfg(feature = "fmt")]
pub mod fmt;
pub mod json;
pub mod mail;
pub mod net;
pub mod netip;
#[cfg(feature = "regexp")]
pub mod regexp;
#[cfg(feature = "sigs-yaml")]
pub mod sigs_yaml;
pub mod strconv;
#[cfg(feature = "strfmt")]
pub mod strfmt;
pub mod time;
pub mod url;
pub mod utf8;
#[cfg(feature = "yaml")]
pub mod yaml;

pub use error::GoError;

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
