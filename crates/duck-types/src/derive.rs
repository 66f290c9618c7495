//! The examples of the derive macro, which are tests of this crate: the macro's own cannot depend on it.

/// The examples of its pages.
///
/// ```
/// use duck_types::{DuckType, Place, view};
///
/// #[derive(serde::Deserialize, DuckType)]
/// #[duck(path = "/status/address")]
/// struct Addressable {
///     url: String,
/// }
///
/// assert_eq!(Addressable::PLACE.paths()[0].to_string(), "/status/address");
/// let object = serde_json::json!({"kind": "Broker", "status": {"address": {"url": "http://broker.shop"}}});
/// assert_eq!(view::<Addressable>(&object).unwrap().url, "http://broker.shop");
/// ```
struct Accepted;

/// Paths that do not compile.
///
/// ```compile_fail
/// #[derive(serde::Deserialize, duck_types::DuckType)]
/// #[duck(path = "status/address")] // no leading slash
/// struct Addressable {}
/// ```
///
/// ```compile_fail
/// #[derive(serde::Deserialize, duck_types::DuckType)]
/// #[duck(path = "/metadata/uid")] // belongs to the API server
/// struct Uid {}
/// ```
///
/// ```compile_fail
/// #[derive(serde::Deserialize, duck_types::DuckType)]
/// #[duck(path = "/spec/a~2")] // not an escape
/// struct Escape {}
/// ```
///
/// ```compile_fail
/// #[derive(serde::Deserialize, duck_types::DuckType)]
/// #[duck(paths("/spec", "/spec/sink"))] // the second lies in the first
/// struct Overlap {}
/// ```
///
/// ```compile_fail
/// #[derive(serde::Deserialize, duck_types::DuckType)]
/// struct Nowhere {} // no path
/// ```
struct Refused;
