//! The paths that the derive macro refuses. They are tests of this crate: those of the macro cannot depend on it.

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
