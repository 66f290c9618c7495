//! WebAssembly plug-ins: loaded from an OCI image layout by digest, and run with limits and without any authority.
//!
//! ```
//! use examples::ranking::Question;
//! use wasm_plugins::{Limits, Sandbox};
//!
//! let sandbox = Sandbox::new(Limits::default())?;
//! let plug_in = sandbox.load(include_bytes!("../plug-ins/only-eu.wat"))?;
//! let answer = plug_in.rank(&Question::new("a", 2))?;
//! assert_eq!(answer.zones, ["eu-1", "eu-2"]);
//! # Ok::<(), wasm_plugins::PlugInError>(())
//! ```

mod error;
mod layout;
mod sandbox;
mod signature;
mod wasi;

pub use error::PlugInError;
pub use layout::{Layout, LayoutError};
pub use sandbox::{Limits, PlugIn, Sandbox};
pub use signature::{Signer, Trust};
