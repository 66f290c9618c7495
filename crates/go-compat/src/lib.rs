//! Exact equivalents of what Go's standard library and libyaml do.
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
//! | [`strconv`] | `strconv`: quoting, printing of numbers | |
//! | `fmt` | `fmt`: `Sprintf` with every verb | `fmt` |
//! | `regexp` | `regexp`, `regexp/syntax` | `regexp` |
//! | [`time`] | `time`: layouts, the calendar; zones behind `zones` | |
//! | [`duration`] | `time.Duration` | |
//! | [`net`], [`netip`] | `net.IPNet`; `net/netip` prefixes | |
//! | [`url`] | `net/url` | |
//! | [`mail`] | `net/mail` addresses | |
//! | [`json`] | `encoding/json`'s decoder | |
//! | [`utf8`] | strings made of bytes | |
//! | `base64` | `encoding/base64` | `base64` |
//! | `yaml` | `go.yaml.in/yaml` v2 and v3: composing, the meaning of plain words | `yaml` |
//! | `sigs_yaml` | `sigs.k8s.io/yaml`: manifests as JSON | `sigs-yaml` |
//!
//! The conformance tests of this workspace ask Go itself for every module. There is no Kubernetes in this crate, and
//! no policy language.

#[cfg(feature = "base64")]
pub mod base64;
pub mod duration;
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
pub mod time;
pub mod url;
pub mod utf8;
#[cfg(feature = "yaml")]
pub mod yaml;

/// The examples of the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
